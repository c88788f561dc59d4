"""Exact best responses to a strategy of any rules, on the full game tree.

On the public tree, for larger decks: `PublicTreeTraversal.responses`.
"""

from __future__ import annotations

import numpy as np

from ..common.typing import Array
from .game_tree import NO_SEAT, GameTree, Level, Strategy


def strategy_value(tree: GameTree, first: Strategy, second: Strategy) -> float:
    """Seat 0's expected return when it plays one strategy and seat 1 the other."""
    return float(_values(tree, (first, second))[0].mean())


def best_response_value(tree: GameTree, seat: int, opponent: Strategy) -> float:
    """A seat's expected return with a best response to the opponent's strategy."""
    strategies = (None, opponent) if seat == 0 else (opponent, None)
    value = float(_values(tree, strategies)[0].mean())
    return value if seat == 0 else -value


def _values(tree: GameTree, strategies: tuple[Strategy | None, Strategy | None]) -> list[Array]:
    """Seat 0's expected return from every history; a seat without a strategy responds best."""
    levels = tree.levels
    # Down the tree: reach probabilities of chance and of the seats with a strategy.
    reach = [np.full(tree.deals, 1.0 / tree.deals)]
    edge_probs: list[Array] = []
    for depth in range(1, len(levels)):
        level, above = levels[depth], levels[depth - 1]
        players, info_states = above.players[level.parents], above.info_states[level.parents]
        probs = np.ones(len(level.parents))
        for seat, strategy in enumerate(strategies):
            if strategy is not None:
                own = players == seat
                probs[own] = strategy[depth - 1][info_states[own], level.actions[own]]
        edge_probs.append(probs)
        reach.append(reach[-1][level.parents] * probs)
    # Up the tree: expected returns.
    values = [levels[-1].returns]
    for depth in range(len(levels) - 2, -1, -1):
        below, level = levels[depth + 1], levels[depth]
        probs = edge_probs[depth].copy()
        for seat, strategy in enumerate(strategies):
            if strategy is None:
                sign = 1.0 if seat == 0 else -1.0
                own = level.players[below.parents] == seat
                weighted_values = (sign * reach[depth + 1] * values[-1])[own]
                probs[own] = _best_actions(level, below, own, weighted_values, tree.rules.actions)
        expected = np.bincount(below.parents, probs * values[-1], len(level.players))
        values.append(np.where(level.players == NO_SEAT, level.returns, expected))
    return values[::-1]


def _best_actions(
    level: Level, below: Level, own: Array, weighted_values: Array, n_actions: int
) -> Array:
    """For each of a seat's edges (`own`), whether it is its information state's best action."""
    if not own.any():
        return own[own]
    info_states, actions = level.info_states[below.parents[own]], below.actions[own]
    edges = info_states * n_actions + actions
    size = len(level.views) * n_actions
    total = np.bincount(edges, weighted_values, size)
    total[np.bincount(edges, minlength=size) == 0] = -np.inf
    best = total.reshape(-1, n_actions).argmax(axis=1)
    return actions == best[info_states]
