# pyright: reportArgumentType=false
"""Opponents for people: `easy`, `medium` and `hard`.

`easy` plays by the rules of thumb and remembers the last two tricks. `medium` counts cards while
the stock lasts, but remembers only the last six tricks in the endgame. `hard` has a perfect
memory and is the strongest fast agent: `thinker:64` where that plays the rules, `champion` in
races and where it searches the last tricks, else `flat-mc:128,voids,playout=counting`.

A player who has forgotten guesses: in the endgame it samples a hand for the opponent out of all
cards that it neither holds nor remembers, the remembered ones in their places, and plays the best
card against it; `easy` makes one guess, `medium` three. They play every rule set. Hands of more
than thirteen cards are played by the rules of thumb until thirteen are left, and a race as if all
tricks were played.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from german_whist.agents.base import Agent, Array, ViewBatch, compile_act
from german_whist.agents.heuristic.counting import counting_actions
from german_whist.agents.heuristic.threshold import threshold_actions
from german_whist.agents.sampling import masked_argmax
from german_whist.agents.search.champion import Champion
from german_whist.agents.search.flat_mc import FlatMcAgent
from german_whist.agents.search.thinker import ThinkerAgent, can_search
from german_whist.common.jit.compiler import allocates, jit
from german_whist.engine.bitset import NO_CARDS, bit, nth_lowest, popcount
from german_whist.engine.cards import N_CARDS
from german_whist.engine.dtypes import EXCHANGE, FOLLOW, NO_CARD
from german_whist.engine.endgame import Ending, Scratch, Tablebase, solve_moves
from german_whist.engine.endgame.game_values import endgame_tablebases, prepare_tablebases
from german_whist.engine.endgame.index import MAX_CARDS
from german_whist.engine.endgame.solver import thread_scratch
from german_whist.engine.play import Record, row
from german_whist.engine.rng import random_below
from german_whist.engine.rules import Match, RulesLike, load_rules
from german_whist.engine.view import legal_in_view


class EndgameMemory(NamedTuple):
    """Tricks remembered in the endgame, and guesses at the other cards."""

    tricks: int
    guesses: int


@jit
def _remembered(view: Record, memory: int) -> tuple[np.uint64, np.uint64]:
    """Cards played in the last `memory` tricks, and those seen going to the opponent."""
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
    """Sample a hand for the opponent from what is remembered."""
    played, hand = _remembered(view, memory)
    possible = rules.deck & ~(view.hand | played | hand | view.laid_away)
    count = popcount(possible)
    for _ in range(np.int64(view.opponent_hand_size) - popcount(hand)):
        card = bit(nth_lowest(possible, random_below(stream, count)))
        possible &= ~card
        count -= 1
        hand |= card
    return hand


@jit
@allocates
def _guess_endgame(
    rules: np.ndarray,
    tablebase: Tablebase,
    scratch: Scratch,
    batch: ViewBatch,
    memory: EndgameMemory,
) -> None:
    tricks = np.empty(N_CARDS, np.int64)
    totals = np.empty(N_CARDS, np.int64)
    first = row(rules, 0)
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        if view.stock_left > 0 or view.low != tablebase.low or popcount(view.hand) > MAX_CARDS:
            continue
        if view.phase == EXCHANGE:
            continue
        led = np.int64(view.led) if view.phase == FOLLOW else -1
        trump = np.int64(view.trump)
        totals[:] = 0
        for _ in range(memory.guesses):
            hand = _guess(first, view, memory.tricks, batch.rng[index : index + 1])
            solve_moves(tablebase, scratch, Ending(view.hand, hand, trump, led), tricks)
            for card in range(N_CARDS):
                totals[card] += -tricks[card] if view.low == 1 else tricks[card]
        batch.actions[index] = masked_argmax(totals, legal_in_view(first, view))


class ForgetfulAgent(Agent):
    """Rule-based foreplay, and an endgame from a short memory."""

    foreplay: Callable[[Array, Array, Array], None] = staticmethod(threshold_actions)
    memory = EndgameMemory(tricks=2, guesses=1)

    def __init__(self, rules: RulesLike = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        prepare_tablebases(self.rules)
        compile_act(self, f"{self.name} agent", ForgetfulAgent.act)

    @cached_property
    def _tablebases(self) -> list[Tablebase]:
        return endgame_tablebases(self.rules)

    def act(self, views: Array, rng: Array) -> Array:
        actions = np.empty(len(views), np.int64)
        self.foreplay(self.rules_array, views, actions)
        for tablebase in self._tablebases:
            batch = ViewBatch(views, rng.copy(), actions)
            _guess_endgame(self.rules_array, tablebase, thread_scratch(), batch, self.memory)
        return actions


class Easy(ForgetfulAgent):
    """Plays by rules of thumb, and remembers two tricks of the endgame."""

    name = "easy"


class Medium(ForgetfulAgent):
    """Counts cards, and remembers six tricks of the endgame."""

    name = "medium"
    foreplay = staticmethod(counting_actions)
    memory = EndgameMemory(tricks=6, guesses=3)


def hard(rules: RulesLike = "classic", *, match: Match | None = None) -> Agent:
    """The strongest fast agent, with a perfect memory."""
    rules = load_rules(rules)
    if ThinkerAgent.plays(rules):
        return ThinkerAgent(rules, 64, match=match)
    if Champion.plays(rules) and (rules.race is not None or can_search(rules)):
        return Champion(rules, match=match)
    return FlatMcAgent(rules, 128, "voids", "playout=counting", match=match)
