# pyright: reportArgumentType=false, reportReturnType=false
"""Perfect endgames of agents: where all cards are known, an optimal card replaces the policy's.

Of the cards that win the most tricks (in a low contract the fewest) it plays the lowest; in a
race, the policy's card if it pays as much as the best, else the lowest that does.
"""

from __future__ import annotations

import numpy as np

from ..common.jit.compiler import allocates, forceinline, jit, warm_up
from ..common.suggestions import type_phrase
from ..common.typing import Array
from ..engine.bitset import popcount
from ..engine.cards import N_CARDS
from ..engine.dtypes import CHOOSE, FOLLOW, HIGH, MARGIN, VIEW
from ..engine.endgame import Ending, Race, Scratch, Tablebase, best_card_compiled, solve_race_moves
from ..engine.endgame.game_values import endgame_kinds
from ..engine.endgame.index import MAX_CARDS
from ..engine.endgame.load import available_tablebase
from ..engine.endgame.race import NOT_LEGAL
from ..engine.endgame.solver import thread_scratch
from ..engine.play import Record, more_tricks_pay, row
from ..engine.rules import Rules


@jit
def is_open(rules: Record, view: Record) -> bool:
    """Whether the player to move knows every card, and the ending is small enough to solve."""
    if rules.set_aside > 0 or view.stock_left > 0 or view.to_move == 0 or view.phase == CHOOSE:
        return False
    if not more_tricks_pay(rules) or (rules.race > 0 and rules.contract != HIGH):
        return False
    return popcount(view.hand) <= MAX_CARDS and np.int64(view.opponent_hand_size) <= MAX_CARDS


@forceinline
def open_ending(view: Record) -> Ending:
    """The ending of an open view."""
    opponent = view.unseen | view.opponent_known
    led = np.int64(view.led) if view.phase == FOLLOW else -1
    return Ending(view.hand, opponent, np.int64(view.trump), led)


@jit
def _improve(
    rules: np.ndarray,
    tablebase: Tablebase,
    scratch: Scratch,
    views: np.ndarray,
    actions: np.ndarray,
) -> None:
    """Replace the actions in open endings."""
    first = row(rules, 0)
    for index in range(len(views)):
        view = row(views, index)
        if not is_open(first, view) or view.low != tablebase.low:
            continue
        actions[index] = best_card_compiled(tablebase, scratch, open_ending(view))


@jit
@allocates
def _improve_races(
    rules: np.ndarray,
    tablebase: Tablebase,
    scratch: Scratch,
    views: np.ndarray,
    actions: np.ndarray,
) -> None:
    """`_improve` in a race."""
    first = row(rules, 0)
    race = np.int64(first.race)
    ends = np.empty(N_CARDS, np.int64)
    for index in range(len(views)):
        view = row(views, index)
        if not is_open(first, view):
            continue
        own_needs, other_needs = race - np.int64(view.tricks[0]), race - np.int64(view.tricks[1])
        race_state = Race(own_needs, other_needs, first.pay == MARGIN)
        solve_race_moves(tablebase, scratch, open_ending(view), race_state, ends)
        actions[index] = _lowest_that_keeps(ends, actions[index], np.int64(view.trump))


@jit
def _lowest_that_keeps(ends: np.ndarray, preferred: int, trump: int) -> int:
    """The preferred card if it is one of the best, else the lowest of these; -1: no preference."""
    # What is no card is no preference.
    best, best_place = preferred if preferred < N_CARDS else -1, 1000
    for card in range(N_CARDS):
        if ends[card] == NOT_LEGAL or (best >= 0 and ends[card] < ends[best]):
            continue
        place = card % 13 + (13 if card // 13 == trump else 0)
        better = best < 0 or ends[card] > ends[best]
        if better or (best != preferred and place < best_place):
            best, best_place = card, place
    return best


class EndgamePlayer:
    """Perfect play after the stock is gone, for rule sets whose endings are solved.

    An action of -1 stands for no preference. Without effect if cards are set aside, which
    leaves the endgame hidden, in a race with a low contract, which is not searched, and where a
    slam pays less than one trick fewer, so that more tricks are not always better.
    """

    def __init__(self, rules: Rules) -> None:
        self._record = rules.array()
        self._race = rules.race is not None
        self.perfect: bool = self.solves(rules)
        self._kinds = endgame_kinds(rules) if self.perfect else []
        if self.perfect:
            kind = "races" if self._race else "endings"
            actions = np.zeros(0, np.int64)
            none = np.zeros(0, VIEW), actions
            warm_up(f"play of {kind}", "agents", lambda: self.improve(*none), seconds=3)

    @staticmethod
    def solves(rules: Rules) -> bool:
        """Whether open endings of these rules are solved."""
        low_race = rules.race is not None and rules.contract != "high"
        return rules.open_endgame and rules.more_tricks_pay and not low_race

    def replace_probabilities(self, views: Array, probs: Array) -> None:
        """Move the probabilities in views of open endings to the cards that `improve` plays."""
        if self._race:
            # The card of the policy stays if it is one of the best.
            stated = probs.copy()
            probs[:] = 0
            for action in range(probs.shape[1]):
                rows = np.flatnonzero(stated[:, action] > 0)
                actions = np.full(len(rows), action)
                self.improve(views[rows], actions)
                probs[rows, actions] += stated[rows, action]
            return
        best = np.full(len(views), -1)
        self.improve(views, best)
        solved = np.flatnonzero(best >= 0)
        probs[solved] = 0
        probs[solved, best[solved]] = 1

    def improve(self, views: Array, actions: Array) -> None:
        """Replace the actions in views of open endings by optimal ones."""
        is_array = isinstance(actions, np.ndarray) and actions.dtype.kind in "iu"
        if not is_array or actions.shape != (len(views),):
            raise ValueError(
                f"actions is {type_phrase(actions)}: give an array of integers, one for each of "
                f"{len(views)} views"
            )
        improve = _improve_races if self._race else _improve
        for kind in self._kinds:
            improve(self._record, available_tablebase(kind), thread_scratch(), views, actions)
