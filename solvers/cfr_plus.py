"""CFR+ on the public tree.

Counterfactual regret minimization with regrets clipped at zero and alternating updates (Tammelin
2014, arXiv:1407.5042), its strategies averaged by t^2 instead of his t, vectorized over hands
(Johanson and others 2011, "Accelerating best response calculation in large extensive games").
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from ..common.files import atomic_write
from ..common.typing import Array
from ..engine.rules import Rules, RulesLike, load_rules
from .public_tree import PublicTree
from .public_tree_traversal import PublicTreeTraversal, Responses
from .traversal import LEARN, RESPOND

STATE_VERSION = 1


class CFRPlusSolver:
    """Computes an equilibrium of a small deck by CFR+.

    ```python
    solver = CFRPlusSolver("2x4-h2")
    for _ in range(100):
        solver.iterate()
    solver.measure().exploitability  # what best responses win from the average strategy, per hand
    ```

    - `rules`: a rule set whose public tree fits into memory, such as `"2x5-h3"`.
    - `threads`: the number of threads. `None` (default): one for each core.

    `german_whist.write_strategy` writes the average strategy as a checkpoint.
    """

    def __init__(self, rules: RulesLike, threads: int | None = None) -> None:
        self.rules: Rules = load_rules(rules)
        self._traversal = PublicTreeTraversal(self.rules, threads)
        self.tree: PublicTree = self._traversal.tree
        self.iterations: int = 0
        self.regrets: Array = np.zeros(self.tree.size, np.float32)
        self.strategy_sum: Array = np.zeros(self.tree.size, np.float32)

    def iterate(self) -> None:
        weight = float(self.iterations + 1) ** 2
        for player in range(2):
            self._traversal.traverse(
                player, LEARN, self.strategy_sum, regrets=self.regrets, weight=weight
            )
        self.iterations += 1

    def measure(self) -> Responses:
        """Best responses to the average strategy so far."""
        return self._traversal.responses(self.strategy_sum)

    def strategy(self) -> Array:
        """The average strategy, one byte per cell."""
        rounded = np.zeros(self.tree.size, np.uint8)
        for player in range(2):  # a traversal that responds normalizes the strategy on its way
            self._traversal.traverse(player, RESPOND, self.strategy_sum, rounded=rounded)
        return rounded

    # -- files

    def save(self, path: Path) -> None:
        header = {
            "version": STATE_VERSION,
            "rules": self.rules.as_mapping(),
            "iterations": self.iterations,
        }
        card = np.frombuffer(json.dumps(header).encode(), np.uint8)
        with atomic_write(path) as file:
            np.savez(file, card=card, regrets=self.regrets, sums=self.strategy_sum)

    def restore(self, path: Path) -> None:
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
                header = json.loads(bytes(arrays["card"]))
                regrets, strategy_sum = arrays["regrets"], arrays["sums"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: is no state of a solver ({error}): remove it") from error
        shape = (self.tree.size,)
        if (
            not isinstance(header, dict)
            or header.get("version") != STATE_VERSION
            or header.get("rules") != self.rules.as_mapping()
            or type(header.get("iterations")) is not int
            or header["iterations"] < 0
            or regrets.shape != shape
            or strategy_sum.shape != shape
        ):
            raise ValueError(
                f"{path}: was not written for {self.rules.name} by this version: remove it"
            )
        self.iterations = int(header["iterations"])
        self.regrets = regrets.astype(np.float32)
        self.strategy_sum = strategy_sum.astype(np.float32)
