# pyright: reportArgumentType=false
"""Monte Carlo counterfactual regret minimization (MCCFR) in a table, with external sampling.

Zinkevich, Johanson, Bowling and Piccione 2007, "Regret minimization in games with incomplete
information": play each information set in proportion to the positive part of its regrets (regret
matching); in self-play the average strategy goes to an equilibrium. Lanctot, Waugh, Zinkevich and
Bowling 2009, "Monte Carlo sampling for regret minimization in extensive games": of each hand, one
player is the traverser and tries every card, while the deal and the opponent's cards are sampled.
Brown and Sandholm 2019, "Solving imperfect-information games via discounted regret minimization",
arXiv:1809.04040: later iterations weigh more, in regrets and average alike, here by
`iteration ** averaging` (1: linear CFR).

Information sets are those of the public tree: all that both players have seen, and the own hand.
The leaves are endgames, at their exact value. Read it from top to bottom: `_traverse` is the
algorithm, on the engine's own games. Compiled code of both targets knows no recursion, so it keeps
a stack: a row of the arrays for each depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..common.jit.compiler import forceinline, jit
from ..engine.batch.config import Options
from ..engine.batch.results import RESULT
from ..engine.batch.step import ENDGAME_REACHED, NO_EVENT, advance, score_endgame
from ..engine.bitset import ONE, lowest
from ..engine.cards import N_CARDS
from ..engine.dtypes import GAME, VIEW
from ..engine.endgame import Scratch, Tablebase, new_scratch, solve
from ..engine.endgame.game_values import endgame_tablebases
from ..engine.play import deal_numbered, legal, new_match, row
from ..engine.rng import random_fraction, sample_index
from ..engine.view import write_view
from .public_tree import PublicTree
from .view_cells import PathTables, cells_of_view, path_tables

_MAX_LEGAL = 20
"""Cards of a hand, at most."""


class MCCFRState(NamedTuple):
    """Table and stack of a traversal; most arrays have a row for each depth of the hand."""

    env_config: np.ndarray
    """One `ENV_CONFIG` record: rules, rewards, seed of the deals."""
    tablebase: Tablebase
    scratch: Scratch
    paths: PathTables
    regrets: np.ndarray
    """Cumulative regrets, one cell for each card of each information set."""
    strategy_sum: np.ndarray
    """Cumulative strategy in the same cells; normalized, it is the average strategy."""
    games: np.ndarray
    results: np.ndarray
    views: np.ndarray
    """One record, rewritten at each decision."""
    cells: np.ndarray
    """`[depth, card]`: its cell in `regrets` and `strategy_sum`."""
    cards: np.ndarray
    """`[depth, k]`: the legal cards."""
    n_legal: np.ndarray
    current: np.ndarray
    """`[depth]`: which `k` is being played."""
    strategy: np.ndarray
    """`[depth, k]`: current strategy, by regret matching."""
    action_values: np.ndarray
    """`[depth, k]`: value of each card for the traverser."""
    rng: np.ndarray


def new_mccfr(options: Options, tree: PublicTree, seed: int) -> MCCFRState:
    """An empty table for the deals of a seed, with its stack."""
    config = options.config_array()
    config["seed"] = seed
    (tablebase,) = endgame_tablebases(options.rules)
    depth = 2 * options.rules.foreplay_tricks + 1
    return MCCFRState(
        config,
        tablebase,
        new_scratch(),
        path_tables(tree),
        regrets=np.zeros(tree.size, np.float32),
        strategy_sum=np.zeros(tree.size, np.float32),
        games=np.zeros(depth, GAME),
        results=np.zeros(depth, RESULT),
        views=np.zeros(1, VIEW),
        cells=np.zeros((depth, N_CARDS), np.int64),
        cards=np.zeros((depth, _MAX_LEGAL), np.int64),
        n_legal=np.zeros(depth, np.int64),
        current=np.zeros(depth, np.int64),
        strategy=np.zeros((depth, _MAX_LEGAL)),
        action_values=np.zeros((depth, _MAX_LEGAL)),
        rng=np.zeros(1, np.uint64),
    )


@forceinline
def _regret_matching(mccfr: MCCFRState, depth: int) -> bool:
    """Write the legal cards of a decision and its strategy; whether any regret is not 0."""
    rules, game = row(mccfr.env_config, 0).rules, row(mccfr.games, depth)
    view, cells = row(mccfr.views, 0), mccfr.cells[depth]
    write_view(rules, game, np.int64(game.turn), view)
    cells_of_view(mccfr.paths, view, cells)
    n_legal, total, visited = 0, 0.0, False
    remaining = legal(rules, game)
    while remaining:
        card = lowest(remaining)
        remaining &= remaining - ONE
        regret = np.float64(mccfr.regrets[cells[card]])
        visited |= regret != 0
        mccfr.cards[depth, n_legal] = card
        mccfr.strategy[depth, n_legal] = max(regret, 0.0)
        total += max(regret, 0.0)
        n_legal += 1
    for k in range(n_legal):
        positive = mccfr.strategy[depth, k]
        mccfr.strategy[depth, k] = positive / total if total > 0 else 1.0 / n_legal
    mccfr.n_legal[depth] = n_legal
    mccfr.current[depth] = 0
    return visited


@forceinline
def _play_card(mccfr: MCCFRState, depth: int) -> bool:
    """Play the current card in a copy of the game; whether that is a leaf."""
    config = row(mccfr.env_config, 0)
    mccfr.games[depth + 1] = mccfr.games[depth]
    mccfr.results[depth + 1] = mccfr.results[depth]
    game, result = row(mccfr.games, depth + 1), row(mccfr.results, depth + 1)
    event = advance(config, game, mccfr.cards[depth, mccfr.current[depth]], result)
    if event == ENDGAME_REACHED:
        leader, trump = np.int64(game.turn), int(game.trump)
        leading, following = game.hand[leader], game.hand[1 - leader]
        best = solve(mccfr.tablebase, mccfr.scratch, leading, following, trump)
        score_endgame(config, game, best, result)
    return event != NO_EVENT


@jit
def _traverse(
    mccfr: MCCFRState, number: int, traverser: int, weight: float, sums: np.ndarray
) -> int:
    """Traverse a hand by external sampling, and update the table; returns its decisions.

    `sums` grows by the number of visited decisions, and by the entropy of all.
    """
    config, game, result = row(mccfr.env_config, 0), row(mccfr.games, 0), row(mccfr.results, 0)
    new_match(game)
    deal_numbered(config.rules, game, config.seed, np.uint64(number), mccfr.rng)
    result.rewards[0] = 0.0
    result.rewards[1] = 0.0
    depth, decisions, descending, value = 0, 0, True, 0.0
    while depth >= 0:
        strategy, cards = mccfr.strategy[depth], mccfr.cards[depth]
        cells, n_legal = mccfr.cells[depth], mccfr.n_legal
        traverses = np.int64(row(mccfr.games, depth).turn) == traverser
        if descending:
            decisions += 1
            sums[0] += 1.0 if _regret_matching(mccfr, depth) else 0.0
            for k in range(n_legal[depth]):
                if strategy[k] > 0:
                    sums[1] -= strategy[k] * np.log(strategy[k])
                if not traverses:
                    mccfr.strategy_sum[cells[cards[k]]] += np.float32(weight * strategy[k])
            if not traverses:
                probs = strategy[: n_legal[depth]]
                mccfr.current[depth] = sample_index(probs, random_fraction(mccfr.rng))
        else:  # back from the current card, which has this value
            mccfr.action_values[depth, mccfr.current[depth]] = value
            if not traverses:
                depth -= 1
                continue
            mccfr.current[depth] += 1
            if mccfr.current[depth] == n_legal[depth]:
                value = 0.0
                for k in range(n_legal[depth]):
                    value += strategy[k] * mccfr.action_values[depth, k]
                # Not clipped at 0: CFR+ (Tammelin 2014, arXiv:1407.5042) is for full traversals.
                for k in range(n_legal[depth]):
                    regret = weight * (mccfr.action_values[depth, k] - value)
                    mccfr.regrets[cells[cards[k]]] += np.float32(regret)
                depth -= 1
                continue
        descending = not _play_card(mccfr, depth)
        if descending:
            depth += 1
        else:
            value = row(mccfr.results, depth + 1).rewards[traverser]
    return decisions


@jit
def run_iterations(
    mccfr: MCCFRState, first: int, min_decisions: int, averaging: float, sums: np.ndarray
) -> tuple[int, int]:
    """Traverse hands from number `first` on, players in turn; returns decisions and hands."""
    decisions, hands = 0, 0
    while decisions < min_decisions:
        number = first + hands
        weight = np.float64(number + 1) ** averaging
        decisions += _traverse(mccfr, number, number & 1, weight, sums)
        hands += 1
    return decisions, hands
