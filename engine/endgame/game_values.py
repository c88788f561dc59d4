"""Tablebases of a rule set, and endgame values of many games."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...common.jit.compiler import warm_up
from ...common.typing import Array
from ..rules import Rules
from . import Tablebase, load_tablebase, values
from .index import MAX_CARDS
from .load import is_built
from .store import TablebaseKind


def endgame_kinds(rules: Rules) -> list[TablebaseKind]:
    """The kind of endgames of each possible contract of a rule set."""
    return [TablebaseKind(rules.trumps == "upcard", low) for low in rules.lows]


def endgame_tablebases(rules: Rules) -> list[Tablebase]:
    """The tablebase of each possible contract of a rule set; their `low` identifies it."""
    return [load_tablebase(kind.trumps, kind.low) for kind in endgame_kinds(rules)]


def prepare_tablebases(rules: Rules) -> None:
    """Build the tablebases of a rule set now, if their files are missing; else map them."""
    for kind in endgame_kinds(rules):
        load = partial(load_tablebase, kind.trumps, kind.low)
        if is_built(kind):
            load()
        else:
            warm_up(f"endings ({kind.name})", "engine", load, seconds=6)


def inexact_reason(rules: Rules) -> str:
    """Why endgames of these rules have no exact value in tricks; empty if they have one."""
    if not rules.open_endgame:
        return "set cards aside, so the worth of an ending cannot be known"
    if rules.hand > MAX_CARDS:
        return f"have hands of more than {MAX_CARDS} cards, whose endings are not solved"
    if rules.race is not None:
        return "are a race, whose ending is not worth what its tricks are"
    if not rules.more_tricks_pay:
        return "pay less for all counting tricks than for one fewer, so more are not always better"
    return ""


def best_tricks(games: Array, threads: int = 1) -> Array:
    """Tricks that the player to lead takes in each endgame, with perfect play by both."""
    best = np.zeros(len(games), np.int64)
    for low in (False, True):
        indices = np.flatnonzero(games["low"] == low)
        if len(indices):
            part = games[indices]
            tricks = values(part["hand"], part["trump"], part["turn"], low, threads)
            best[indices] = tricks
    return best
