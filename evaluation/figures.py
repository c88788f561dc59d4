"""Figures of a pairing: how each statistic is computed from the counters of `kernels`.

A statistic is a field of a record in `results` that declares its `Figure`: its value, the value
as the other player sees it, and its text. JSON, CSV and tables follow from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from ..engine.dtypes import SEATS
from . import kernels as k
from .aivat import PARTS
from .chunks import Tally
from .statistics import Estimate, Moments, mean_estimate, ratio, share_estimate


@dataclass(frozen=True)
class Figure:
    """What a field of results is; counters are those of `kernels`, by name."""

    of: Callable[..., Any]
    """Its value, out of a tally; of what is one player's, of a tally and a player."""
    turned: Callable[[Any], Any]
    """Its value as the other player sees it."""
    swaps: str
    """The figure that becomes it then, if it is another."""
    heads: tuple[str, str]
    """Of its column in tables of hands and of matches; without one it has none."""
    text: Callable[[Any], str]
    about: str


def figure(
    of: Callable[..., Any], turned: Callable[[Any], Any] = lambda value: value, *,
    swaps: str = "", head: str = "", in_matches: str = "", text: Callable[[Any], str] = str,
    about: str = "",
) -> Figure:  # fmt: skip
    """A declaration for the type of a field."""
    return Figure(of, turned, swaps, (head, in_matches or head), text, about)


@cache
def figures_of(kind: type) -> dict[str, Figure]:
    """The figures among the fields of a structure, by name."""
    types = get_type_hints(kind, include_extras=True).items()
    return {name: each.__metadata__[0] for name, each in types if hasattr(each, "__metadata__")}


def opposite(share: Any) -> Any:
    """A share as the other player sees it."""
    if share is None:
        return None
    return share.scaled(-1, 1) if isinstance(share, Estimate) else 1 - share


def negative(value: Any) -> Any:
    """A difference as the other player sees it."""
    if isinstance(value, Estimate):
        return value.scaled(-1)
    return None if value is None else -value


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.5


_LUCK = {
    k.RESULT: k.SCORE_LUCK,
    k.GAME_SCORE: k.SCORE_LUCK,
    k.GAME_MARGIN: k.MARGIN_LUCK,
    k.GAME_POINTS: k.POINTS_LUCK,
}
"""The luck in each total; nothing of it was counted where it is not wanted."""


def _reduced(tally: Tally, what: int) -> Moments:
    """Moments over pairs of a total less its luck, and of the hands."""
    totals, moments, luck, h = tally.totals, tally.moments, _LUCK[what], k.GAME_HANDS
    both = float(moments[what, what]) - 2 * float(moments[what, luck]) / PARTS
    return Moments(
        tally.pairs,
        x=float(totals[what]) - float(totals[luck]) / PARTS,
        h=float(totals[h]),
        xx=both + float(moments[luck, luck]) / PARTS**2,
        xh=float(moments[what, h]) - float(moments[luck, h]) / PARTS,
        hh=float(moments[h, h]),
    )


def _per_pair(pairs: int, x: float, xx: float) -> tuple[float, float]:
    """The share of results won over the pairs, with its standard error."""
    most = 2 * SEATS
    return ratio(Moments(pairs, x, most * pairs, xx, most * x, most**2 * pairs))


def _share_of(tally: Tally, share: float, error: float) -> Estimate:
    """A share with its interval; less its luck it is no count of trials."""
    kind = mean_estimate if tally.reduce_variance else share_estimate
    return kind(share, error, tally.pairs)


def win_rate_of(tally: Tally) -> Estimate:
    """Share of games won, with the interval over pairs."""
    moments = _reduced(tally, k.RESULT)
    return _share_of(tally, *_per_pair(tally.pairs, moments.x, moments.xx))


def as_played_of(tally: Tally) -> Estimate | None:
    """The win rate with the luck of the stock, where that was taken out of the others."""
    if not tally.reduce_variance:
        return None
    x, xx = float(tally.totals[k.RESULT]), float(tally.moments[k.RESULT, k.RESULT])
    return share_estimate(*_per_pair(tally.pairs, x, xx), tally.pairs)


def hand_win_rate_of(tally: Tally) -> Estimate:
    """Share of hands won."""
    share, error = ratio(_reduced(tally, k.GAME_SCORE))
    return _share_of(tally, share / 2, error / 2)


def mean(part: int, whole: int, without: float | None = None) -> Callable[..., float | None]:
    """One counter over another, or what stands for it where that is nothing."""
    return lambda tally: (
        float(tally.sums[part] / tally.sums[whole]) if tally.sums[whole] else without
    )


def of_each(
    one: int, two: int, whole: int, without: float | None = None
) -> Callable[..., float | None]:
    """The mean of a counter that each player has one of."""
    return lambda tally, player: mean((one, two)[player], whole, without)(tally)


def mean_a_hand(what: int) -> Callable[[Tally], Estimate]:
    """The mean of a total over hands."""

    def of(tally: Tally) -> Estimate:
        value, error = ratio(_reduced(tally, what))
        # The same in every pair says nothing of the next one, unless the players play alike.
        return mean_estimate(value, error if error or not value else math.inf, tally.pairs)

    return of


def as_leader_of(tally: Tally) -> float:
    """Share of hands won as non-dealer."""
    return _share(tally.sums[k.LED_SCORE], 2 * tally.sums[k.LED_HANDS])


def as_dealer_of(tally: Tally) -> float:
    """Share of hands won as dealer."""
    sums = tally.sums
    return _share(sums[k.SCORE] - sums[k.LED_SCORE], 2 * (sums[k.HANDS] - sums[k.LED_HANDS]))


def ms_a_move_of(tally: Tally, player: int) -> float | None:
    """Mean milliseconds of a decision."""
    moves = tally.moves[player]
    return 1000 * tally.seconds[player] / moves if moves else None


def by_trick(row: int, turned: Callable[[Any], Any]) -> Figure:
    """Share of tricks that player one won, or how much more it held, by number of the trick."""

    def of(tally: Tally, tricks: int) -> tuple[float | None, ...]:
        played, counted = tally.course[k.PLAYED].astype(float), tally.course[row]
        # As many hands came to the beginning of a trick as had the trick before it.
        come = [played[trick if row == k.WON else max(trick - 1, 0)] for trick in range(tricks)]
        return tuple(float(counted[n] / each) if each else None for n, each in enumerate(come))

    def all_turned(values: tuple[float | None, ...]) -> tuple[float | None, ...]:
        return tuple(None if each is None else turned(each) for each in values)

    return figure(of, all_turned)
