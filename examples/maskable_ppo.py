"""MaskablePPO from nothing to 60 % of hands against `threshold`, by Stable-Baselines3 alone.

`python examples/maskable_ppo.py` trains and measures; `--steps 20000` only shows that it runs.
It needs `pip install 'german-whist[train]'`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from german_whist import PolicyAgent, evaluate
from german_whist.envs import GermanWhistVecEnv


def learned(steps: int, games: int, seed: int) -> MaskablePPO:
    """A policy after so many of its own decisions against the rules of thumb."""
    table = GermanWhistVecEnv(
        games,
        "classic",
        opponent="threshold",
        reward="win",
        layout="trump-first",  # suits by their part in the game, not by their names
        horizon="foreplay",  # an episode ends with the stock, and pays what best play makes of it
    )
    table.seed(seed)
    model = MaskablePPO(
        "MlpPolicy",
        table,
        learning_rate=lambda left: 1e-3 * left,
        n_steps=13,  # a hand's tricks for the stock
        batch_size=2048,
        n_epochs=2,
        gamma=1.0,
        gae_lambda=0.8,
        ent_coef=0.03,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
        device="cpu",
        verbose=1,
    )
    return model.learn(steps, log_interval=50)


def player_of(model: MaskablePPO) -> PolicyAgent:
    """The policy as a player: its likeliest card, endings played exactly."""

    def likeliest(observations: Any, masks: Any) -> Any:
        return model.predict(observations, action_masks=np.asarray(masks), deterministic=True)[0]

    return PolicyAgent("classic", likeliest, layout="trump-first", name="learned")


def main() -> None:
    """Train, and play against players that it has met and that it has not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4_000_000)
    parser.add_argument("--games", type=int, default=1024, help="played side by side")
    parser.add_argument("--hands", type=int, default=10_000, help="to measure by")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", metavar="FILE.zip", help="keep the model")
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = learned(given.steps, given.games, given.seed)
    if given.save:
        model.save(given.save)  # the layout goes along, in the space of the observations
        print(f"german-whist evaluate sb3:{given.save},trusted --against threshold")
    found = evaluate(player_of(model), ["threshold", "value:13"], hands=given.hands, seed=10**9)
    for pairing in found.pairings:
        rate, error = 100 * pairing.win_rate.value, 100 * pairing.win_rate.half_width
        print(f"{pairing.opponent}: {rate:.1f} ± {error:.1f} % of hands won")


if __name__ == "__main__":
    main()
