"""RLlib: self-play in which both seats share one masked PPO policy, which then plays in the arena.

Run it with `python docs/interop/rllib_example.py`, in an environment with ray[rllib]. In a few
minutes on one core it learns to beat the random player, endings played exactly by both.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
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

import german_whist
from german_whist import german_whist_v0
from german_whist.agents.policies import PolicyAgent

RULES, LAYOUT = "small-last", "trump-first"
STEPS, HANDS = 12, 4000
SETTINGS: dict[str, Any] = {
    "train_batch_size_per_learner": 4000, "minibatch_size": 500, "num_epochs": 4,
    "lr": 1e-3, "gamma": 1.0, "lambda_": 0.9, "entropy_coeff": 0.01, "vf_clip_param": 100.0,
}  # fmt: skip


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
    """One game for RLlib; an illegal card would raise, so none is ever played.

    A hand ends with the foreplay, and pays what its ending is worth.
    """
    game = german_whist_v0.raw_env(RULES, horizon="foreplay", layout=LAYOUT)
    return PettingZooEnv(ForRLlib(game))


def player_of(checkpoint: Path, name: str) -> PolicyAgent:
    """What a checkpoint of RLlib plays, endings exactly; it needs no environment."""
    module: Any = RLModule.from_checkpoint(
        checkpoint / "learner_group" / "learner" / "rl_module" / "both"
    )

    def policy(observations: np.ndarray[Any, Any], masks: np.ndarray[Any, Any]) -> Any:
        seen = {
            "observations": torch.from_numpy(observations).float(),
            "action_mask": torch.from_numpy(masks).float(),
        }
        with torch.no_grad():
            return module.forward_inference({"obs": seen})["action_dist_inputs"]

    return PolicyAgent(RULES, policy, layout=LAYOUT, name=name)


def won_against_random(player: PolicyAgent) -> float:
    """The share of hands that it wins, of deals that are played with both seats."""
    result = german_whist.evaluate(player, "random-exact", RULES, hands=HANDS, seed=1)
    rate = result.pairings[0].win_rate
    print(f"{player.name} wins {100 * rate.value:.1f} % of {HANDS} hands "
          f"({100 * rate.low:.1f} to {100 * rate.high:.1f}) against random-exact")  # fmt: skip
    return rate.low


def main() -> None:
    """Train, and let what was learnt play."""
    register_env("german_whist", make_env)
    module = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule, model_config={"head_fcnet_hiddens": [128, 128]}
    )
    config = (
        PPOConfig()
        # RLlib's own check of an environment plays without the mask, which is refused.
        .environment("german_whist", disable_env_checking=True)
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"both": module}))
        .training(**SETTINGS)
        .debugging(seed=1)
    )
    algorithm = config.build_algo()
    for step in range(STEPS):
        found = algorithm.train()
        played = found["env_runners"]["num_episodes_lifetime"]
        print(f"step {step}: {played} hands played", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        algorithm.save_to_path(folder)
        algorithm.stop()
        assert won_against_random(player_of(Path(folder), "rllib")) > 0.52


if __name__ == "__main__":
    main()
