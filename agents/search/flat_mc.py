"""Flat Monte Carlo: try every card in the same sampled worlds, and take the one that wins most.

It samples N whole deals that fit the view, plays each legal card in each of them, lets the
rules of thumb play the rest of the foreplay for both, and scores the ending exactly, by what
the hand pays. The card with the best sum is played; of equals the cheaper one, by rank, a
trump counting 13 more. When the winner of a trick chooses a stock card, of equals the one
that the rules of thumb choose. So it is with an exchange: keeping and the blind hand are tried
in the same worlds, in which the other then decides by the rules of thumb.

`flat-mc:64,voids` samples worlds with what failures to follow have shown, `flat-mc:5ms`
searches for so long a move instead of a number of worlds, and with `playout=counting` the
counting player plays the worlds on, which costs nearly four times as much and wins more.

The open endgame is perfect. Where cards are set aside it never opens: then every sampled
world is solved exactly for each card. A long race is played out by the rules of thumb.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, lowest, popcount
from ...common.jit.compiler import jit, pasted, warm_up
from ...engine.cards import ACTIONS_IN_ALL, CARDS_IN_ALL
from ...engine.dtypes import CHOOSE, EXCHANGE, GAME, NO_CARD, VIEW
from ...engine.endgame import Scratch, Tables, solve_moves, tables
from ...engine.endgame.index import MOST_CARDS
from ...engine.endgame.solver import scratch_here
from ...engine.play import Record, pay_for, play, row
from ...engine.rules import Match, load_rules
from ...engine.sampling.determinizations import METHODS, PLAN, draw_world, plan_worlds
from ...engine.view import legal_in_view
from ..base import Array, no_rng, no_views
from ..heuristic.threshold import threshold_action
from .base import SearchAgent, nothing_to_search, to_search
from .playouts import play_out

PLAYOUTS = ("threshold", "counting")
"""Who plays the sampled worlds on; the first unless another is named."""


@pasted
def _try_all(
    rules: Record,
    known: Tables,
    scratch: Scratch,
    games: np.ndarray,
    seat: int,
    counting: bool,
    look: Record,
    cards: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add to each action's total what it leads to in the world `games[0]`."""
    for place in range(len(cards)):
        games[1] = games[0]
        trial = row(games, 1)
        play(rules, trial, cards[place])
        totals[cards[place]] += play_out(rules, known, scratch, trial, seat, counting, look)


@pasted
def solve_all(
    rules: Record, known: Tables, scratch: Scratch, view: Record, game: Record, cards: np.ndarray,
    tricks: np.ndarray, totals: np.ndarray,
) -> None:  # fmt: skip
    """As `_try_all`, in a world whose foreplay is over: each card's exact worth."""
    seat = np.int64(view.seat)
    led = np.int64(view.led) if view.led != NO_CARD else -1
    low = np.int64(game.low)
    solve_moves(
        known, scratch, game.hand[seat], game.hand[1 - seat], np.int64(game.trump), led,
        tricks,
    )  # fmt: skip
    left = popcount(view.hand)
    for place in range(len(cards)):
        more = tricks[cards[place]]
        mine, others = np.int64(view.tricks[0]) + more, np.int64(view.tricks[1]) + left - more
        totals[cards[place]] += pay_for(rules, low, mine, others)


@jit
def actions_of(legal: np.uint64) -> np.ndarray:
    """The actions in a set, as an array."""
    cards = np.empty(popcount(legal), np.int64)
    for place in range(len(cards)):
        cards[place] = lowest(legal)
        legal &= legal - ONE
    return cards


@pasted
def sample(
    rules: Record, known: Tables, scratch: Scratch, view: Record, plan: Record, worlds: int,
    counting: bool, stream: np.ndarray, games: np.ndarray, looks: np.ndarray, totals: np.ndarray,
) -> None:  # fmt: skip
    """Add so many worlds to the totals of a view's actions."""
    cards = actions_of(legal_in_view(rules, view))
    tricks = np.empty(CARDS_IN_ALL, np.int64)
    whole = popcount(view.hand) <= MOST_CARDS and view.stock_left == 0 and rules.race == 0
    whole = whole and view.phase != EXCHANGE
    for _ in range(worlds):
        draw_world(rules, view, plan, stream, row(games, 0))
        if whole:
            solve_all(rules, known, scratch, view, row(games, 0), cards, tricks, totals)
        else:
            seat = np.int64(view.seat)
            _try_all(rules, known, scratch, games, seat, counting, row(looks, 0), cards, totals)


@jit
def cheapest_best(rules: Record, view: Record, totals: np.ndarray) -> int:
    """The action with the highest total, of equals the cheapest."""
    cards = actions_of(legal_in_view(rules, view))
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
def flat_mc_actions(
    rules: np.ndarray, known: Tables, scratch: Scratch, views: np.ndarray, rng: np.ndarray,
    worlds: int, voids: bool, counting: bool, go_on: bool, plans: np.ndarray, games: np.ndarray,
    looks: np.ndarray, totals: np.ndarray, actions: np.ndarray,
) -> None:  # fmt: skip
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    first, plan = row(rules, 0), row(plans, 0)
    for index in range(len(views)):
        view = row(views, index)
        if to_search(first, known, view, index, actions) == NO_CARDS:
            continue
        if not go_on:
            totals[:] = 0
            plan_worlds(first, view, voids, plan)
        stream = rng[index : index + 1]
        sample(first, known, scratch, view, plan, worlds, counting, stream, games, looks, totals)
        actions[index] = cheapest_best(first, view, totals)


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
        warm_up("flat Monte Carlo", "agents", _compile_all)

    def _room(self) -> Any:
        return _room()

    def _totals(self, room: Any) -> Array:
        return room[4]

    def _search(
        self, known: Tables, views: Array, streams: Array, samples: int, go_on: bool, room: Any,
        actions: Array,
    ) -> None:  # fmt: skip
        scratch, plans, games, looks, totals = room
        flat_mc_actions(
            self.record, known, scratch, views, streams, samples, self._voids, self._counting,
            go_on, plans, games, looks, totals, actions,
        )  # fmt: skip


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


_Room = tuple[Scratch, Array, Array, Array, Array]


def _room() -> _Room:
    """What one thread needs to search in."""
    totals = np.zeros(ACTIONS_IN_ALL, np.int64)
    return scratch_here(), np.zeros(1, PLAN), np.zeros(2, GAME), np.zeros(1, VIEW), totals


def _compile_all() -> None:
    record = load_rules("classic").record()
    scratch, plans, games, looks, totals = _room()
    flat_mc_actions(
        record, tables(), scratch, no_views(), no_rng(), 1, False, False, False, plans, games,
        looks, totals, np.zeros(0, np.int64),
    )  # fmt: skip
    nothing_to_search(record, np.zeros(1, VIEW))
