# pyright: strict
"""Elo ratings of the agents, from the package's ladder of classic hands.

The file is the output of `german-whist ladder --json`, without the pairings and players' details.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

FILE = "ladder.json"
_MIN_DEVIATION = 10.0
"""The ladder's anchor has no deviation of its own, and strength varies with the opponent."""


_SAME = {"hard": "thinker"}
"""Agents that play classic hands, those of the ladder, as another one does."""


@cache
def strengths() -> dict[str, tuple[float, float]]:
    """The rating of each agent and its standard deviation."""
    report = msgspec.json.decode((files(__package__ or "") / FILE).read_bytes())
    ratings = {
        # The interval is a 95 % interval, 2 · 1.96 standard deviations wide.
        row["player"]: (row["value"], max((row["high"] - row["low"]) / 3.92, _MIN_DEVIATION))
        for row in report["ladder"]["elo"]
    }
    return ratings | {name: ratings[other] for name, other in _SAME.items()}
