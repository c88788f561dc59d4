"""SuperSuit: its wrappers over both environments, and a linear masked policy trained on one.

Run it with `python docs/interop/supersuit_example.py`, in an environment with supersuit.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import supersuit

import german_whist  # registers the Gymnasium environment
from german_whist import german_whist_v0

HANDS, RATE = 30, 0.05


def rewards_scaled() -> None:
    """The AEC environment keeps its dict observations and mask under a wrapper of rewards."""
    env = supersuit.reward_lambda_v0(
        german_whist_v0.env("small-last", reward="margin"), lambda paid: paid / 7
    )
    env.reset(seed=1)
    got = dict.fromkeys(env.agents, 0.0)
    for agent in env.agent_iter():
        seen, paid, over, cut, _ = env.last()
        got[agent] += paid
        env.step(None if over or cut else int(seen["action_mask"].argmax()))
    assert sum(got.values()) == 0
    assert abs(got["player_0"]) <= 1
    print(f"SuperSuit over AEC: {got}")


def trained() -> None:
    """The Gymnasium environment with floats and two frames, learned by REINFORCE."""
    made = gymnasium.make("german_whist/GermanWhist-v0", rules="small-last").unwrapped
    env = supersuit.frame_stack_v2(supersuit.dtype_v0(made, np.float32), 2)
    chance = np.random.default_rng(0)
    weights = np.zeros((int(np.prod(env.observation_space.shape)), 52))
    total = 0.0
    for hand in range(HANDS):
        seen, info = env.reset(seed=hand)
        steps, paid, over = [], 0.0, False
        while not over:
            scores = seen.reshape(-1) @ weights
            odds = np.exp(scores - scores.max()) * info["action_mask"]
            odds /= odds.sum()
            action = int(chance.choice(52, p=odds))
            steps.append((seen.reshape(-1), odds, action))
            seen, reward, over, _, info = env.step(action)
            paid += float(reward)
        for before, odds, action in steps:
            slope = -odds
            slope[action] += 1
            weights += RATE * paid * np.outer(before, slope)
        total += paid
    assert np.abs(weights).sum() > 0
    print(f"SuperSuit over Gymnasium: {HANDS} hands, {total:+.0f} points; {german_whist.__name__}")


if __name__ == "__main__":
    rewards_scaled()
    trained()
