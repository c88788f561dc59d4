"""Register the environments with Gymnasium and PettingZoo."""

from __future__ import annotations

import gymnasium
import pettingzoo

from .engine.options import FOREPLAY_OPTIONS

GYMNASIUM_ID = "german_whist/GermanWhist-v0"


def register_environments() -> None:
    """Register all environments; `make` imports their modules."""
    # `importlib.reload(german_whist)` calls this again, and registering twice warns.
    if GYMNASIUM_ID in gymnasium.registry:
        return
    for name, options in (("", {}), ("Foreplay", {**FOREPLAY_OPTIONS})):
        gymnasium.register(
            f"german_whist/GermanWhist{name}-v0",
            entry_point="german_whist.envs.gymnasium_env:GermanWhistEnv",
            vector_entry_point="german_whist.envs.gymnasium_env:GermanWhistVectorEnv",
            kwargs=options,
        )
    gymnasium.register(
        "german_whist/GermanWhistText-v0",
        entry_point="german_whist.envs.gymnasium_env:GermanWhistEnv",
        kwargs={"observation": "text"},
    )
    # PettingZoo's registry turns german_whist_v0 into german_whist-v0.
    for name, options in (("", {}), ("_foreplay", {**FOREPLAY_OPTIONS})):
        pettingzoo.register(
            "aec",
            f"german_whist/german_whist{name}-v0",
            entry_point="german_whist.envs.german_whist_v0:env",
            kwargs=options,
        )
