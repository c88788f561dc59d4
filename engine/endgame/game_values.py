"""What endings are worth with best play: the tables of a rule set, and the tricks of many hands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import Rules
from . import Tables, tables, values
from .index import MOST_CARDS


def known_endings(rules: Rules) -> list[Tables]:
    """The tables for each contract that comes up in a rule set; their `low` tells which."""
    return [tables(rules.trumps == "upcard", low) for low in rules.lows]


def why_not_exact(rules: Rules) -> str:
    """Why a hand has no exact worth in tricks once its stock is gone; nothing if it has one."""
    if not rules.open_endgame:
        return "set cards aside, so the worth of an ending cannot be known"
    if rules.hand > MOST_CARDS:
        return f"have hands of more than {MOST_CARDS} cards, whose endings are not solved"
    if rules.race is not None:
        return "are a race, whose ending is not worth what its tricks are"
    return ""


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
