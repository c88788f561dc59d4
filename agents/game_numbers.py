"""Numbers by which an agent that keeps state tells its games apart, whoever plays them."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

from .base import Agent
from .calls import FaultNamingAgent


@dataclass(eq=False)
class GameNumbers:
    """Numbers of `count` games from `first`, reserved for as long as this object is held."""

    first: int
    count: int


def reserve_game_numbers(agent: Agent, count: int) -> GameNumbers:
    """The lowest numbers for `count` games that no environment which the agent serves has.

    An agent without state does not tell games apart: its numbers are the games' own.
    """
    while isinstance(agent, FaultNamingAgent):
        agent = agent.agent
    if not agent.keeps_state:
        return GameNumbers(0, count)
    # Held by those who play: numbers that nobody holds any more are free again.
    reserved: weakref.WeakSet[GameNumbers] = vars(agent).setdefault("_reserved", weakref.WeakSet())
    first = 0
    for numbers in sorted(reserved, key=lambda numbers: numbers.first):
        if first + count <= numbers.first:
            break
        first = numbers.first + numbers.count
    added = GameNumbers(first, count)
    reserved.add(added)
    return added
