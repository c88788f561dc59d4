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
from .traversal import EVALUATE, RESPOND, Traversal, new_traversal_buffers, traverse, tree_arrays


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

        `options` are `regrets`, `weight` and `rounded` of a `Traversal`.
        """
        traversals = [
            Traversal(self._arrays, buffers, player, mode, strategy_sum, **options)
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

    def value(self, strategy_sum: Array) -> float:
        return self.traverse(0, EVALUATE, strategy_sum)
