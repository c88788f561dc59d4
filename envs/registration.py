"""The environments' names in the registries of Gymnasium and PettingZoo."""

from __future__ import annotations

import gymnasium
import pettingzoo

GYMNASIUM_ID = "german_whist/GermanWhist-v0"
PETTINGZOO_ID = "german_whist/german_whist_v0"


def register_environments() -> None:
    """Make the environments known by name; nothing is loaded before one is made."""
    if GYMNASIUM_ID not in gymnasium.registry:
        gymnasium.register(
            GYMNASIUM_ID,
            entry_point="german_whist.envs.gym_env:GermanWhistEnv",
            vector_entry_point="german_whist.envs.gym_env:GermanWhistVectorEnv",
        )
    # Only newer versions of PettingZoo have a registry.
    if hasattr(pettingzoo, "register") and PETTINGZOO_ID not in pettingzoo.aec_registry:
        pettingzoo.register(
            "aec", PETTINGZOO_ID, entry_point="german_whist.envs.german_whist_v0:env"
        )
