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

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..agents.checkpoint import CheckpointError, write_checkpoint
from ..engine.files import written_whole
from ..engine.layout import LAYOUT_VERSION, OBSERVATION_SIZE
from .settings import Settings

Array = np.ndarray[Any, Any]

STATE_FORMAT = 2


def save_state(path: Path, arrays: Mapping[str, Array], plain: Mapping[str, Any]) -> None:
    """Write everything that the rest of a run depends on."""
    told = json.dumps({"format": STATE_FORMAT, **plain})
    data = save({name: np.ascontiguousarray(each) for name, each in arrays.items()}, {"run": told})
    with written_whole(path) as file:
        file.write(data)


def load_state(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """What `save_state` wrote."""
    try:
        with safe_open(path, framework="np") as file:
            plain = json.loads((file.metadata() or {}).get("run", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no state of a run to resume") from None
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path}: is no state of a run ({error})") from None
    if plain.get("format") != STATE_FORMAT:
        raise CheckpointError(
            f"{path}: its format is {plain.get('format')!r}, and this version resumes format "
            f"{STATE_FORMAT}: train anew"
        )
    return arrays, plain


def write_player(
    path: Path,
    weights: Mapping[str, Array],
    settings: Settings,
    network: Mapping[str, Any],
    told: Mapping[str, Any],
) -> Path:
    """Write a player and its card; returns the path of the weights."""
    card = {**card_of(settings, network), **told, "revision": revision()}
    return write_checkpoint(path, weights, card)


def card_of(settings: Settings, network: Mapping[str, Any]) -> dict[str, Any]:
    """What the card of a checkpoint says, whatever its weights are."""
    options = settings.options
    return {
        "network": dict(network),
        "actions": options.rules.actions,
        "layout": options.layout,
        "layout_version": LAYOUT_VERSION,
        "observation_size": OBSERVATION_SIZE,
        "rules": [options.rules.as_mapping()],
        "horizon": options.horizon,
        "reward": options.reward,
        "settings": settings.as_mapping(),
    }


def revision() -> str | None:
    """The git revision of the code, marked if it was changed since; None outside a checkout."""
    here = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=here, capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
