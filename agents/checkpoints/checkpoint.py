"""Checkpoints of players: weights as safetensors beside a JSON card that says what they are.

Both are written whole or not at all, the card last. What is read is checked here,
once: the card by its fields, the weights by the card; nothing is ever unpickled, and
whoever holds a `Checkpoint` need not look again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ...common.files import atomic_write
from ...common.schema import convert, read_json, short_repr
from ...common.typing import Array
from ...engine.batch.config import AUTO, exact_horizon
from ...engine.observation.layout import LAYOUT_VERSION, layout_of
from ...engine.observation.rule_features import rule_features
from ...engine.rules import (
    Rules,
    checked_name,
    load_rules,
    named_rules,
    rules_from_mapping,
)
from ..base import CannotPlay, ModelFile
from .input_names import input_places
from .schema import (
    FORMAT,
    HIDDEN_SIZE,
    AuxiliaryCard,
    Card,
    NetworkCard,
    WeightsFile,
)

WEIGHTS, CARD = ".safetensors", ".json"
FOLDER = "checkpoints"

REMEDY = "copy both files again from where they were made, or train anew"
_OTHER_VERSION = "use the version that wrote it, or train anew"

Shape = tuple[int, ...]


class CheckpointError(ValueError):
    """A checkpoint that is not there, not whole, or not for this game."""


@dataclass(frozen=True)
class Checkpoint:
    """A player's weights, and the card that tells of them."""

    path: Path
    weights: dict[str, Array]
    card: Card

    @cached_property
    def rules(self) -> tuple[Rules, ...]:
        """The rule sets that it plays."""
        return rules_of(self.card.rules, self.path)

    @property
    def policy_layers(self) -> list[tuple[Array, Array]]:
        """Weights and biases of the policy's layers, in order."""
        names = [*(f"hidden.{k}" for k in range(len(self.card.network.hidden_sizes))), "policy"]
        return [(self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]) for name in names]


def rules_of(listed: Iterable[dict[str, Any]], source: object) -> tuple[Rules, ...]:
    """The rule sets that a card lists."""
    return tuple(
        checked_name(rules_from_mapping(each, str(source)), str(source)) for each in listed
    )


# -- writing


def write_checkpoint(path: Path, weights: Mapping[str, Array], card: Struct) -> Path:
    """Write the weights, then the card; `path` is the name that both share, without an ending."""
    data = save({name: np.ascontiguousarray(each) for name, each in weights.items()})
    told = WeightsFile(path.name + WEIGHTS, len(data), hashlib.sha256(data).hexdigest())
    weights_path = path.with_name(path.name + WEIGHTS)
    with atomic_write(weights_path) as file:
        file.write(data)
    write_card(path, msgspec.structs.replace(card, weights=told))
    return weights_path


def write_card(path: Path, card: Struct) -> None:
    """Write a card anew, as when a strength was measured."""
    told = {name: each for name, each in msgspec.to_builtins(card).items() if each is not None}
    with atomic_write(path.with_name(path.name + CARD), "w") as file:
        json.dump(told, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")


# -- finding


def checkpoints_in(folder: Path) -> list[Path]:
    """The weights of a run's checkpoints that have their cards, oldest first."""
    files = _checkpoint_files(folder)
    return [each for each in files if each.suffix == WEIGHTS and _twin(each) in files]


def _lone_files(folder: Path) -> list[Path]:
    """Weights without a card, and cards without weights, among a run's checkpoints."""
    files = _checkpoint_files(folder)
    return [each for each in files if _twin(each) not in files]


def _checkpoint_files(folder: Path) -> list[Path]:
    """The weights and cards of a run's checkpoints, oldest first.

    A run names its checkpoints by their decisions; other files may lie beside them, as
    a copy that is called `best`, and never stand for the newest.
    """
    files = (*folder.glob(f"*{WEIGHTS}"), *folder.glob(f"*{CARD}"))
    return sorted((each for each in files if each.stem.isdecimal()), key=_decisions)


def _decisions(path: Path) -> int:
    return int(path.stem)


def _twin(path: Path) -> Path:
    """The card of some weights, and the weights of a card."""
    return path.with_suffix(CARD if path.suffix == WEIGHTS else WEIGHTS)


def is_checkpoint(text: str) -> bool:
    """Whether a text names a checkpoint: by its file, with or without ending, or a run's folder."""
    path = Path(text)
    return text.endswith((WEIGHTS, CARD)) or _whole(path).is_file() or _run_folder(path) is not None


def _whole(path: Path) -> Path:
    """The weights file of a path that may lack its ending."""
    if not path.name or path.suffix == WEIGHTS:
        return path
    return path.with_name(path.name + WEIGHTS)


def _run_folder(path: Path) -> Path | None:
    for folder in (path / FOLDER, path):
        if folder.is_dir() and (checkpoints_in(folder) or _lone_files(folder)):
            return folder
    return None


def _newest_in(folder: Path) -> Path:
    """The weights of a run's newest checkpoint; refused if it is not whole.

    An older one in its place would pass for the newest.
    """
    complete, lone = checkpoints_in(folder), _lone_files(folder)
    if not lone or (complete and _decisions(complete[-1]) > _decisions(lone[-1])):
        return complete[-1]
    found = lone[-1]
    missing = _twin(found).name
    what = "card" if found.suffix == WEIGHTS else "file of weights"
    older = f"name an older one, as {complete[-1]}" if complete else "train anew"
    raise CheckpointError(
        f"{folder}: the newest checkpoint, {found.name}, lacks its {what} {missing}: copy it "
        f"there again, wait if the run is just writing it, or {older}"
    )


def find_checkpoint(wanted: str | Path) -> Path:
    """The weights file behind a path: of the weights, of the card, or of a run (its last one).

    Where there is none of these, the package's own of that name, as `champion-1`.
    """
    path = Path(wanted)
    if path.suffix == CARD:
        path = path.with_suffix(WEIGHTS)
    if _whole(path).is_file():
        return _whole(path)
    folder = _run_folder(path)
    if folder is not None:
        return _newest_in(folder)
    own = Path(__file__).with_name(f"{path.name}{WEIGHTS}")
    if path.name == str(wanted) and not path.exists() and own.is_file():
        return own
    raise CheckpointError(
        f"{wanted}: there is no checkpoint; give the path of a {WEIGHTS} file or of a run's "
        "folder, or the name of one of the package's, as champion-1"
    )


# -- reading


def read_card(path: Path) -> Card:
    """The card beside some weights, checked."""
    place, told = path.with_suffix(CARD), told_by_card(path)
    _check_format(told, place)
    version = told.get("layout_version")
    if isinstance(version, int) and version != LAYOUT_VERSION:
        raise CheckpointError(
            f"{place}: was trained on observation layout {short_repr(version)}, "
            "and this version has "
            f"layout {LAYOUT_VERSION}: {_OTHER_VERSION}"
        )
    if "kind" in told:
        raise CheckpointError(
            f"{place}: is a {told['kind']} network for searches, which plays no card: name a "
            "policy, such as champion-1"
        )
    card = convert(told, Card, place, REMEDY, CheckpointError)
    try:
        rules = rules_of(card.rules, "rules")
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{place}: {error}; {REMEDY}") from None
    most = max(rules, key=lambda each: each.actions)
    if most.actions != card.actions:
        raise CheckpointError(
            f"{place}: actions is {card.actions}, and its rules {most.name} have {most.actions}; "
            f"{REMEDY}"
        )
    size = max(layout_of(each).size for each in rules)
    for name in card.network.inputs:
        if input_places([name])[-1] >= size:
            raise CheckpointError(
                f"{place}: the network reads {name!r}, which no observation by its rules has; "
                f"{REMEDY}"
            )
    return card


def read_auxiliary_card(path: Path) -> AuxiliaryCard:
    """The card of a value or belief network, checked."""
    told = told_by_card(path)
    if not isinstance(told, dict) or "kind" not in told:
        raise CheckpointError(
            f"{path}: is not a value or belief network, whose card would name its 'kind'"
        )
    _check_format(told, path.with_suffix(CARD))
    return convert(told, AuxiliaryCard, path.with_suffix(CARD), REMEDY, CheckpointError)


def _check_format(card: Any, place: Path) -> None:
    """Refuse a card that another version of the package wrote."""
    found = card.get("format") if isinstance(card, dict) else card
    if not isinstance(card, dict) or found != FORMAT:
        raise CheckpointError(
            f"{place}: its format is {short_repr(found)}, and this version reads format {FORMAT}: "
            f"{_OTHER_VERSION}"
        )


def told_by_card(path: Path) -> Any:
    """What the card beside some weights says, unchecked."""
    place = path.with_suffix(CARD)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"{path}: its card {place.name} cannot be read ({error.strerror or error}); copy it "
            f"to lie beside {path.name}, as where both were written"
        ) from None
    return read_json(data, place, REMEDY, CheckpointError)


def model_file(path: Path) -> ModelFile:
    """The weights at a path as reports name them, by their card; those of the package by name."""
    told = told_by_card(path)
    weights, decisions = told.get("weights") or {}, told.get("decisions")
    own = path.parent == Path(__file__).parent
    return ModelFile(
        file=path.name if own else str(path),
        sha256=str(weights.get("sha256", "")),
        run=str(path.parent.parent) if path.parent.name == FOLDER else "",
        decisions=decisions or None,
    )


def read_checkpoint(wanted: str | Path) -> Checkpoint:
    """The checkpoint at a path, its weights checked against the card."""
    path = find_checkpoint(wanted)
    card = read_card(path)
    weights = read_weights(path, card.weights)
    check_weights(path, weights, weight_shapes(card.network, card.actions))
    checkpoint = Checkpoint(path, weights, card)
    if card.network.kind == "mlp":
        check_bounded(path, checkpoint.policy_layers)
    return checkpoint


def read_weights(path: Path, told: WeightsFile | None) -> dict[str, Array]:
    """The weights at a path, if they are those that a card tells of."""
    if told is None:
        raise CheckpointError(f"{path.with_suffix(CARD)}: has no 'weights'; {REMEDY}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from None
    if len(data) != told.bytes:
        raise CheckpointError(
            f"{path}: has {len(data)} bytes, and its card says {told.bytes}: copy both files again"
        )
    if hashlib.sha256(data).hexdigest() != told.sha256:
        raise CheckpointError(
            f"{path}: its checksum is not the one in its card: copy both files again"
        )
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: is no safetensors file ({error}); {REMEDY}") from None


def check_weights(
    path: Path, weights: Mapping[str, Array], shapes: Iterable[tuple[str, Shape]]
) -> None:
    """Refuse weights that are not those of a card, or whose numbers are spoilt."""
    wanted = set()
    for name, shape in shapes:
        found = weights.get(name)
        if found is None or found.shape != shape:
            told = "missing" if found is None else found.shape
            raise CheckpointError(f"{path}: {name} is {told}, and its card says {shape}; {REMEDY}")
        if found.dtype.kind != "f":
            raise CheckpointError(
                f"{path}: {name} holds {found.dtype} numbers: weights have to be float16, "
                f"float32 or float64; {REMEDY}"
            )
        if not np.isfinite(found).all():
            raise CheckpointError(f"{path}: {name} holds numbers that are not finite; {REMEDY}")
        wanted.add(name)
    for name in weights:
        if name not in wanted:
            raise CheckpointError(f"{path}: holds {name}, which its card does not tell; {REMEDY}")


# What networks compute in float32 stays below its end by so much, sums and differences too.
_MOST_OUTPUT = 1e37


def check_bounded(path: Path, layers: Iterable[tuple[Array, Array]]) -> None:
    """Refuse layers whose numbers may grow beyond float32, which would play as NaN or infinity.

    `layers` are weights and biases, the first layer's inputs zeros and ones.
    """
    most = 1.0
    for weight, bias in layers:
        rows = np.abs(weight.astype(np.float64)).sum(axis=1) * most + np.abs(bias)
        most = float(rows.max(initial=0.0))
        if most > _MOST_OUTPUT:
            raise CheckpointError(
                f"{path}: its weights are so large that its outputs may become infinite; {REMEDY}"
            )


def weight_shapes(network: NetworkCard, actions: int) -> Iterator[tuple[str, Shape]]:
    """The names and shapes of all weights that a card speaks of."""
    if network.kind == "table":
        yield "cells", (network.cells,)
        return
    seen = len(network.places) + len(network.rule_places)
    yield from layer_shapes("hidden.", [seen, *network.hidden_sizes])
    yield from _layer("policy", network.hidden_sizes[-1] if network.hidden_sizes else seen, actions)
    if network.critic is None:
        return
    if network.critic != "shared":
        seen += HIDDEN_SIZE if network.critic == "oracle" else 0
        yield from layer_shapes("critic.", [seen, *network.hidden_sizes])
    yield from _layer("value", network.hidden_sizes[-1] if network.hidden_sizes else seen, 1)


def layer_shapes(prefix: str, widths: list[int]) -> Iterator[tuple[str, Shape]]:
    """The names and shapes of the weights of layers that follow each other."""
    for k, (n, m) in enumerate(pairwise(widths)):
        yield from _layer(f"{prefix}{k}", n, m)


def _layer(name: str, n: int, m: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (m, n)
    yield f"{name}.bias", (m,)


def policy_alone(checkpoint: Checkpoint) -> Checkpoint:
    """What a player needs of a checkpoint: all but the critic."""
    card = checkpoint.card
    network = msgspec.structs.replace(card.network, critic=None)
    names = [name for name, _ in weight_shapes(network, card.actions)]
    return Checkpoint(
        checkpoint.path,
        {name: checkpoint.weights[name] for name in names},
        msgspec.structs.replace(card, network=network),
    )


def rules_wanted(wanted: Any) -> Rules:
    """Rules as they are given, or those that a checkpoint or a run plays, by its path."""
    is_path = isinstance(wanted, (str, Path)) and wanted not in named_rules()
    if not is_path or not is_checkpoint(str(wanted)):
        return load_rules(wanted)
    place = find_checkpoint(wanted)
    rules, *others = Checkpoint(place, {}, read_card(place)).rules
    if others:
        raise CannotPlay(f"{wanted} plays {names_of((rules, *others))}: name one of them")
    return rules


def names_of(rule_sets: Iterable[Rules]) -> str:
    """The names of some rule sets, as a sentence takes them."""
    return ", ".join(each.name for each in rule_sets)


def check_listed(listed: Iterable[Rules], rules: Rules, told: str) -> None:
    """Refuse rules that a card does not list, by whatever name; `told` begins the sentence."""
    known = [*listed]
    if not any(map(rules.same_game, known)):
        raise CannotPlay(f"{told} {names_of(known)}, and not {rules.name}")


def lists(path: Path, rules: Rules) -> bool:
    """Whether the card beside some weights lists a rule set: nothing else is read to know it."""
    return any(map(rules.same_game, rules_of(read_card(path).rules, path)))


def checkpoint_for(checkpoint: Checkpoint, rules: Rules, name: str = "") -> Checkpoint:
    """The player of one rule set: what tells it from others is in the weights, and no input.

    Rules that the card does not list are refused; `name` is the player's.
    """
    check_listed(checkpoint.rules, rules, f"{name or checkpoint.path} plays")
    if len(checkpoint.rules) == 1:
        return checkpoint
    checkpoint = policy_alone(checkpoint)
    network = checkpoint.card.network
    first, places = len(network.places), network.rule_places
    told = slice(first, first + len(places))
    ones = rule_features(rules)[places] == 1
    weights = dict(checkpoint.weights)
    layer = "hidden.0" if network.hidden_sizes else "policy"
    weight = weights[f"{layer}.weight"].astype(np.float32)
    weights[f"{layer}.weight"] = np.delete(weight, told, axis=1)
    weights[f"{layer}.bias"] = weights[f"{layer}.bias"] + weight[:, told][:, ones].sum(1)
    for part in ("policy.weight", "policy.bias"):
        weights[part] = weights[part][: rules.actions]
    network = msgspec.structs.replace(network, rule_features=())
    card = msgspec.structs.replace(
        checkpoint.card, network=network, rules=(rules.as_mapping(),), actions=rules.actions
    )
    if card.horizon == AUTO:
        card = msgspec.structs.replace(card, horizon=exact_horizon(rules))
    return Checkpoint(checkpoint.path, weights, card)
