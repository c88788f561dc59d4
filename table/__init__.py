"""A table to sit at: play against any agent, watch two of them, and see why."""

from .sitting import HUMAN, Settings, Sitting, SittingError

__all__ = ["HUMAN", "Settings", "Sitting", "SittingError"]
