"""Experience memories: the last transitions, or a uniform sample of all decisions ever made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...common.typing import Array


class _Buffer:
    """Records in an array of fixed capacity, from which minibatches are drawn."""

    def __init__(self, fields: list[tuple[Any, ...]], capacity: int) -> None:
        self.dtype = np.dtype(fields)
        self.rows = np.zeros(capacity, self.dtype)
        self.n_added = 0
        """Rows ever added."""

    def __len__(self) -> int:
        return min(self.n_added, len(self.rows))

    def sample(self, batch_size: int, rng: np.random.Generator) -> Array:
        """Rows drawn uniformly with replacement; none as long as the buffer is empty."""
        if not len(self):
            return self.rows[:0]
        return self.rows[rng.integers(len(self), size=batch_size)]

    def state(self, prefix: str) -> dict[str, Array]:
        """The rows, field by field."""
        return {f"{prefix}{name}": self.rows[name][: len(self)] for name in self.dtype.names or ()}

    def restore(self, fields: Mapping[str, Array], n_added: int) -> None:
        """Restore the rows of a `state`."""
        self.n_added = n_added
        for name in self.dtype.names or ():
            self.rows[name][: len(self)] = fields[name]


class ReplayBuffer(_Buffer):
    """Ring buffer of the last rows."""

    def add(self, rows: Array) -> None:
        """Add rows in order; the oldest are overwritten."""
        self.rows[(self.n_added + np.arange(len(rows))) % len(self.rows)] = rows
        self.n_added += len(rows)


class ReservoirBuffer(_Buffer):
    """Uniform sample of all rows (Vitter 1985, "Random sampling with a reservoir", algorithm R)."""

    def add(self, rows: Array, rng: np.random.Generator) -> None:
        """Accept each row with probability capacity / rows so far, in a random slot."""
        numbers = self.n_added + np.arange(len(rows))
        self.n_added += len(rows)
        slots = np.where(numbers < len(self.rows), numbers, rng.integers(numbers + 1))
        accepted = slots < len(self.rows)
        self.rows[slots[accepted]] = rows[accepted]
