"""Three players with a dummy: MaskablePPO learns against two rule players, and is measured.

`python examples/three_players.py` trains and measures; `--steps 2000` only shows that it runs.
It needs `pip install 'german-whist[train]'`.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from german_whist.agents.three import ThreePlayer, won_at_three
from german_whist.engine.three import ThreeView
from german_whist.engine.three_layout import mask_for_three, observation_for_three
from german_whist.envs import GermanWhistThreeEnv


def learned(steps: int, seed: int) -> MaskablePPO:
    """A policy after so many of its own cards against two rule players."""
    games = make_vec_env(GermanWhistThreeEnv, 16, seed, env_kwargs={"opponents": "thrifty"})
    model = MaskablePPO(
        "MlpPolicy",
        games,
        learning_rate=lambda left: 5e-4 * left,
        n_steps=256,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
        device="cpu",
        verbose=1,
    )
    return model.learn(steps, log_interval=20)


def player_of(model: MaskablePPO) -> ThreePlayer:
    """The policy as a player: its likeliest card."""

    def play(view: ThreeView, _: Any) -> int:
        mask = mask_for_three(view)
        return int(model.predict(observation_for_three(view), None, None, True, mask)[0])

    return play


def main() -> None:
    """Train, and play against two rule players and two random ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--hands", type=int, default=2000, help="deals, each from every seat")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = learned(given.steps, given.seed)
    for others in ("thrifty", "random"):
        won = won_at_three(player_of(model), others, hands=given.hands, seed=10**9)
        print(f"against two {others}: {won}")


if __name__ == "__main__":
    main()
