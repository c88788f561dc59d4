"""MCCFR as a trainer, for small decks; the algorithm is `solvers/external_sampling_mccfr.py`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from ...agents.checkpoints.schema import NetworkCard
from ...common.jit.compiler import warm_up
from ...common.settings import PositiveInt, SettingsError, doc
from ...engine.rules import Rules
from ...solvers.external_sampling_mccfr import new_mccfr, run_iterations
from ...solvers.public_tree import MAX_CARDS, PublicTree, public_tree, why_no_public_tree
from ..given import BOTH_SEATS, INFORMATION_SETS, NONE, Given, on_or_off
from ..settings import Settings
from .base import Arrays, Trainer

_MAX_CELLS = 20_000_000
SMALL_ENOUGH = "2x4-h2, 2x5-h3, 3x4-h4 and 2x5-h2 are small enough"
"""Rule sets for a table, as errors name them."""


def why_no_table(rules: Rules) -> str | None:
    """Why no table can be learned for these rules, as a clause; None if it can."""
    if why := why_no_public_tree(rules):
        return why
    if len(rules.deck) > MAX_CARDS:
        return f"have a deck of {len(rules.deck)} cards, too many for a table"
    return None


def tree_of_table(rules: Rules, trainer: str) -> PublicTree:
    """The public tree whose cells a table has; refused if they are too many."""
    tree = public_tree(rules)
    if tree.size > _MAX_CELLS:
        raise SettingsError(
            f"rules: the table of {trainer} would have {tree.size:,} numbers for {rules.name}, and "
            f"{_MAX_CELLS:,} are the most: {SMALL_ENOUGH}"
        )
    return tree


class MCCFRSettings(Settings, frozen=True, kw_only=True):
    """Monte Carlo counterfactual regret minimization (MCCFR) in a table, for small decks."""

    fixed: ClassVar[tuple[str, ...]] = (
        *(name for name in Settings.fixed if name not in ("hidden_sizes", "n_envs", "n_steps")),
        "averaging",
    )

    trainer: str = "mccfr"
    rules: Annotated[
        Any, doc("Rule set with a small deck: a name, a YAML file, a run's folder or a mapping.")
    ] = "2x4-h2"
    averaging: Annotated[
        float,
        doc(
            "Hand number t has the weight t to the power of `averaging` in the "
            "regrets and in the average policy. 0 weights all hands equally, 1 is "
            "linear CFR.",
            ge=0,
            le=2,
        ),
    ] = 2.0
    iteration: Annotated[
        PositiveInt,
        doc("Number of decisions in an iteration. Metrics are logged after each iteration."),
    ] = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = self.options.rules
        if why := why_no_table(rules):
            raise SettingsError(
                f"rules: mccfr learns a table, and the rules {rules.name} {why}: {SMALL_ENOUGH}"
            )
        if self.options.horizon != "foreplay":
            raise SettingsError(
                f"horizon is {self.horizon!r}: mccfr ends hands with the foreplay, at the exact "
                "value of the endgame; leave it out"
            )
        if self.precision != "float32" or self.device == "cuda":
            name = "device" if self.device == "cuda" else "precision"
            raise SettingsError(
                f"{name} is {getattr(self, name)!r}: mccfr computes a table on the CPU, without "
                "torch; leave it out"
            )
        if self.init:
            raise SettingsError(
                f"init is {self.init!r}: mccfr learns a table, which begins with nothing; leave it "
                "out"
            )

    @property
    def given(self) -> Given:
        return Given(
            critic=NONE,
            observation=INFORMATION_SETS,
            precision="float32",
            ema=on_or_off(0),
            decisions=BOTH_SEATS,
        )


class MCCFR(Trainer):
    """External-sampling MCCFR, as a run steps it."""

    settings_kind = MCCFRSettings
    settings: MCCFRSettings
    state_attributes = "regrets", "strategy_sum"

    def __init__(self, settings: MCCFRSettings) -> None:
        super().__init__(settings)
        options = settings.options
        tree = tree_of_table(options.rules, "mccfr")
        self.mccfr = new_mccfr(options, tree, settings.seed)
        self.regrets, self.strategy_sum = self.mccfr.regrets, self.mccfr.strategy_sum
        warm_up("MCCFR", "solvers", lambda: run_iterations(self.mccfr, 0, 0, 1.0, np.zeros(2)))

    def iterate(self) -> dict[str, float]:
        """Traverse hands until the decisions of an iteration are made."""
        settings, sums = self.settings, np.zeros(2)
        budget = min(settings.iteration, settings.decisions - self.decisions)
        decisions, hands = run_iterations(self.mccfr, self.hands, budget, settings.averaging, sums)
        self.decisions += decisions
        self.hands += hands
        if budget < settings.iteration:
            return {}
        visited, entropy = (sums / max(decisions, 1)).tolist()
        return {"known": visited, "entropy": entropy}

    def policy_weights(self) -> Arrays:
        """The average strategy."""
        largest = max(np.float32(1), self.strategy_sum.max())
        return {"cells": self.strategy_sum / largest}

    def network_card(self) -> NetworkCard:
        return NetworkCard(kind="table", inputs=(), hidden_sizes=(), cells=len(self.regrets))
