"""Run as two ranks in `test_data_parallel`: what they learn together, and two runs of theirs.

`rank_checks.py FOLDER key=value ...` compares a step with what one process learns that has it all,
trains FOLDER/whole and then FOLDER/killed, in which the second rank kills itself; whoever is
started again goes on with that. What each rank found is written to FOLDER as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

from german_whist.cli import main as command
from german_whist.training.algorithms.mmd import MMD
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import MMDSettings
from german_whist.training.distributed import Ranks, current_ranks
from german_whist.training.run_state import digest_of

# One minibatch holds a whole iteration, and advantages are not normalized: then the mean over two
# equal parts is what one process learns.
SETTINGS = MMDSettings(
    n_envs=48, hidden_sizes=(16,), rules="quick", batch_size=100_000, max_grad_norm=100.0
)


def apart(one: PPO, other: PPO) -> float:
    """How far the weights of two are from each other, at most."""
    pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
    return max((mine - theirs).abs().max().item() for mine, theirs in pairs)


def learned_together(ranks: Ranks) -> dict[str, Any]:
    """Let one process play, and this rank learn from its part of that."""
    fresh, one, ours = MMD(SETTINGS), MMD(SETTINGS), MMD(SETTINGS, ranks=ranks)
    buffer, n_steps = one.collector.buffer, one.collector.n_steps
    one.collector.collect(one.network, n_steps, one.rng)
    samples = buffer.samples(n_steps)
    one.update(samples, 0.0)
    rows = torch.arange(len(samples.actions)).reshape(n_steps, 2, 24)[:, ranks.rank]
    ours.update(samples.minibatch(rows.ravel()), 0.0)
    return {
        "moved": apart(fresh, one),
        "apart": apart(one, ours),
        "digest": digest_of(ours.policy_weights()),
    }


def iterate_or_die(self: PPO, iterate: Any = PPO.iterate) -> dict[str, float]:
    """Kill the second rank when there is a state to go on from."""
    if self.ranks.rank == 1 and 2 * self.decisions > 2500:
        os.kill(os.getpid(), signal.SIGKILL)
    return iterate(self)


def main(folder: Path, words: list[str]) -> None:
    """All of it, or what is left."""
    torch.set_num_threads(1)
    ranks = current_ranks()
    path = folder / f"rank-{ranks.rank}.json"
    if not path.exists():
        found = learned_together(ranks)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            found["status"] = command(["train", "tiny", *words, "--run", str(folder / "whole")])
        found["shown"] = shown.getvalue()
        path.write_text(json.dumps(found), encoding="utf-8")
        PPO.iterate = iterate_or_die
    sys.exit(command(["train", "tiny", *words, "--run", str(folder / "killed")]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
