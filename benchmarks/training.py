"""Training's speed beside MaskablePPO's: the same layers, batch, epochs, games and threads.

Ours shares its layers with the critic in the rows that are compared; MaskablePPO has
layers of the same sizes for either, since Stable-Baselines3 shares none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Literal

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from german_whist.agents.checkpoints.schema import Critic
from german_whist.common.threads import usable_threads
from german_whist.training.algorithms.settings import PPOSettings, SB3Settings

from .measure import Row

SIZES: dict[str, Any] = {
    "hidden_sizes": (512, 512),
    "n_envs": 1024,
    "n_epochs": 2,
    "batch_size": 8192,
}
STEPS = 26
ITERATIONS = 3


def run() -> list[Row]:
    """All rows of this file."""
    import torch

    torch.set_num_threads(usable_threads())
    ours, mixed = _ours("float32", "shared"), _ours("mixed", "shared")
    oracle, theirs = _ours("mixed", "oracle"), _theirs()
    rows = []
    for name, found in (
        ("ours", ours),
        ("ours, bfloat16", mixed),
        ("ours, bfloat16, a critic of its own that sees all cards", oracle),
        ("MaskablePPO", theirs),
    ):
        speed = found["decisions"] / found["seconds"]
        shares = ", ".join(
            f"{part} {100 * found[part] / found['seconds']:.0f} %"
            for part in ("acting", "environment", "learning")
        )
        rows.append(Row(f"{name}, two layers of 512, all in", speed, "decisions/s", note=shares))
    base = rows[-1].value
    ratios = [row.value / base for row in rows[:3]]
    rows.append(Row("ours against MaskablePPO, float32", ratios[0], "times", 1.8))
    rows.append(Row("ours in bfloat16 against MaskablePPO", ratios[1], "times"))
    rows.append(Row("the same with the critic that sees all cards", ratios[2], "times"))
    share = 100 * ours["environment"] / ours["seconds"]
    rows.append(Row("the environment's share of ours", share, "%", 10, at_most=True))
    return rows


def _ours(precision: Literal["float32", "mixed"], critic: Critic) -> dict[str, float]:
    from german_whist.training.algorithms.ppo import PPO, Timings

    settings = PPOSettings(
        **SIZES, n_steps=STEPS, precision=precision, critic=critic, card_ranks="absolute"
    )
    trainer = PPO(settings)
    trainer.iterate()
    trainer.timings, before = Timings(), trainer.decisions
    began = time.perf_counter()
    for _ in range(ITERATIONS):
        trainer.iterate()
    return {
        "seconds": time.perf_counter() - began,
        "decisions": trainer.decisions - before,
        **vars(trainer.timings),
    }


def _theirs() -> dict[str, float]:
    """The same; a decision is one of the learner's, the opponent's cost is the environment's."""
    from german_whist.training.algorithms.sb3 import SB3Trainer

    trainer = SB3Trainer(SB3Settings(**SIZES, n_steps=STEPS, opponents=("random",)))
    spent = {"environment": 0.0, "learning": 0.0}

    def timed(part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*arguments, **named)
            finally:
                spent[part] += time.perf_counter() - began

        return inner

    trainer.games.step_wait = timed("environment", trainer.games.step_wait)
    trainer.model.train = timed("learning", trainer.model.train)
    trainer.iterate()
    spent.update(environment=0.0, learning=0.0)
    before, began = trainer.decisions, time.perf_counter()
    for _ in range(ITERATIONS):
        trainer.iterate()
    seconds = time.perf_counter() - began
    acting = seconds - spent["environment"] - spent["learning"]
    return {
        "seconds": seconds,
        "decisions": trainer.decisions - before,
        "acting": acting,
        **spent,
    }
