"""Who plays chunks of deals: this process, or the workers of an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..agents.base import Agent
from ..agents.registry import as_agent
from .match import Chunk, Halves, Pair, Setting, play_chunk, warm_up_arena

PlayerSpec = Any
"""A player as it is given: a name, or for one process alone whatever `as_agent` takes."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Task:
    """A chunk to be played: which pairing, which of its chunks, and which deals."""

    pairing: int
    chunk: int
    start: int
    pairs: int
    believed: tuple[bool, bool] = (False, False)
    """Whose endings count as perfect."""
    trial: bool = False
    """Whether endings are played out to see if they are."""
    attempt: int = 0
    """How often the pairing was begun anew."""

    def __str__(self) -> str:
        return f"the deals {self.start} to {self.start + self.pairs - 1}"


class Bench:
    """The players of a run in one process, made when first needed.

    Those that are named are made anew for each pairing, each half of its deals, each side
    and each attempt: none meets a deal twice, so none can know it from before.
    """

    def __init__(
        self, players: tuple[tuple[PlayerSpec, PlayerSpec], ...], setting: Setting
    ) -> None:
        self._specs = players
        self._setting = setting
        self._made: dict[int, tuple[int, Halves]] = {}
        self._warm: set[int] = set()

    def halves(self, pairing: int, attempt: int = 0) -> Halves:
        """The players of a pairing: those of the first half of its deals, and of the second."""
        made_for, halves = self._made.get(pairing, (-1, None))
        if halves is None or made_for != attempt:
            halves = self._pair(pairing), self._pair(pairing)
            self._made[pairing] = attempt, halves
        return halves

    def _pair(self, pairing: int) -> Pair:
        first, second = self._specs[pairing]
        return self._agent(first), self._agent(second)

    def _agent(self, spec: PlayerSpec) -> Agent:
        return as_agent(spec, self._setting.rules, match=self._setting.match)

    def play(self, task: Task) -> Chunk:
        """Play a chunk."""
        halves = self.halves(task.pairing, task.attempt)
        if task.pairing not in self._warm:
            self._warm.add(task.pairing)
            warm_up_arena(halves, self._setting)
        return play_chunk(halves, self._setting, task.start, task.pairs, task.believed, task.trial)


def bench_for(setup: tuple[Setting, Sequence[PlayerSpec]]) -> Callable[[Task], Chunk]:
    """What plays the chunks of a run: its players are those of the first pairing first."""
    setting, players = setup
    return Bench(tuple(zip(players[::2], players[1::2], strict=True)), setting).play


def played_here(call: Callable[[T], R], next_task: Callable[[], T | None]) -> Iterator[tuple[T, R]]:
    """Do all tasks in this process."""
    while (task := next_task()) is not None:
        yield task, call(task)
