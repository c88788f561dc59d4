"""Information-set Monte Carlo tree search: sampled worlds, one small tree, exact leaves.

Every iteration plays one card in a sampled world to the end: the reply by the tree, the rest
of the foreplay by the counting player for both, and the ending by its exact worth. All cards
meet the same worlds, as in `flat-mc`, so that luck tells for none of them. Of equals the
cheaper card is played.

The tree holds the opponent's replies, met again in other worlds: the counting player's
reply is tried first, others as a card has been tried often enough, and then the one that is
best for the opponent so far, with the usual bonus for what was seldom tried (UCB). A reply
counts as offered only in the worlds in which the opponent can make it. Deeper information
sets, parted by each card turned up, are met too seldom to learn from. What else was tried
stands in docs/players.md.

`ismcts:2000` takes a number of iterations, `ismcts:5ms` a time a move, and
`ismcts:2000,plain` samples worlds without what failures to follow have shown. The open
endgame is perfect. Where cards are set aside it never opens: then every sampled world is
solved exactly for each card. A long race is played out by rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.bits import NO_CARDS, ONE, bit, lowest, popcount
from ..engine.compiled import jit, pasted, warm_up
from ..engine.endgame import Scratch, Tables, tables
from ..engine.endgame.layout import MOST_CARDS
from ..engine.endgame.solver import scratch_here
from ..engine.play import Record, legal, play, row
from ..engine.rules import Match, load_rules
from ..engine.state import CHOOSE, FOLLOW, GAME, VIEW
from ..engine.view import legal_in_view
from ..engine.worlds import PLAN, draw_world, plan_worlds
from .base import Array, no_rng, no_views
from .endgame import is_open
from .flat_mc import actions_of, solve_all
from .rollouts import counting_in_game, play_out
from .searching import SearchAgent, nothing_to_search
from .threshold import threshold_action

EXPLORE = 0.4
"""How much a reply gains by having been tried seldom."""
WIDEN = 32
"""A card has to be tried so many times the square of the replies known before the next."""

_ACTIONS = 53

TREE = np.dtype(
    [
        ("total", "i8", (_ACTIONS,)),  # what each action led to, in all
        ("visits", "i8", (_ACTIONS,)),
        ("reply_total", "i8", (_ACTIONS, _ACTIONS)),  # the same for each reply to it
        ("reply_visits", "i8", (_ACTIONS, _ACTIONS)),
        ("reply_offered", "i8", (_ACTIONS, _ACTIONS)),
    ]
)


@jit
def _clear(tree: Record) -> None:
    for action in range(_ACTIONS):
        tree.total[action] = 0
        tree.visits[action] = 0
        for reply in range(_ACTIONS):
            tree.reply_total[action][reply] = 0
            tree.reply_visits[action][reply] = 0
            tree.reply_offered[action][reply] = 0


@jit
def _reply(rules: Record, game: Record, tree: Record, led: int, view: Record) -> int:
    """The opponent's reply to a lead, by the tree."""
    cards = legal(rules, game)
    if cards & (cards - ONE) == NO_CARDS:
        return lowest(cards)
    tried = NO_CARDS
    best, most = -1, 0.0
    left = cards
    while left:
        card = lowest(left)
        left &= left - ONE
        visits = 1.0 * tree.reply_visits[led][card]
        if visits == 0.0:
            continue
        tried |= bit(card)
        tree.reply_offered[led][card] += 1
        bonus = np.sqrt(np.log(1.0 * tree.reply_offered[led][card]) / visits)
        score = EXPLORE * bonus - tree.reply_total[led][card] / visits
        if best < 0 or score > most:
            best, most = card, score
    known = popcount(tried)
    if tried == cards or (known > 0 and tree.visits[led] < WIDEN * known * known):
        return best
    by_rule = counting_in_game(rules, game, view)
    return lowest(cards & ~tried) if tried & bit(by_rule) else by_rule


@pasted
def _iterate(
    rules: Record, known: Tables, scratch: Scratch, games: np.ndarray, action: int, seat: int,
    tree: Record, view: Record,
) -> None:  # fmt: skip
    """Play an action in the world `games[0]` to the end, and note what it led to."""
    games[1] = games[0]
    game = row(games, 1)
    play(rules, game, action)
    reply = -1
    if game.phase == FOLLOW and game.turn != seat:
        reply = _reply(rules, game, tree, action, view)
        play(rules, game, reply)
    worth = play_out(rules, known, scratch, game, seat, True, view)
    tree.total[action] += worth
    tree.visits[action] += 1
    if reply >= 0:
        tree.reply_total[action][reply] += worth
        tree.reply_visits[action][reply] += 1


@pasted
def _search(
    rules: Record, known: Tables, scratch: Scratch, view: Record, plan: Record, worlds: int,
    active: np.uint64, stream: np.ndarray, games: np.ndarray, looks: np.ndarray, tree: Record,
) -> None:  # fmt: skip
    """Try each action in so many worlds."""
    actions = actions_of(active)
    seat = np.int64(view.seat)
    open_worlds = view.stock_left == 0 and rules.race == 0 and popcount(view.hand) <= MOST_CARDS
    tricks = np.empty(52, np.int64)
    totals = np.zeros(_ACTIONS, np.int64)
    for _ in range(worlds):
        draw_world(rules, view, plan, stream, row(games, 0))
        if open_worlds:
            solve_all(rules, known, scratch, view, row(games, 0), actions, tricks, totals)
            continue
        for action in actions:
            _iterate(rules, known, scratch, games, action, seat, tree, row(looks, 0))
    if open_worlds:
        for action in actions:
            tree.total[action] += totals[action]
            tree.visits[action] += worlds


@jit
def _best(rules: Record, view: Record, active: np.uint64, tree: Record) -> int:
    """The best action so far, of equals the cheapest, or the one chosen by rule."""
    by_rule = threshold_action(rules, view) if view.phase == CHOOSE else -1
    best, most, least = -1, 0.0, 0
    while active:
        action = lowest(active)
        active &= active - ONE
        mean = tree.total[action] / max(1, tree.visits[action])
        price = action % 13 + (13 if action // 13 == view.trump else 0)
        if action == by_rule:
            price = -1
        if best < 0 or mean > most or (mean == most and price < least):
            best, most, least = action, mean, price
    return best


@jit
def ismcts_actions(
    rules: np.ndarray, known: Tables, scratch: Scratch, views: np.ndarray, rng: np.ndarray,
    iterations: int, voids: bool, go_on: bool, plans: np.ndarray, games: np.ndarray,
    looks: np.ndarray, trees: np.ndarray, actions: np.ndarray,
) -> None:  # fmt: skip
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the tree of the last call, which had the same one view, grows further.
    """
    first, plan, tree = row(rules, 0), row(plans, 0), row(trees, 0)
    for index in range(len(views)):
        view = row(views, index)
        if view.low != known.low or is_open(first, view):
            continue
        active = legal_in_view(first, view)
        if not go_on:
            _clear(tree)
        if popcount(active) > 1:
            if not go_on:
                plan_worlds(first, view, voids, plan)
            stream = rng[index : index + 1]
            worlds = max(1, iterations // popcount(active))
            _search(first, known, scratch, view, plan, worlds, active, stream, games, looks, tree)
        actions[index] = _best(first, view, active, tree)


class _Room:
    """What one thread needs to search in."""

    def __init__(self) -> None:
        self.scratch = scratch_here()
        self.plans, self.games = np.zeros(1, PLAN), np.zeros(2, GAME)
        self.looks, self.trees = np.zeros(1, VIEW), np.zeros(1, TREE)


class IsmctsAgent(SearchAgent):
    """Searches sampled worlds with the counting player in them."""

    kind = "ismcts"
    usual_worlds = "voids"
    chunk = 64

    def __init__(
        self,
        rules: Any = "classic",
        iterations: object = 2000,
        worlds: str = "voids",
        *,
        match: Match | None = None,
    ) -> None:
        """`iterations` is a number or a time a move (`5ms`), `worlds` how to draw them."""
        super().__init__(rules, iterations, worlds, match)
        warm_up("tree search", "agents", _compile_all)

    def _room(self) -> _Room:
        return _Room()

    def _samples(self, worlds: int, actions: int) -> int:
        return worlds * actions

    def _totals(self, room: _Room) -> Array:
        return room.trees["total"][0]

    def _search(
        self, known: Tables, views: Array, streams: Array, samples: int, go_on: bool,
        room: _Room, actions: Array,
    ) -> None:  # fmt: skip
        ismcts_actions(
            self.record, known, room.scratch, views, streams, samples, self._voids, go_on,
            room.plans, room.games, room.looks, room.trees, actions,
        )  # fmt: skip


def _compile_all() -> None:
    record, room = load_rules("classic").record(), _Room()
    ismcts_actions(
        record, tables(), room.scratch, no_views(), no_rng(), 1, False, False, room.plans,
        room.games, room.looks, room.trees, np.zeros(0, np.int64),
    )  # fmt: skip
    nothing_to_search(record, np.zeros(1, VIEW))


__all__ = ["IsmctsAgent", "ismcts_actions"]
