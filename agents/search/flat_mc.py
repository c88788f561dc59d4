# pyright: reportArgumentType=false
"""Flat Monte Carlo: try every card in the same determinizations, and play the best total.

Perfect-information Monte Carlo with playouts instead of a full search (Ginsberg, "GIB: Imperfect
Information in a Computationally Challenging Game", JAIR 2001): it samples N determinizations,
full deals consistent with the view, plays each legal card in each of them, lets the rules of
thumb play the rest of the foreplay for both, and scores the ending exactly by the hand's payoff.
The card with the best total is played; of equals the cheaper one, by rank, a trump counting 13
more. Of equal stock cards it takes the one that the rules of thumb choose. In an exchange, keeping
and taking the blind hand are tried, and the opponent decides by the rules of thumb.

Endings are scored with open cards in each determinization, so the search assumes knowledge that
it will not have, and information has no value for it (strategy fusion: Long, Sturtevant, Buro and
Furtak, "Understanding the Success of Perfect Information Monte Carlo Sampling in Game Tree
Search", AAAI 2010). In this game that costs little, because real endings are open when they
begin; the policy of the playouts uses no hidden information.

`flat-mc:64,voids` samples determinizations consistent with the voids shown, `flat-mc:5ms` has a
time per move instead of a number of determinizations, and `playout=counting` plays out by the
counting agent, which is nearly four times as slow and wins more.

The open endgame is perfect. Where cards are set aside it never opens: then every determinization
is solved exactly for each card. A long race is played out by the rules of thumb.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ...common.jit.compiler import allocates, inline_ir, jit, warm_up
from ...engine.bitset import NO_CARDS, ONE, lowest, popcount
from ...engine.cards import N_ACTIONS, N_CARDS
from ...engine.dtypes import CHOOSE, EXCHANGE, GAME, NO_CARD, VIEW
from ...engine.endgame import Ending, Scratch, Tablebase, solve_moves
from ...engine.endgame.index import MAX_CARDS
from ...engine.endgame.solver import thread_scratch
from ...engine.play import Record, payoff_of_tricks, play, row
from ...engine.rules import Match, RulesLike
from ...engine.sampling.determinizations import (
    SAMPLING_PLAN,
    draw_determinization,
    plan_determinizations,
)
from ...engine.view import legal_in_view
from ..base import ViewBatch
from ..heuristic.threshold import threshold_action
from ..options import Options, parse_options
from .base import PRUNE_BY_RACING, SearchAgent, searchable_actions
from .playouts import play_out


class FlatMcOptions(Options, frozen=True):
    """How determinizations are drawn, and which policy plays them on."""

    voids: bool = False
    playout: Literal["threshold", "counting"] = "threshold"
    takes = (
        "there are voids, by which determinizations are drawn, and playout=threshold and "
        "playout=counting for what plays them on"
    )


class FlatMcSearch(NamedTuple):
    """Rules, options and a thread's buffers of a search in games of one contract."""

    rules: np.ndarray
    tablebase: Tablebase
    counting: bool
    """Whether `counting` plays the hands out, or the rules of thumb."""
    voids: bool
    scratch: Scratch
    plans: np.ndarray
    games: np.ndarray
    """The determinization, and a playout in it."""
    views: np.ndarray
    totals: np.ndarray


@inline_ir
def _solve_all(search: FlatMcSearch, view: Record, cards: np.ndarray, tricks: np.ndarray) -> None:
    """Add each action's exact value in a determinization without foreplay to its total."""
    rules, game = row(search.rules, 0), row(search.games, 0)
    seat = np.int64(view.seat)
    led = np.int64(view.led) if view.led != NO_CARD else -1
    low = np.int64(game.low)
    ending = Ending(game.hand[seat], game.hand[1 - seat], np.int64(game.trump), led)
    solve_moves(search.tablebase, search.scratch, ending, tricks)
    remaining = popcount(view.hand)
    for index in range(len(cards)):
        taken = tricks[cards[index]]
        own_tricks = np.int64(view.tricks[0]) + taken
        opponent_tricks = np.int64(view.tricks[1]) + remaining - taken
        search.totals[cards[index]] += payoff_of_tricks(rules, low, own_tricks, opponent_tricks)


@jit
@allocates
def _actions_of(legal: np.uint64) -> np.ndarray:
    cards = np.empty(popcount(legal), np.int64)
    for index in range(len(cards)):
        cards[index] = lowest(legal)
        legal &= legal - ONE
    return cards


@inline_ir
@allocates
def _sample(search: FlatMcSearch, view: Record, samples: int, stream: np.ndarray) -> None:
    rules = row(search.rules, 0)
    cards = _actions_of(legal_in_view(rules, view))
    tricks = np.empty(N_CARDS, np.int64)
    solvable = popcount(view.hand) <= MAX_CARDS and view.stock_left == 0 and rules.race == 0
    solvable = solvable and view.phase != EXCHANGE
    for _ in range(samples):
        # All cards meet the same determinization (common random numbers): the luck of the deal is
        # in every total alike, and their differences need far fewer samples.
        draw_determinization(rules, view, row(search.plans, 0), stream, row(search.games, 0))
        if solvable:
            _solve_all(search, view, cards, tricks)
            continue
        for index in range(len(cards)):
            search.games[1] = search.games[0]
            trial = row(search.games, 1)
            play(rules, trial, cards[index])
            search.totals[cards[index]] += play_out(search, trial, np.int64(view.seat))


@jit
@allocates
def cheapest_best(rules: Record, view: Record, totals: np.ndarray) -> int:
    """The action with the highest total, of equals the cheapest."""
    cards = _actions_of(legal_in_view(rules, view))
    rule_choice = threshold_action(rules, view) if view.phase >= CHOOSE else -1
    best, lowest_price = -1, 0
    for index in range(len(cards)):
        card = cards[index]
        price = card % 13 + (13 if card // 13 == view.trump else 0)
        if card == rule_choice:
            price = -1
        better = best < 0 or totals[card] > totals[best]
        if better or (totals[card] == totals[best] and price < lowest_price):
            best, lowest_price = card, price
    return best


@jit
@allocates
def _flat_mc_actions(
    search: FlatMcSearch, batch: ViewBatch, samples: int, accumulate: bool
) -> None:
    rules, actions = row(search.rules, 0), batch.actions
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        if searchable_actions(rules, search.tablebase, view, index, actions) == NO_CARDS:
            continue
        if not accumulate:
            search.totals[:] = 0
            plan_determinizations(view, search.voids, row(search.plans, 0))
        _sample(search, view, samples, batch.rng[index : index + 1])
        actions[index] = cheapest_best(rules, view, search.totals)


class FlatMcAgent(SearchAgent):
    """Flat Monte Carlo with playouts by a rule-based agent."""

    kernel = staticmethod(_flat_mc_actions)
    kind = "flat-mc"
    chunk = 8

    def __init__(
        self,
        rules: RulesLike = "classic",
        samples: object = 64,
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is a number of determinizations or a time per move (`5ms`).

        `option_words` are `voids`, by which determinizations are drawn, and
        `playout=threshold` or `playout=counting`.
        """
        options = parse_options(option_words, FlatMcOptions, self.kind)
        super().__init__(rules, samples, match)
        self._voids = options.voids
        self._counting = options.playout == "counting"
        self.name += ",voids" if self._voids else ""
        self.name += ",playout=counting" if self._counting else ""
        warm_up("flat Monte Carlo", "agents", self._compile, seconds=4)

    def _new_search(self, pruning: int = PRUNE_BY_RACING) -> FlatMcSearch:
        return FlatMcSearch(
            rules=self.rules_array,
            tablebase=self._tablebases[0],
            counting=self._counting,
            voids=self._voids,
            scratch=thread_scratch(),
            plans=np.zeros(1, SAMPLING_PLAN),
            games=np.zeros(2, GAME),
            views=np.zeros(1, VIEW),
            totals=np.zeros(N_ACTIONS, np.int64),
        )
