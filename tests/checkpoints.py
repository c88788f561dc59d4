"""Checkpoints as files that a test writes by itself, right or wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from german_whist.agents.checkpoints.schema import FORMAT


def weights_entry(name: str, data: bytes) -> dict[str, Any]:
    """What a card says of its weights' file."""
    return {"file": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def written(
    path: Path, weights: Mapping[str, np.ndarray[Any, Any]], card: Mapping[str, Any]
) -> Path:
    """Weights and a card, unchecked; `path` is their name without an ending."""
    data = save({name: np.ascontiguousarray(each) for name, each in weights.items()})
    place = path.with_name(path.name + ".safetensors")
    place.write_bytes(data)
    told = {"format": FORMAT, "weights": weights_entry(place.name, data), **card}
    place.with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")
    return place
