"""Checkpoints as files that a test writes by itself, right or wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from german_whist.agents.checkpoints import read_fields
from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS
from german_whist.agents.checkpoints.input_names import input_names
from german_whist.agents.checkpoints.schema import FORMAT
from german_whist.engine.observation.spec import OBSERVATION_VERSION
from german_whist.engine.rules import Rules, load_rules


def written(
    path: Path, weights: Mapping[str, np.ndarray[Any, Any]], card: Mapping[str, Any]
) -> Path:
    """Weights and a card, unchecked; `path` is the name without an ending."""
    arrays = {name: np.ascontiguousarray(each) for name, each in weights.items()}
    digest = hashlib.sha256(save(arrays)).hexdigest()
    fields = {"format": FORMAT, "kind": "policy", "sha256": digest, **card}
    place = path.with_name(path.name + ".safetensors")
    place.write_bytes(save(arrays, {"card": json.dumps(fields)}))
    return place


def rewrite_card(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Write a checkpoint with a changed card, which may be any object of JSON, or a text."""
    card = change(read_fields(path))
    text = card if isinstance(card, str) else json.dumps(card)
    path.write_bytes(save(load_file(path), {"card": text}))


def champion_at(path: Path, *rules: Rules) -> str:
    """The champion of the classic game under another name; with rules, its card says these."""
    copied = Path(shutil.copy(CLASSIC_WEIGHTS, path.with_suffix(".safetensors")))
    if rules:
        rewrite_card(copied, lambda card: card | {"rules": [each.as_mapping() for each in rules]})
    return str(copied)


def network_card(inputs: Any, hidden_sizes: list[int], **changes: Any) -> dict[str, Any]:
    """The card of a network for the classic game."""
    names = input_names(np.asarray(inputs))
    return {
        "network": {"kind": "mlp", "inputs": names, "hidden_sizes": hidden_sizes},
        "actions": 52,
        "suit_order": "trump-first",
        "observation_version": OBSERVATION_VERSION,
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
