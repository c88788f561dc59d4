"""Tianshou: one masked DQN plays and learns both seats, and is evaluated in the arena.

Run it with `python docs/interop/tianshou_example.py [MOVES]`, in an environment with tianshou.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.env.pettingzoo_env import PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from german_whist import PolicyAgent, evaluate, german_whist_v0

RULES, NUM_ENVS, MOVES = "small-last", 32, 20_000
OPTIONS: Any = {"suit_order": "trump-first", "horizon": "foreplay"}
Array = np.ndarray[Any, Any]


def make_env() -> PettingZooEnv:
    """One game; Tianshou takes the mask out of the observation."""
    return PettingZooEnv(german_whist_v0.raw_env(RULES, reward="win", **OPTIONS))


def train(moves: int) -> DiscreteQLearningPolicy[Net]:
    """Train on the returns of whole hands, since the next observation is often the opponent's."""
    env = make_env()
    size = env.observation_space["observation"].shape
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=size, action_shape=52, hidden_sizes=[256, 256]),
        action_space=env.action_space,
        eps_training=0.1,
    )
    dqn = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, n_step_return_horizon=52
    )
    both = MultiAgentOffPolicyAlgorithm(algorithms=[dqn, dqn], env=env)
    envs = DummyVectorEnv([make_env] * NUM_ENVS)
    collector = Collector(both, envs, VectorReplayBuffer(20_000, NUM_ENVS), exploration_noise=True)
    params = OffPolicyTrainerParams(
        max_epochs=1,
        epoch_num_steps=moves,
        training_collector=collector,
        batch_size=256,
        collection_step_num_env_steps=256,
        update_step_num_gradient_steps_per_sample=1 / 16,
        show_progress=False,
        verbose=False,
    )
    both.run_training(params)
    return policy


def main(moves: int = MOVES) -> None:
    """Train, and evaluate the greedy policy."""
    logging.getLogger("tianshou").setLevel(logging.ERROR)  # it remarks on returns of two players
    torch.set_num_threads(1)
    torch.manual_seed(1)
    np.random.seed(1)
    policy = train(moves)

    def values(observations: Array, _masks: Array) -> Any:
        with torch.no_grad():
            return policy.model(observations)[0]

    player = PolicyAgent(RULES, values, suit_order=OPTIONS["suit_order"], name="tianshou")
    result = evaluate(player, ["random", "threshold"], RULES, hands=2000, seed=1, workers=1)
    for pairing in result.pairings:
        rate = pairing.win_rate.scaled(100)
        print(f"{pairing.opponent}: {rate.value:.1f} ± {rate.margin_of_error:.1f} % of hands won")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
