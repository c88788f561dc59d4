# pyright: reportArgumentType=false, reportReturnType=false
"""Information-set Monte Carlo tree search: one tree over what the searching player can observe.

Single-observer ISMCTS (Cowling, Powley and Whitehouse, "Information Set Monte Carlo Tree Search",
IEEE Transactions on Computational Intelligence and AI in Games 4(2), 2012): each iteration draws a
determinization of the view, descends the tree by UCB among the actions that are legal in it,
expands one action, plays the hand out, and adds the result to the actions on its way. The
exploration term of an action counts how often it was legal, not how often its node was visited. A
node is an information set of the searching player: the actions since the root, the cards that it
drew, and the upcards that it saw. The most visited action is played.

`ismcts:1000` makes 1,000 iterations a move, `ismcts:5ms` searches for a time. Playouts are
uniformly random, as in the paper, or by the rules of thumb (`playout=threshold`); `exploration` is
the constant of UCB for results from 0 to 1, `voids` draws determinizations that agree with the
suits that the opponent failed to follow. An ending in a determinization has its exact value, and
the open endgame is perfect; with `endgame=search` hands are played out to the last card, and the
endgame is searched like any other part.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from ...common.jit.compiler import inline_ir, jit, warm_up
from ...engine.bitset import NO_CARDS, ONE, lowest, popcount
from ...engine.cards import N_ACTIONS
from ...engine.dtypes import GAME, OVER
from ...engine.endgame import Scratch, Tablebase
from ...engine.endgame.solver import thread_scratch
from ...engine.play import Record, faced_cards, legal, payoff, play, row
from ...engine.rng import hash_with, random_below
from ...engine.rules import Match, RulesLike
from ...engine.sampling.determinizations import (
    SAMPLING_PLAN,
    draw_determinization,
    plan_determinizations,
)
from ...engine.view import View, legal_in_view
from ..base import ViewBatch
from ..heuristic.random import random_action
from ..options import Options, parse_options
from .base import PRUNE_BY_RACING, Estimates, SearchAgent, parse_number_option, searchable_actions
from .leaf_values import ending_value, has_exact_value
from .playouts import rule_of_thumb_in_game

EXPLORATION = 0.7
"""The paper's constant of UCB, for results from 0 to 1."""
_MAX_EDGES = 1 << 19
"""Limit of the tree; further iterations refine what is there."""
_MAX_DECISIONS = 128
"""More than the decisions of any hand."""
_ROOT = np.uint64(0)

EDGE = np.dtype(
    [
        ("key", np.uint64),  # hash of the information set and the action
        ("search", np.int64),  # number of the search that made it
        ("visits", np.int64),
        ("available", np.int64),  # how often the action was legal in its information set
        ("total", np.float64),  # sum of results of the player who chooses, from 0 to 1
    ]
)
"""An action in an information set: an entry of a hash table with open addressing."""


class IsmctsSearch(NamedTuple):
    """Rules, options and a thread's buffers of a search in games of one contract."""

    rules: np.ndarray
    tablebase: Tablebase
    max_payoff: float
    exploration: float
    thumb: bool
    """Whether the rules of thumb play hands out, or chance."""
    voids: bool
    exact: bool
    """Whether endings have their exact values."""
    scratch: Scratch
    plans: np.ndarray
    games: np.ndarray
    edges: np.ndarray
    path: np.ndarray
    """Entries of the edges of an iteration, and the seats that chose them."""
    totals: np.ndarray
    visits: np.ndarray
    """Of each action of the view."""
    counters: np.ndarray
    """Number of the search, of its edges, and of its iterations."""


@inline_ir
def _find(edges: np.ndarray, key: np.uint64, search_number: int) -> int:
    """Entry of an edge, or the free one where it belongs."""
    mask = np.uint64(len(edges) - 1)
    place = key & mask
    while row(edges, place).search == search_number and row(edges, place).key != key:
        place = (place + ONE) & mask
    return np.int64(place)


@inline_ir
def _select(
    search: IsmctsSearch, node: np.uint64, actions: np.uint64, stream: np.ndarray
) -> tuple[int, int]:
    """An action that has not been tried, else the one with the highest bound; and its edge.

    The edge is -1 where the tree is full and no action has been tried.
    """
    edges, number = search.edges, search.counters[0]
    may_grow = search.counters[1] < len(edges) // 2
    best, best_place, best_bound, untried = -1, -1, -1.0, 0
    while actions:
        action = lowest(actions)
        actions &= actions - ONE
        place = _find(edges, hash_with(node, np.uint64(action)), number)
        edge = row(edges, place)
        if edge.search == number:
            edge.available += 1
            # UCB1 over the times that the action was available.
            bonus = math.sqrt(math.log(edge.available) / edge.visits)
            bound = edge.total / edge.visits + search.exploration * bonus
        elif may_grow:
            untried += 1
            # Each of the untried is as likely.
            bound = math.inf if random_below(stream, untried) == 0 else -1.0
        else:
            bound = -1.0
        if best < 0 or bound > best_bound or bound == math.inf:
            best, best_place, best_bound = action, place, bound
    if row(edges, best_place).search == number:
        return best, best_place
    if not may_grow:
        return best, -1
    edge = row(edges, best_place)
    edge.key, edge.search = hash_with(node, np.uint64(best)), number
    edge.visits, edge.available, edge.total = 0, 1, 0.0
    search.counters[1] += 1
    return best, best_place


@jit
def _iterate(search: IsmctsSearch, view: Record, stream: np.ndarray) -> None:
    rules, game = row(search.rules, 0), row(search.games, 0)
    draw_determinization(rules, view, row(search.plans, 0), stream, game)
    seat, node, length, in_tree = np.int64(view.seat), _ROOT, 0, True
    while game.phase != OVER and not (search.exact and has_exact_value(rules, game)):
        actions = legal(rules, game)
        if popcount(actions) == 1:
            action = lowest(actions)
        elif in_tree:
            action, place = _select(search, node, actions, stream)
            in_tree = place >= 0 and search.edges[place].visits > 0
            if place >= 0:
                search.path[length, 0], search.path[length, 1] = place, np.int64(game.turn)
                length += 1
        elif search.thumb:
            action = rule_of_thumb_in_game(rules, game)
        else:
            action = random_action(actions, stream)
        before = game.hand[seat]
        play(rules, game, action)
        # The next information set, by what the searching player saw of the action.
        node = hash_with(node, np.uint64(action))
        node = hash_with(node, game.hand[seat] & ~before)
        node = hash_with(node, faced_cards(rules, game))
    if game.phase == OVER:
        value = 1.0 * payoff(rules, game, seat)
    else:
        sign = 1.0 if game.leader == seat else -1.0
        value = sign * ending_value(rules, search.tablebase, search.scratch, game)
    result = (value / search.max_payoff + 1) / 2
    for step in range(length):
        edge = row(search.edges, search.path[step, 0])
        edge.visits += 1
        edge.total += result if search.path[step, 1] == seat else 1 - result


@jit
def _most_visited(search: IsmctsSearch, actions: np.uint64) -> int:
    """The most visited action, of equals the better one; mean payoffs go to the totals."""
    best, best_visits, best_mean = -1, -1, 0.0
    search.totals[:] = 0
    search.visits[:] = 0
    while actions:
        action = lowest(actions)
        actions &= actions - ONE
        place = _find(search.edges, hash_with(_ROOT, np.uint64(action)), search.counters[0])
        edge = row(search.edges, place)
        visits, mean = 0, 0.0
        if edge.search == search.counters[0]:
            visits, mean = edge.visits, (2 * edge.total / edge.visits - 1) * search.max_payoff
        search.totals[action] = mean * search.counters[2]
        search.visits[action] = visits
        if visits > best_visits or (visits == best_visits and mean > best_mean):
            best, best_visits, best_mean = action, visits, mean
    return best


@jit
def _ismcts_actions(
    search: IsmctsSearch, batch: ViewBatch, iterations: int, accumulate: bool
) -> None:
    rules, actions, counters = row(search.rules, 0), batch.actions, search.counters
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        if view.low != search.tablebase.low:
            continue
        legal_set = legal_in_view(rules, view)
        if search.exact:
            legal_set = searchable_actions(rules, search.tablebase, view, index, actions)
        if legal_set == NO_CARDS:
            continue
        if not accumulate:
            counters[0] += 1
            counters[1] = 0
            counters[2] = 0
            plan_determinizations(view, search.voids, row(search.plans, 0))
        stream = batch.rng[index : index + 1]
        for _ in range(iterations):
            _iterate(search, view, stream)
        counters[2] += iterations
        actions[index] = _most_visited(search, legal_set)


class IsmctsOptions(Options, frozen=True):
    """Options of `ismcts`."""

    playout: Literal["random", "threshold"] = "random"
    exploration: str = str(EXPLORATION)
    endgame: Literal["exact", "search"] = "exact"
    voids: bool = False
    takes = (
        "there are playout=random, playout=threshold, exploration=NUMBER, endgame=exact, "
        "endgame=search and voids"
    )


class IsmctsAgent(SearchAgent):
    """Single-observer information-set Monte Carlo tree search."""

    kernel = staticmethod(_ismcts_actions)
    kind = "ismcts"
    chunk = 64

    def __init__(
        self,
        rules: RulesLike = "classic",
        samples: object = 1000,
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is a number of iterations or a time per move; `option_words` are options."""
        super().__init__(rules, samples, match)
        self._options = parse_options(option_words, IsmctsOptions, self.kind)
        self._exploration = parse_number_option(
            "exploration",
            self._options.exploration,
            EXPLORATION,
            "the constant of UCB for results from 0 to 1",
        )
        self.name = ",".join([self.name, *option_words])
        if self._options.endgame == "search":
            self._endgame = None
        warm_up("information-set tree search", "agents", self._compile, seconds=4)

    def _new_search(self, pruning: int = PRUNE_BY_RACING) -> IsmctsSearch:
        edges = min(_MAX_EDGES, self.budget.samples or _MAX_EDGES)
        return IsmctsSearch(
            rules=self.rules_array,
            tablebase=self._tablebases[0],
            max_payoff=float(self.rules.max_payoff),
            exploration=self._exploration,
            thumb=self._options.playout == "threshold",
            voids=self._options.voids,
            exact=self._options.endgame == "exact",
            scratch=thread_scratch(),
            plans=np.zeros(1, SAMPLING_PLAN),
            games=np.zeros(1, GAME),
            edges=np.zeros(1 << (2 * edges - 1).bit_length(), EDGE),
            path=np.zeros((_MAX_DECISIONS, 2), np.int64),
            totals=np.zeros(N_ACTIONS),
            visits=np.zeros(N_ACTIONS, np.int64),
            counters=np.zeros(3, np.int64),
        )

    def estimates(self, view: View, seed: int = 0) -> Estimates | None:
        """Refused: the iterations of a tree search are no independent samples of each action."""
        raise ValueError(
            f"{self.name} tries its better actions more often, and so has no estimates of all "
            "alike: value decisions by flat-mc:1000"
        )
