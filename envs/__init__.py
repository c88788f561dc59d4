"""Environments: PettingZoo AEC, Gymnasium, vectors, self-play, Stable-Baselines3."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import german_whist_v0 as german_whist_v0
    from .gymnasium_env import GermanWhistEnv as GermanWhistEnv
    from .gymnasium_env import GermanWhistVectorEnv as GermanWhistVectorEnv
    from .opponent_pool import OpponentPool as OpponentPool
    from .sb3 import GermanWhistVecEnv as GermanWhistVecEnv
    from .self_play import SelfPlayEnv as SelfPlayEnv

_HOME_OF = {
    "GermanWhistEnv": "gymnasium_env",
    "GermanWhistVecEnv": "sb3",
    "GermanWhistVectorEnv": "gymnasium_env",
    "OpponentPool": "opponent_pool",
    "SelfPlayEnv": "self_play",
}

__all__ = [
    "GermanWhistEnv",
    "GermanWhistVecEnv",
    "GermanWhistVectorEnv",
    "OpponentPool",
    "SelfPlayEnv",
    "german_whist_v0",
]


def __getattr__(name: str) -> Any:
    """Load on first use: the module of one library does not need the others."""
    if name == "german_whist_v0":
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
