"""What the searches share: how long they search, which worlds they sample, batches and clocks."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..engine.bits import popcount
from ..engine.compiled import jit
from ..engine.endgame import Tables
from ..engine.play import row
from ..engine.rules import Match
from ..engine.view import legal_in_view
from ..engine.worlds import METHODS
from .base import Agent, Array
from .endgame import EndgamePlayer, is_open
from .endings import known_endings


@dataclass(frozen=True)
class Budget:
    """How much a search may spend on a decision: so many samples, or so many seconds."""

    samples: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.samples}" if self.samples else f"{self.seconds * 1000:g}ms"


_MOST_SAMPLES = 10_000_000
_UNITS = {"ms": 0.001, "s": 1.0}


def budget(text: object, agent: str) -> Budget:
    """A budget from its text: `64` samples, `5ms` or `1s` of time."""
    written = str(text).strip().lower()
    if written.isdecimal() and 1 <= int(written) <= _MOST_SAMPLES:
        return Budget(samples=int(written))
    for unit, seconds in _UNITS.items():
        number = written.removesuffix(unit)
        if number != written and _is_positive(number):
            return Budget(seconds=float(number) * seconds)
    raise ValueError(
        f"{agent} takes how much to search, as in {agent}:64 (1 to {_MOST_SAMPLES} samples) or "
        f"{agent}:5ms (a time a move), not {text!r}"
    )


def _is_positive(number: str) -> bool:
    try:
        return 0 < float(number) < float("inf")
    except ValueError:
        return False


@jit
def nothing_to_search(rules: np.ndarray, views: np.ndarray) -> bool:
    """Whether a view has one legal action, or one that the exact endgame finds."""
    first, view = row(rules, 0), row(views, 0)
    return is_open(first, view) or popcount(legal_in_view(first, view)) < 2


class SearchAgent(Agent):
    """A search through sampled worlds, for so many samples or so long a move."""

    kind: ClassVar[str]
    usual_worlds: ClassVar[str]
    chunk: ClassVar[int]
    """Samples between two looks at the clock."""

    def __init__(self, rules: Any, amount: object, worlds: str, match: Match | None) -> None:
        super().__init__(rules, match=match)
        if worlds not in METHODS:
            raise ValueError(f"{self.kind} draws worlds plain or by voids, not {worlds!r}")
        self.budget = budget(amount, self.kind)
        self.name = f"{self.kind}:{self.budget}"
        if worlds != self.usual_worlds:
            self.name += f",{worlds}"
        self._voids = worlds == "voids"
        self._endgame = EndgamePlayer(self.rules)
        self._known = known_endings(self.rules)

    @abstractmethod
    def _room(self) -> Any:
        """What one thread needs to search in."""

    @abstractmethod
    def _search(
        self, known: Tables, views: Array, streams: Array, samples: int, go_on: bool, room: Any,
        actions: Array,
    ) -> None:  # fmt: skip
        """Write an action for each view of the tables' contract, with `go_on` from where it was."""

    def act(self, views: Array, rng: Array) -> Array:
        """The best card found for each view."""
        actions = np.full(len(views), -1, np.int64)
        streams, room = rng.copy(), self._room()
        for known in self._known:
            if not self.budget.seconds:
                self._search(known, views, streams, self.budget.samples, False, room, actions)
                continue
            for index in range(len(views)):
                one = slice(index, index + 1)
                self._search_in_time(known, views[one], streams[one], room, actions[one])
        self._endgame.improve(views, actions)
        return actions

    def _search_in_time(
        self, known: Tables, view: Array, stream: Array, room: Any, actions: Array
    ) -> None:
        until = time.perf_counter() + self.budget.seconds
        self._search(known, view, stream, self.chunk, False, room, actions)
        if view["low"][0] != known.low or nothing_to_search(self.record, view):
            return
        while time.perf_counter() < until:
            self._search(known, view, stream, self.chunk, True, room, actions)
