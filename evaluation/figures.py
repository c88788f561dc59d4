"""Figures of a pairing: the counters that tallies hold, and how each statistic follows from them.

A statistic is a field of a record in `results` that declares its `Figure`: its value, the value
from the other player's point of view, and its text. JSON, CSV and tables follow from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, get_type_hints

import numpy as np

from ..common.typing import Array
from ..engine.dtypes import SEATS
from . import kernels as k
from .aivat import LUCK_UNITS
from .statistics import Estimate, Moments, mean_estimate, ratio, share_error, share_estimate

# -- counters


@dataclass
class Fault:
    """Hands that a player forfeited for one reason, with a message about the first."""

    player: int
    kind: str
    """`illegal` or `raised`."""
    hands: int
    example: str
    trace: str = ""
    """Traceback of the error within the player's own code."""


@dataclass
class Tally:
    """Counters over pairs of games. Tallies add up, in any order."""

    pairs: int = 0
    sums: Array = field(default_factory=lambda: np.zeros(k.SUMS, np.int64))
    course: Array = field(
        default_factory=lambda: np.zeros((k.COURSE_ROWS, k.COURSE_TRICKS), np.int64)
    )
    moments: Array = field(default_factory=lambda: np.zeros((k.TOTALS, k.TOTALS), np.int64))
    """Sums of products of the pairs' totals."""
    totals: Array = field(default_factory=lambda: np.zeros(k.TOTALS, np.int64))
    exact: bool = False
    """Whether endings were replaced by their exact values."""
    reduce_variance: bool = False
    """Whether the luck of the stock was measured."""
    failed: tuple[int, int] = (0, 0)
    """Hands that each player forfeited in the endgame."""
    seconds: tuple[float, float] = (0.0, 0.0)
    moves: tuple[int, int] = (0, 0)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally; the first example of each fault stays."""
        self.pairs += other.pairs
        for name in ("sums", "course", "moments", "totals"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.exact = self.exact or other.exact
        self.reduce_variance = self.reduce_variance or other.reduce_variance
        for name in ("failed", "seconds", "moves"):
            a, b = getattr(self, name), getattr(other, name)
            setattr(self, name, (a[0] + b[0], a[1] + b[1]))
        for fault in other.faults:
            self.add_fault(fault)

    def add_fault(self, fault: Fault) -> None:
        for earlier in self.faults:
            if (earlier.player, earlier.kind) == (fault.player, fault.kind):
                earlier.hands += fault.hands
                return
        self.faults.append(replace(fault))

    def endgame_errors(self, player: int) -> int:
        """Tricks lost against perfect endgame play, and hands forfeited in the endgame."""
        thrown = k.THROWN_TWO if player else k.THROWN_ONE
        return int(self.sums[thrown]) + self.failed[player]

    @property
    def always_level(self) -> bool:
        """Whether no deal separated the players, as when both choose alike in every hand."""
        return self.pairs > 1 and not self.faults and not self.moments[k.GAME_MARGIN, k.GAME_MARGIN]


def add_at(pair: tuple[Any, Any], player: int, amount: Any) -> tuple[Any, Any]:
    """The pair of numbers with `amount` added to one player's."""
    return (pair[0] + amount, pair[1]) if player == 0 else (pair[0], pair[1] + amount)


# -- declarations


@dataclass(frozen=True)
class Figure:
    """Declaration of a field of results; counters are those of `kernels`."""

    compute: Callable[..., Any]
    """Its value, from a tally; for a figure of one player, from a tally and the player."""
    mirror: Callable[[Any], Any] = lambda value: value
    """Its value from the other player's point of view."""
    mirror_field: str = ""
    """The figure that it becomes there; empty for itself."""
    header: str = ""
    """Column header in tables; empty for no column."""
    match_header: str = ""
    """That in tables of matches, where it differs."""
    text: Callable[[Any], str] = str
    note: str = ""

    def column(self, matches: bool) -> str:
        return (matches and self.match_header) or self.header


@cache
def figures_of(record: type) -> dict[str, Figure]:
    """The figures among the fields of a record class, by name."""
    hints = get_type_hints(record, include_extras=True).items()
    return {name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}


def complement(share: Any) -> Any:
    """A win rate from the other player's point of view."""
    if share is None:
        return None
    return share.scaled(-1, 1) if isinstance(share, Estimate) else 1 - share


def negate(value: Any) -> Any:
    """A difference from the other player's point of view."""
    if isinstance(value, Estimate):
        return value.scaled(-1)
    return None if value is None else -value


# -- statistics

_LUCK_OF = {
    k.RESULT: k.SCORE_LUCK,
    k.GAME_SCORE: k.SCORE_LUCK,
    k.GAME_MARGIN: k.MARGIN_LUCK,
    k.GAME_POINTS: k.POINTS_LUCK,
}
"""The luck in each total; zero where it is not measured."""


def _reduced_moments(tally: Tally, total: int) -> Moments:
    totals, moments, luck, h = tally.totals, tally.moments, _LUCK_OF[total], k.GAME_HANDS
    xx = float(moments[total, total]) - 2 * float(moments[total, luck]) / LUCK_UNITS
    return Moments(
        tally.pairs,
        x=float(totals[total]) - float(totals[luck]) / LUCK_UNITS,
        h=float(totals[h]),
        xx=xx + float(moments[luck, luck]) / LUCK_UNITS**2,
        xh=float(moments[total, h]) - float(moments[luck, h]) / LUCK_UNITS,
        hh=float(moments[h, h]),
    )


def _share_per_pair(pairs: int, x: float, xx: float) -> tuple[float, float]:
    """The share of results won, with its standard error over pairs."""
    most = 2 * SEATS
    return ratio(Moments(pairs, x, most * pairs, xx, most * x, most**2 * pairs))


def _share_interval(
    tally: Tally, share: float, error: float, as_played: float, games: int
) -> Estimate:
    if not tally.reduce_variance or not error:
        return share_estimate(share, error, tally.pairs, games)
    # With variance reduction the share is no count of wins, so no score interval applies.
    return mean_estimate(share, share_error(as_played, error, tally.pairs, games), tally.pairs)


def win_rate_of(tally: Tally) -> Estimate:
    """Share of games won, with the interval over pairs."""
    moments, games = _reduced_moments(tally, k.RESULT), SEATS * tally.pairs
    share, error = _share_per_pair(tally.pairs, moments.x, moments.xx)
    return _share_interval(tally, share, error, tally.totals[k.RESULT] / (2 * games), games)


def as_played_of(tally: Tally) -> Estimate | None:
    """The win rate without variance reduction; None if the others have none either."""
    if not tally.reduce_variance:
        return None
    x, xx = float(tally.totals[k.RESULT]), float(tally.moments[k.RESULT, k.RESULT])
    return share_estimate(*_share_per_pair(tally.pairs, x, xx), tally.pairs)


def hand_win_rate_of(tally: Tally) -> Estimate:
    share, error = ratio(_reduced_moments(tally, k.GAME_SCORE))
    hands = int(tally.totals[k.GAME_HANDS])
    as_played = tally.totals[k.GAME_SCORE] / (2 * hands)
    return _share_interval(tally, share / 2, error / 2, as_played, hands)


def mean(total: int, count: int, default: float | None = None) -> Callable[..., float | None]:
    """One counter divided by another, or the default where that is zero."""
    return lambda tally: (
        float(tally.sums[total] / tally.sums[count]) if tally.sums[count] else default
    )


def mean_by_player(
    one: int, two: int, count: int, default: float | None = None
) -> Callable[..., float | None]:
    """The mean of a counter that each player has one of."""
    return lambda tally, player: mean((one, two)[player], count, default)(tally)


def mean_per_hand(total: int) -> Callable[[Tally], Estimate]:
    def compute(tally: Tally) -> Estimate:
        value, error = ratio(_reduced_moments(tally, total))
        # Equal results in all pairs do not bound the next one.
        return mean_estimate(value, error or math.inf, tally.pairs)

    return compute


def _fraction(part: Any, total: Any) -> float:
    return float(part / total) if total else 0.5


def as_leader_of(tally: Tally) -> float:
    """Share of hands won as non-dealer."""
    return _fraction(tally.sums[k.LED_SCORE], 2 * tally.sums[k.LED_HANDS])


def as_dealer_of(tally: Tally) -> float:
    """Share of hands won as dealer."""
    sums = tally.sums
    return _fraction(sums[k.SCORE] - sums[k.LED_SCORE], 2 * (sums[k.HANDS] - sums[k.LED_HANDS]))


def ms_a_move_of(tally: Tally, player: int) -> float | None:
    moves = tally.moves[player]
    return 1000 * tally.seconds[player] / moves if moves else None


def by_trick(row: int, mirror: Callable[[Any], Any]) -> Figure:
    """Means of a row of the trick counters, by the number of the trick."""

    def compute(tally: Tally, tricks: int) -> tuple[float | None, ...]:
        played, counts = tally.course[k.PLAYED].astype(float), tally.course[row]
        # A trick begins in as many hands as the trick before it was played in.
        hands = [played[trick if row == k.WON else max(trick - 1, 0)] for trick in range(tricks)]
        return tuple(float(counts[n] / size) if size else None for n, size in enumerate(hands))

    def mirror_all(values: tuple[float | None, ...]) -> tuple[float | None, ...]:
        return tuple(None if value is None else mirror(value) for value in values)

    return Figure(compute, mirror_all)
