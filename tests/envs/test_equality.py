"""AEC, Gymnasium, vector, SB3, self-play and engine show and pay the same, move by move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from walks import NAMES, OPTIONS, label, picks, suits_shown

from german_whist import german_whist_v0
from german_whist.agents import agent_key, decision_streams, load_agent
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv
from german_whist.envs.sb3 import GermanWhistVecEnv
from support import shown

Array = np.ndarray[Any, Any]
SEED = 11
RESULT = ("tricks", "points", "won", "deal")


@pytest.mark.parametrize("options", [{"rules": name} for name in NAMES] + OPTIONS, ids=label)
def test_all_environments_play_the_same(options: dict[str, Any]) -> None:
    """Games against `random`, with the AEC environment as the measure for each."""
    # The hands of a match have deals one after the other only in a batch of one.
    n, steps = (1 if options.get("horizon") == "match" else 3), 40
    vector = GermanWhistVectorEnv(n, opponent="random", **options)
    sb3 = GermanWhistVecEnv(n, opponent="random", **options)
    sb3.seed(SEED)
    observations, info = vector.reset(seed=SEED)
    np.testing.assert_array_equal(observations, sb3.reset())
    walkers = [Walker(index, n, options) for index in range(n)]
    for walker in walkers:
        walker.begin(info["seat"][walker.index])
    rng = np.random.default_rng(0)
    for _ in range(steps):
        for walker in walkers:
            walker.compare(observations[walker.index], info["action_mask"][walker.index])
        actions = picks(info["action_mask"], rng)
        observations, rewards, ended, cut, info = vector.step(actions)
        sb3_seen, sb3_rewards, sb3_ended, sb3_infos = sb3.step(actions)
        np.testing.assert_array_equal(observations, sb3_seen)
        np.testing.assert_array_equal(rewards.astype(np.float32), sb3_rewards)
        np.testing.assert_array_equal(ended, sb3_ended)
        np.testing.assert_array_equal(sb3.env_method("action_masks"), info["action_mask"])
        assert not cut.any()
        for walker in walkers:
            index = walker.index
            last = walker.step(int(actions[index]), float(rewards[index]), bool(ended[index]))
            if ended[index]:
                np.testing.assert_array_equal(last, info["final_obs"][index])
                np.testing.assert_array_equal(last, sb3_infos[index]["terminal_observation"])
                final = info["final_info"]["result"]
                walker.compare_results({name: final[name][index] for name in RESULT})
                walker.compare_results(sb3_infos[index]["result"])
                walker.begin(info["seat"][index])


class Walker:
    """One game of a vector, followed in an AEC and a single Gymnasium environment."""

    def __init__(self, index: int, n: int, options: dict[str, Any]) -> None:
        self.index, self.n = index, n
        # A batch gives game i the deals i, i + n ...; one environment has them one by one.
        self.number = index
        self.aec = german_whist_v0.raw_env(**options)
        self.random = load_agent("random", self.aec.rules, match=self.aec.options.match)
        self.gym = GermanWhistEnv(opponent="random", **options)

    def begin(self, seat: int) -> None:
        self.aec.reset(seed=SEED, options={"number": self.number})
        self.gym_seen, self.gym_info = self.gym.reset(seed=SEED, options={"number": self.number})
        self.learner = f"player_{seat}"
        assert self.gym_info["seat"] == seat
        self.rewards = 0.0
        self.let_random_play()

    def let_random_play(self) -> None:
        """Play the opponent's moves in the AEC environment, by the agent itself."""
        aec = self.aec
        while not aec.is_over and aec.agent_selection != self.learner:
            views = aec.view(aec.agent_selection).array.copy()
            rng = decision_streams(agent_key(SEED), np.array([self.deal()], np.uint64), views)
            action = int(self.random.act(views, rng)[0])
            if aec.options.suit_order == "trump-first":
                action = shown(action, suits_shown(aec, aec.agent_selection).tolist())
            aec.step(action)
            self.rewards += aec.rewards[self.learner]

    def deal(self) -> int:
        """The number of the deal under way; a match has several."""
        return self.aec.game().number if self.aec.options.match else self.number

    def compare(self, observation: Array, mask: Array) -> None:
        seen = self.aec.observe(self.learner)
        np.testing.assert_array_equal(seen["observation"], observation)
        np.testing.assert_array_equal(seen["action_mask"], mask)
        np.testing.assert_array_equal(self.gym_seen, observation)
        np.testing.assert_array_equal(self.gym.action_masks(), mask)

    def compare_results(self, result: dict[str, Any]) -> None:
        for other in (self.aec.infos[self.learner]["result"], self.gym_info["result"]):
            assert other.keys() == result.keys() == set(RESULT)
            for name in RESULT:
                np.testing.assert_array_equal(other[name], result[name])

    def step(self, action: int, reward: float, ended: bool) -> Array:
        """Follow a step; returns the observation after it, before anything is dealt anew."""
        self.rewards = 0.0
        self.aec.step(action)
        self.rewards += self.aec.rewards[self.learner]
        self.let_random_play()
        self.gym_seen, gym_reward, over, _, self.gym_info = self.gym.step(action)
        assert self.rewards == gym_reward == reward
        assert self.aec.is_over == over == ended
        if ended:
            self.number = self.deal() + self.n
        seen = self.aec.observe(self.learner)["observation"]
        np.testing.assert_array_equal(seen, self.gym_seen)
        return seen
