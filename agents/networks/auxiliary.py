"""Networks that judge for the searches: weights beside a card of their own, no players.

What they read and answer is fixed by their kind, `worth` or `beliefs`; a card tells how wide
their layers are, for which games they were made, and from what.
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
    read_judge_card,
    read_weights,
    rules_of,
)
from ..checkpoints.schema import Judges
from .mlp import Layers, layers_of


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
    widths, weights = [inputs, *card.hidden_sizes, outputs], read_weights(path, card.weights)
    check_weights(path, weights, layer_shapes("", widths))
    layers = [(weights[f"{k}.weight"], weights[f"{k}.bias"]) for k in range(len(widths) - 1)]
    check_bounded(path, layers)
    return layers_of(layers)
