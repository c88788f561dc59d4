"""Networks that judge for the searches: weights beside a card of their own, no players.

What they read and answer is fixed by their kind, `worth` or `beliefs`; a card tells how wide
their layers are, for which games they were made, and from what.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from ..engine.rules import Rules
from .base import Array
from .card import Judges
from .checkpoint import (
    REMEDY,
    CheckpointError,
    check_bounded,
    check_listed,
    find_checkpoint,
    read_judge_card,
    read_weights,
    rules_of,
)
from .layers import Layers, new_layers


def judges(path: Path, rules: Rules) -> bool:
    """Whether a network was made for these rules, as its card says."""
    return any(map(rules.same_game, rules_of(read_judge_card(path).rules, path)))


def read_judge(wanted: str | Path, kind: Judges, inputs: int, outputs: int, rules: Rules) -> Layers:
    """A network's numbers from its file, refused if it is of another kind or for other games."""
    path = find_checkpoint(wanted)
    card = read_judge_card(path)
    if (card.judges, card.inputs, card.outputs) != (kind, inputs, outputs):
        raise CheckpointError(
            f"{path}: is a network of {card.judges} with {card.inputs} inputs and {card.outputs} "
            f"answers, and what is wanted is one of {kind} with {inputs} and {outputs}"
        )
    check_listed(rules_of(card.rules, path), rules, f"{path}: judges the rules")
    weights = read_weights(path, card.weights)
    parts: list[Array] = []
    layers: list[tuple[Array, Array]] = []
    for k, (n, m) in enumerate(pairwise([inputs, *card.layers, outputs])):
        for name, shape in ((f"{k}.weight", (m, n)), (f"{k}.bias", (m,))):
            found = weights.get(name)
            if found is None or found.shape != shape or not np.isfinite(found).all():
                raise CheckpointError(
                    f"{path}: {name} has to hold {shape} finite numbers; {REMEDY}"
                )
            parts.append(found.astype(np.float32).T.ravel())
        layers.append((weights[f"{k}.weight"], weights[f"{k}.bias"]))
    check_bounded(path, layers)
    return new_layers(np.array([inputs, *card.layers, outputs], np.int64), np.concatenate(parts))
