"""Opponents for people: `easy`, `medium` and `hard`.

`easy` plays by the rules of thumb and remembers the last two tricks. `medium` counts
what is out while the stock lasts, but of the endgame it remembers only the last six tricks.
`hard` has a perfect memory, and is the strongest that answers soon: `thinker:64` where that
plays the rules, `champion` in races and where it thinks at the last tricks, else
`flat-mc:128,voids,playout=counting`.

A player who has forgotten guesses: in the endgame it imagines a hand for the other out of
all cards that it neither holds nor remembers, the remembered ones in their places, and plays
what would be best against it; `easy` makes one guess, `medium` three. They play every rule
set. Hands of more than thirteen cards are played by the rules of thumb until thirteen are
left, and a race as if all tricks were played.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, bit, nth_lowest, popcount
from ...common.jit.compiler import jit, warm_up
from ...engine.cards import N_CARDS
from ...engine.dtypes import EXCHANGE, FOLLOW, NO_CARD
from ...engine.endgame import Ending, Scratch, Tables, solve_moves
from ...engine.endgame.game_values import endgame_tables
from ...engine.endgame.index import MAX_CARDS
from ...engine.endgame.solver import thread_scratch
from ...engine.play import Record, row
from ...engine.rng import random_below
from ...engine.rules import Match, load_rules
from ...engine.view import legal_in_view
from ..base import Agent, Array, ViewBatch, no_rng, no_views
from ..heuristic.counting import counting_actions
from ..heuristic.threshold import threshold_actions
from ..sampling import masked_argmax
from .base import SearchAgent
from .champion import Champion, can_think
from .flat_mc import FlatMcAgent
from .thinker import ThinkerAgent


class Memory(NamedTuple):
    """What a forgetful player remembers in the endgame, and how often it guesses at the rest."""

    tricks: int
    guesses: int


@jit
def _remembered(view: Record, memory: int) -> tuple[np.uint64, np.uint64]:
    """Of the last so many tricks: the cards played, and those the other was seen to take."""
    played, taken = NO_CARDS, NO_CARDS
    trick = np.int64(view.trick)
    for index in range(max(0, trick - memory), trick):
        played |= bit(np.int64(view.led_cards[index])) | bit(np.int64(view.followed_cards[index]))
        if view.opponent_draws[index] < NO_CARD - 1:
            taken |= bit(np.int64(view.opponent_draws[index]))
    if view.led != NO_CARD:
        played |= bit(np.int64(view.led))
    return played, taken & view.opponent_known


@jit
def _guess(rules: Record, view: Record, memory: int, stream: np.ndarray) -> np.uint64:
    """A hand for the other, out of what is remembered."""
    played, hand = _remembered(view, memory)
    possible = rules.deck & ~(view.hand | played | hand | view.laid_away)
    left = popcount(possible)
    for _ in range(np.int64(view.opponent_hand_size) - popcount(hand)):
        card = bit(nth_lowest(possible, random_below(stream, left)))
        possible &= ~card
        left -= 1
        hand |= card
    return hand


@jit
def _guess_endgame(
    rules: np.ndarray, known: Tables, scratch: Scratch, batch: ViewBatch, memory: Memory
) -> None:
    """Replace actions of the endgame by what is best against guessed hands."""
    tricks = np.empty(N_CARDS, np.int64)
    totals = np.empty(N_CARDS, np.int64)
    first = row(rules, 0)
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        if view.stock_left > 0 or view.low != known.low or popcount(view.hand) > MAX_CARDS:
            continue
        if view.phase == EXCHANGE:
            continue
        led = np.int64(view.led) if view.phase == FOLLOW else -1
        trump = np.int64(view.trump)
        totals[:] = 0
        for _ in range(memory.guesses):
            other = _guess(first, view, memory.tricks, batch.rng[index : index + 1])
            solve_moves(known, scratch, Ending(view.hand, other, trump, led), tricks)
            for card in range(N_CARDS):
                totals[card] += -tricks[card] if view.low == 1 else tricks[card]
        batch.actions[index] = masked_argmax(totals, legal_in_view(first, view))


class ForgetfulAgent(Agent):
    """A rule in the foreplay, and an endgame played from a short memory."""

    foreplay: Callable[[Array, Array, Array], None] = staticmethod(threshold_actions)
    memory = Memory(tricks=2, guesses=1)

    def __init__(self, rules: Any = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        self._known = endgame_tables(self.rules)
        warm_up(
            f"{self.name} player", "agents", lambda: ForgetfulAgent.act(self, no_views(), no_rng())
        )

    def act(self, views: Array, rng: Array) -> Array:
        """The rule's action, or the best against a guessed hand, for each view."""
        actions = np.empty(len(views), np.int64)
        self.foreplay(self.record, views, actions)
        for known in self._known:
            batch = ViewBatch(views, rng.copy(), actions)
            _guess_endgame(self.record, known, thread_scratch(), batch, self.memory)
        return actions


class Easy(ForgetfulAgent):
    """The rules of thumb, and two tricks remembered."""

    name = "easy"


class Medium(ForgetfulAgent):
    """The counting player in the foreplay, and six tricks remembered."""

    name = "medium"
    foreplay = staticmethod(counting_actions)
    memory = Memory(tricks=6, guesses=3)


class Hard(SearchAgent):
    """The strongest that answers soon, with a perfect memory: in most rules one that searches."""

    def __new__(cls, rules: Any = "classic", *, match: Match | None = None) -> Agent:
        """One of the three; whoever makes it by name gives it that name."""
        rules = load_rules(rules)
        if ThinkerAgent.plays(rules):
            return ThinkerAgent(rules, 64, match=match)
        if Champion.plays(rules) and (rules.race is not None or can_think(rules)):
            return Champion(rules, match=match)
        return FlatMcAgent(rules, 128, "voids", "playout=counting", match=match)
