# pyright: strict
"""Glicko ratings: how strong somebody is, and how sure that is.

Mark Glickman, "Parameter estimation in large dynamic paired comparison experiments", Applied
Statistics 48 (1999). A rating moves after every game against an opponent, or every puzzle
tried; a deviation shrinks with each and grows again with time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

_Q = math.log(10) / 400
_NEW, _LEAST = 350.0, 45.0
_DAYS_TO_FORGET = 1000.0
"""After so many days nothing more is known than of somebody new."""
_FROM_SURE = 50.0
_PER_DAY = (_NEW**2 - _FROM_SURE**2) / _DAYS_TO_FORGET


class Rating(NamedTuple):
    """A rating and its standard deviation."""

    value: float = 1000.0
    deviation: float = _NEW

    def after(
        self, games: Iterable[tuple[Rating, float]], days: float = 0.0, least: float = _LEAST
    ) -> Rating:
        """The rating after games, each the opponent's rating and a score from 0 to 1.

        >>> played = [(Rating(1400, 30), 1), (Rating(1550, 100), 0), (Rating(1700, 300), 0)]
        >>> found = Rating(1500, 200).after(played, least=0)
        >>> round(found.value), round(found.deviation, 1)
        (1464, 151.4)
        """
        before = min(math.hypot(self.deviation, math.sqrt(_PER_DAY * days)), _NEW)
        gained, known = 0.0, 0.0
        for other, score in games:
            weight = 1 / math.sqrt(1 + 3 * (_Q * other.deviation / math.pi) ** 2)
            expected = 1 / (1 + 10 ** (-weight * (self.value - other.value) / 400))
            gained += weight * (score - expected)
            known += weight**2 * expected * (1 - expected)
        inverse = 1 / before**2 + _Q**2 * known
        value = self.value + _Q / inverse * gained
        return Rating(value, max(math.sqrt(1 / inverse), least))
