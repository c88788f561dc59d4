"""Three players with a dummy: MaskablePPO learns against two rule players, and is measured.

It is shown every hand with trumps as the first suit, so that it has one game to learn instead of
four. `python examples/three_players.py` trains and measures; `--steps 2000` only shows that it
runs. It needs `pip install 'german-whist[train]'`.
"""

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from german_whist.three_player import GermanWhistThreeEnv, observation
from german_whist.three_player.agents import won_at_three
from german_whist.three_player.game import ThreeView


def places(trump: int) -> Any:
    """Where each place of an observation comes from when trumps change places with clubs."""
    order, found = np.arange(4), np.arange(observation.THREE_LAYOUT.size)
    order[[0, trump]] = order[[trump, 0]]
    for group in observation.THREE_LAYOUT.groups:
        if group.size == 52 or group.name.startswith(("void", "trumps")):
            span = observation.THREE_LAYOUT.slice(group.name)
            found[span] = found[span].reshape(4, -1)[order].ravel()
    return found


PLACES = [places(trump) for trump in range(4)]  # the first 52 are the cards' own ids


class TrumpsFirst(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The game with its suits relabelled: observations, masks, and actions back again."""

    def reset(self, **options: Any) -> Any:
        seen, told = self.env.reset(**options)
        self.places = PLACES[seen[observation.THREE_LAYOUT.slice("trumps")].argmax()]
        return seen[self.places], told

    def step(self, action: Any) -> Any:
        seen, *rest = self.env.step(self.places[action])
        return seen[self.places], *rest

    def action_masks(self) -> Any:
        return self.env.get_wrapper_attr("action_masks")()[self.places[:52]]


def main() -> None:
    """Train, and play against two rule players and two random ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--hands", type=int, default=2000, help="deals, each from every seat")
    given = parser.parse_args()
    torch.set_num_threads(1)
    games = make_vec_env(
        GermanWhistThreeEnv, 16, 1, wrapper_class=TrumpsFirst, env_kwargs={"opponents": "thrifty"}
    )
    model = MaskablePPO(
        *("MlpPolicy", games, lambda left: 1e-3 * left, 256, 512, 4),
        gamma=1.0, gae_lambda=0.9, ent_coef=0.01, policy_kwargs={"net_arch": [256, 256]},
        seed=1, device="cpu", verbose=1,
    ).learn(given.steps, log_interval=20)  # fmt: skip

    def learned(view: ThreeView, _: Any) -> int:
        order = PLACES[view.trump]
        seen = observation.observation_for_three(view)[order]
        mask = observation.mask_for_three(view)[order[:52]]
        return int(order[int(model.predict(seen, None, None, True, mask)[0])])

    for others in ("thrifty", "random"):
        print(f"against two {others}:", won_at_three(learned, others, given.hands, 10**9))


if __name__ == "__main__":
    main()
