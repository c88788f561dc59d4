"""Units of work of a tournament: a chunk of deals to play, and the tally that comes back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..common.typing import Array
from ..engine.endgame.game_values import inexact_reason
from ..engine.rng import fresh_secret
from ..engine.rules import Match, Rules
from . import kernels
from .kernels import COURSE_ROWS, COURSE_TRICKS, SUMS, TOTALS


@dataclass(frozen=True)
class MatchConfig:
    """What two players play: the rules, a match or single hands, and from which seed and key."""

    rules: Rules
    match: Match | None = None
    seed: int = 0
    """Of the deals."""
    key: bytes = field(default_factory=fresh_secret, repr=False)
    """Seed of everything else that is drawn; no player knows it."""
    records: bool = False
    """Keep a record of every hand, for which endings are played out."""
    play_out: bool = False
    """Play endings out even where both players are perfect in them."""
    reduce_variance: bool = False
    """Compute the corrections for chance of AIVAT."""

    @property
    def plays_endings(self) -> bool:
        """Whether endings are played out whoever plays."""
        return self.play_out or self.records or not self.solvable

    @property
    def solvable(self) -> bool:
        """Whether endings have exact values that count."""
        return not inexact_reason(self.rules)


@dataclass(frozen=True)
class Task:
    """A chunk to play: `pairs` deals from number `start` on, each twice with exchanged seats."""

    pairing: int = 0
    chunk: int = 0
    """Number of the chunk within its pairing."""
    start: int = 0
    pairs: int = 1
    trusted_exact: tuple[bool, bool] = (False, False)
    """Which players' endings count as perfect: where both do, the exact value replaces them."""
    audited: bool = False
    """Play endings out all the same, and follow them card by card."""
    attempt: int = 0
    """How often the pairing was begun anew."""

    def __str__(self) -> str:
        return f"the deals {self.start} to {self.start + self.pairs - 1}"


@dataclass
class Fault:
    """Hands that a player forfeited for one reason, with the first case in words."""

    player: int
    kind: str
    """`illegal` or `raised`."""
    hands: int
    example: str
    trace: str = ""
    """Traceback of the error within the player's own code."""


@dataclass
class Tally:
    """Counters over a number of pairs of games. Tallies add up, in any order."""

    pairs: int = 0
    sums: Array = field(default_factory=lambda: np.zeros(SUMS, np.int64))
    course: Array = field(default_factory=lambda: np.zeros((COURSE_ROWS, COURSE_TRICKS), np.int64))
    moments: Array = field(default_factory=lambda: np.zeros((TOTALS, TOTALS), np.int64))
    """Sums of products of the pairs' totals."""
    totals: Array = field(default_factory=lambda: np.zeros(TOTALS, np.int64))
    exact: bool = False
    """Whether endings were replaced by their values."""
    reduce_variance: bool = False
    """Whether the luck of the stock was counted."""
    failed: tuple[int, int] = (0, 0)
    """Hands that a player forfeited in an ending."""
    seconds: tuple[float, float] = (0.0, 0.0)
    moves: tuple[int, int] = (0, 0)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally; of the faults' examples the first stays."""
        self.pairs += other.pairs
        for name in ("sums", "course", "moments", "totals"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.exact = self.exact or other.exact
        self.reduce_variance = self.reduce_variance or other.reduce_variance
        for name in ("failed", "seconds", "moves"):
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, (mine[0] + theirs[0], mine[1] + theirs[1]))
        for fault in other.faults:
            self.add_fault(fault)

    def add_fault(self, fault: Fault) -> None:
        """Count a fault with those of its kind."""
        for known in self.faults:
            if (known.player, known.kind) == (fault.player, fault.kind):
                known.hands += fault.hands
                return
        self.faults.append(replace(fault))

    def endgame_errors(self, player: int) -> int:
        """Tricks given away in endings, and hands forfeited in them: none in perfect play."""
        thrown = kernels.THROWN_TWO if player else kernels.THROWN_ONE
        return int(self.sums[thrown]) + self.failed[player]


@dataclass
class Chunk:
    """The tally of one chunk, its scores by deal, and the lines of its records if wanted."""

    tally: Tally
    scores: Array
    """Games of each deal that player one won, of two, a tie as half; less its luck where that is
    counted. All of them are exact in single precision."""
    records: list[str] = field(default_factory=list)


def add_at(pair: tuple[Any, Any], player: int, amount: Any) -> tuple[Any, Any]:
    """A pair of numbers with an amount added to one player's."""
    return (pair[0] + amount, pair[1]) if player == 0 else (pair[0], pair[1] + amount)
