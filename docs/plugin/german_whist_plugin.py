"""An agent and a callback of another package, known by name through its entry points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from german_whist import PolicyAgent
from german_whist.training import Callback, EvaluationResult, TrainingRun

Array = npt.NDArray[Any]


class LowLeader(PolicyAgent):
    """Plays its lowest legal card, a trump last of all; `low-leader:high` its highest."""

    def __init__(self, rules: Any = "classic", word: str = "low", *, match: Any = None) -> None:
        """`word` is `low` or `high`."""
        if word not in ("low", "high"):
            raise ValueError(f"{word!r} is no option of low-leader: there are low and high")
        sign = -1 if word == "low" else 1

        def policy(observations: Array, masks: Array) -> Array:
            # Trumps are shown first: suit 0 of each action's suit * 13 + rank.
            actions = np.arange(masks.shape[1])
            height = np.where(actions < 52, actions % 13 + 13 * (actions < 13), 0)
            return np.broadcast_to(sign * height, masks.shape)

        super().__init__(
            rules, policy, suit_order="trump-first", name=f"low-leader:{word}", match=match
        )


class PrintStrength(Callback):
    """Prints every measurement of a run."""

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        """A checkpoint was measured."""
        for result in results:
            print(f"{run.folder.name} after {result.decisions:,}: {result.text()}")
