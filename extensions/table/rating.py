# pyright: strict
"""Glicko ratings of players, and Elo ratings of the agents from the ladder of classic hands.

Mark Glickman, "Parameter estimation in large dynamic paired comparison experiments", Applied
Statistics 48 (1999). A rating changes after every game against an opponent, or attempt at a
puzzle; its deviation shrinks with each and grows again with time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

_Q = math.log(10) / 400
_INITIAL_DEVIATION, _MIN_DEVIATION = 350.0, 45.0
# Within a thousand days a deviation of 50 grows back to that of a new player.
_VARIANCE_PER_DAY = (_INITIAL_DEVIATION**2 - 50.0**2) / 1000.0


class Rating(NamedTuple):
    """A rating and its standard deviation."""

    value: float = 1000.0
    deviation: float = _INITIAL_DEVIATION

    def after(
        self,
        games: Iterable[tuple[Rating, float]],
        days: float = 0.0,
        min_deviation: float = _MIN_DEVIATION,
    ) -> Rating:
        """The rating after games, given as the opponent's rating and a score from 0 to 1.

        >>> games = [(Rating(1400, 30), 1), (Rating(1550, 100), 0), (Rating(1700, 300), 0)]
        >>> rating = Rating(1500, 200).after(games, min_deviation=0)
        >>> round(rating.value), round(rating.deviation, 1)
        (1464, 151.4)
        """
        prior = min(
            math.hypot(self.deviation, math.sqrt(_VARIANCE_PER_DAY * days)), _INITIAL_DEVIATION
        )
        gradient, information = 0.0, 0.0
        for opponent, score in games:
            g = 1 / math.sqrt(1 + 3 * (_Q * opponent.deviation / math.pi) ** 2)
            expected = 1 / (1 + 10 ** (-g * (self.value - opponent.value) / 400))
            gradient += g * (score - expected)
            information += g**2 * expected * (1 - expected)
        precision = 1 / prior**2 + _Q**2 * information
        value = self.value + _Q / precision * gradient
        return Rating(value, max(math.sqrt(1 / precision), min_deviation))


# -- agents

FILE = "ladder.json"
"""The output of `german-whist ladder --json`, without the pairings and agents' details."""
_LEAST_ERROR = 10.0
"""The ladder's anchor has no deviation of its own, and strength varies with the opponent."""
_SAME = {"hard": "thinker"}
"""Agents that play classic hands, those of the ladder, as another one does."""


@cache
def strengths() -> dict[str, tuple[float, float]]:
    """The rating of each agent and its standard deviation."""
    report = msgspec.json.decode((files(__package__ or "") / FILE).read_bytes())
    ratings = {
        # The interval is a 95 % interval, 2 · 1.96 standard deviations wide.
        row["agent"]: (row["value"], max((row["high"] - row["low"]) / 3.92, _LEAST_ERROR))
        for row in report["ladder"]["elo"]
    }
    return ratings | {name: ratings[other] for name, other in _SAME.items()}
