"""Agents: base class, registry of names, and the built-in agents.

>>> from german_whist.agents import make_agent
>>> agent = make_agent("threshold", "classic")
"""

from __future__ import annotations

from .base import Agent, CannotPlay, agent_key, decision_streams
from .player import Player
from .registry import agent_names, as_agent, make_agent, register_agent

__all__ = [
    "Agent",
    "CannotPlay",
    "Player",
    "agent_key",
    "agent_names",
    "as_agent",
    "decision_streams",
    "make_agent",
    "register_agent",
]
