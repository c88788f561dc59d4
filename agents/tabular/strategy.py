"""Solved strategies: tables with a byte for each cell, written by `german-whist solve`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...common.files import cache_folder
from ...engine.rules import Rules, solved_rules
from ...solvers.cfr_plus import CFRPlusSolver
from ...solvers.public_tree_traversal import Responses
from ..checkpoints import WEIGHTS, CheckpointError, write_checkpoint
from ..checkpoints.schema import CheckpointCard, NetworkCard, Solution

BUNDLED = Path(__file__).parent


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


def write_strategy(path: Path, solver: CFRPlusSolver, responses: Responses) -> None:
    """Write a solver's average strategy as a checkpoint, which the agent `nash:PATH` plays.

    - `path`: the file, without a suffix.
    - `solver`: a `CFRPlusSolver` after some iterations.
    - `responses`: what its `measure()` returned; the checkpoint stores the exploitability.
    """
    cells = solver.strategy()
    card = CheckpointCard(
        rules=(solver.rules.as_mapping(),),
        network=NetworkCard(kind="table", inputs=(), hidden_sizes=(), cells=len(cells)),
        actions=solver.rules.actions,
        suit_order="raw",
        horizon="foreplay",
        solution=Solution(solver.iterations, responses.exploitability, responses.value),
    )
    write_checkpoint(path, {"cells": cells}, card)
