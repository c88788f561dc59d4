"""The command `expert-iteration`."""

from __future__ import annotations

from pathlib import Path

GROUPS = {
    "learn": {
        "expert-iteration": "train policy, value and belief networks on searched hands",
    },
}
PRESETS = {"recipe": Path(__file__).parents[1] / "configs" / "recipe"}
