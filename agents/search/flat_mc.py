"""Flat Monte Carlo: try every card in the same determinizations, and take the one that wins most.

Perfect-information Monte Carlo with playouts instead of a full search (Ginsberg, "GIB: Imperfect
Information in a Computationally Challenging Game", JAIR 2001): it samples N determinizations,
whole deals that fit the view, plays each legal card in each of them, lets the rules of thumb
play the rest of the foreplay for both, and scores the ending exactly, by what the hand pays. The
card with the best sum is played; of equals the cheaper one, by rank, a trump counting 13 more.
When the winner of a trick chooses a stock card, of equals the one that the rules of thumb choose.
So it is with an exchange: keeping and the blind hand are tried in the same determinizations, in
which the other then decides by the rules of thumb.

An ending is scored as if both players then knew all cards, in each determinization another
ending: the search counts on knowing there what it does not know now, and sees no value in finding
something out (strategy fusion: Long, Sturtevant, Buro and Furtak, "Understanding the Success of
Perfect Information Monte Carlo Sampling in Game Tree Search", AAAI 2010). In this game that costs
little, since endings are open when they begin; the playouts, by a rule that looks at its own
cards and the upcard, know nothing that is hidden.

`flat-mc:64,voids` samples determinizations with what failures to follow have shown, `flat-mc:5ms`
searches for so long a move instead of a number of determinizations, and with `playout=counting`
the counting player plays them on, which costs nearly four times as much and wins more.

The open endgame is perfect. Where cards are set aside it never opens: then every
determinization is solved exactly for each card. A long race is played out by the rules of thumb.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, lowest, popcount
from ...common.jit.compiler import inline_ir, jit, warm_up
from ...engine.cards import N_ACTIONS, N_CARDS
from ...engine.dtypes import CHOOSE, EXCHANGE, GAME, NO_CARD, VIEW
from ...engine.endgame import Ending, Scratch, Tables, solve_moves
from ...engine.endgame.index import MAX_CARDS
from ...engine.endgame.solver import thread_scratch
from ...engine.play import Record, pay_for, play, row
from ...engine.rules import Match
from ...engine.sampling.determinizations import (
    METHODS,
    SAMPLING_PLAN,
    draw_determinization,
    plan_determinizations,
)
from ...engine.view import legal_in_view
from ..base import ViewBatch
from ..heuristic.threshold import threshold_action
from .base import SearchAgent, to_search
from .playouts import Playouts, play_out

PLAYOUTS = ("threshold", "counting")
"""Who plays the sampled worlds on; the first unless another is named."""


class FlatMcBuffers(NamedTuple):
    """One thread's buffers."""

    scratch: Scratch
    plans: np.ndarray
    games: np.ndarray
    """The determinization at hand, and a trial in it."""
    views: np.ndarray
    totals: np.ndarray
    """What each action came to in all determinizations."""


class FlatMcSearch(NamedTuple):
    """The rules, options and buffers of a search in games of one contract."""

    rules: np.ndarray
    playouts: Playouts
    voids: bool
    buffers: FlatMcBuffers


@inline_ir
def _play_out_all(search: FlatMcSearch, seat: int, cards: np.ndarray) -> None:
    """Add to each action's total what it leads to in the determinization at hand."""
    rules, games = row(search.rules, 0), search.buffers.games
    for place in range(len(cards)):
        games[1] = games[0]
        trial = row(games, 1)
        play(rules, trial, cards[place])
        search.buffers.totals[cards[place]] += play_out(rules, search.playouts, trial, seat)


@inline_ir
def _solve_all(search: FlatMcSearch, view: Record, cards: np.ndarray, tricks: np.ndarray) -> None:
    """Add to each action's total its exact value in a determinization without foreplay."""
    rules, game = row(search.rules, 0), row(search.buffers.games, 0)
    seat = np.int64(view.seat)
    led = np.int64(view.led) if view.led != NO_CARD else -1
    low = np.int64(game.low)
    ending = Ending(game.hand[seat], game.hand[1 - seat], np.int64(game.trump), led)
    solve_moves(search.playouts.tables, search.playouts.scratch, ending, tricks)
    left = popcount(view.hand)
    for place in range(len(cards)):
        more = tricks[cards[place]]
        mine, others = np.int64(view.tricks[0]) + more, np.int64(view.tricks[1]) + left - more
        search.buffers.totals[cards[place]] += pay_for(rules, low, mine, others)


@jit
def _actions_of(legal: np.uint64) -> np.ndarray:
    """The actions in a set, as an array."""
    cards = np.empty(popcount(legal), np.int64)
    for place in range(len(cards)):
        cards[place] = lowest(legal)
        legal &= legal - ONE
    return cards


@inline_ir
def _sample(search: FlatMcSearch, view: Record, worlds: int, stream: np.ndarray) -> None:
    """Add so many determinizations to the totals of a view's actions."""
    rules, buffers = row(search.rules, 0), search.buffers
    cards = _actions_of(legal_in_view(rules, view))
    tricks = np.empty(N_CARDS, np.int64)
    solvable = popcount(view.hand) <= MAX_CARDS and view.stock_left == 0 and rules.race == 0
    solvable = solvable and view.phase != EXCHANGE
    for _ in range(worlds):
        # All cards meet the same determinization (common random numbers): the luck of the deal is
        # in every total alike, and their differences need far fewer samples.
        draw_determinization(rules, view, row(buffers.plans, 0), stream, row(buffers.games, 0))
        if solvable:
            _solve_all(search, view, cards, tricks)
        else:
            _play_out_all(search, np.int64(view.seat), cards)


@jit
def cheapest_best(rules: Record, view: Record, totals: np.ndarray) -> int:
    """The action with the highest total, of equals the cheapest."""
    cards = _actions_of(legal_in_view(rules, view))
    by_rule = threshold_action(rules, view) if view.phase >= CHOOSE else -1
    best, least = -1, 0
    for place in range(len(cards)):
        card = cards[place]
        price = card % 13 + (13 if card // 13 == view.trump else 0)
        if card == by_rule:
            price = -1
        better = best < 0 or totals[card] > totals[best]
        if better or (totals[card] == totals[best] and price < least):
            best, least = card, price
    return best


@jit
def _flat_mc_actions(search: FlatMcSearch, batch: ViewBatch, worlds: int, go_on: bool) -> None:
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    rules, buffers, actions = row(search.rules, 0), search.buffers, batch.actions
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        if to_search(rules, search.playouts.tables, view, index, actions) == NO_CARDS:
            continue
        if not go_on:
            buffers.totals[:] = 0
            plan_determinizations(rules, view, search.voids, row(buffers.plans, 0))
        _sample(search, view, worlds, batch.rng[index : index + 1])
        actions[index] = cheapest_best(rules, view, buffers.totals)


class FlatMcAgent(SearchAgent):
    """Tries each card in sampled worlds, played on by the rules of thumb."""

    kind = "flat-mc"
    chunk = 8

    def __init__(
        self,
        rules: Any = "classic",
        samples: object = 64,
        *words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is a number of worlds or a time a move (`5ms`).

        `words` are `plain` or `voids`, how to draw the worlds, and `playout=threshold` or
        `playout=counting`, who plays them on.
        """
        worlds, playout = _options(words)
        super().__init__(rules, samples, match)
        self._voids = worlds == "voids"
        if self._voids:
            self.name += ",voids"
        self._counting = playout == "counting"
        if playout != PLAYOUTS[0]:
            self.name += f",playout={playout}"
        warm_up("flat Monte Carlo", "agents", self._compile)

    def _room(self) -> FlatMcBuffers:
        totals = np.zeros(N_ACTIONS, np.int64)
        games, views = np.zeros(2, GAME), np.zeros(1, VIEW)
        return FlatMcBuffers(thread_scratch(), np.zeros(1, SAMPLING_PLAN), games, views, totals)

    def _search(
        self, tables: Tables, batch: ViewBatch, samples: int, go_on: bool, room: FlatMcBuffers
    ) -> None:
        playouts = Playouts(tables, room.scratch, self._counting, room.views)
        search = FlatMcSearch(self.record, playouts, self._voids, room)
        _flat_mc_actions(search, batch, samples, go_on)


def _options(words: tuple[str, ...]) -> tuple[str, str]:
    """How to draw worlds, and who plays them on."""
    worlds, playout = METHODS[0], PLAYOUTS[0]
    for word in words:
        if word in METHODS:
            worlds = word
        elif word.startswith("playout=") and word.removeprefix("playout=") in PLAYOUTS:
            playout = word.removeprefix("playout=")
        else:
            methods = " and ".join(METHODS)
            playouts = " and ".join(f"playout={each}" for each in PLAYOUTS)
            raise ValueError(
                f"{word!r} is no option of flat-mc: there are {methods} for how worlds are drawn, "
                f"and {playouts} for who plays them on"
            )
    return worlds, playout
