"""Speed of PPO beside SB3's MaskablePPO with the same hyperparameters and threads.

Our policy and critic share their hidden layers in the compared rows; MaskablePPO has separate ones
of the same sizes, since SB3 shares none.
"""

from __future__ import annotations

import os
import time
from typing import Any, Literal

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from german_whist.agents.checkpoints.schema import Critic
from german_whist.common.threads import usable_threads
from german_whist.training.algorithms.base import Trainer
from german_whist.training.algorithms.settings import PPOSettings, SB3Settings

from .measure import Row, timed

SIZES: dict[str, Any] = {
    "hidden_sizes": (512, 512),
    "n_envs": 1024,
    "n_epochs": 2,
    "batch_size": 8192,
}
STEPS = 26
ITERATIONS = 3


def run() -> list[Row]:
    import torch

    torch.set_num_threads(usable_threads())
    ours, mixed = _time_ppo("float32", "shared"), _time_ppo("mixed", "shared")
    oracle, maskable_ppo = _time_ppo("mixed", "oracle"), _time_maskable_ppo()
    rows = []
    for name, times in (
        ("ours", ours),
        ("ours, bfloat16", mixed),
        ("ours, bfloat16, a critic of its own that sees all cards", oracle),
        ("MaskablePPO", maskable_ppo),
    ):
        speed = times["decisions"] / times["seconds"]
        note = ", ".join(
            f"{part} {100 * times[part] / times['seconds']:.0f} %"
            for part in ("acting", "environment", "learning")
        )
        rows.append(Row(f"{name}, two layers of 512, all in", speed, "decisions/s", note=note))
    base = rows[-1].value
    ratios = [row.value / base for row in rows[:3]]
    rows.append(Row("ours against MaskablePPO, float32", ratios[0], "times", 1.8))
    rows.append(Row("ours in bfloat16 against MaskablePPO", ratios[1], "times"))
    rows.append(Row("the same with the critic that sees all cards", ratios[2], "times"))
    fraction = 100 * ours["environment"] / ours["seconds"]
    rows.append(Row("the environment's part of ours", fraction, "%", 10, at_most=True))
    return rows


def _time_ppo(precision: Literal["float32", "mixed"], critic: Critic) -> dict[str, float]:
    from german_whist.training.algorithms.ppo import PPO

    settings = PPOSettings(
        **SIZES, n_steps=STEPS, precision=precision, critic=critic, card_ranks="absolute"
    )
    trainer = PPO(settings)
    times = {"environment": 0.0, "learning": 0.0}
    collector, games = trainer.collector, trainer.games
    collector.add_observations = timed(times, "environment", collector.add_observations)
    games.step = timed(times, "environment", games.step)
    trainer.update = timed(times, "learning", trainer.update)
    return _time_iterations(trainer, times)


def _time_maskable_ppo() -> dict[str, float]:
    """Times per part; decisions are the learner's, and the opponent belongs to the environment."""
    from german_whist.training.algorithms.sb3 import SB3Trainer

    trainer = SB3Trainer(SB3Settings(**SIZES, n_steps=STEPS, opponents=("random",)))
    times = {"environment": 0.0, "learning": 0.0}
    trainer.games.step_wait = timed(times, "environment", trainer.games.step_wait)
    trainer.model.train = timed(times, "learning", trainer.model.train)
    return _time_iterations(trainer, times)


def _time_iterations(trainer: Trainer, times: dict[str, float]) -> dict[str, float]:
    """Times of some iterations after a first one, with their decisions."""
    trainer.iterate()
    times.update(environment=0.0, learning=0.0)
    before, start = trainer.decisions, time.perf_counter()
    for _ in range(ITERATIONS):
        trainer.iterate()
    seconds = time.perf_counter() - start
    acting = seconds - times["environment"] - times["learning"]
    return {"seconds": seconds, "decisions": trainer.decisions - before, "acting": acting, **times}
