"""Equilibria by CFR+ over the public tree.

Counterfactual regret matching with regrets cut off at nothing, the players in turn, and the
strategies averaged by the squares of their iterations (Tammelin 2014, arXiv:1407.5042), in
vectors over hands (Johanson and others 2011, "Accelerating best response calculation").
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ...agents.checkpoint import write_checkpoint
from ...agents.solved.strategy import SolvedCard
from ...engine.arrays import Array
from ...engine.files import written_whole
from ...engine.rules import Rules, load_rules
from .walk import LEARN, RESPOND
from .walker import Responses, Walker

STATE_VERSION = 1


class SolvingError(ValueError):
    """A state that can not be gone on with."""


class Solver:
    """The equilibrium of one rule set, iteration by iteration."""

    def __init__(self, rules: Any, threads: int | None = None) -> None:
        self.rules: Rules = load_rules(rules)
        self._walker = Walker(self.rules, threads)
        self.tree = self._walker.tree
        self.iterations = 0
        self.regrets: Array = np.zeros(self.tree.size, np.float32)
        self.sums: Array = np.zeros(self.tree.size, np.float32)

    def iterate(self) -> None:
        """One iteration: first the leader learns, then the dealer."""
        weight = float(self.iterations + 1) ** 2
        for player in range(2):
            self._walker.walk(player, LEARN, self.sums, self.regrets, weight)
        self.iterations += 1

    def measure(self) -> Responses:
        """What best responses win against the average strategy so far."""
        return self._walker.responses(self.sums)

    def strategy(self) -> Array:
        """The average strategy, a byte for each cell."""
        rounded = np.zeros(self.tree.size, np.uint8)
        for player in range(2):
            self._walker.walk(player, RESPOND, self.sums, rounded=rounded)
        return rounded

    # -- kept in files

    def write(self, path: Path, found: Responses) -> None:
        """Write the strategy for players; `path` has no ending."""
        card = SolvedCard(
            rules=(self.rules.as_mapping(),),
            iterations=self.iterations,
            exploitability=found.exploitability,
            value=found.value,
        )
        write_checkpoint(path, {"cells": self.strategy()}, card)

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
