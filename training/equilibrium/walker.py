"""Walks over all of a public tree, each first upcard on a thread of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from ...agents.solved.tree import public_tree
from ...engine.arrays import Array
from ...engine.compiled import warm_up
from ...engine.rules import Rules
from ...engine.threads import usable_threads
from .walk import PLAY, RESPOND, map_of, new_work, walk

_NOWHERE = np.zeros(0, np.uint8)
_NO_CELLS = np.zeros(0, np.float32)


@dataclass(frozen=True)
class Responses:
    """What best responses win against a player, a hand on average."""

    against_dealer: float
    """By a best response that leads to the first trick, against the player as dealer."""
    against_leader: float
    """By a best response that deals."""

    @property
    def exploitability(self) -> float:
        """NashConv / 2, where both players deal equally often: 0 if nobody beats the player."""
        return (self.against_dealer + self.against_leader) / 2

    @property
    def value(self) -> float:
        """The game's value for the leader, which is at most the exploitability away from this."""
        return (self.against_dealer - self.against_leader) / 2


class Walker:
    """The public tree of a rule set, and what it takes to walk it."""

    def __init__(self, rules: Rules, threads: int | None = None) -> None:
        self.rules = rules
        self.tree = public_tree(rules)
        self._map = map_of(self.tree)
        count = min(threads or usable_threads(), self.tree.roots)
        self._work = [new_work(self.tree) for _ in range(count)]
        warm_up("walks over the public tree", "training", self._first_walk)

    def _first_walk(self) -> None:
        """Walk once and learn nothing."""
        sums = np.zeros(self.tree.size, np.float32)
        walk(self._map, self._work[0], 0, 0, RESPOND, _NO_CELLS, sums, 0.0, _NOWHERE)

    def walk(
        self, player: int, mode: int, sums: Array, regrets: Array = _NO_CELLS,
        weight: float = 0.0, rounded: Array = _NOWHERE,
    ) -> float:  # fmt: skip
        """Walk all first upcards; the average value for the player who walks."""
        free = list(self._work)

        def walked(root: int) -> float:
            work = free.pop()
            try:
                return walk(self._map, work, root, player, mode, regrets, sums, weight, rounded)
            finally:
                free.append(work)

        with ThreadPoolExecutor(len(self._work)) as pool:
            waiting = [pool.submit(walked, root) for root in range(self.tree.roots)]
            try:
                wait(waiting)
            except KeyboardInterrupt:
                wait(waiting)  # what was begun is ended: half a walk would be neither old nor new
                raise
        total = sum(each.result() for each in waiting)
        return total / self.tree.roots / self.tree.deals

    def responses(self, sums: Array) -> Responses:
        """What best responses win against a strategy, told in parts for each cell."""
        return Responses(*(self.walk(player, RESPOND, sums) for player in range(2)))

    def value(self, sums: Array) -> float:
        """What the leader is paid when both play a strategy."""
        return self.walk(0, PLAY, sums)
