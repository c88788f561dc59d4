"""MaskablePPO by self-play: Stable-Baselines3 against a pool of `threshold` and earlier policies.

`python examples/maskable_ppo.py` trains and evaluates; `--steps 20000` only shows that it runs.
Install in a clone: `pip install ".[train]"`.
"""

from __future__ import annotations

import argparse

import torch
from sb3_contrib import MaskablePPO

from german_whist import evaluate
from german_whist.agents import SB3Agent
from german_whist.envs import GermanWhistVecEnv, OpponentPool


def train(steps: int, n_envs: int, seed: int, pool: OpponentPool) -> MaskablePPO:
    """Train for a number of decisions."""
    # Suits in the order of their role in the game, and rewards by the exact value of the endgame.
    vec_env = GermanWhistVecEnv(
        n_envs,
        opponent=pool,
        reward="win",
        suit_order="trump-first",
        horizon="foreplay",
        illegal="raise",
    )
    vec_env.seed(seed)
    model = MaskablePPO(
        "MlpPolicy",
        vec_env,
        learning_rate=lambda remaining: 1e-3 * remaining,
        gamma=1.0,
        n_steps=13,  # a hand's tricks for the stock
        batch_size=2048,
        n_epochs=2,
        gae_lambda=0.8,
        ent_coef=0.03,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
        device="cpu",
        verbose=1,
    )

    def self_play(*_: object) -> bool:
        if model.num_timesteps % (260 * n_envs) == 0:
            pool.add(model)  # a copy of its policy
        return True

    return model.learn(steps, callback=self_play, log_interval=50)


def main() -> None:
    """Train, and evaluate against an opponent of the training and another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--games", type=int, default=1024, help="played in lockstep")
    parser.add_argument("--hands", type=int, default=10_000, help="of the evaluation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", metavar="FILE.zip", help="save the model")
    args = parser.parse_args()
    torch.set_num_threads(1)
    pool = OpponentPool(["threshold"], sampling="pfsp", size=3, seed=args.seed)
    model = train(args.steps, args.games, args.seed, pool)
    if args.save:
        model.save(args.save)  # with the suit order, in the observation space
    for name, results in pool.results().items():
        print(f"{name}: {results['win_rate']:.2f} in {results['games']:,} games of the training")
    agent = SB3Agent("classic", model)  # its most likely card, and exact endgames
    result = evaluate(agent, ["threshold", "upcard-value"], hands=args.hands, seed=10**9)
    for pairing in result.pairings:
        rate = pairing.win_rate.scaled(100)
        print(f"{pairing.opponent}: {rate.value:.1f} ± {rate.margin_of_error:.1f} % of hands won")


if __name__ == "__main__":
    main()
