"""Numbers by which an agent that keeps state tells its games apart, whoever plays them."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass

from .base import Agent
from .calls import FaultNamingAgent


@dataclass(eq=False)
class GameNumbers:
    """Numbers of `count` games from `first`, reserved for as long as this object is held."""

    first: int
    count: int


class _Reservations:
    """The reserved numbers of one agent, without keeping them reserved."""

    def __init__(self, held: Iterable[GameNumbers] = ()) -> None:
        self._references = [weakref.ref(numbers) for numbers in held]

    def held(self) -> list[GameNumbers]:
        found = (reference() for reference in self._references)
        return sorted(filter(None, found), key=lambda numbers: numbers.first)

    def add(self, count: int) -> GameNumbers:
        """Reserve the lowest free numbers."""
        first, held = 0, self.held()
        for numbers in held:
            if first + count <= numbers.first:
                break
            first = numbers.first + numbers.count
        added = GameNumbers(first, count)
        self._references = [weakref.ref(numbers) for numbers in (*held, added)]
        return added

    def __reduce__(self) -> tuple[type[_Reservations], tuple[list[GameNumbers]]]:
        # A weak reference cannot be copied or pickled.
        return _Reservations, (self.held(),)


def reserve_game_numbers(agent: Agent, count: int) -> GameNumbers:
    """Numbers of `count` games, other ones than those of all environments that the agent serves.

    An agent without state does not tell games apart: its numbers are the games' own.
    """
    while isinstance(agent, FaultNamingAgent):
        agent = agent.agent
    if not agent.keeps_state:
        return GameNumbers(0, count)
    reservations: _Reservations = vars(agent).setdefault("_reservations", _Reservations())
    return reservations.add(count)
