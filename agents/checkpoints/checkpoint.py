"""Checkpoints of agents: weights as safetensors, with a card in the metadata that describes them.

Reading checks everything once, the card by its schema and the weights by the card, and unpickles
nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ...common.files import suggest_path, write_file
from ...common.schema import convert, read_json, short_repr
from ...common.suggestions import type_phrase
from ...common.typing import Array, JsonObject
from ...engine.batch.config import AUTO, exact_horizon
from ...engine.observation.rule_features import rule_features
from ...engine.observation.spec import OBSERVATION_VERSION, spec_of
from ...engine.rules import (
    Rules,
    RulesLike,
    checked_name,
    load_rules,
    name_beside,
    named_rules,
    rules_from_mapping,
)
from ..base import CannotPlay, ModelFile
from .input_names import input_names, input_places
from .schema import (
    FORMAT,
    HIDDEN_CARDS_SIZE,
    Card,
    CheckpointCard,
    NetworkCard,
    SearchNetworkCard,
    SearchNetworkKind,
)

WEIGHTS = ".safetensors"
_AGENTS = Path(__file__).parents[1]
"""The package's agents, among which its own weights lie."""
FOLDER = "checkpoints"
_METADATA = "card"

REMEDY = "copy the file again from where it was made, or train anew"
_OTHER_VERSION = "use the version that wrote it, or train anew"

Shape = tuple[int, ...]


class CheckpointError(ValueError):
    """A checkpoint is missing, incomplete or made for another game."""


@dataclass(frozen=True)
class Checkpoint:
    """Weights of an agent, and their card."""

    path: Path
    weights: dict[str, Array]
    card: CheckpointCard

    @cached_property
    def rules(self) -> tuple[Rules, ...]:
        return parse_rules(self.card.rules, self.path)

    @property
    def policy_layers(self) -> list[tuple[Array, Array]]:
        return policy_layers(self.weights, self.card.network)

    @property
    def critic_layers(self) -> list[tuple[Array, Array]]:
        """Weights and biases of a critic's layers, from the inputs to the value."""
        network = self.card.network
        prefix = "hidden" if network.critic == "shared" else "critic"
        names = [*(f"{prefix}.{k}" for k in range(len(network.hidden_sizes))), "value"]
        return [(self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]) for name in names]


def policy_layers(weights: Mapping[str, Array], network: NetworkCard) -> list[tuple[Array, Array]]:
    """Weights and biases of a policy's layers, from the inputs to the logits."""
    names = [*(f"hidden.{k}" for k in range(len(network.hidden_sizes))), "policy"]
    return [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]


def parse_rules(listed: Iterable[JsonObject], source: object) -> tuple[Rules, ...]:
    """The rule sets that a card lists."""
    return tuple(
        checked_name(rules_from_mapping(mapping, str(source)), str(source)) for mapping in listed
    )


# -- writing


def write_checkpoint(path: Path, weights: Mapping[str, Array], card: Card) -> Path:
    """Write weights with their card; `path` is without suffix.

    Weights that no agent could read are an ArithmeticError: the training diverged.
    """
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise ArithmeticError(f"{name} became NaN or infinite: {path}{WEIGHTS} is not written")
    arrays = {name: np.asarray(array, order="C") for name, array in weights.items()}
    card = msgspec.structs.replace(card, sha256=_digest_of(arrays))
    fields = {name: value for name, value in msgspec.to_builtins(card).items() if value is not None}
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False)
    weights_path = path.with_name(path.name + WEIGHTS)
    write_file(weights_path, save(arrays, {_METADATA: text}))
    return weights_path


def replace_card(path: Path, card: Card) -> None:
    """Write a checkpoint again with another card, for example with new measurements."""
    write_checkpoint(path.with_suffix(""), read_weights(path, card), card)


def _digest_of(arrays: dict[str, Array]) -> str:
    """SHA-256 of weights as a file that holds nothing else: no card changes it."""
    return hashlib.sha256(save(arrays)).hexdigest()


# -- finding


def list_checkpoints(folder: Path) -> list[Path]:
    """Checkpoints of a run, oldest first.

    A run names its checkpoints by their number of decisions. Other files, such as a copy called
    `best`, may lie beside them and are never the newest.
    """
    files = (path for path in folder.glob(f"*{WEIGHTS}") if path.stem.isdecimal())
    return sorted(files, key=lambda path: int(path.stem))


def is_checkpoint(text: str) -> bool:
    """Whether a text is the path of a checkpoint: its file, with or without suffix, or a folder."""
    return text.endswith(WEIGHTS) or _located(Path(text)) is not None


def _located(path: Path) -> Path | None:
    # By `os.path`, which says no to a name that is too long for a file, where `Path` raises.
    named = path.suffix == WEIGHTS or not path.name
    file = path if named else path.with_name(path.name + WEIGHTS)
    if os.path.isfile(file):
        return file
    for folder in (path / FOLDER, path):
        if os.path.isdir(folder) and (checkpoints := list_checkpoints(folder)):
            return checkpoints[-1]
    policy = path / f"policy{WEIGHTS}"
    return policy if path.name and os.path.isfile(policy) else None


def find_checkpoint(source: str | Path) -> Path:
    """Weights file of a path or of a bundled name.

    A path is that of a file, of a run (its newest checkpoint) or of another folder with a
    checkpoint `policy`.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise CheckpointError(f"{source!r} is {type_phrase(source)}: a checkpoint has a path")
    path = Path(source)
    located = _located(path)
    if located is not None:
        return located
    bundled = Path(__file__).with_name(f"{path.name}{WEIGHTS}")
    if path.name == str(source) and not os.path.exists(path) and os.path.isfile(bundled):
        return bundled
    near = "" if os.path.exists(path) else suggest_path(path)
    raise CheckpointError(
        f"{source}: there is no checkpoint{near}; give the path of a {WEIGHTS} file or of a run's "
        "folder, or the name of one of the package's, as champion-1"
    )


# -- reading


def read_card(path: Path) -> CheckpointCard:
    """Card of a policy, checked."""
    fields = _current_fields(path)
    version, kind = fields.get("observation_version"), fields.get("kind")
    if isinstance(version, int) and version != OBSERVATION_VERSION:
        raise CheckpointError(
            f"{path}: was trained on observation version {short_repr(version)}, and this "
            f"package reads version {OBSERVATION_VERSION}: {_OTHER_VERSION}"
        )
    if kind in get_args(SearchNetworkKind):
        raise CheckpointError(
            f"{path}: is a {kind} network for searches, which plays no card: name a "
            "policy, such as champion-1"
        )
    card = convert(fields, CheckpointCard, path, REMEDY, CheckpointError)
    try:
        rules = parse_rules(card.rules, "rules")
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path}: {error}; {REMEDY}") from None
    largest = max(rules, key=lambda rule_set: rule_set.actions)
    if largest.actions != card.actions:
        raise CheckpointError(
            f"{path}: actions is {card.actions}, and its rules {largest.name} have "
            f"{largest.actions}; {REMEDY}"
        )
    size = max(spec_of(rule_set).size for rule_set in rules)
    for name in card.network.inputs:
        if input_places([name])[-1] >= size:
            raise CheckpointError(
                f"{path}: the network reads {name!r}, which no observation by its rules has; "
                f"{REMEDY}"
            )
    return card


def read_search_network_card(path: Path) -> SearchNetworkCard:
    """Card of a value or belief network."""
    fields = _current_fields(path)
    if fields.get("kind") not in get_args(SearchNetworkKind):
        raise CheckpointError(
            f"{path}: is not a value or belief network, whose card would name its 'kind'"
        )
    return convert(fields, SearchNetworkCard, path, REMEDY, CheckpointError)


def _current_fields(path: Path) -> JsonObject:
    """Fields of a card of this version's format."""
    fields = read_fields(path)
    version = fields.get("format") if isinstance(fields, dict) else fields
    if not isinstance(fields, dict) or version != FORMAT:
        raise CheckpointError(
            f"{path}: its format is {short_repr(version)}, and this version reads format "
            f"{FORMAT}: {_OTHER_VERSION}"
        )
    return fields


def read_fields(path: Path) -> Any:
    """Unchecked content of a checkpoint's card."""
    with _opened(path) as file:
        text = (file.metadata() or {}).get(_METADATA)
    if text is None:
        raise CheckpointError(
            f"{path}: has no card in it, and this version reads no card beside it, as {path.stem}"
            f".json: {_OTHER_VERSION}"
        )
    return read_json(text.encode(), path, REMEDY, CheckpointError)


@contextmanager
def _opened(path: Path) -> Iterator[safe_open]:
    try:
        with safe_open(path, framework="np") as file:
            yield file
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: is no safetensors file ({error}); {REMEDY}") from None


def model_file(path: Path) -> ModelFile:
    """Description of a weights file for reports."""
    card = read_fields(path)
    bundled = path.is_relative_to(_AGENTS)
    return ModelFile(
        file=path.name if bundled else str(path),
        sha256=str(card.get("sha256", "")),
        run=str(path.parent.parent) if path.parent.name == FOLDER and not bundled else "",
        decisions=card.get("decisions") or None,
    )


def read_checkpoint(source: str | Path) -> Checkpoint:
    """The checkpoint at a path, its weights checked against the card."""
    path = find_checkpoint(source)
    card = read_card(path)
    weights = read_weights(path, card)
    if card.network.kind == "module":
        check_finite(path, weights)  # its class knows the names and shapes
    else:
        check_weights(path, weights, weight_shapes(card.network, card.actions))
    checkpoint = Checkpoint(path, weights, card)
    if card.network.kind == "mlp":
        check_output_bound(path, checkpoint.policy_layers)
    return checkpoint


def read_weights(path: Path, card: Card) -> dict[str, Array]:
    """Read weights, checked by the digest on their card."""
    with _opened(path) as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        digest = _digest_of(weights)
    if digest != card.sha256:
        raise CheckpointError(f"{path}: its checksum is not the one in its card; {REMEDY}")
    return weights


def check_weights(
    path: Path, weights: Mapping[str, Array], shapes: Iterable[tuple[str, Shape]]
) -> None:
    """Refuse weights with NaN or infinity, or whose names, shapes or types are not the card's."""
    names = set()
    for name, shape in shapes:
        array = weights.get(name)
        if array is None or array.shape != shape:
            actual = "missing" if array is None else array.shape
            raise CheckpointError(
                f"{path}: {name} is {actual}, and its card says {shape}; {REMEDY}"
            )
        if array.dtype.kind != "f" and (name, array.dtype) != ("cells", np.uint8):
            raise CheckpointError(
                f"{path}: {name} holds {array.dtype} numbers: weights have to be float16, "
                f"float32 or float64, and a table's may be bytes; {REMEDY}"
            )
        names.add(name)
    for name in weights:
        if name not in names:
            raise CheckpointError(f"{path}: holds {name}, which its card does not list; {REMEDY}")
    check_finite(path, weights)


def check_finite(path: Path, weights: Mapping[str, Array]) -> None:
    """Refuse weights with NaN or infinity."""
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise CheckpointError(f"{path}: {name} holds numbers that are not finite; {REMEDY}")


# What networks compute in float32 stays below its end by so much, sums and differences too.
_MAX_OUTPUT = 1e37


def check_output_bound(path: Path, layers: Iterable[tuple[Array, Array]]) -> None:
    """Refuse layers whose outputs may overflow float32."""
    if may_overflow(layers):
        raise CheckpointError(
            f"{path}: its weights are so large that its outputs may become infinite; {REMEDY}"
        )


def may_overflow(layers: Iterable[tuple[Array, Array]]) -> bool:
    """Whether outputs of layers, given as weights and biases, may overflow float32.

    The inputs of the first layer are zeros and ones.
    """
    bound = 1.0
    for weight, bias in layers:
        rows = np.abs(weight.astype(np.float64)).sum(axis=1) * bound + np.abs(bias)
        bound = float(rows.max(initial=0.0))
        if bound > _MAX_OUTPUT:
            return True
    return False


def weight_shapes(network: NetworkCard, actions: int) -> Iterator[tuple[str, Shape]]:
    if network.kind == "table":
        yield "cells", (network.cells,)
        return
    n_inputs = len(network.places) + len(network.rule_places)
    yield from layer_shapes("hidden.", [n_inputs, *network.hidden_sizes])
    yield from _layer(
        "policy", network.hidden_sizes[-1] if network.hidden_sizes else n_inputs, actions
    )
    if network.critic is None:
        return
    if network.critic != "shared":
        n_inputs += HIDDEN_CARDS_SIZE if network.critic == "oracle" else 0
        yield from layer_shapes("critic.", [n_inputs, *network.hidden_sizes])
    yield from _layer("value", network.hidden_sizes[-1] if network.hidden_sizes else n_inputs, 1)


def layer_shapes(prefix: str, widths: list[int]) -> Iterator[tuple[str, Shape]]:
    for k, (n, m) in enumerate(pairwise(widths)):
        yield from _layer(f"{prefix}{k}", n, m)


def _layer(name: str, n: int, m: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (m, n)
    yield f"{name}.bias", (m,)


def strip_critic(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint without its critic; that of a custom network is a part of its class."""
    card = checkpoint.card
    if card.network.kind == "module":
        return checkpoint
    network = msgspec.structs.replace(card.network, critic=None)
    names = [name for name, _ in weight_shapes(network, card.actions)]
    return Checkpoint(
        checkpoint.path,
        {name: checkpoint.weights[name] for name in names},
        msgspec.structs.replace(card, network=network),
    )


def resolve_rules(source: RulesLike) -> Rules:
    """Rules by name, file or object, or those of a checkpoint or run by its path."""
    if not isinstance(source, (str, Path)) or source in named_rules():
        return load_rules(source)
    if not is_checkpoint(str(source)):
        return load_rules(source)
    path = find_checkpoint(source)
    rules, *more_rules = parse_rules(read_card(path).rules, path)
    if more_rules:
        raise CannotPlay(
            f"{source} plays {join_rule_names((rules, *more_rules))}: name one of them"
        )
    return rules


def join_rule_names(rule_sets: Iterable[Rules], beside: Iterable[Rules] = ()) -> str:
    """Names, with the parameters that tell a rule set from those of its name in `beside`."""
    others = [*beside]
    return ", ".join(name_beside(rules, others) for rules in rule_sets)


def check_rules_listed(listed: Iterable[Rules], rules: Rules, subject: str) -> None:
    """Refuse rules that are not listed, under any name; `subject` begins the error."""
    listed_rules = [*listed]
    if not any(map(rules.same_game, listed_rules)):
        listed_names = join_rule_names(listed_rules, [rules])
        raise CannotPlay(f"{subject} {listed_names}, and not {name_beside(rules, listed_rules)}")


def _first_layers(network: NetworkCard) -> list[str]:
    """Names of the layers that read the inputs: the policy's, and that of a critic of its own."""
    if not network.hidden_sizes:
        return ["policy"] if network.critic is None else ["policy", "value"]
    return ["hidden.0", "critic.0"] if network.critic == "separate" else ["hidden.0"]


def specialize_checkpoint(checkpoint: Checkpoint, rules: Rules, name: str = "") -> Checkpoint:
    """The checkpoint for one rule set, with its constant rule features folded into the first bias.

    Inputs that only the observations of its other rule sets have are left out, and so is a critic
    that sees hidden cards. Refuses rules that the card does not list; `name` is the agent's name in
    the error.
    """
    check_rules_listed(checkpoint.rules, rules, f"{name or checkpoint.path} plays")
    if len(checkpoint.rules) == 1:
        return checkpoint
    if checkpoint.card.network.critic == "oracle":
        checkpoint = strip_critic(checkpoint)
    network = checkpoint.card.network
    places, features = network.places, network.rule_places
    first = len(places)
    rule_columns = slice(first, first + len(features))
    observed = places < spec_of(rules).size
    ones = rule_features(rules)[features] == 1
    weights = dict(checkpoint.weights)
    for layer in _first_layers(network):
        weight = weights[f"{layer}.weight"].astype(np.float32)
        weights[f"{layer}.weight"] = weight[:, :first][:, observed]
        folded = weight[:, rule_columns][:, ones].sum(1)
        weights[f"{layer}.bias"] = weights[f"{layer}.bias"] + folded
    for part in ("policy.weight", "policy.bias"):
        weights[part] = weights[part][: rules.actions]
    inputs = input_names(places[observed])
    network = msgspec.structs.replace(network, inputs=inputs, rule_features=())
    card = msgspec.structs.replace(
        checkpoint.card, network=network, rules=(rules.as_mapping(),), actions=rules.actions
    )
    if card.horizon == AUTO:
        card = msgspec.structs.replace(card, horizon=exact_horizon(rules))
    return Checkpoint(checkpoint.path, weights, card)
