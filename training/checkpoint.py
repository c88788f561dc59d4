"""What a run keeps on disk: its whole state in one file, and checkpoints of the player.

The state is a single file that is replaced in one go, so that a run which is
killed at any moment goes on from a moment that was.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..agents.checkpoints.checkpoint import CheckpointError, write_checkpoint
from ..agents.checkpoints.schema import Card, Count, Measurement, NetworkCard, Origin
from ..common.files import atomic_write
from ..common.schema import convert, read_json, short_repr
from ..common.typing import Array
from .settings import Settings

STATE_FORMAT = 3


class Measured(Measurement, frozen=True, kw_only=True):
    """Result against an opponent after a number of decisions."""

    decisions: Count

    def text(self) -> str:
        """In words."""
        rate, reach = 100 * self.win_rate, 100 * self.half_width
        return f"{rate:.1f} ± {reach:.1f} % against {self.title}"


class RunState(Struct, forbid_unknown_fields=True):
    """What a run knows beside the trainer's arrays."""

    trainer: dict[str, Any]
    """The trainer's own plain values, which it checks."""
    seconds: float = 0.0
    """Time spent in the run so far."""
    rows: list[dict[str, int | float]] = []
    """What every iteration told."""
    measured: list[Measured] = []
    commands: list[str] = []
    """What was typed to train the player so far."""
    init: Origin | None = None
    """The checkpoint whose weights it began with."""
    due: bool = False
    """Whether the player as it is now is still to be measured."""
    pending: list[Count] = []
    """After how many decisions there are checkpoints that are still to be measured."""
    finished: bool = False
    """Whether the run came to its end."""
    format: int = STATE_FORMAT


def save_state(path: Path, arrays: Mapping[str, Array], plain: RunState) -> None:
    """Write everything that the rest of a run depends on."""
    told = json.dumps(msgspec.to_builtins(plain))
    data = save({name: np.ascontiguousarray(each) for name, each in arrays.items()}, {"run": told})
    with atomic_write(path) as file:
        file.write(data)


def load_state(path: Path) -> tuple[dict[str, Array], RunState]:
    """What `save_state` wrote."""
    remedy = f"begin another run with its weights: init={path.parent}"
    try:
        with safe_open(path, framework="np") as file:
            told = (file.metadata() or {}).get("run", "{}")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path}: is no state of a run ({error}); {remedy}") from None
    plain = read_json(told.encode(), path, remedy, CheckpointError)
    found = plain.get("format") if isinstance(plain, dict) else plain
    if found != STATE_FORMAT:
        raise CheckpointError(
            f"{path}: its format is {short_repr(found)}, and this version resumes format "
            f"{STATE_FORMAT}; {remedy}"
        )
    return arrays, convert(plain, RunState, path, remedy, CheckpointError)


def card_of(settings: Settings, network: NetworkCard, **told: Any) -> Card:
    """The card of a checkpoint of some training; `told` are fields that its settings do not say."""
    options = settings.options
    return Card(
        network=network,
        actions=max(each.rules.actions for each in settings.all_options),
        layout=options.layout,  # type: ignore[arg-type]
        rules=tuple(each.rules.as_mapping() for each in settings.all_options),
        horizon=settings.told_horizon,  # type: ignore[arg-type]
        reward=options.reward,  # type: ignore[arg-type]
        settings=settings.as_mapping(),
        **told,
    )


def write_player(
    path: Path, weights: Mapping[str, Array], settings: Settings, network: NetworkCard, **told: Any
) -> Path:
    """Write a player and its card; returns the path of the weights."""
    return write_checkpoint(path, weights, card_of(settings, network, **told, revision=revision()))


def revision() -> str | None:
    """The git revision of the code, marked if it was changed since; None outside a checkout."""
    here = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=here, capture_output=True, encoding="utf-8", check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
