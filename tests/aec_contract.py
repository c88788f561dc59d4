"""What every AEC environment and its Gymnasium view keep, whatever the game is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from german_whist.engine.game import IllegalAction
from german_whist.engine.observation.spec import ObservationSpec
from german_whist.envs import illegal

REFUSED_RESETS: list[tuple[Any, Any, str]] = [
    (-1, None, "seed is -1"),
    (1.5, None, "seed is 1.5"),
    (1, {"number": "x"}, "number is 'x'"),
    (1, {"deal": "AS KD"}, "has 52 cards, this one has 2"),
    (1, {"dealer": 3}, "dealer is 3: it has to be 0(, 1)? or "),
    (1, {"dealer": True}, "dealer is True: it has to be 0(, 1)? or "),
    (1, {"deal": 5}, "the deal is 5: it has to be cards"),
    (1, {"nmber": 1}, "no option 'nmber': .*; did you mean 'number'"),
]


def raises_a_sentence_and_goes_on(module: Any) -> None:
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


def tells_to_reset_after_the_end(module: Any) -> None:
    env = module.env()
    env.reset(seed=3)
    for _ in env.agent_iter():
        seen, _, over, _, _ = env.last()
        env.step(None if over else int(seen["action_mask"].argmax()))
    with pytest.raises(IllegalAction, match=r"the episode is over for all agents: call reset\(\)"):
        env.last()
    env.reset(seed=3)
    assert env.last()[0]["action_mask"].any()


def costs_the_worst_result(
    make: Callable[[], Any], spec: ObservationSpec, worst: int, steps: int
) -> None:
    env = make()
    env.reset(seed=3)
    got = dict.fromkeys(env.agents, 0.0)
    offender = ""
    for step, agent in enumerate(env.agent_iter()):
        seen, reward, over, cut, info = env.last()
        got[agent] += reward
        if over or cut:
            assert not seen["action_mask"].any()
            assert seen["observation"][spec.slice("decision")].tolist()[-2:] == [0, 1]
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


def refuses_the_reset(make: Any, seed: Any, options: Any, why: str) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.raises(ValueError, match=why):
        env.reset(seed=seed, options=options)
    with pytest.raises(IllegalAction, match="nothing has been dealt yet"):
        env.step(0)
    env.reset(seed=1)


def refuses_what_it_does_not_have(module: Any) -> None:
    with pytest.raises(TypeError, match="there is no option 'rule'"):
        module.env(rule="classic")
    with pytest.raises(AttributeError, match="no parallel_env, as the players move in turn"):
        _ = module.parallel_env
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


def warns_once_of_the_mask(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make()
    monkeypatch.setattr(illegal, "_warned", False)
    for expected in (1, 0):
        env.reset()
        actions = np.atleast_2d(env.action_masks()).argmin(axis=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            env.step(int(actions[0]) if isinstance(env, gymnasium.Env) else actions)
        assert len(caught) == expected
        assert all("info['action_mask']" in str(each.message) for each in caught)
