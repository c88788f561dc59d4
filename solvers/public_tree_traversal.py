"""Traversals of the public tree, a thread a first upcard: iterations, values, best responses.

`traverse` is the compiled traversal; a best response takes its maximum in `_back_up` there.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.jit.compiler import warm_up
from ..common.threads import usable_threads
from ..common.typing import Array
from ..engine.checks import checked_threads
from ..engine.rules import Rules
from .public_tree import public_tree
from .traversal import (
    EVALUATE,
    RESPOND,
    Traversal,
    TreeArrays,
    new_traversal_buffers,
    traverse,
    tree_arrays,
)


@dataclass(frozen=True)
class Responses:
    """Expected returns of best responses to a strategy, per hand."""

    against_dealer: float
    """Of a best response that leads to the first trick, to the strategy as dealer."""
    against_leader: float
    """Of a best response that deals."""

    @property
    def exploitability(self) -> float:
        """NashConv / 2, where both players deal equally often: 0 for an equilibrium."""
        return (self.against_dealer + self.against_leader) / 2

    @property
    def value(self) -> float:
        """Estimate of the game's value for the leader; its error is at most the exploitability."""
        return (self.against_dealer - self.against_leader) / 2


class PublicTreeTraversal:
    """The public tree of a rule set, with buffers for each thread."""

    def __init__(self, rules: Rules, threads: int | None = None) -> None:
        self.rules = rules
        self.tree = public_tree(rules)
        self._arrays = tree_arrays(self.tree)
        count = usable_threads() if threads is None else checked_threads(threads)
        count = min(count, self.tree.n_roots)
        self._buffers = [new_traversal_buffers(self.tree) for _ in range(count)]
        warm_up("traversals of the public tree", "solvers", self._compile)

    def _compile(self) -> None:
        strategy_sum = np.zeros(self.tree.size, np.float32)
        traverse(Traversal(self._arrays, self._buffers[0], 0, RESPOND, strategy_sum), 0)

    def traverse(self, player: int, mode: int, strategy_sum: Array, **options: Any) -> float:
        """Traverse all first upcards; returns the player's expected return.

        `options` are `regrets`, `weight`, `rounded` and `response_values` of a `Traversal`.
        """
        return self._traverse(self._arrays, player, mode, strategy_sum, **options)

    def _traverse(
        self, arrays: TreeArrays, player: int, mode: int, strategy_sum: Array, **options: Any
    ) -> float:
        traversals = [
            Traversal(arrays, buffers, player, mode, strategy_sum, **options)
            for buffers in self._buffers
        ]

        def traverse_root(root: int) -> float:
            traversal = traversals.pop()
            try:
                return traverse(traversal, root)
            finally:
                traversals.append(traversal)

        with ThreadPoolExecutor(len(self._buffers)) as pool:
            futures = [pool.submit(traverse_root, root) for root in range(self.tree.n_roots)]
            try:
                wait(futures)
            except KeyboardInterrupt:
                wait(futures)  # half an iteration would mix two iterations
                raise
        total = sum(future.result() for future in futures)
        return total / self.tree.n_roots / self.tree.n_deals

    def responses(self, strategy_sum: Array) -> Responses:
        """Best responses to a strategy, given by unnormalized weights of its cells."""
        return Responses(*(self.traverse(player, RESPOND, strategy_sum) for player in range(2)))

    def response_values(self, strategy_sum: Array) -> tuple[Array, Array]:
        """Of each cell what its card wins from a strategy, and how often it comes to the decision.

        A best response plays on behind the card, and the player itself plays towards the decision:
        chance and the opponent alone count. Wins are weighted by the second array. Both are 0 where
        the opponent leads to no decision.
        """
        terminal = self._arrays.terminal
        # Whoever wins, each ending counts once.
        ones = np.ones_like(terminal.payoffs)
        every_deal = self._arrays._replace(
            terminal=terminal._replace(payoffs=ones, payoffs_of_other=ones)
        )
        found: list[Array] = []
        for arrays in (self._arrays, every_deal):
            values = np.zeros(self.tree.size, np.float32)
            for player in range(2):
                self._traverse(arrays, player, RESPOND, strategy_sum, response_values=values)
            found.append(values / np.float32(self.tree.n_roots * self.tree.n_deals))
        return found[0], found[1]

    def value(self, strategy_sum: Array) -> float:
        return self.traverse(0, EVALUATE, strategy_sum)
