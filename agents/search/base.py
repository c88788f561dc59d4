"""What the searches share: how long they search, which worlds they sample, batches and clocks."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, lowest, popcount
from ...common.jit.compiler import jit
from ...engine.dtypes import VIEW
from ...engine.endgame import Tables
from ...engine.endgame.game_values import endgame_tables
from ...engine.endgame.index import MAX_CARDS
from ...engine.play import Record, row
from ...engine.rules import Match, Rules
from ...engine.view import View, legal_in_view
from ..base import Agent, Array, ViewBatch, agent_key, decision_streams, no_rng, no_views
from ..perfect_endgame import EndgamePlayer, is_open


@dataclass(frozen=True)
class Budget:
    """How much a search may spend on a decision: so many samples, or so many seconds."""

    samples: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.samples}" if self.samples else f"{self.seconds * 1000:g}ms"


PRIOR = 0.0025
"""What a search adds to a card's mean by each unit of the logarithm of its probability."""
UNLIKELY = -36.0
"""A card is not tried whose logit lies so far below the best one's, but at the last trick."""
MOST_SAMPLES = 10_000_000
_UNITS = {"ms": 0.001, "s": 1.0}


def budget(text: object, agent: str) -> Budget:
    """A budget from its text: `64` samples, `5ms` or `1s` of time."""
    written = str(text).strip().lower()
    if written.isdecimal() and 1 <= int(written) <= MOST_SAMPLES:
        return Budget(samples=int(written))
    for unit, seconds in _UNITS.items():
        number = written.removesuffix(unit)
        if number != written and _is_positive(number):
            return Budget(seconds=float(number) * seconds)
    raise ValueError(
        f"{agent} takes how much to search, as in {agent}:64 (1 to {MOST_SAMPLES} samples) or "
        f"{agent}:5ms (a time a move), not {text!r}"
    )


def _is_positive(number: str) -> bool:
    try:
        return 0 < float(number) < float("inf")
    except ValueError:
        return False


@jit
def nothing_to_search(rules: np.ndarray, views: np.ndarray) -> bool:
    """Whether a view has one legal action, or one that the exact endgame finds."""
    first, view = row(rules, 0), row(views, 0)
    return is_open(first, view) or popcount(legal_in_view(first, view)) < 2


@jit
def write_advice(
    rules: np.ndarray, views: np.ndarray, means: np.ndarray, tried: int, worths: np.ndarray
) -> None:
    """What each legal action that was tried came to on average, where two or more were."""
    if nothing_to_search(rules, views) or popcount(np.uint64(tried)) < 2:
        return
    cards, place = legal_in_view(row(rules, 0), row(views, 0)), 0
    while cards:
        if (tried >> place) & 1:
            worths[place] = means[lowest(cards)]
        cards &= cards - ONE
        place += 1


@jit
def to_search(
    rules: Record, known: Tables, view: Record, index: int, actions: np.ndarray
) -> np.uint64:
    """The actions among which a search in the tables' contract has to choose; none in others.

    None in open endings either, which are found exactly, nor of one action: that is written.
    """
    if view.low != known.low or is_open(rules, view):
        return NO_CARDS
    cards = legal_in_view(rules, view)
    if popcount(cards) > 1:
        return cards
    actions[index] = lowest(cards)
    return NO_CARDS


_BATCHES = 32
# Student's t for 95 % and that many batches; with fewer worlds than that it is a little more.
_T95 = 2.04


@dataclass(frozen=True)
class Estimates:
    """What a search finds that each action of a view pays, and how sure it is of that.

    The worlds come in batches, and all actions meet the same worlds. So the spread of the
    batches tells how far a mean may be off, and how far a difference of two means may.
    """

    actions: tuple[int, ...]
    batches: Array
    """`(batches, actions)`: the mean pay in each batch of worlds."""
    worlds: int
    """In how many worlds each action was tried."""

    @property
    def means(self) -> Array:
        """What each action pays on average."""
        return self.batches.mean(axis=0)

    @property
    def half_widths(self) -> Array:
        """Half of the 95 % interval of each mean."""
        return _half_widths(self.batches)

    def costs(self, best: int) -> tuple[Array, Array]:
        """How much less than `best` each action pays, and the half widths of that."""
        apart = self.batches[:, [self.actions.index(best)]] - self.batches
        return apart.mean(axis=0), _half_widths(apart)


def _half_widths(batches: Array) -> Array:
    return _T95 * batches.std(axis=0, ddof=1) / np.sqrt(len(batches))


def tricks_option(name: str, text: str, least: int, rules: Rules, about: str) -> int:
    """An option that is a number of tricks for the stock."""
    most = rules.stock_cards // 2
    if text == "all":
        return most
    if text.isdecimal() and least <= int(text) <= most:
        return int(text)
    raise ValueError(
        f"{name} is {text!r}: it is how many of the tricks for the stock {about}, from {least} to "
        f"{most} in {rules.name}"
    )


class SearchAgent(Agent):
    """A search through sampled worlds, for so many samples or so long a move."""

    kind: ClassVar[str]
    chunk: ClassVar[int]
    """Samples between two looks at the clock."""

    def __init__(self, rules: Any, amount: object, match: Match | None) -> None:
        super().__init__(rules, match=match)
        self.budget = budget(amount, self.kind)
        self.name = f"{self.kind}:{self.budget}"
        self._endgame = EndgamePlayer(self.rules)
        self._known = endgame_tables(self.rules)

    def _compile(self) -> None:
        """Compile what `act` needs, whatever the budget."""
        none = ViewBatch(no_views(), no_rng(), np.zeros(0, np.int64))
        self._search(self._known[0], none, self.chunk, False, self._room())
        nothing_to_search(self.record, np.zeros(1, VIEW))
        self._endgame.improve(none.views, none.actions)

    @abstractmethod
    def _room(self) -> Any:
        """What one thread needs to search in."""

    @abstractmethod
    def _search(
        self, tables: Tables, batch: ViewBatch, samples: int, go_on: bool, room: Any
    ) -> None:
        """Write an action for each view of the tables' contract.

        With `go_on` the samples are added to those of the last call, which had the same one view.
        """

    def _told(self, words: Sequence[str], usual: Mapping[str, str], takes: str) -> dict[str, str]:
        """What `name=value` words say over what is usual; they become part of the player's name."""
        told = dict(usual)
        for word in words:
            name, _, value = word.partition("=")
            if name not in told or not value:
                raise ValueError(f"{word!r} is no option of a {self.kind}: it takes {takes}")
            told[name] = value
            self.name += f",{word}"
        return told

    def _thorough_room(self) -> Any:
        """The same for a search that has to tell of every action, in all worlds."""
        return self._room()

    def _advising_room(self) -> Any:
        """The same for one that has to tell of the actions that it tries, in all worlds."""
        return self._thorough_room()

    def _settled(self, room: Any) -> bool:
        """Whether more samples would not change what is played."""
        return False

    def _tried(self, room: Any) -> int:
        """Which of the legal actions, the lowest first, met all worlds, as a set."""
        return -1

    def _totals(self, room: Any) -> Array:
        """What each action came to in all worlds since the search began."""
        return room.totals

    def estimates(self, view: View, seed: int = 0) -> Estimates | None:
        """What each action of the player to move pays, by the search that `act` plays by.

        None where there is nothing to search: one legal action, or an open ending.
        """
        if self.budget.seconds:
            raise ValueError(
                f"{self.name} searches for a time: estimates that come out the same again need a "
                f"number of samples, as in {self.kind}:1000"
            )
        views = np.array(view.record, VIEW)
        if nothing_to_search(self.record, views):
            return None
        actions = view.legal()
        worlds = max(2, self.budget.samples)
        count = min(_BATCHES, worlds)
        each = worlds // count
        known = next(known for known in self._known if known.low == int(view.low))
        streams = decision_streams(agent_key(seed), np.zeros(1, np.uint64), views)
        room, asked = self._thorough_room(), ViewBatch(views, streams, np.empty(1, np.int64))
        sums = np.zeros((count + 1, len(actions)))
        for batch in range(count):
            self._search(known, asked, each, batch > 0, room)
            sums[batch + 1] = self._totals(room)[actions]
        return Estimates(tuple(actions), np.diff(sums, axis=0) / each, each * count)

    def advise(self, views: Array, rng: Array) -> tuple[Array, Array]:
        """What is played in each view, and what each legal action came to, the lowest first.

        It is nan where an action was not tried, and where there was nothing to search.
        """
        batch = ViewBatch(views, rng.copy(), np.full(len(views), -1, np.int64))
        worths = np.full((len(views), MAX_CARDS), np.nan, np.float32)
        room = self._advising_room()
        for index in range(len(views)):
            one = batch.one(index)
            samples = self.budget.samples
            for known in self._known:
                if views["low"][index] == known.low:
                    samples = self._search_one(known, one, room)
            means = self._totals(room) / samples
            write_advice(self.record, one.views, means, self._tried(room), worths[index])
        self._endgame.improve(views, batch.actions)
        return batch.actions, worths

    def act(self, views: Array, rng: Array) -> Array:
        """The best card found for each view."""
        batch = ViewBatch(views, rng.copy(), np.full(len(views), -1, np.int64))
        room = self._room()
        for known in self._known:
            if not self.budget.seconds:
                self._search(known, batch, self.budget.samples, False, room)
                continue
            for index in range(len(views)):
                self._search_one(known, batch.one(index), room)
        self._endgame.improve(views, batch.actions)
        return batch.actions

    def _search_one(self, known: Tables, view: ViewBatch, room: Any) -> int:
        """Search in one view for as much as the budget says; returns the number of samples."""
        samples = self.budget.samples
        if samples:
            self._search(known, view, samples, False, room)
            return samples
        until = time.perf_counter() + self.budget.seconds
        self._search(known, view, self.chunk, False, room)
        samples = self.chunk
        if view.views["low"][0] != known.low or nothing_to_search(self.record, view.views):
            return samples
        while time.perf_counter() < until and not self._settled(room):
            self._search(known, view, self.chunk, True, room)
            samples += self.chunk
        return samples
