"""The endgame inside the players: where the cards are known, a best card replaces the rule's.

What is best: of the cards that keep the most tricks (in a low contract the fewest), the
lowest; in a race, the rule's own card if it keeps the result, else the lowest that does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.jit.bitset import popcount
from ..common.jit.compiler import jit, warm_up
from ..common.typing import Array
from ..engine.cards import N_CARDS
from ..engine.dtypes import CHOOSE, FOLLOW, HIGH, VIEW
from ..engine.endgame import Ending, Race, best_card_compiled, solve_race_moves
from ..engine.endgame.game_values import endgame_tables
from ..engine.endgame.index import MAX_CARDS
from ..engine.endgame.race import NOT_LEGAL
from ..engine.endgame.solver import thread_scratch
from ..engine.play import Record, row
from ..engine.rules import Rules


@jit
def is_open(rules: Record, view: Record) -> bool:
    """Whether the player to move knows every card and the ending is small enough to solve."""
    if rules.set_aside > 0 or view.stock_left > 0 or view.to_move == 0 or view.phase == CHOOSE:
        return False
    if rules.race > 0 and rules.contract != HIGH:
        return False
    return popcount(view.hand) <= MAX_CARDS and np.int64(view.opponent_hand_size) <= MAX_CARDS


@jit
def _improve(rules: np.ndarray, known: Any, scratch: Any, views: np.ndarray,
             actions: np.ndarray) -> None:  # fmt: skip
    """The best card in every open ending played for tricks, with tables for high or low."""
    first = row(rules, 0)
    for index in range(len(views)):
        view = row(views, index)
        if not is_open(first, view) or view.low != known.low:
            continue
        theirs = view.unseen | view.opponent_known
        led = np.int64(view.led) if view.phase == FOLLOW else -1
        ending = Ending(view.hand, theirs, np.int64(view.trump), led)
        actions[index] = best_card_compiled(known, scratch, ending)


@jit
def _improve_races(rules: np.ndarray, known: Any, scratch: Any, views: np.ndarray,
                   actions: np.ndarray) -> None:  # fmt: skip
    """A card that keeps the result of the race in every open ending."""
    first = row(rules, 0)
    race = np.int64(first.race)
    ends = np.empty(N_CARDS, np.int64)
    for index in range(len(views)):
        view = row(views, index)
        if not is_open(first, view):
            continue
        theirs = view.unseen | view.opponent_known
        led = np.int64(view.led) if view.phase == FOLLOW else -1
        wanted = Race(race - np.int64(view.tricks[0]), race - np.int64(view.tricks[1]))
        trump = np.int64(view.trump)
        solve_race_moves(known, scratch, Ending(view.hand, theirs, trump, led), wanted, ends)
        actions[index] = _lowest_that_keeps(ends, actions[index], trump)


@jit
def _lowest_that_keeps(ends: np.ndarray, wanted: int, trump: int) -> int:
    """The wanted card if it keeps the result, else the lowest that does; `wanted` may be -1."""
    best, best_place = wanted, 1000
    for card in range(N_CARDS):
        if ends[card] == NOT_LEGAL or (best >= 0 and ends[card] < ends[best]):
            continue
        place = card % 13 + (13 if card // 13 == trump else 0)
        better = best < 0 or ends[card] > ends[best]
        if better or (best != wanted and place < best_place):
            best, best_place = card, place
    return best


class EndgamePlayer:
    """Perfect play once the stock is gone, for the rule sets where that is defined.

    An action of -1 says that the player wants no card in particular.

    With cards set aside the endgame is not open, and in a race with a low contract
    it is not searched; then nothing is changed.
    """

    def __init__(self, rules: Rules) -> None:
        self._record = rules.record()
        self._race = rules.race is not None
        self.perfect = self.solves(rules)
        self._tables = endgame_tables(rules) if self.perfect else []
        if self.perfect:
            kind = "races" if self._race else "endings"
            actions = np.zeros(0, np.int64)
            warm_up(f"play of {kind}", "agents", lambda: self.improve(np.zeros(0, VIEW), actions))

    @staticmethod
    def solves(rules: Rules) -> bool:
        """Whether open endings of these rules are solved."""
        return rules.open_endgame and not (rules.race is not None and rules.contract != "high")

    def settle(self, views: Array, shares: Array) -> None:
        """In rows of probabilities, give all to the best card in views of an open ending."""
        best = np.full(len(views), -1)
        self.improve(views, best)
        solved = np.flatnonzero(best >= 0)
        shares[solved] = 0
        shares[solved, best[solved]] = 1

    def improve(self, views: Array, actions: Array) -> None:
        """Replace the actions of views in an open ending by best ones."""
        if not self.perfect:
            return
        for known in self._tables:
            if self._race:
                _improve_races(self._record, known, thread_scratch(), views, actions)
            else:
                _improve(self._record, known, thread_scratch(), views, actions)
