"""Equilibria by CFR+ over the public tree, each first upcard on a thread of its own.

Counterfactual regret matching with regrets cut off at nothing, the players in turn, and the
strategies averaged by the squares of their iterations (Tammelin 2014, arXiv:1407.5042), in
vectors over hands (Johanson and others 2011, "Accelerating best response calculation").
"""

from __future__ import annotations

import json
import zipfile
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...agents.solved.strategy import SolvedCard, write_strategy
from ...agents.solved.tree import public_tree
from ...engine.compiled import warm_up
from ...engine.files import written_whole
from ...engine.rules import Rules, load_rules
from ...engine.threads import usable_threads
from .walk import LEARN, RESPOND, map_of, new_work, walk

Array = np.ndarray[Any, Any]

STATE_VERSION = 1
_NOWHERE = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class Measured:
    """What best responses win against the average strategy, a hand on average."""

    iterations: int
    against_dealer: float
    """By a best response that leads to the first trick."""
    against_leader: float
    """By a best response that deals."""

    @property
    def exploitability(self) -> float:
        """NashConv / 2: how far the strategy is from an equilibrium."""
        return (self.against_dealer + self.against_leader) / 2

    @property
    def value(self) -> float:
        """The game's value for the leader, which is at most the exploitability away from this."""
        return (self.against_dealer - self.against_leader) / 2


class SolvingError(ValueError):
    """A state that can not be gone on with."""


class Solver:
    """The equilibrium of one rule set, iteration by iteration."""

    def __init__(self, rules: Any, threads: int | None = None) -> None:
        self.rules: Rules = load_rules(rules)
        self.tree = public_tree(self.rules)
        self.iterations = 0
        self.regrets: Array = np.zeros(self.tree.size, np.float32)
        self.sums: Array = np.zeros(self.tree.size, np.float32)
        self._map = map_of(self.tree)
        count = min(threads or usable_threads(), self.tree.roots)
        self._work = [new_work(self.tree) for _ in range(count)]
        warm_up("walks over the public tree", "training", self._first_walk)

    def _first_walk(self) -> None:
        """Walk once and learn nothing."""
        walk(self._map, self._work[0], 0, 0, RESPOND, self.regrets, self.sums, 0.0, _NOWHERE)

    def _by_roots(
        self, walker: int, mode: int, weight: float = 0.0, rounded: Array = _NOWHERE
    ) -> float:
        """Walk all first upcards; the average value for the walker."""
        free = list(self._work)
        cells = self.regrets, self.sums

        def walked(root: int) -> float:
            work = free.pop()
            try:
                return walk(self._map, work, root, walker, mode, *cells, weight, rounded)
            finally:
                free.append(work)

        with ThreadPoolExecutor(len(self._work)) as pool:
            waiting = [pool.submit(walked, root) for root in range(self.tree.roots)]
            try:
                wait(waiting)
            except KeyboardInterrupt:
                wait(waiting)  # an iteration that was begun is ended
                raise
        total = sum(each.result() for each in waiting)
        return total / self.tree.roots / self.tree.deals

    def iterate(self) -> None:
        """One iteration: first the leader learns, then the dealer."""
        weight = float(self.iterations + 1) ** 2
        for walker in range(2):
            self._by_roots(walker, LEARN, weight)
        self.iterations += 1

    def measure(self) -> Measured:
        """The exact exploitability of the average strategy so far."""
        wins = [self._by_roots(walker, RESPOND) for walker in range(2)]
        return Measured(self.iterations, *wins)

    def strategy(self) -> Array:
        """The average strategy, a byte for each cell."""
        rounded = np.zeros(self.tree.size, np.uint8)
        for walker in range(2):
            self._by_roots(walker, RESPOND, rounded=rounded)
        return rounded

    # -- kept in files

    def write(self, path: Path, found: Measured) -> None:
        """Write the strategy for players; `path` has no ending."""
        card = SolvedCard(
            rules=(self.rules.as_mapping(),),
            iterations=found.iterations,
            exploitability=found.exploitability,
            value=found.value,
        )
        write_strategy(path, self.strategy(), card)

    def save(self, path: Path) -> None:
        """Write all that is needed to go on."""
        told = {
            "version": STATE_VERSION,
            "rules": self.rules.as_mapping(),
            "iterations": self.iterations,
        }
        card = np.frombuffer(json.dumps(told).encode(), np.uint8)
        with written_whole(path) as file:
            np.savez(file, card=card, regrets=self.regrets, sums=self.sums)

    def restore(self, path: Path) -> None:
        """Go on with what was saved."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as kept:
                told = json.loads(bytes(kept["card"]))
                regrets, sums = kept["regrets"], kept["sums"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise SolvingError(f"{path}: is no state of a solver ({error}): remove it") from error
        same = told.get("version") == STATE_VERSION and told.get("rules") == self.rules.as_mapping()
        shape = (self.tree.size,)
        if not same or regrets.shape != shape or sums.shape != shape:
            raise SolvingError(
                f"{path}: was not written for {self.rules.name} by this version: remove it"
            )
        self.iterations = int(told["iterations"])
        self.regrets, self.sums = regrets.astype(np.float32), sums.astype(np.float32)
