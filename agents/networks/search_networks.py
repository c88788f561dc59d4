"""Networks of searches: value and belief networks, with cards of their own.

The kind, `value` or `belief`, fixes inputs and outputs; the card has the layer widths, the rule
sets, and the training settings.
"""

from __future__ import annotations

from pathlib import Path

from ...engine.rules import Rules
from ..checkpoints import (
    CheckpointError,
    check_output_bound,
    check_rules_listed,
    check_weights,
    find_checkpoint,
    layer_shapes,
    parse_rules,
    read_search_network_card,
    read_weights,
)
from ..checkpoints.schema import SearchNetworkKind
from .mlp import MLPWeights, mlp_weights


def covers_rules(path: Path, rules: Rules) -> bool:
    """Whether the card of a value or belief network lists these rules."""
    return any(map(rules.same_game, parse_rules(read_search_network_card(path).rules, path)))


def read_search_network(
    source: str | Path, kind: SearchNetworkKind, inputs: int, outputs: int, rules: Rules
) -> MLPWeights:
    """Weights of a value or belief network, refused for other kinds, sizes or rules."""
    path = find_checkpoint(source)
    card = read_search_network_card(path)
    if (card.kind, card.inputs, card.outputs) != (kind, inputs, outputs):
        raise CheckpointError(
            f"{path}: is a {card.kind} network with {card.inputs} inputs and {card.outputs} "
            f"outputs, and a {kind} network with {inputs} and {outputs} is needed"
        )
    check_rules_listed(parse_rules(card.rules, path), rules, f"{path}: was trained for the rules")
    widths, weights = [inputs, *card.hidden_sizes, outputs], read_weights(path, card)
    check_weights(path, weights, layer_shapes("", widths))
    layers = [(weights[f"{k}.weight"], weights[f"{k}.bias"]) for k in range(len(widths) - 1)]
    check_output_bound(path, layers)
    return mlp_weights(layers)
