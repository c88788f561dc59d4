"""Register the environments with Gymnasium and PettingZoo."""

from __future__ import annotations

import gymnasium
import pettingzoo

GYMNASIUM_ID = "german_whist/GermanWhist-v0"
GYMNASIUM_ID_OF_TEXT = "german_whist/GermanWhistText-v0"
# PettingZoo's registry turns german_whist_v0 into german_whist-v0.
PETTINGZOO_ID = "german_whist/german_whist-v0"


def register_environments() -> None:
    """Register all environments; `make` imports their modules."""
    # `importlib.reload(german_whist)` calls this again, and registering twice warns.
    if GYMNASIUM_ID in gymnasium.registry:
        return
    gymnasium.register(
        GYMNASIUM_ID,
        entry_point="german_whist.envs.gymnasium_env:GermanWhistEnv",
        vector_entry_point="german_whist.envs.gymnasium_env:GermanWhistVectorEnv",
    )
    gymnasium.register(
        GYMNASIUM_ID_OF_TEXT,
        entry_point="german_whist.envs.gymnasium_env:GermanWhistEnv",
        kwargs={"observation": "text"},
    )
    pettingzoo.register("aec", PETTINGZOO_ID, entry_point="german_whist.envs.german_whist_v0:env")
