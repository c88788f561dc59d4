"""German Whist for three players with a dummy: engine, environments, agents, rendering."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import german_whist_three_v0 as german_whist_three_v0
    from .gym_env import GermanWhistThreeEnv as GermanWhistThreeEnv

__all__ = ["GermanWhistThreeEnv", "german_whist_three_v0"]


def __getattr__(name: str) -> Any:
    """Load at first use: the engine of the game needs no library of environments."""
    if name == "german_whist_three_v0":
        return importlib.import_module(f".{name}", __name__)
    if name == "GermanWhistThreeEnv":
        return importlib.import_module(".gym_env", __name__).GermanWhistThreeEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
