"""What a step leads to, and how an episode ended: the latter as `info["result"]` has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...common.typing import Array

# One record for each game, by seats.
RESULT = np.dtype(
    [
        ("paid", "f8", (2,)),  # by the step under way
        ("tricks", "i8", (2,)),
        ("points", "i8", (2,)),
        ("won", "i8"),  # 1: by seat 0, -1: by seat 1
        ("deal", "u8"),
    ]
)


class StepResult(NamedTuple):
    """What a step shows: arrays with one row per game."""

    observations: npt.NDArray[np.int8]
    """int8, seen by the seat to move."""
    masks: npt.NDArray[np.int8]
    """`(n, actions)` int8, its legal actions."""
    seats: npt.NDArray[np.uint8]
    """`(n,)` uint8, the seat to move."""
    rewards: npt.NDArray[np.float32]
    """`(n, 2)` float32, what the step paid each seat."""
    ended: npt.NDArray[np.bool_]
    """`(n,)` bool, the episode ended; what is shown is of the next one."""


def results_seen(results: Array, seats: Array) -> dict[str, Array]:
    """Results as a seat of each game sees them: fresh arrays with one row per game."""
    first = seats == 0
    mine_first = np.where(first[:, None], [0, 1], [1, 0])
    return {
        "tricks": np.take_along_axis(results["tricks"], mine_first, 1),
        "points": np.take_along_axis(results["points"], mine_first, 1),
        "won": np.where(first, results["won"], -results["won"]),
        "deal": results["deal"].copy(),
    }


def each_result(seen: dict[str, Array]) -> list[dict[str, Any]]:
    """All rows of `results_seen` one by one, sharing no memory with it."""
    rows = zip(
        seen["tricks"].copy(),
        seen["points"].copy(),
        seen["won"].tolist(),
        seen["deal"].tolist(),
        strict=True,
    )
    return [
        {"tricks": tricks, "points": points, "won": won, "deal": deal}
        for tricks, points, won, deal in rows
    ]
