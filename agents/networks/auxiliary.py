"""Auxiliary networks of searches: value networks and belief networks, with cards of their own.

Their inputs and outputs are fixed by the kind, `value` or `belief`; the card names the widths of
the layers, the rule sets, and the settings they were trained with.
"""

from __future__ import annotations

from pathlib import Path

from ...engine.rules import Rules
from ..checkpoints.checkpoint import (
    CheckpointError,
    check_bounded,
    check_listed,
    check_weights,
    find_checkpoint,
    layer_shapes,
    read_auxiliary_card,
    read_weights,
    rules_of,
)
from ..checkpoints.schema import AuxiliaryKind
from .mlp import Layers, layers_of


def covers(path: Path, rules: Rules) -> bool:
    """Whether the card of a network lists these rules."""
    return any(map(rules.same_game, rules_of(read_auxiliary_card(path).rules, path)))


def read_auxiliary(
    wanted: str | Path, kind: AuxiliaryKind, inputs: int, outputs: int, rules: Rules
) -> Layers:
    """A network's numbers from its file, refused if it is of another kind or for other games."""
    path = find_checkpoint(wanted)
    card = read_auxiliary_card(path)
    if (card.kind, card.inputs, card.outputs) != (kind, inputs, outputs):
        raise CheckpointError(
            f"{path}: is a network of {card.kind} with {card.inputs} inputs and {card.outputs} "
            f"answers, and what is wanted is one of {kind} with {inputs} and {outputs}"
        )
    check_listed(rules_of(card.rules, path), rules, f"{path}: was trained for the rules")
    widths, weights = [inputs, *card.hidden_sizes, outputs], read_weights(path, card.weights)
    check_weights(path, weights, layer_shapes("", widths))
    layers = [(weights[f"{k}.weight"], weights[f"{k}.bias"]) for k in range(len(widths) - 1)]
    check_bounded(path, layers)
    return layers_of(layers)
