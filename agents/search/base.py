"""Base of search agents: budgets, determinizations, value estimates."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...common.jit.compiler import jit
from ...engine.bitset import NO_CARDS, ONE, lowest, popcount
from ...engine.dtypes import VIEW
from ...engine.endgame import Tablebase, empty_tablebase
from ...engine.endgame.game_values import endgame_kinds, endgame_tablebases, prepare_tablebases
from ...engine.endgame.index import MAX_CARDS
from ...engine.play import Record, row
from ...engine.rules import Match, Rules, RulesLike
from ...engine.view import View, legal_in_view
from ..base import Agent, Array, ViewBatch, agent_key, decision_streams
from ..perfect_endgame import EndgamePlayer, is_open


@dataclass(frozen=True)
class SearchBudget:
    """Limit of a search per decision: samples, or seconds."""

    samples: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.samples}" if self.samples else f"{self.seconds * 1000:g}ms"


PRIOR = 0.0025
"""Default weight of a card's log prior that is added to its mean value."""
UNLIKELY_IN_PLAY = -36.0
"""Cards whose logit lies this far below the best are not searched, except at the last trick.

Nearly all cards are: after a few determinizations the race drops those that are clearly behind.
"""
UNLIKELY_FOR_TARGETS = -8.0
"""The same for search targets, which have no race: every card meets all determinizations.

All cards take up to three times as long.
"""
PRUNE_NOTHING, PRUNE_AT_START, PRUNE_BY_RACING, PRUNE_BY_BOUNDS = 0, 1, 2, 3
"""Which cards to drop: none; equivalent and unlikely ones; also those clearly behind; and in the
last determinizations those that cannot become the best any more, whose sums stay incomplete."""
MOST_SAMPLES = 10_000_000
_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0}


def parse_budget(text: object, agent: str) -> SearchBudget:
    """Parse a budget: `64` samples, `5ms` or `1s`."""
    amount = str(text).strip().lower()
    if amount.isdecimal() and 1 <= int(amount) <= MOST_SAMPLES:
        return SearchBudget(samples=int(amount))
    for unit, seconds in _SECONDS_PER_UNIT.items():
        number = amount.removesuffix(unit)
        if number != amount and _is_positive(number):
            return SearchBudget(seconds=float(number) * seconds)
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
def is_trivial(rules: np.ndarray, views: np.ndarray, solved: bool) -> bool:
    """Whether a view has one legal action, or an open ending where these are solved."""
    first, view = row(rules, 0), row(views, 0)
    return (solved and is_open(first, view)) or popcount(legal_in_view(first, view)) < 2


@jit
def write_action_values(
    rules: np.ndarray, views: np.ndarray, means: np.ndarray, tried: int, values: np.ndarray
) -> None:
    """Write the mean of each legal action that was searched, if there are two or more."""
    if is_trivial(rules, views, True) or popcount(np.uint64(tried)) < 2:
        return
    cards, index = legal_in_view(row(rules, 0), row(views, 0)), 0
    while cards:
        if (tried >> index) & 1:
            values[index] = means[lowest(cards)]
        cards &= cards - ONE
        index += 1


@jit
def searchable_actions(
    rules: Record, tablebase: Tablebase, view: Record, index: int, actions: np.ndarray
) -> np.uint64:
    """Legal actions for a search with this tablebase, if there are two or more.

    None in views of another contract and in open endings; a single legal action is written.
    """
    if view.low != tablebase.low or is_open(rules, view):
        return NO_CARDS
    cards = legal_in_view(rules, view)
    if popcount(cards) > 1:
        return cards
    actions[index] = lowest(cards)
    return NO_CARDS


_BATCHES = 32
# Student's t for 95 % and that many batches; with fewer samples than that it is a little more.
_T95 = 2.04


@dataclass(frozen=True)
class Estimates:
    """Mean payoff of each action of a view, with its uncertainty.

    Determinizations come in batches, the same for all actions (common random numbers), so the
    deviation over batches holds for means and for differences of means.
    """

    actions: tuple[int, ...]
    batches: Array
    """`(batches, actions)`: mean payoff in each batch."""
    samples: int
    """Number of determinizations of each action."""

    @property
    def means(self) -> Array:
        return self.batches.mean(axis=0)

    @property
    def margins_of_error(self) -> Array:
        return _margins_of_error(self.batches)

    def costs(self, best: int) -> tuple[Array, Array]:
        """Loss of each action against `best`, with margins of error."""
        differences = self.batches[:, [self.actions.index(best)]] - self.batches
        return differences.mean(axis=0), _margins_of_error(differences)


def _margins_of_error(batches: Array) -> Array:
    return _T95 * batches.std(axis=0, ddof=1) / np.sqrt(len(batches))


def parse_tricks_option(name: str, text: str, lowest: int, rules: Rules, about: str) -> int:
    """Parse an option that is a number of tricks for the stock, or `all`."""
    highest = rules.stock_cards // 2
    if text == "all":
        return highest
    if text.isdecimal() and lowest <= int(text) <= highest:
        return int(text)
    raise ValueError(
        f"{name} is {text!r}: it is how many of the tricks for the stock {about}, from {lowest} to "
        f"{highest} in {rules.name}"
    )


def parse_number_option(name: str, text: str, default: float, about: str) -> float:
    """Parse an option that is a number of at least 0; `about` says what it is."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if 0 <= number < math.inf:
        return number
    raise ValueError(f"{name} is {text!r}: it is {about}; give a number, as {name}={default}")


class SearchAgent(Agent):
    """Base class of searches through determinizations, limited by samples or time.

    `kernel(search, batch, samples, accumulate)` writes an action for each view of the contract of
    the search's tables. With `accumulate` the samples are added to those of the last call, which
    had the same view.
    """

    kernel: Callable[[Any, ViewBatch, int, bool], None]
    kind: ClassVar[str]
    chunk: ClassVar[int]
    """Samples between two checks of the clock."""

    def __init__(self, rules: RulesLike, samples: object, match: Match | None) -> None:
        super().__init__(rules, match=match)
        self.budget = parse_budget(samples, self.kind)
        self.name = f"{self.kind}:{self.budget}"
        prepare_tablebases(self.rules)
        self._endgame: EndgamePlayer | None = EndgamePlayer(self.rules)

    @cached_property
    def _tablebases(self) -> list[Tablebase]:
        return endgame_tablebases(self.rules)

    def _compile(self) -> None:
        none = ViewBatch(np.zeros(0, VIEW), np.zeros(0, np.uint64), np.zeros(0, np.int64))
        # Of the same type as those that another process may be building.
        kinds = endgame_kinds(self.rules)
        self._tablebases = [empty_tablebase(kind.trumps, kind.low) for kind in kinds]
        try:
            self.kernel(self._new_search(), none, self.chunk, False)
            is_trivial(self.rules_array, np.zeros(1, VIEW), True)
            self._improve_endings(none.views, none.actions)
        finally:
            del self._tablebases

    @abstractmethod
    def _new_search(self, pruning: int = PRUNE_BY_RACING) -> Any:
        """The search of one thread: a named tuple of `tablebase`, `totals` and further buffers."""

    def _is_decided(self, search: Any) -> bool:
        return False

    def _tried_actions(self, search: Any) -> int:
        """Bit set of the legal actions, lowest first, that met all determinizations."""
        return -1

    def estimates(self, view: View, seed: int = 0) -> Estimates | None:
        """Mean payoff of each action of the player to move, by the same search as `act`.

        None if there is nothing to search: one legal action, or an open ending.
        """
        if self.budget.seconds:
            raise ValueError(
                f"{self.name} searches for a time: estimates that come out the same again need a "
                f"number of samples, as in {self.kind}:1000"
            )
        views = np.array(view.array, VIEW)
        if is_trivial(self.rules_array, views, True):
            return None
        actions = view.legal()
        n_samples = max(2, self.budget.samples)
        n_batches = min(_BATCHES, n_samples)
        batch_size = n_samples // n_batches
        tablebase = next(
            tablebase for tablebase in self._tablebases if tablebase.low == int(view.low)
        )
        streams = decision_streams(agent_key(seed), np.zeros(1, np.uint64), views)
        search = self._new_search(PRUNE_NOTHING)._replace(tablebase=tablebase)
        query = ViewBatch(views, streams, np.empty(1, np.int64))
        sums = np.zeros((n_batches + 1, len(actions)))
        for batch in range(n_batches):
            self.kernel(search, query, batch_size, batch > 0)
            sums[batch + 1] = search.totals[actions]
        return Estimates(tuple(actions), np.diff(sums, axis=0) / batch_size, batch_size * n_batches)

    def act_with_values(self, views: Array, rng: Array) -> tuple[Array, Array]:
        """The action in each view, and the mean value of each legal action, the lowest first.

        The value is NaN for actions that were not searched, and where there was nothing to search.
        """
        batch = ViewBatch(views, rng.copy(), np.full(len(views), -1, np.int64))
        values = np.full((len(views), MAX_CARDS), np.nan, np.float32)
        search = self._new_search(PRUNE_AT_START)
        for index in range(len(views)):
            single = batch.select(index)
            samples = self.budget.samples
            for tablebase in self._tablebases:
                if views["low"][index] == tablebase.low:
                    samples = self._search_one(search._replace(tablebase=tablebase), single)
            means = search.totals / samples
            write_action_values(
                self.rules_array, single.views, means, self._tried_actions(search), values[index]
            )
        self._improve_endings(views, batch.actions)
        return batch.actions, values

    def act(self, views: Array, rng: Array) -> Array:
        batch = ViewBatch(views, rng.copy(), np.full(len(views), -1, np.int64))
        # A search by time does not know which determinizations will be its last.
        pruning = PRUNE_BY_RACING if self.budget.seconds else PRUNE_BY_BOUNDS
        first_search = self._new_search(pruning)
        for tablebase in self._tablebases:
            search = first_search._replace(tablebase=tablebase)
            if not self.budget.seconds:
                self.kernel(search, batch, self.budget.samples, False)
                continue
            for index in range(len(views)):
                self._search_one(search, batch.select(index))
        self._improve_endings(views, batch.actions)
        return batch.actions

    def _improve_endings(self, views: Array, actions: Array) -> None:
        if self._endgame is not None:
            self._endgame.improve(views, actions)

    def _search_one(self, search: Any, single: ViewBatch) -> int:
        deadline = time.perf_counter() + self.budget.seconds
        samples = self.budget.samples or self.chunk
        self.kernel(search, single, samples, False)
        other_contract = single.views["low"][0] != search.tablebase.low
        solved = self._endgame is not None
        trivial = is_trivial(self.rules_array, single.views, solved)
        if self.budget.samples or other_contract or trivial:
            return samples
        while time.perf_counter() < deadline and not self._is_decided(search):
            self.kernel(search, single, self.chunk, True)
            samples += self.chunk
        return samples
