"""German Whist for three players with a dummy: engine, environments, agents, rendering.

Importing it registers its environments with Gymnasium and PettingZoo.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium
import pettingzoo

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


if "german_whist/GermanWhistThree-v0" not in gymnasium.registry:
    gymnasium.register(
        "german_whist/GermanWhistThree-v0", entry_point=f"{__name__}.gym_env:GermanWhistThreeEnv"
    )
    # PettingZoo's registry turns german_whist_three_v0 into german_whist_three-v0.
    pettingzoo.register(
        "aec",
        "german_whist/german_whist_three-v0",
        entry_point=f"{__name__}.german_whist_three_v0:env",
    )
