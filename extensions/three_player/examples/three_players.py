"""Three players with a dummy: MaskablePPO learns against two rule agents, and is evaluated.

It sees every hand with trumps as the first suit, so that it has one game to learn instead of
four. `python extensions/three_player/examples/three_players.py` trains and evaluates;
`--steps 2000` only shows that it runs. Install in a clone: `pip install ".[train]"`.
"""

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from german_whist.three_player import GermanWhistThreeEnv, observation
from german_whist.three_player.agents import estimate_payoff
from german_whist.three_player.game import ThreeView


def relabeling(trump: int) -> Any:
    """Index of each feature of an observation after trumps and clubs are exchanged."""
    order, indices = np.arange(4), np.arange(observation.THREE_SPEC.size)
    order[[0, trump]] = order[[trump, 0]]
    for group in observation.THREE_SPEC.groups:
        if group.size == 52 or group.name.startswith(("void", "trumps")):
            span = observation.THREE_SPEC.slice(group.name)
            indices[span] = indices[span].reshape(4, -1)[order].ravel()
    return indices


RELABELINGS = [relabeling(trump) for trump in range(4)]  # the first 52 are ids of cards


class TrumpsFirst(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The game with its suits relabeled, in observations, masks and actions."""

    def reset(self, **options: Any) -> Any:
        obs, info = self.env.reset(**options)
        self.indices = RELABELINGS[obs[observation.THREE_SPEC.slice("trumps")].argmax()]
        return obs[self.indices], info

    def step(self, action: Any) -> Any:
        obs, *rest = self.env.step(self.indices[action])
        return obs[self.indices], *rest

    def action_masks(self) -> Any:
        return self.env.get_wrapper_attr("action_masks")()[self.indices[:52]]


def main() -> None:
    """Train, and evaluate against two rule agents and two random ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--hands", type=int, default=2000, help="deals, each from every seat")
    args = parser.parse_args()
    torch.set_num_threads(1)
    vec_env = make_vec_env(
        GermanWhistThreeEnv, 16, 1, wrapper_class=TrumpsFirst, env_kwargs={"opponents": "thrifty"}
    )
    model = MaskablePPO(
        "MlpPolicy",
        vec_env,
        lambda remaining: 1e-3 * remaining,
        256,
        512,
        4,
        gamma=1.0,
        gae_lambda=0.9,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [256, 256]},
        seed=1,
        device="cpu",
        verbose=1,
    ).learn(args.steps, log_interval=20)

    def learned(view: ThreeView, _: Any) -> int:
        indices = RELABELINGS[view.trump]
        obs = observation.observation_for_three(view)[indices]
        mask = observation.mask_for_three(view)[indices[:52]]
        return int(indices[int(model.predict(obs, None, None, True, mask)[0])])

    for opponents in ("thrifty", "random"):
        payoff = estimate_payoff(learned, opponents, args.hands, 10**9)
        print(f"against two {opponents}: {payoff.value:+.2f} ± {payoff.margin_of_error:.2f} a hand")


if __name__ == "__main__":
    main()
