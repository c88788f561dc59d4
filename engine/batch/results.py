"""Step results, and results of finished episodes as `info["result"]` holds them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...common.typing import Array

# One record per game; pairs are by seat.
RESULT = np.dtype(
    [
        ("rewards", "f8", (2,)),  # by the current step
        ("tricks", "i8", (2,)),
        ("points", "i8", (2,)),
        ("won", "i8"),  # 1: by seat 0, -1: by seat 1
        ("deal", "u8"),
    ]
)


class StepResult(NamedTuple):
    """What `SelfPlayEnv.reset` and `step` return: arrays with one row for each of the `n` games."""

    observations: npt.NDArray[np.int8]
    """`(n, size)` int8: what the seat to move knows, or `(n, rows, 4)` with `history`."""
    masks: npt.NDArray[np.int8]
    """`(n, actions)` int8: 1 for each legal action."""
    seats: npt.NDArray[np.uint8]
    """`(n,)` uint8: the seat to move, 0 or 1."""
    rewards: npt.NDArray[np.float32]
    """`(n, 2)` float32: the rewards of both seats in this step."""
    ended: npt.NDArray[np.bool_]
    """`(n,)` bool: whether the episode ended. The observation is then that of the next one."""


def results_by_seat(results: Array, seats: Array) -> dict[str, Array]:
    """Results from the perspective of one seat per game: fresh arrays."""
    first = seats == 0
    seat_order = np.where(first[:, None], [0, 1], [1, 0])
    return {
        "tricks": np.take_along_axis(results["tricks"], seat_order, 1),
        "points": np.take_along_axis(results["points"], seat_order, 1),
        "won": np.where(first, results["won"], -results["won"]),
        "deal": results["deal"].copy(),
    }


def result_dicts(columns: dict[str, Array]) -> list[dict[str, int | Array]]:
    """Rows of `results_by_seat` as one dictionary per game."""
    values = (
        list(column.copy()) if column.ndim > 1 else column.tolist() for column in columns.values()
    )
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
