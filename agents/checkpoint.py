"""Checkpoints of players: weights as safetensors beside a JSON card that says what they are.

Both are written whole or not at all, the card last; what is read is checked
against the card, and nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ..engine.files import written_whole
from ..engine.layout import LAYOUT_VERSION, LAYOUTS, OBSERVATION_SIZE
from ..engine.rules import Rules, rules_from_mapping
from .closing import RANKS

FORMAT = 1
KINDS = ("mlp",)
WEIGHTS, CARD = ".safetensors", ".json"
FOLDER = "checkpoints"

Array = np.ndarray[Any, Any]


class CheckpointError(ValueError):
    """A checkpoint that is not there, not whole, or not for this game."""


@dataclass(frozen=True)
class Checkpoint:
    """A player's weights, and the card that tells of them."""

    path: Path
    weights: dict[str, Array]
    card: dict[str, Any]

    @property
    def rules(self) -> tuple[Rules, ...]:
        """The rule sets that it plays."""
        return tuple(rules_from_mapping(each, str(self.path)) for each in self.card["rules"])


def write_checkpoint(path: Path, weights: Mapping[str, Array], card: Mapping[str, Any]) -> Path:
    """Write the weights, then the card; `path` is the name that both share, without an ending."""
    data = save({name: np.ascontiguousarray(each) for name, each in weights.items()})
    told = {
        "format": FORMAT,
        "weights": {
            "file": path.name + WEIGHTS,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        },
        **card,
    }
    weights_path = path.with_name(path.name + WEIGHTS)
    with written_whole(weights_path) as file:
        file.write(data)
    write_card(path, told)
    return weights_path


def write_card(path: Path, card: Mapping[str, Any]) -> None:
    """Write a card anew, as when a strength was measured."""
    with written_whole(path.with_name(path.name + CARD), "w") as file:
        json.dump(card, file, indent=1, ensure_ascii=False)
        file.write("\n")


def checkpoints_in(folder: Path) -> list[Path]:
    """The weights of all checkpoints in a folder that have their cards, oldest first."""
    return sorted(path for path in folder.glob(f"*{WEIGHTS}") if path.with_suffix(CARD).exists())


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
        if folder.is_dir() and checkpoints_in(folder):
            return folder
    return None


def find_checkpoint(wanted: str | Path) -> Path:
    """The weights file behind a path: of the weights, of the card, or of a run (its last one)."""
    path = Path(wanted)
    if path.suffix == CARD:
        path = path.with_suffix(WEIGHTS)
    if _whole(path).is_file():
        return _whole(path)
    folder = _run_folder(path)
    if folder is not None:
        return checkpoints_in(folder)[-1]
    raise CheckpointError(
        f"{wanted}: there is no checkpoint; give the path of a {WEIGHTS} file or of a run's folder"
    )


def read_card(path: Path) -> dict[str, Any]:
    """The card beside some weights, checked as far as every reader needs it."""
    place = path.with_suffix(CARD)
    try:
        card = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(
            f"{path}: its card {place.name} can not be read ({error.strerror or error})"
        ) from None
    except ValueError as error:
        raise CheckpointError(f"{place}: is not valid JSON: {error}") from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        found = card.get("format") if isinstance(card, dict) else type(card).__name__
        raise CheckpointError(
            f"{place}: its format is {found!r}, and this version reads format {FORMAT}: "
            "use the version that wrote it, or train anew"
        )
    needed = ("weights", "rules", "network", "layout", "layout_version", "actions", "horizon")
    for name in needed:
        if name not in card:
            raise CheckpointError(f"{place}: has no {name!r}, so it is no card of a checkpoint")
    return card


def read_checkpoint(wanted: str | Path) -> Checkpoint:
    """The checkpoint at a path, its weights checked against the card."""
    path = find_checkpoint(wanted)
    card = read_card(path)
    _check_layout(path, card)
    data = path.read_bytes()
    told = card["weights"]
    if len(data) != told["bytes"]:
        raise CheckpointError(
            f"{path}: has {len(data)} bytes, and its card says {told['bytes']}: copy both files "
            "again"
        )
    if hashlib.sha256(data).hexdigest() != told["sha256"]:
        raise CheckpointError(
            f"{path}: its checksum is not the one in its card: copy both files again"
        )
    try:
        weights = load(data)
    except SafetensorError as error:
        raise CheckpointError(f"{path}: is no safetensors file ({error})") from None
    return Checkpoint(path, weights, card)


def _check_layout(path: Path, card: Mapping[str, Any]) -> None:
    network = card["network"]
    if card["layout_version"] != LAYOUT_VERSION:
        raise CheckpointError(
            f"{path}: was trained on observation layout {card['layout_version']}, and this version "
            f"has layout {LAYOUT_VERSION}: use the version that wrote it, or train anew"
        )
    if card["layout"] not in LAYOUTS:
        raise CheckpointError(
            f"{path}: its layout is {card['layout']!r}: it has to be one of {', '.join(LAYOUTS)}"
        )
    if network.get("kind") not in KINDS:
        raise CheckpointError(
            f"{path}: its network is a {network.get('kind')!r}, and this version plays "
            f"{', '.join(KINDS)}"
        )
    if network.get("ranks", "real") not in RANKS:
        raise CheckpointError(
            f"{path}: its ranks are {network['ranks']!r}: they have to be one of {', '.join(RANKS)}"
        )
    inputs = network["inputs"]
    if inputs and not 0 <= min(inputs) <= max(inputs) < OBSERVATION_SIZE:
        raise CheckpointError(
            f"{path}: reads place {max(inputs)} of an observation of {OBSERVATION_SIZE} places"
        )
