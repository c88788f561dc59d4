"""The game itself: cards, rules, deals, play, views, observations, determinizations, records."""

from __future__ import annotations

from ..common.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
