"""Solved strategies on the disk: a byte for each cell, beside a card that says what they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from ...common.files import cache_folder
from ...common.schema import convert
from ...common.typing import Array
from ...engine.rules import Rules, solved_rules
from ..checkpoints.checkpoint import (
    CARD,
    REMEDY,
    WEIGHTS,
    CheckpointError,
    check_listed,
    read_weights,
    rules_of,
    told_by_card,
)
from ..checkpoints.schema import WeightsFile

FORMAT = 1
SHIPPED = Path(__file__).parent
MOST = 255
"""What stands for a probability of one."""


class SolvedCard(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is known of a solved strategy."""

    solved: int = FORMAT
    weights: WeightsFile | None = None
    rules: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1, max_length=1)]
    iterations: Annotated[int, Meta(ge=0)]
    exploitability: float
    """What best responses win against it, a hand on average, before it was rounded to bytes."""
    value: float
    """What the first leader is paid in equilibrium, as closely as is known."""


@dataclass(frozen=True)
class Strategy:
    """What to play in every decision for the stock."""

    path: Path
    card: SolvedCard
    rules: Rules
    cells: Array


def solved_folder() -> Path:
    """Where `solve` keeps what it found, if no other folder is named."""
    return cache_folder() / "solved"


def find_strategy(rules: Rules, path: str | None) -> Path:
    """The weights at a path, or those of a rule set: solved here before, or shipped."""
    if path is not None:
        wanted = Path(path)
        if wanted.suffix not in (WEIGHTS, CARD):
            wanted = wanted.with_name(wanted.name + WEIGHTS)
        return wanted.with_suffix(WEIGHTS)
    for folder in (solved_folder(), SHIPPED):
        found = folder / f"{rules.name}{WEIGHTS}"
        if found.with_suffix(CARD).exists():
            return found
    remedy = (
        f"`german-whist solve {rules.name}` solves it" if rules.name in solved_rules() else
        "name a small deck, as by --rules 2x4-h2; `german-whist rules` lists those that "
        "`german-whist solve` solves"
    )  # fmt: skip
    raise CheckpointError(f"{rules.name} is not solved here: {remedy}")


def read_strategy(rules: Rules, path: str | None = None) -> Strategy:
    """A strategy for some rules, checked against its card."""
    found = find_strategy(rules, path)
    told = told_by_card(found)
    if not isinstance(told, dict) or told.get("solved") != FORMAT:
        raise CheckpointError(
            f"{found}: is no solved strategy of format {FORMAT}: solve the deck anew"
        )
    card = convert(told, SolvedCard, found.with_suffix(CARD), REMEDY, CheckpointError)
    listed = rules_of(card.rules, found)
    check_listed(listed, rules, f"{found} is a solution of")
    cells = read_weights(found, card.weights).get("cells")
    if cells is None or cells.dtype != np.uint8 or cells.ndim != 1:
        raise CheckpointError(f"{found}: holds no cells of a byte each; {REMEDY}")
    return Strategy(found, card, listed[0], cells)
