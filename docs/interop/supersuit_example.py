"""SuperSuit: its wrappers over both environments, and a linear masked policy trained on one.

Run it with `python docs/interop/supersuit_example.py`, in an environment with supersuit.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import supersuit

import german_whist  # registers the Gymnasium environment
from german_whist import german_whist_v0

HANDS, LEARNING_RATE = 30, 0.05


def scale_rewards() -> None:
    """A reward wrapper of the AEC environment keeps dict observations and masks."""
    env = supersuit.reward_lambda_v0(
        german_whist_v0.env("small-last", reward="margin"), lambda reward: reward / 7
    )
    env.reset(seed=1)
    returns = dict.fromkeys(env.agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        done = terminated or truncated
        env.step(None if done else int(observation["action_mask"].argmax()))
    assert sum(returns.values()) == 0
    assert abs(returns["player_0"]) <= 1
    print(f"SuperSuit over AEC: {returns}")


def train() -> None:
    """REINFORCE on the Gymnasium environment with floats and two frames."""
    base = gymnasium.make("german_whist/GermanWhist-v0", rules="small-last").unwrapped
    env = supersuit.frame_stack_v2(supersuit.dtype_v0(base, np.float32), 2)
    rng = np.random.default_rng(0)
    weights = np.zeros((int(np.prod(env.observation_space.shape)), 52))
    total = 0.0
    for hand in range(HANDS):
        observation, info = env.reset(seed=hand)
        steps, episode_return, terminated = [], 0.0, False
        while not terminated:
            features = observation.reshape(-1)
            logits = features @ weights
            probs = np.exp(logits - logits.max()) * info["action_mask"]
            probs /= probs.sum()
            action = int(rng.choice(52, p=probs))
            steps.append((features, probs, action))
            observation, reward, terminated, _, info = env.step(action)
            episode_return += float(reward)
        for features, probs, action in steps:
            gradient = -probs
            gradient[action] += 1
            weights += LEARNING_RATE * episode_return * np.outer(features, gradient)
        total += episode_return
    assert np.abs(weights).sum() > 0
    print(f"SuperSuit over Gymnasium: {HANDS} hands, {total:+.0f} points; {german_whist.__name__}")


if __name__ == "__main__":
    scale_rewards()
    train()
