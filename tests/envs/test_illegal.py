"""An illegal action ends the episode, as in PettingZoo's environment, or raises where asked."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from aec_contract import warns_once_of_the_mask
from gymnasium.vector import AutoresetMode
from walks import german_whist_v0

from german_whist import network_inputs
from german_whist.engine.batch.config import HORIZONS, REWARDS
from german_whist.engine.dtypes import GAME
from german_whist.engine.game import IllegalAction
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv

pytestmark = pytest.mark.filterwarnings("ignore:.*illegal action ends")

Array = np.ndarray[Any, Any]
SEED = 4
MODES = [mode.value for mode in AutoresetMode]


def lowest(views: Array, rng: Array) -> Array:
    return network_inputs(views, "small-last").masks.argmax(axis=1)


def loss_in_pettingzoo(options: dict[str, Any], seat: int, steps: int) -> tuple[float, Any]:
    """Return and result of a learner that plays its lowest cards, then an illegal one."""
    env = german_whist_v0.env("small-last", **options)
    env.reset(seed=SEED)
    total, result = 0.0, None
    for agent in env.agent_iter():
        observation, reward, over, _, info = env.last()
        learns, mask = agent == f"player_{seat}", observation["action_mask"]
        if learns:
            total += reward
            result = info.get("result")
            steps -= 1
        env.step(None if over else int(mask.argmin() if learns and steps < 0 else mask.argmax()))
    return total, result


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("reward", REWARDS)
def test_illegal_action_costs_as_in_pettingzoo(reward: str, horizon: str) -> None:
    # The hands of a match are other deals in a larger batch.
    n = 1 if horizon == "match" else 2
    options: dict[str, Any] = {"reward": reward, "horizon": horizon}
    for mode in MODES:
        envs = GermanWhistVectorEnv(
            n, "small-last", opponent=lowest, autoreset_mode=mode, **options
        )
        for steps in (0, 4, 20) if horizon == "match" else (0, 4):
            info = envs.reset(seed=SEED)[1]
            seat, total = int(info["seat"][0]), 0.0
            for step in range(steps + 1):
                actions = info["action_mask"].argmax(axis=1)
                if step == steps:
                    actions[0] = info["action_mask"][0].argmin()
                _, rewards, ended, truncated, info = envs.step(actions)
                total += rewards[0]
                assert ended.tolist() == [step == steps, False][:n]
                assert not truncated.any()
            expected_total, expected = loss_in_pettingzoo(options, seat, steps)
            assert total == expected_total <= -envs.options.max_loss
            result = info["final_info"]["result"] if mode == "SameStep" else info["result"]
            assert expected["won"] == -1
            for name, value in expected.items():
                np.testing.assert_array_equal(result[name][0], value)
            if mode == "Disabled":
                info = envs.reset(options={"reset_mask": ended})[1]
            elif mode == "NextStep":
                assert not info["action_mask"][0].any()
                info = envs.step(info["action_mask"].argmax(axis=1))[4]
            deals = [int(each) for each in envs.state()["records"].view(GAME)["number"]]
            assert deals[0] == result["deal"][0] + n
            assert info["action_mask"][0].any()


@pytest.mark.parametrize("kind", ["sb3", "gymnasium", *MODES])
def test_match_after_an_illegal_action_begins_at_no_points(kind: str) -> None:
    options: dict[str, Any] = {"rules": "small-last", "horizon": "match"}
    env: Any
    if kind == "sb3":
        env = pytest.importorskip("german_whist.envs.sb3").GermanWhistVecEnv(1, **options)
        env.seed(SEED)
    elif kind == "gymnasium":
        env = GermanWhistEnv(**options)
    else:
        env = GermanWhistVectorEnv(1, autoreset_mode=kind, **options)
    env.reset(**({} if kind == "sb3" else {"seed": SEED}))

    def step(illegal: bool) -> None:
        mask = np.ravel(env.action_masks())
        action = int(mask.argmin() if illegal else mask.argmax())
        env.step(action if kind == "gymnasium" else np.array([action]))

    def game() -> Any:
        return env.state()["records"].view(GAME)[0]

    while game()["hands"] < 3:
        step(illegal=False)
    step(illegal=True)
    if kind == "NextStep":
        step(illegal=False)
    elif kind in ("Disabled", "gymnasium"):
        env.reset(**({"options": {"reset_mask": np.ones(1, bool)}} if kind == "Disabled" else {}))
    assert (game()["hands"], game()["points"].tolist(), game()["trick"]) == (0, [0, 0], 0)


@pytest.mark.parametrize("mode", MODES)
def test_illegal_actions_end_episodes_and_states_restore(mode: str) -> None:
    options: dict[str, Any] = {"reward": "tricks", "horizon": "foreplay"}
    envs, again = (
        GermanWhistVectorEnv(64, "draft", autoreset_mode=mode, **options) for _ in range(2)
    )
    rng = np.random.default_rng(0)
    envs.reset(seed=SEED)
    again.reset(seed=SEED + 1)
    for step in range(9):
        masks = envs.action_masks()
        careful = (rng.random(64) < 0.8) & masks.any(axis=1)
        actions = np.where(careful, masks.argmax(axis=1), rng.integers(envs.rules.actions, size=64))
        seen, rewards, ended, _, _ = envs.step(actions)
        if step > 4:
            same = again.step(actions)
            np.testing.assert_array_equal(same[0], seen)
            np.testing.assert_array_equal(same[1], rewards)
        if step == 4:
            assert ended.any()
            assert ended.sum() < 64
            np.testing.assert_array_equal(again.restore(envs.state())[0], seen)
        if mode == "Disabled" and ended.any():
            for env in (envs, again)[: 1 + (step >= 4)]:
                env.reset(options={"reset_mask": ended})


def test_unknown_actions_and_options_raise_a_sentence() -> None:
    env = GermanWhistEnv()
    env.reset(seed=1)
    for action in (52, -1):
        with pytest.raises(IllegalAction, match=f"action {action} is not legal.*from 0 to 51"):
            env.step(action)
    with pytest.raises(IllegalAction, match="whole number"):
        env.step(0.5)
    assert env.step(int(env.action_masks().argmin()))[2]
    with pytest.raises(IllegalAction, match="the episode is over"):
        env.step(0)
    with pytest.raises(ValueError, match="illegal is 'loose': it has to be one of lose, raise"):
        GermanWhistEnv(illegal="loose")


@pytest.mark.parametrize("make", [GermanWhistEnv, GermanWhistVectorEnv, "sb3"])
def test_first_illegal_action_of_a_process_warns_of_the_mask(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if make == "sb3":
        make = pytest.importorskip("german_whist.envs.sb3").GermanWhistVecEnv
    warns_once_of_the_mask(make, monkeypatch)


@pytest.mark.parametrize("make", [GermanWhistEnv, GermanWhistVectorEnv, "sb3"])
def test_illegal_action_raises_where_asked_and_changes_nothing(make: Any) -> None:
    if make == "sb3":
        make = pytest.importorskip("german_whist.envs.sb3").GermanWhistVecEnv
    env = make(illegal="raise")
    env.reset()
    before = env.state()["records"].tobytes()
    masks = np.atleast_2d(env.action_masks())
    for actions in (masks.argmin(axis=1), masks.argmax(axis=1)):
        action = int(actions[0]) if isinstance(env, gymnasium.Env) else actions
        if masks[0, actions[0]]:
            env.step(action)
        else:
            with pytest.raises(IllegalAction, match=r"not legal in game 0: its mask allows"):
                env.step(action)
            assert env.state()["records"].tobytes() == before


def test_plain_ppo_and_a_monitor_need_no_masks() -> None:
    pytest.importorskip("torch")
    from stable_baselines3 import PPO

    from german_whist.envs.sb3 import GermanWhistVecEnv

    env = GermanWhistVecEnv(8, "small-last", reward="tricks")
    model = PPO("MlpPolicy", env, n_steps=8, batch_size=64, seed=1, device="cpu").learn(128)
    lost = [info for info in model.ep_info_buffer or () if info["l"] < 14]
    assert lost
    assert all(info["r"] <= -env.options.max_loss for info in lost)
