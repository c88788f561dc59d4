# pyright: strict
"""How strong the agents are: the ratings of a ladder, which comes with the package.

It is what `german-whist ladder --json` writes, of classic rules; the players stand in it by the
names under which they were rated.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

FILE = "ladder.json"
_LEAST = 10.0
"""The least standard deviation: the ladder's anchor has none, and hands are not all alike."""


@cache
def strengths() -> dict[str, tuple[float, float]]:
    """The rating of each agent and its standard deviation."""
    told = msgspec.json.decode((files(__package__ or "") / FILE).read_bytes())
    return {
        each["player"]: (each["value"], max((each["high"] - each["low"]) / 3.92, _LEAST))
        for each in told["ladder"]["elo"]
    }
