"""Checkpoints as files that a test writes by itself, right or wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS
from german_whist.agents.checkpoints.input_names import input_names
from german_whist.agents.checkpoints.schema import FORMAT
from german_whist.engine.observation.layout import LAYOUT_VERSION
from german_whist.engine.rules import Rules, load_rules


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


def champion_at(path: Path, *rules: Rules) -> str:
    """The champion of the classic game under another name; with rules, its card says these."""
    card = json.loads(CLASSIC_WEIGHTS.with_suffix(".json").read_text(encoding="utf-8"))
    card["weights"]["file"] = f"{path.name}.safetensors"
    if rules:
        card["rules"] = [each.as_mapping() for each in rules]
    path.with_suffix(".json").write_text(json.dumps(card), encoding="utf-8")
    return str(shutil.copy(CLASSIC_WEIGHTS, path.with_suffix(".safetensors")))


def network_card(inputs: Any, hidden_sizes: list[int], **changes: Any) -> dict[str, Any]:
    """The card of a network for the classic game."""
    names = input_names(np.asarray(inputs))
    return {
        "network": {"kind": "mlp", "inputs": names, "hidden_sizes": hidden_sizes},
        "actions": 52,
        "layout": "trump-first",
        "layout_version": LAYOUT_VERSION,
        "rules": [load_rules("classic").as_mapping()],
        "horizon": "hand",
        **changes,
    }


def network_weights(*sizes: int) -> dict[str, Any]:
    """Random weights by the sizes of the layers."""
    rng, last = np.random.default_rng(0), len(sizes) - 2
    arrays = {}
    for k, (n, m) in enumerate(pairwise(sizes)):
        name = "policy" if k == last else f"hidden.{k}"
        arrays[f"{name}.weight"] = rng.normal(size=(m, n)).astype(np.float32)
        arrays[f"{name}.bias"] = rng.normal(size=m).astype(np.float32)
    return arrays
