"""The AEC environments pass PettingZoo's own tests and keep its life cycle to the letter."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest
from aec_contract import (
    REFUSED_RESETS,
    costs_the_worst_result,
    raises_a_sentence_and_goes_on,
    refuses_the_reset,
    refuses_what_it_does_not_have,
    tells_to_reset_after_the_end,
)
from gymnasium.spaces import Discrete
from walks import OPTIONS, SHAPES, api_test, label, pick, seed_test

from german_whist import OBSERVATION_SPEC, german_whist_v0
from german_whist.engine.endgame import value

MAKERS = {
    **{label({"rules": name}): partial(german_whist_v0.env, name) for name in SHAPES},
    **{label(options): partial(german_whist_v0.raw_env, **options) for options in OPTIONS},
    "foreplay": partial(pettingzoo.make, "aec", "german_whist/german_whist_foreplay_v0"),
}


# PettingZoo's api_test warns of every dict observation; ours is one because of its mask.
@pytest.mark.filterwarnings(
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_api_test_and_seed_test_pass_on_every_option(make: Any) -> None:
    api_test(make(), num_cycles=120)
    seed_test(make, num_cycles=60)


@pytest.mark.parametrize(
    ("name", "options", "agents", "actions"),
    [
        ("german_whist_v0", {}, 2, 52),
        ("german_whist_v0", {"rules": "draft"}, 2, 53),
    ],
)
def test_pettingzoo_makes_it_by_name(name: str, options: Any, agents: int, actions: int) -> None:
    made = pettingzoo.make("aec", f"german_whist/{name}", **options)
    assert made.metadata["name"] == name
    assert made.possible_agents == [f"player_{seat}" for seat in range(agents)]
    assert [made.action_space(agent) for agent in made.possible_agents] == [
        Discrete(actions)
    ] * agents
    assert not made.metadata["is_parallelizable"]
    assert {"ansi", "svg"} <= set(made.metadata["render_modes"])


def test_masks_are_zero_off_turn_and_after_the_end() -> None:
    env = german_whist_v0.env(rules="small-last")
    env.reset(seed=1)
    assert env.unwrapped.view("player_1") == env.unwrapped.game().view(1)
    assert env.infos == {"player_0": {}, "player_1": {}}
    rng = np.random.default_rng(1)
    for agent in env.agent_iter():
        seen, _, over, _, _ = env.last()
        other = env.possible_agents[1 - env.possible_agents.index(agent)]
        assert not env.observe(other)["action_mask"].any()
        assert seen["action_mask"].any() != over
        env.step(None if over else pick(seen["action_mask"], rng))


LOSSES: list[Any] = [
    (partial(german_whist_v0.env, rules=rules, reward=reward), worst)
    for rules, *worsts in (("classic", 1, 13), ("club-all", 13, 26), ("all-tricks", 1, 26))
    for reward, worst in zip(("points", "margin"), worsts, strict=True)
]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"rules": "clasic"}, "did you mean 'classic'"),
        ({"reward": "point"}, "did you mean 'points'"),
        ({"suit_order": "trumps"}, "suit_order is 'trumps'"),
        ({"horizon": "hands"}, "did you mean 'hand'"),
        ({"observation": 3}, "observation is 3"),
        ({"render_mode": "png"}, "render_mode is 'png'"),
        ({"match": 10}, "needs horizon 'match'"),
        ({"match": "ten", "horizon": "match"}, "match is 'ten'"),
        ({"match": 0, "horizon": "match"}, "target is 0"),
        ({"horizon": "foreplay", "rules": "race-7"}, "are a race"),
        ({"horizon": "foreplay", "rules": {"ranks": 7, "hand": 5, "stock": 10}}, "set cards aside"),
        ({"horizon": "foreplay", "rules": {"stock": 0, "trumps": "none"}}, "no stock"),
    ],
)
def test_options_that_do_not_fit_get_a_sentence(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        german_whist_v0.env(**options)


def test_the_documentation_holds_the_index_tables() -> None:
    table = OBSERVATION_SPEC.table().splitlines()
    assert all(line in (german_whist_v0.__doc__ or "") for line in table)


def test_the_horizon_foreplay_pays_what_best_play_would() -> None:
    env = german_whist_v0.raw_env("quick", horizon="foreplay", reward="margin")
    rng = np.random.default_rng(1)
    for seed in range(6):
        env.reset(seed=seed)
        while not env.is_over:
            env.step(pick(env.observe(env.agent_selection)["action_mask"], rng))
        game = env.game()
        assert not game.stock
        turn = int(game.array["turn"][0])
        best = value([sum(1 << c for c in hand) for hand in game.hands], game.trump, turn)
        assert env.rewards[f"player_{turn}"] == 2 * best - 10


def test_the_raw_environment_raises_a_sentence_and_goes_on() -> None:
    raises_a_sentence_and_goes_on(german_whist_v0)


def test_last_after_the_end_raises_a_sentence() -> None:
    tells_to_reset_after_the_end(german_whist_v0)


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
@pytest.mark.parametrize(("make", "worst"), LOSSES)
@pytest.mark.parametrize("steps", [0, 1, 23, 43, 51])
def test_an_illegal_action_costs_the_worst_result(make: Any, worst: int, steps: int) -> None:
    costs_the_worst_result(make, OBSERVATION_SPEC, worst, steps)


@pytest.mark.parametrize(("seed", "options", "why"), REFUSED_RESETS)
def test_refused_reset_leaves_nothing_to_step(seed: Any, options: Any, why: str) -> None:
    refuses_the_reset(german_whist_v0.raw_env, seed, options, why)


def test_what_it_does_not_have_gets_a_sentence() -> None:
    refuses_what_it_does_not_have(german_whist_v0)
