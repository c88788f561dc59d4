"""Files of solved strategies: one byte for each cell."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...common.files import cache_folder
from ...common.typing import Array
from ...engine.rules import Rules, solved_rules
from ...solvers.best_response import Responses
from ...solvers.cfr_plus import CFRPlusSolver
from ..checkpoints import (
    REMEDY,
    WEIGHTS,
    CheckpointError,
    check_rules_listed,
    parse_rules,
    read_solved_card,
    read_weights,
    write_checkpoint,
)
from ..checkpoints.schema import SolvedCard

BUNDLED = Path(__file__).parent


@dataclass(frozen=True)
class SolvedStrategy:
    """Probabilities of all decisions for the stock, as bytes."""

    path: Path
    card: SolvedCard
    rules: Rules
    cells: Array


def solved_folder() -> Path:
    return cache_folder() / "solved"


def check_file_name(rules: Rules) -> None:
    """Refuse rules whose name cannot be that of a file which an agent's name gives."""
    if Path(rules.name).name != rules.name or re.search(rf",|{WEIGHTS}$", rules.name):
        raise ValueError(
            f"the rules are called {rules.name!r}, and files are to be called after them: choose "
            rf"a name without /, \ and commas that does not end in {WEIGHTS}"
        )


def find_strategy(rules: Rules, path: str | None) -> Path:
    """Weights file at a path, or that of a rule set: solved on this machine, or bundled."""
    if path is not None:
        named = Path(path)
        weights_path = named if named.suffix == WEIGHTS else Path(f"{named}{WEIGHTS}")
        if os.path.exists(weights_path):
            return weights_path
        if os.path.isdir(named):
            raise CheckpointError(
                f"{path}: is a folder: name a solution in it, as nash:{named / rules.name}"
            )
        raise CheckpointError(
            f"{weights_path.with_suffix('')}: there is no solution: `german-whist solve "
            f"{rules.name} --folder {named.parent}` (or the file of your own rules) writes that "
            f"of nash:{named.parent / rules.name}"
        )
    for folder in (solved_folder(), BUNDLED):
        candidate = folder / f"{rules.name}{WEIGHTS}"
        if candidate.exists():
            return candidate
    remedy = (
        f"`german-whist solve {rules.name}` solves it"
        if rules.name in solved_rules()
        else "name a small deck, as by --rules 2x4-h2; `german-whist rules` lists those that "
        "`german-whist solve` solves"
    )
    raise CheckpointError(f"{rules.name} is not solved here: {remedy}")


def read_strategy(rules: Rules, path: str | None = None) -> SolvedStrategy:
    """The strategy of a rule set, checked against its card."""
    weights_path = find_strategy(rules, path)
    card = read_solved_card(weights_path)
    listed = parse_rules(card.rules, weights_path)
    check_rules_listed(listed, rules, f"{weights_path} is a solution of")
    cells = read_weights(weights_path, card).get("cells")
    if cells is None or cells.dtype != np.uint8 or cells.ndim != 1:
        raise CheckpointError(f"{weights_path}: holds no cells of a byte each; {REMEDY}")
    return SolvedStrategy(weights_path, card, listed[0], cells)


def write_strategy(path: Path, solver: CFRPlusSolver, responses: Responses) -> None:
    """Write a solver's average strategy as a checkpoint; `path` has no suffix."""
    card = SolvedCard(
        rules=(solver.rules.as_mapping(),),
        iterations=solver.iterations,
        exploitability=responses.exploitability,
        value=responses.value,
    )
    write_checkpoint(path, {"cells": solver.strategy()}, card)
