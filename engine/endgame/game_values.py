"""Endgame tables of a rule set, and endgame values of many games."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import Rules
from . import Tables, tables, values
from .index import MAX_CARDS
from .store import TablebaseKind
from .tablebase import GrowingTables, growing_tables


def endgame_tables(rules: Rules) -> list[Tables]:
    """Tables for each possible contract of a rule set; their `low` identifies it."""
    return [tables(rules.trumps == "upcard", low) for low in rules.lows]


def growing_endgame_tables(rules: Rules) -> list[GrowingTables]:
    """`endgame_tables` that are small until they are worth their time."""
    return [growing_tables(TablebaseKind(rules.trumps == "upcard", low)) for low in rules.lows]


def inexact_reason(rules: Rules) -> str:
    """Why endgames of these rules have no exact value in tricks; empty if they have one."""
    if not rules.open_endgame:
        return "set cards aside, so the worth of an ending cannot be known"
    if rules.hand > MAX_CARDS:
        return f"have hands of more than {MAX_CARDS} cards, whose endings are not solved"
    if rules.race is not None:
        return "are a race, whose ending is not worth what its tricks are"
    return ""


def best_tricks(games: np.ndarray[Any, Any], threads: int = 1) -> np.ndarray[Any, Any]:
    """Tricks that the player to lead takes in each endgame, with perfect play by both."""
    best = np.zeros(len(games), np.int64)
    for low in (False, True):
        indices = np.flatnonzero(games["low"] == low)
        if len(indices):
            part = games[indices]
            tricks = values(part["hand"], part["trump"], part["turn"], low, threads)
            best[indices] = tricks
    return best
