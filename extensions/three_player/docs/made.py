"""The reference of the environments, from their docstrings."""

from __future__ import annotations

from inspect import getdoc

from german_whist.three_player import german_whist_three_v0
from german_whist.three_player.gym_env import GermanWhistThreeEnv

ENVIRONMENTS = {
    "PettingZoo: german_whist_three_v0": german_whist_three_v0,
    "Gymnasium: GermanWhistThree-v0": GermanWhistThreeEnv,
}


def pages() -> dict[str, str]:
    """The texts of the pages that are made, by their path in the extension's folder."""
    parts = [
        "# Environments for three, reference",
        "This page lists everything about the two environments for three players. The "
        "[overview](../README.md) has the rules and a first example. `make docs` writes this page "
        "from the docstrings.",
    ]
    for title, documented in ENVIRONMENTS.items():
        parts += [f"## {title}", getdoc(documented) or ""]
    return {"docs/environments.md": "\n\n".join(parts) + "\n"}
