"""What endings are worth with best play: the tables of a rule set, and the tricks of many hands."""

from __future__ import annotations

from typing import Any

import numpy as np

from .endgame import Tables, tables, values
from .endgame.layout import MOST_CARDS
from .rules import Rules


def known_endings(rules: Rules) -> list[Tables]:
    """The tables for each contract that comes up in a rule set; their `low` tells which."""
    return [tables(rules.trumps == "upcard", low) for low in rules.lows]


def has_exact_endings(rules: Rules) -> bool:
    """Whether what is left of a hand has an exact worth: it is open, short enough, and no race."""
    return rules.open_endgame and rules.race is None and rules.hand <= MOST_CARDS


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
