"""MaskablePPO from scratch to 60 % of hands against `threshold`, by Stable-Baselines3 alone.

`python examples/maskable_ppo.py` trains and evaluates; `--steps 20000` only shows that it runs.
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


def train(steps: int, n_envs: int, seed: int) -> MaskablePPO:
    """Train for a number of decisions against `threshold`."""
    vec_env = GermanWhistVecEnv(
        n_envs,
        "classic",
        opponent="threshold",
        reward="win",
        layout="trump-first",  # suits in the order of their role in the game
        horizon="foreplay",  # rewards are the exact value of the endgame
    )
    vec_env.seed(seed)
    model = MaskablePPO(
        "MlpPolicy",
        vec_env,
        learning_rate=lambda remaining: 1e-3 * remaining,
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


def make_player(model: MaskablePPO) -> PolicyAgent:
    """The policy as a player: its most likely card, and exact endgames."""

    def likeliest(observations: Any, masks: Any) -> Any:
        return model.predict(observations, action_masks=np.asarray(masks), deterministic=True)[0]

    return PolicyAgent("classic", likeliest, layout="trump-first", name="learned")


def main() -> None:
    """Train, and evaluate against an opponent of the training and another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4_000_000)
    parser.add_argument("--games", type=int, default=1024, help="played in lockstep")
    parser.add_argument("--hands", type=int, default=10_000, help="of the evaluation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", metavar="FILE.zip", help="save the model")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = train(args.steps, args.games, args.seed)
    if args.save:
        model.save(args.save)  # with the layout, in the observation space
        print(f"german-whist evaluate sb3:{args.save},trusted --against threshold")
    result = evaluate(make_player(model), ["threshold", "value:13"], hands=args.hands, seed=10**9)
    for pairing in result.pairings:
        rate = pairing.win_rate.scaled(100)
        print(f"{pairing.opponent}: {rate.value:.1f} ± {rate.half_width:.1f} % of hands won")


if __name__ == "__main__":
    main()
