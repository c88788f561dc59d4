"""Networks that judge for the searches: weights beside a card of their own, no players.

What they read and answer is fixed by their kind, `worth` or `beliefs`; a card tells how wide
their layers are, for which games they were made, and from what.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import numpy as np
from msgspec import Meta, Struct
from safetensors.numpy import save

from ..engine.checking import converted, read_json
from ..engine.files import written_whole
from ..engine.rules import Rules
from .base import Array, CannotPlay
from .card import FORMAT, Count, Size, WeightsFile
from .checkpoint import CARD, WEIGHTS, CheckpointError, find_checkpoint, read_weights, rules_of
from .layers import Layers

Kind = Literal["worth", "beliefs"]
_REMEDY = "copy both files again from where they were made, or make them anew"


class JudgeCard(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is known of a network that judges."""

    format: int = FORMAT
    judges: Kind
    weights: WeightsFile | None = None
    inputs: Size
    layers: tuple[Size, ...]
    outputs: Size
    rules: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    hands: Count = 0
    """Of how many hands it has learnt."""
    settings: dict[str, Any] = {}
    commands: tuple[str, ...] = ()


def write_judge(path: Path, weights: Mapping[str, Array], card: JudgeCard) -> Path:
    """Write the weights, then the card; `path` is the name that both share, without an ending."""
    data = save({name: np.ascontiguousarray(each) for name, each in weights.items()})
    told = WeightsFile(path.name + WEIGHTS, len(data), hashlib.sha256(data).hexdigest())
    target = path.with_name(path.name + WEIGHTS)
    with written_whole(target) as file:
        file.write(data)
    with written_whole(path.with_name(path.name + CARD), "w") as file:
        kept = msgspec.to_builtins(msgspec.structs.replace(card, weights=told))
        json.dump(kept, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    return target


def read_judge_card(path: Path) -> JudgeCard:
    """The card beside some weights, checked."""
    place = path.with_suffix(CARD)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"{path}: its card {place.name} can not be read ({error.strerror or error})"
        ) from None
    told = read_json(data, place, _REMEDY, CheckpointError)
    if not isinstance(told, dict) or "judges" not in told:
        raise CheckpointError(
            f"{path}: is no network that judges, whose card would name what it 'judges'"
        )
    return converted(cast("dict[str, Any]", told), JudgeCard, place, _REMEDY, CheckpointError)


def check_judged(card: JudgeCard, path: Path, rules: Rules) -> None:
    """Refuse rules that a card does not list."""
    known = rules_of(card.rules, path)
    if not any(map(rules.same_game, known)):
        names = ", ".join(each.name for each in known)
        raise CannotPlay(f"{path}: judges the rules {names}, and not {rules.name}")


def read_judge(wanted: str | Path, kind: Kind, inputs: int, outputs: int, rules: Rules) -> Layers:
    """A network's numbers from its file, refused if it is of another kind or for other games."""
    path = find_checkpoint(wanted)
    card = read_judge_card(path)
    if (card.judges, card.inputs, card.outputs) != (kind, inputs, outputs):
        raise CheckpointError(
            f"{path}: is a network of {card.judges} with {card.inputs} inputs and {card.outputs} "
            f"answers, and what is wanted is one of {kind} with {inputs} and {outputs}"
        )
    check_judged(card, path, rules)
    weights = read_weights(path, card.weights)
    parts: list[Array] = []
    for k, (n, m) in enumerate(pairwise([inputs, *card.layers, outputs])):
        for name, shape in ((f"{k}.weight", (m, n)), (f"{k}.bias", (m,))):
            found = weights.get(name)
            if found is None or found.shape != shape or not np.isfinite(found).all():
                raise CheckpointError(
                    f"{path}: {name} has to hold {shape} finite numbers; {_REMEDY}"
                )
            parts.append(found.astype(np.float32).T.ravel())
    return Layers(np.array([inputs, *card.layers, outputs], np.int64), np.concatenate(parts))
