"""Agents: base class, registry of names, and the built-in agents.

>>> from german_whist.agents import load_agent
>>> agent = load_agent("threshold", "classic")
"""

from __future__ import annotations

from ..common.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
