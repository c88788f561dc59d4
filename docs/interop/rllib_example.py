"""RLlib: both agents play one masked PPO policy through RLlib's own PettingZoo wrapper.

Run it with `python docs/interop/rllib_example.py`, in an environment with ray[rllib].
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from german_whist import german_whist_v0

STEPS = 2


class ForRLlib(BaseWrapper[str, Any, Any]):
    """Observations as RLlib's masked module names them, in the floats that its layers take."""

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """The dict space under RLlib's names."""
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
        """The observation under RLlib's names."""
        seen = super().observe(agent)
        assert isinstance(seen, dict)
        return {
            "observations": seen["observation"].astype(np.float32),
            "action_mask": seen["action_mask"].astype(np.float32),
        }


def make_env(_: dict[str, Any]) -> PettingZooEnv:
    """One game for RLlib; an illegal card would raise, so none is ever played."""
    return PettingZooEnv(ForRLlib(german_whist_v0.raw_env("small-last")))


def main() -> None:
    """Train a few steps."""
    register_env("german_whist", make_env)
    module = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule, model_config={"head_fcnet_hiddens": [32]}
    )
    config = (
        PPOConfig()
        # RLlib's own check of an environment plays without the mask, which is refused.
        .environment("german_whist", disable_env_checking=True)
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"both": module}))
        .training(train_batch_size_per_learner=280, minibatch_size=140, num_epochs=1)
    )
    algorithm = config.build_algo()
    for step in range(STEPS):
        found = algorithm.train()
        played = found["env_runners"]["num_episodes_lifetime"]
        print(f"step {step}: {played} hands played")
        assert played > 0
    algorithm.stop()


if __name__ == "__main__":
    main()
