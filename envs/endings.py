"""What an ending is worth with best play, for episodes that end with the foreplay."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.endgame import tables, values
from ..engine.rules import Rules


def prepare_endings(rules: Rules) -> None:
    """Load the tables of endings, so that no step has to."""
    lows = {"high": (False,), "low": (True,), "colour": (False, True)}[rules.contract]
    for low in lows:
        tables(rules.trumps == "upcard", low)


def best_tricks(games: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The tricks that the player to lead takes of the rest of each hand, both playing perfectly."""
    best = np.zeros(len(games), np.int64)
    for low in (False, True):
        these = np.flatnonzero(games["low"] == low)
        if len(these):
            some = games[these]
            found = values(some["hand"], some["trump"], some["turn"], low, threads=1)
            best[these] = found
    return best
