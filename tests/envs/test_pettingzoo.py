"""The AEC environments pass PettingZoo's own tests and keep its life cycle to the letter."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Discrete
from walks import OPTIONS, SHAPES, api_test, label, pick, seed_test

from german_whist import OBSERVATION_SPEC, german_whist_three_v0, german_whist_v0
from german_whist.engine.endgame import value
from german_whist.engine.game import IllegalAction
from german_whist.three_player import GermanWhistThreeEnv
from german_whist.three_player.observation import THREE_SPEC

MAKERS = {
    **{label({"rules": name}): partial(german_whist_v0.env, name) for name in SHAPES},
    **{label(options): partial(german_whist_v0.raw_env, **options) for options in OPTIONS},
    "three": german_whist_three_v0.env,
    "three, raw": german_whist_three_v0.raw_env,
}
each_module = pytest.mark.parametrize("module", [german_whist_v0, german_whist_three_v0])


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
        ("german_whist_three_v0", {}, 3, 52),
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
    assert set(made.metadata["render_modes"]) == {"human", "ansi", "rgb_array", "svg"}


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


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
@pytest.mark.parametrize(("make", "worst"), [*LOSSES, (german_whist_three_v0.env, 7)])
@pytest.mark.parametrize("steps", [0, 1, 23, 43, 51])
def test_an_illegal_action_costs_the_worst_result(make: Any, worst: int, steps: int) -> None:
    env = make()
    env.reset(seed=3)
    layout = THREE_SPEC if len(env.agents) == 3 else OBSERVATION_SPEC
    got = dict.fromkeys(env.agents, 0.0)
    offender = ""
    for step, agent in enumerate(env.agent_iter()):
        seen, reward, over, cut, info = env.last()
        got[agent] += reward
        if over or cut:
            assert not seen["action_mask"].any()
            assert seen["observation"][layout.slice("decision")].tolist()[-2:] == [0, 1]
            assert info["result"]["deal"] == 0
            env.step(None)
        elif step == steps:
            offender = agent
            env.step(int(seen["action_mask"].argmin()))
        else:
            env.step(int(seen["action_mask"].argmax()))
    assert got[offender] <= -worst
    env.reset(seed=3)
    assert env.last()[0]["action_mask"].any()


@each_module
def test_the_raw_environment_raises_a_sentence_and_goes_on(module: Any) -> None:
    env = module.raw_env()
    for early in (lambda: env.step(0), lambda: env.observe("player_0")):
        with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
            early()
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before step"):
        module.env().step(0)
    for observe in (True, False):
        with pytest.raises(IllegalAction, match="nothing has been dealt yet: call reset"):
            env.last(observe)
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        module.env().last()
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
            env.step(int(seen["action_mask"].argmin()))
        assert env.game().actions == before
        env.step(int(seen["action_mask"].argmax()))
    for late in (lambda: env.step(0), env.last, lambda: env.last(observe=False)):
        with pytest.raises(IllegalAction, match=r"the episode is over .*call reset\(\)"):
            late()
    env.reset()
    env.step(int(env.last()[0]["action_mask"].argmax()))


@each_module
def test_last_after_the_end_raises_a_sentence(module: Any) -> None:
    env = module.env()
    env.reset(seed=3)
    for _ in env.agent_iter():
        seen, _, over, _, _ = env.last()
        env.step(None if over else int(seen["action_mask"].argmax()))
    with pytest.raises(IllegalAction, match=r"the episode is over for all agents: call reset\(\)"):
        env.last()
    env.reset(seed=3)
    assert env.last()[0]["action_mask"].any()


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
        (1, {"dealer": 3}, "dealer is 3: it has to be 0(, 1)? or "),
        (1, {"dealer": True}, "dealer is True: it has to be 0(, 1)? or "),
        (1, {"deal": 5}, "the deal is 5: it has to be cards"),
        (1, {"nmber": 1}, "no option 'nmber': .*; did you mean 'number'"),
    ],
)
@pytest.mark.parametrize(
    "make", [german_whist_v0.raw_env, german_whist_three_v0.raw_env, GermanWhistThreeEnv]
)
def test_refused_reset_leaves_nothing_to_step(make: Any, seed: Any, options: Any, why: str) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.raises(ValueError, match=why):
        env.reset(seed=seed, options=options)
    with pytest.raises(IllegalAction, match="nothing has been dealt yet"):
        env.step(0)
    env.reset(seed=1)


def test_the_documentation_holds_the_index_tables() -> None:
    for module, layout in (
        (german_whist_v0, OBSERVATION_SPEC),
        (german_whist_three_v0, THREE_SPEC),
    ):
        assert all(line in (module.__doc__ or "") for line in layout.table().splitlines())


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


@each_module
def test_what_it_does_not_have_gets_a_sentence(module: Any) -> None:
    with pytest.raises(TypeError, match="there is no option 'rule'"):
        module.env(rule="classic")
    with pytest.raises(AttributeError, match="no parallel_env, as the players move in turn"):
        _ = module.parallel_env
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing
