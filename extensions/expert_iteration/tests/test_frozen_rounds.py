"""Hands and networks of expert iteration that no restructuring may change, as `test_frozen` has it.

With `PYTHONPATH=tests`, this file run by Python writes the values anew, after an intended change.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from test_frozen import as_text, differences, shape_of_weights, weights_in

from german_whist.expert_iteration.pipeline import run_expert_iteration
from german_whist.expert_iteration.recipe import load_recipe
from support import digest

FROZEN = Path(__file__).with_name("frozen.json")


def bfloat16() -> str:
    """How this processor computes in bfloat16, in which hands are drawn there."""
    kinds = [torch.backends.cpu.get_cpu_capability()]
    kinds += [
        name
        for name in ("avx512_bf16", "amx_tile")
        if getattr(torch.cpu, f"_is_{name}_supported")()
    ]
    return " ".join(kinds)


def networks_in(folder: Path) -> dict[str, Any]:
    """Hands of self-play, both judging networks, and two rounds of advice from them."""
    words = [
        "hands=96",
        "value_hidden_sizes=[8]",
        "belief_hidden_sizes=[8]",
        "epsilon=0.1",
        "seed=5",
    ]
    found: dict[str, Any] = {"processor": {"bfloat16": bfloat16()}}
    for name, more in (
        ("cards", ["target_hands=[48]"]),
        ("search", ["target_hands=[8,6]", "determinizations=2"]),
    ):
        home = folder / name
        run_expert_iteration(home, load_recipe("quick", [*words, *more]), lambda _: None)
        # Bytes of structures: whatever their fields are called.
        files = sorted(map(np.load, home.rglob("*.npy")), key=lambda each: each.nbytes)
        advised = [each for each in files if len(each.dtype.names) == 2]
        found[name] = {
            "hands": digest(*(each for each in files if len(each.dtype.names) > 2)),
            "advised": digest(*(each[each.dtype.names[0]] for each in advised)),
            "advice": shape_of_weights(
                {str(k): np.nan_to_num(each[each.dtype.names[1]]) for k, each in enumerate(advised)}
            ),
            "worth": weights_in(home / "value"),
            "beliefs": weights_in(home / "belief"),
            "policy": weights_in(home / "policy"),
        }
    return found


@pytest.mark.thorough
def test_hands_and_networks_are_as_they_were(tmp_path: Path) -> None:
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    if (here := bfloat16()) != frozen["processor"]["bfloat16"]:
        pytest.skip(f"bfloat16 is computed by {here} here, and hands may differ")
    assert [*differences(json.loads(json.dumps(networks_in(tmp_path))), frozen)] == []


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        FROZEN.write_text(as_text(networks_in(Path(name))), encoding="utf-8")
