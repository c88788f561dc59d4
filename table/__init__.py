"""A table to sit at: play against any agent, watch two of them, and see why."""

from .game.session import HUMAN, Session, SessionError, SessionSettings

__all__ = ["HUMAN", "Session", "SessionError", "SessionSettings"]
