"""What an algorithm remembers to learn from: the last rows that it saw, or a fair draw of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...common.typing import Array


class Memory:
    """So many rows at most. The oldest goes; in a reservoir each ever seen is as likely kept."""

    def __init__(self, fields: list[tuple[Any, ...]], most: int, *, reservoir: bool) -> None:
        self.kind = np.dtype(fields)
        self.rows = np.zeros(most, self.kind)
        self.count = 0
        """How many were ever seen."""
        self._reservoir = reservoir

    def __len__(self) -> int:
        return min(self.count, len(self.rows))

    def add(self, rows: Array, chance: np.random.Generator | None = None) -> None:
        """Take in rows, in order; a reservoir needs chance for it."""
        numbers = self.count + np.arange(len(rows))
        self.count += len(rows)
        places = numbers % len(self.rows)
        if self._reservoir:
            assert chance is not None
            drawn = chance.integers(numbers + 1)
            places = np.where(numbers < len(self.rows), numbers, drawn)
            kept = places < len(self.rows)
            rows, places = rows[kept], places[kept]
        self.rows[places] = rows

    def drawn(self, count: int, chance: np.random.Generator) -> Array:
        """Some rows at random, none as long as there is none."""
        if not len(self):
            return self.rows[:0]
        return self.rows[chance.integers(len(self), size=count)]

    def state(self, start: str) -> dict[str, Array]:
        """The rows that there are, field by field."""
        return {f"{start}{name}": self.rows[name][: len(self)] for name in self.kind.names or ()}

    def restore(self, fields: Mapping[str, Array], count: int) -> None:
        """Go on from `state`, of so many rows ever seen."""
        self.count = count
        for name in self.kind.names or ():
            self.rows[name][: len(self)] = fields[name]
