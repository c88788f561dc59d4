"""Counters of a pairing, which add up over chunks, and the win rates that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ..common.typing import Array
from ..engine.dtypes import SEATS
from . import kernels as k
from .aivat import LUCK_UNITS
from .statistics import Estimate, Moments, mean_estimate, ratio, win_rate_error, win_rate_estimate


@dataclass
class Fault:
    """Hands that an agent forfeited for one reason, with a message about the first."""

    side: int
    kind: str
    """`illegal` or `raised`."""
    hands: int
    example: str
    trace: str = ""
    """Traceback of the error within the agent's own code."""


_ARRAYS = ("sums", "course", "moments", "totals", "failed", "moves", "seconds")


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
    failed: Array = field(default_factory=lambda: np.zeros(SEATS, np.int64))
    """Hands that each agent forfeited in the endgame."""
    moves: Array = field(default_factory=lambda: np.zeros(SEATS, np.int64))
    seconds: Array = field(default_factory=lambda: np.zeros(SEATS))
    """Of the moves of each agent."""
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally; the first example of each fault stays."""
        self.pairs += other.pairs
        for name in _ARRAYS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.exact = self.exact or other.exact
        self.reduce_variance = self.reduce_variance or other.reduce_variance
        for fault in other.faults:
            self.add_fault(fault)

    def add_fault(self, fault: Fault) -> None:
        for earlier in self.faults:
            if (earlier.side, earlier.kind) == (fault.side, fault.kind):
                earlier.hands += fault.hands
                return
        self.faults.append(replace(fault))

    def endgame_errors(self, side: int) -> int:
        """Tricks lost against perfect endgame play, and hands forfeited in the endgame."""
        thrown = k.THROWN_TWO if side else k.THROWN_ONE
        return int(self.sums[thrown] + self.failed[side])

    @property
    def always_level(self) -> bool:
        """Whether no deal separated the agents, as when both choose alike in every hand."""
        return self.pairs > 1 and not self.faults and not self.moments[k.GAME_MARGIN, k.GAME_MARGIN]


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


def _win_rate_per_pair(pairs: int, x: float, xx: float) -> tuple[float, float]:
    """The win rate, with its standard error over pairs."""
    most = 2 * SEATS  # a win scores 2, a tie 1
    return ratio(Moments(n=pairs, x=x, h=most * pairs, xx=xx, xh=most * x, hh=most**2 * pairs))


def _win_rate_interval(
    tally: Tally, win_rate: float, error: float, as_played: float, games: int
) -> Estimate:
    if not tally.reduce_variance or not error:
        return win_rate_estimate(win_rate, error, tally.pairs, games)
    # With variance reduction the win rate is no count of wins, so no score interval applies.
    return mean_estimate(
        win_rate, win_rate_error(as_played, error, tally.pairs, games), tally.pairs - 1
    )


def win_rate_of(tally: Tally) -> Estimate:
    """Share of games won, with the interval over pairs."""
    moments, games = _reduced_moments(tally, k.RESULT), SEATS * tally.pairs
    win_rate, error = _win_rate_per_pair(tally.pairs, moments.x, moments.xx)
    return _win_rate_interval(tally, win_rate, error, tally.totals[k.RESULT] / (2 * games), games)


def as_played_of(tally: Tally) -> Estimate | None:
    """The win rate without variance reduction; None if the others have none either."""
    if not tally.reduce_variance:
        return None
    x, xx = float(tally.totals[k.RESULT]), float(tally.moments[k.RESULT, k.RESULT])
    return win_rate_estimate(*_win_rate_per_pair(tally.pairs, x, xx), tally.pairs)


def hand_win_rate_of(tally: Tally) -> Estimate:
    win_rate, error = ratio(_reduced_moments(tally, k.GAME_SCORE))
    hands = int(tally.totals[k.GAME_HANDS])
    as_played = tally.totals[k.GAME_SCORE] / (2 * hands)
    return _win_rate_interval(tally, win_rate / 2, error / 2, as_played, hands)


def mean_per_hand(tally: Tally, total: int) -> Estimate:
    value, error = ratio(_reduced_moments(tally, total))
    # Equal results in all pairs do not bound the next one.
    return mean_estimate(value, error or math.inf, tally.pairs - 1)
