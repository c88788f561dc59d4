"""Files of a run: its state, and checkpoints of the policy.

The state is a single file, replaced atomically: a run that is killed at any moment resumes from
its last save.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..agents.checkpoints import (
    FOLDER,
    Checkpoint,
    CheckpointError,
    list_checkpoints,
    write_checkpoint,
)
from ..agents.checkpoints.schema import CheckpointCard, Count, Measurement, NetworkCard, Origin
from ..agents.networks.policy import NetworkAgent
from ..common.files import write_file
from ..common.provenance import processor_and_cores, revision
from ..common.schema import convert, read_json, short_repr
from ..common.suggestions import type_phrase
from ..common.typing import Array, JsonObject
from ..engine.rules import Rules
from .settings import Settings

STATE_FORMAT = 7


class EvaluationResult(Measurement, frozen=True, kw_only=True):
    """The result of a checkpoint against one opponent, after a number of decisions."""

    decisions: Count

    def text(self) -> str:
        """Win rate with its interval, and the opponent."""
        win_rate, margin_of_error = 100 * self.win_rate, 100 * self.margin_of_error
        return f"{win_rate:.1f} ± {margin_of_error:.1f} % against {self.title}"


class RunState(Struct, forbid_unknown_fields=True):
    """Plain values of a run's state, beside the trainer's arrays."""

    trainer: JsonObject
    """Plain values of the trainer, which it checks."""
    seconds: float = 0.0
    """Time spent in the run."""
    processor_seconds: Annotated[float, Meta(ge=0)] = 0.0
    """Processor time of the trainer, with its threads and child processes."""
    env_steps: Count = 0
    """Actions that the trainer gave to environments of this package."""
    rows: list[dict[str, int | float]] = []
    """Metrics of every iteration."""
    evaluations: list[EvaluationResult] = []
    """Results of all evaluations."""
    commands: list[str] = []
    """Commands that have trained the policy."""
    network_sha256: str = ""
    """Of the source of a network of the user's own."""
    init: Origin | None = None
    """Checkpoint from whose weights the run began."""
    evaluation_due: bool = False
    """Whether the current policy is to be evaluated next."""
    pending: list[Count] = []
    """Checkpoints that are still to be evaluated, by their decisions."""
    stop_checkpoint: Count | None = None
    """Decisions of a checkpoint that was written only because a signal ended the command."""
    finished: bool = False
    """Whether the run has ended, by its budget or another limit."""
    ended_early: str = ""
    """Why the training has ended before its budget; empty if it has not."""
    budget: Count = 0
    """The budget with which it ended."""
    format: int = STATE_FORMAT


def save_state(path: Path, arrays: Mapping[str, Array], plain: RunState) -> None:
    try:
        text = json.dumps(msgspec.to_builtins(plain), allow_nan=False)
        native = {name: _native(name, array) for name, array in arrays.items()}
        data = save(native, {"run": text, "sha256": digest_of(native, text)})
    except (TypeError, ValueError, SafetensorError) as error:
        raise TypeError(
            f"the state of the trainer cannot be saved ({error}): its arrays are of NumPy and hold "
            "numbers of up to 64 bits, and its plain values are what JSON has, without NaN and "
            "infinity"
        ) from error
    write_file(path, data)


def _native(name: str, array: Array) -> Array:
    if not isinstance(array, (np.ndarray, np.generic)):
        raise TypeError(f"{name} is {type_phrase(array)}")
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def load_state(path: Path) -> tuple[dict[str, Array], RunState]:
    remedy = remedy_without_state(path.parent)
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path}: is no state of a run ({error}); {remedy}") from None
    text = metadata.get("run", "{}")
    plain = read_json(text.encode(), path, remedy, CheckpointError)
    version = plain.get("format") if isinstance(plain, dict) else plain
    if version != STATE_FORMAT:
        raise CheckpointError(
            f"{path}: its format is {short_repr(version)}, and this version resumes format "
            f"{STATE_FORMAT}; {remedy}"
        )
    if metadata.get("sha256") != digest_of(arrays, text):
        raise CheckpointError(f"{path}: is damaged (wrong checksum); {remedy}")
    return arrays, convert(plain, RunState, path, remedy, CheckpointError)


def digest_of(arrays: Mapping[str, Array], text: str = "") -> str:
    """SHA-256 of names, types, shapes and values, and of a text."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def remedy_without_state(folder: Path) -> str:
    """What to do about a run whose state is missing or unusable."""
    if list_checkpoints(folder / FOLDER):
        return f"start another run, from its weights if the trainer takes them: init={folder}"
    return "there is no checkpoint either, so begin another run"


def card_of(settings: Settings, network: NetworkCard, **fields: Any) -> CheckpointCard:
    """Card of a training's checkpoint; `fields` are those that do not follow from its settings."""
    options, rule_sets = settings.options, [option.rules for option in settings.all_options]
    return CheckpointCard(
        network=network,
        actions=max(rules.actions for rules in rule_sets),
        suit_order=options.suit_order,  # type: ignore[arg-type]
        rules=tuple(rules.as_mapping() for rules in rule_sets),
        horizon=settings.card_horizon,  # type: ignore[arg-type]
        reward=options.reward,  # type: ignore[arg-type]
        settings=settings.as_mapping(),
        **fields,
    )


def agent_from_weights(
    settings: Settings,
    weights: Mapping[str, Array],
    network: NetworkCard,
    *words: str,
    rules: Rules | None = None,
) -> NetworkAgent:
    """Agent of a checkpoint with these weights; `words` are its options, as in `network:PATH,WORD`.

    Of several rule sets it plays the first by default, in matches if the training plays those.
    """
    checkpoint = Checkpoint(Path("training"), dict(weights), card_of(settings, network))
    options = settings.options
    return NetworkAgent(rules or options.rules, checkpoint, *words, match=options.match)


def write_policy(
    path: Path,
    weights: Mapping[str, Array],
    settings: Settings,
    network: NetworkCard,
    **fields: Any,
) -> Path:
    """Write a policy and its card; returns the path of the weights."""
    card = card_of(settings, network, **fields, machine=processor_and_cores(), revision=revision())
    return write_checkpoint(path, weights, card)
