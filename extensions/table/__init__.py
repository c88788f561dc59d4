"""A table to sit at: play against any agent, watch two of them, and see why."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .game.session import HUMAN as HUMAN
    from .game.session import Session as Session
    from .game.session import SessionError as SessionError
    from .game.session import SessionSettings as SessionSettings

__all__ = ["HUMAN", "Session", "SessionError", "SessionSettings"]


def __getattr__(name: str) -> Any:
    """Load at first use: `german-whist --help` imports this package, and no numba."""
    if name in __all__:
        return getattr(import_module(".game.session", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
