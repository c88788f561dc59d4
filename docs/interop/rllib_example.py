"""RLlib: one masked policy plays both seats, learns from both, and is measured in the arena.

Run it with `python docs/interop/rllib_example.py [MINUTES]`, in an environment with ray[rllib].
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np
import torch
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from german_whist import PolicyAgent, evaluate, german_whist_v0

RULES = "small-last"
OPTIONS: Any = {"suit_order": "trump-first", "horizon": "foreplay"}
NUM_ENVS, MINUTES = 64, 0.8
Array = np.ndarray[Any, Any]


class ForRLlib(BaseWrapper[str, Any, Any]):
    """Observations with the keys and floats of RLlib's masked module."""

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        space = super().observation_space(agent)
        assert isinstance(space, gymnasium.spaces.Dict)
        shape = space["observation"].shape
        return gymnasium.spaces.Dict(
            {
                "observations": gymnasium.spaces.Box(0, 1, shape, np.float32),
                "action_mask": gymnasium.spaces.Box(0, 1, space["action_mask"].shape, np.float32),
            }
        )

    def observe(self, agent: str) -> dict[str, np.ndarray[Any, Any]]:
        observation = super().observe(agent)
        assert isinstance(observation, dict)
        return {
            "observations": observation["observation"].astype(np.float32),
            "action_mask": observation["action_mask"].astype(np.float32),
        }


def make_env(_: dict[str, Any]) -> PettingZooEnv:
    """One game for RLlib; an illegal card would raise an error."""
    return PettingZooEnv(ForRLlib(german_whist_v0.raw_env(RULES, **OPTIONS)))


def make_config() -> PPOConfig:
    """PPO of one masked policy for both seats."""
    module = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config={
            "fcnet_hiddens": [128, 128],
            "fcnet_activation": "relu",
            "vf_share_layers": False,
        },
    )
    return (
        PPOConfig()
        # RLlib's environment check ignores the mask, so it would play illegal cards.
        .environment("german_whist", disable_env_checking=True)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=NUM_ENVS)
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"both": module}))
        .training(
            train_batch_size_per_learner=4096,
            minibatch_size=512,
            num_epochs=4,
            lr=5e-4,
            gamma=1.0,
            lambda_=0.9,
            entropy_coeff=0.01,
            vf_clip_param=10.0,
            grad_clip=0.5,
        )
        .debugging(seed=1)
    )


def player_of(checkpoint: Path) -> PolicyAgent:
    """The policy of a checkpoint as an agent."""
    module = RLModule.from_checkpoint(
        checkpoint / "learner_group" / "learner" / "rl_module" / "both"
    )

    def logits(observations: Array, masks: Array) -> Any:
        batch = {
            "observations": torch.from_numpy(observations).float(),
            "action_mask": torch.from_numpy(masks).float(),
        }
        with torch.no_grad():
            return module.forward_inference({"obs": batch})["action_dist_inputs"]

    return PolicyAgent(RULES, logits, suit_order=OPTIONS["suit_order"], name="rllib")


def main(minutes: float = MINUTES) -> None:
    """Train for some minutes of processor time, and evaluate the checkpoint."""
    torch.set_num_threads(1)
    register_env("german_whist", make_env)
    algorithm = make_config().build_algo()
    results: dict[str, Any] = {}
    while time.process_time() < 60 * minutes:
        results = algorithm.train()
    with TemporaryDirectory() as folder:
        checkpoint = Path(algorithm.save_to_path(folder))
        algorithm.stop()
        print(f"{results['num_env_steps_sampled_lifetime']:,} decisions of both players")
        result = evaluate(
            player_of(checkpoint),
            ["random", "random-exact", "threshold"],
            RULES,
            hands=2000,
            seed=1,
            workers=1,
        )
    for pairing in result.pairings:
        rate = pairing.win_rate
        print(
            f"{100 * rate.value:.1f} % of hands won against {pairing.opponent}, "
            f"95 % of the time {100 * rate.low:.1f} to {100 * rate.high:.1f} %"
        )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
