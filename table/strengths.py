# pyright: strict
"""How strong the agents are: the ratings of a ladder, which comes with the package.

It is what `german-whist ladder --json` writes, of classic rules; the players stand in it by the
names under which they were rated.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

FILE = "ladder.json"
_LEAST = 10.0
"""The least standard deviation: the ladder's anchor has none, and hands are not all alike."""


class RatingTold(Struct):
    """A player's rating, and its 95 % interval."""

    player: str
    value: float
    low: float
    high: float


class Ratings(Struct):
    """The ratings of a ladder, the strongest first."""

    elo: list[RatingTold]


class Ladder(Struct):
    """What is read of a ladder."""

    ladder: Ratings


@cache
def strengths() -> dict[str, tuple[float, float]]:
    """The rating of each agent and its standard deviation."""
    told = (files(__package__ or "") / FILE).read_bytes()
    return {
        each.player: (each.value, max((each.high - each.low) / 3.92, _LEAST))
        for each in msgspec.json.decode(told, type=Ladder).ladder.elo
    }
