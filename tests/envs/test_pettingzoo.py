"""The AEC environment passes PettingZoo's own tests and keeps its life cycle to the letter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Discrete
from walks import OPTIONS, SHAPES, api_test, label, pick, seed_test

from german_whist import LAYOUT, german_whist_three_v0, german_whist_v0
from german_whist.engine.endgame import value
from german_whist.engine.game import IllegalAction


# PettingZoo's api_test warns of every dict observation; ours is one because of its mask.
@pytest.mark.filterwarnings(
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
)
@pytest.mark.parametrize("options", [{"rules": name} for name in SHAPES] + OPTIONS, ids=label)
def test_api_test_passes_on_every_option(options: dict[str, Any]) -> None:
    make = german_whist_v0.raw_env if options in OPTIONS else german_whist_v0.env
    api_test(make(**options), num_cycles=120)
    seed_test(lambda: german_whist_v0.env(**options), num_cycles=60)


def test_pettingzoo_makes_it_by_name() -> None:
    made = pettingzoo.make("aec", "german_whist/german_whist_v0", rules="draft")
    assert made.metadata["name"] == "german_whist_v0"
    assert made.possible_agents == ["player_0", "player_1"]
    assert made.action_space("player_0") == Discrete(53)
    assert german_whist_v0.env().action_space("player_0") == Discrete(52)
    assert not made.metadata["is_parallelizable"]
    assert set(made.metadata["render_modes"]) == {"human", "ansi", "rgb_array", "svg"}


def test_masks_are_zero_for_whoever_is_not_to_move_and_after_the_end() -> None:
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


def illegal(mask: np.ndarray[Any, Any]) -> int:
    return int(np.flatnonzero(mask == 0)[0])


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
@pytest.mark.parametrize("reward", ["points", "win", "margin", "tricks"])
@pytest.mark.parametrize("rules", ["classic", "club-all", "all-tricks"])
@pytest.mark.parametrize("steps", [0, 1, 43])
def test_an_illegal_action_costs_the_worst_result(rules: str, reward: str, steps: int) -> None:
    env = german_whist_v0.env(rules=rules, reward=reward)
    env.reset(seed=3)
    got = dict.fromkeys(env.agents, 0.0)
    offender = ""
    for step, agent in enumerate(env.agent_iter()):
        seen, paid, over, cut, _ = env.last()
        got[agent] += paid
        if over or cut:
            assert not seen["action_mask"].any()
            env.step(None)
        elif step == steps:
            offender = agent
            env.step(illegal(seen["action_mask"]))
        else:
            env.step(int(seen["action_mask"].argmax()))
    game_rules = env.unwrapped.rules
    worst = {"points": game_rules.max_pay, "win": 1}.get(reward, game_rules.counting_tricks)
    assert got[offender] <= -worst
    env.reset(seed=3)
    assert env.last()[0]["action_mask"].any()


@pytest.mark.parametrize("module", [german_whist_v0, german_whist_three_v0])
def test_the_raw_environment_raises_a_sentence_and_goes_on(module: Any) -> None:
    env = module.raw_env()
    for early in (lambda: env.step(0), lambda: env.observe("player_0")):
        with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
            early()
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before step"):
        module.env().step(0)
    with pytest.raises(IllegalAction, match="nothing has been dealt yet: call reset"):
        env.last()
    for look in (module.env().last, lambda: env.last(observe=False)):
        with pytest.raises(AttributeError, match="cannot be accessed before reset"):
            look()
    env.reset(seed=3)
    with pytest.raises(ValueError, match="there is no agent 'player_3'"):
        env.observe("player_3")
    for _ in env.agent_iter():
        seen, _, over, _, _ = env.last()
        if over:
            with pytest.raises(ValueError, match="the only valid action is None"):
                env.step(3)
            env.step(None)
            continue
        before = env.game().actions
        with pytest.raises(IllegalAction, match=r"is not legal for player_\d now: its mask allows"):
            env.step(illegal(seen["action_mask"]))
        assert env.game().actions == before
        env.step(int(seen["action_mask"].argmax()))
    with pytest.raises(IllegalAction, match=r"the episode is over .*call reset\(\)"):
        env.step(0)
    env.reset()
    env.step(int(env.last()[0]["action_mask"].argmax()))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"rules": "clasic"}, "did you mean 'classic'"),
        ({"reward": "point"}, "did you mean 'points'"),
        ({"layout": "trumps"}, "layout is 'trumps'"),
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


@pytest.mark.parametrize(
    ("seed", "options", "why"),
    [
        (-1, None, "seed is -1"),
        (1.5, None, "seed is 1.5"),
        (1, {"number": "x"}, "number is 'x'"),
        (1, {"deal": "AS KD"}, "has 52 cards, this one has 2"),
        (1, {"dealer": 2}, "dealer is 2"),
        (1, {"dealer": True}, "dealer is True"),
        (1, {"deal": 5}, "the deal is 5"),
    ],
)
def test_resets_that_do_not_fit_get_a_sentence(seed: Any, options: Any, why: str) -> None:
    env = german_whist_v0.env()
    with pytest.raises(ValueError, match=why):
        env.reset(seed=seed, options=options)
    env.reset(seed=1)
    env.step(int(env.last()[0]["action_mask"].argmax()))


def test_the_documentation_holds_the_index_table() -> None:
    assert german_whist_v0.__doc__ is not None
    for line in LAYOUT.table().splitlines():
        assert line in german_whist_v0.__doc__


def test_the_horizon_foreplay_pays_what_best_play_would() -> None:
    env = german_whist_v0.raw_env("quick", horizon="foreplay", reward="margin")
    rng = np.random.default_rng(1)
    for seed in range(6):
        env.reset(seed=seed)
        while not env.is_over:
            env.step(pick(env.observe(env.agent_selection)["action_mask"], rng))
        game = env.game()
        assert not game.stock
        turn = int(game.record["turn"][0])
        best = value([sum(1 << c for c in hand) for hand in game.hands], game.trump, turn)
        assert env.rewards[f"player_{turn}"] == 2 * best - 10


def test_what_it_does_not_have_gets_a_sentence() -> None:
    with pytest.raises(TypeError, match=r"no option 'rule': .*; did you mean 'rules'"):
        german_whist_v0.env(rule="classic")
    with pytest.raises(ValueError, match=r"no option 'nmber': .*; did you mean 'number'"):
        german_whist_v0.env().reset(options={"nmber": 1})
    with pytest.raises(AttributeError, match="no parallel_env, as the players move in turn"):
        _ = german_whist_v0.parallel_env
