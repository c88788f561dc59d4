"""Run as one of two ranks by `test_ranks`: what it learns beside one process that learns all.

Prints a line of JSON.
"""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import torch

from german_whist.training.ppo import PPO
from german_whist.training.ppo_settings import PPOSettings
from german_whist.training.ranks import digest_of, ranks_here

# One minibatch holds a whole iteration: then it makes no difference in what order it is learnt.
SETTINGS = PPOSettings(
    games=48, layers=(16,), rules="quick", minibatch=100_000, most_gradient=100.0,
    pool_games=0.25, pool_size=0, opponents=("threshold",),
)  # fmt: skip


def apart(one: PPO, other: PPO) -> float:
    """How far the weights of two are from each other, at most."""
    pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
    return max(float((mine - theirs).abs().max()) for mine, theirs in pairs)


def main() -> None:
    """Let one process play, and this rank learn from its part of that."""
    torch.set_num_threads(1)
    ranks = ranks_here()
    fresh, one, ours = PPO(SETTINGS), PPO(SETTINGS), PPO(SETTINGS, ranks=ranks)
    deals = ours.games.state()["records"]
    one._play(one.steps)
    ends = [0, 31, 48]  # parts of different sizes
    ours._buffers = one._buffers
    learns = one._buffers.learns.copy()
    one_told = one._learn(one.steps, 0.0)
    start, stop = [*pairwise(ends)][ranks.rank]
    one._buffers.learns[:, :start] = one._buffers.learns[:, stop:] = False
    ours._learnt = int(learns.sum())
    told = ours._learn(ours.steps, 0.0)
    print(
        json.dumps({
            "moved": apart(fresh, one), "apart": apart(one, ours), "one": one_told, "ours": told,
            "learnt": [int(np.sum(learns)), int(np.sum(one._buffers.learns))],
            "digest": digest_of(ours.player()), "deals": digest_of({"": deals}),
        })
    )  # fmt: skip


if __name__ == "__main__":
    main()
