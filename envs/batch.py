"""Many episodes at once: the records behind every vector environment, and how they are stepped.

`Batch` begins, plays and shows episodes of one set of options. Game `i` of `n` gets
the deals `i`, `i + n`, `i + 2n` ... of the seed, as in the engine's `Games`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..agents.base import agent_key
from ..engine.cards import action_text
from ..engine.endings import best_tricks, known_endings
from ..engine.game import Game, IllegalAction
from ..engine.state import GAME, OVER, VIEW
from ..engine.view import View, write_views
from .kernels import (
    ENDED,
    ENDING,
    begin_all,
    close_all,
    first_illegal,
    play_all,
    show_all,
    turns,
    write_results,
)
from .options import RESET_OPTIONS, Options, check_reset_options, checked_seat
from .results import RESULT
from .seeds import checked_seed, fresh_seed

Array = np.ndarray[Any, Any]


def checked_count(value: object, name: str) -> int:
    """A number of games, from 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}: it has to be a number from 1")
    return int(value)


def checked_action(action: object) -> int:
    """One action as an int; what is no whole number is refused with a sentence."""
    if isinstance(action, np.ndarray) and action.size == 1:
        action = action.reshape(-1)[0]
    if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
        raise IllegalAction(
            f"action is {action!r}, a {type(action).__name__}: it has to be a whole number"
        )
    return int(action)


def actions_text(actions: Iterable[int], options: Options) -> str:
    """Actions as an error names them: with their cards, unless suits are relabelled."""
    if options.layout == "trump-first":
        return ", ".join(str(each) for each in actions)
    return ", ".join(action_text(each) for each in actions)


class Batch:
    """Episodes of one set of options: `begin`, `play`, `show`."""

    def __init__(self, options: Options, n: int) -> None:
        self.options = options
        self.rules = options.rules
        self.n = n
        self.records = np.zeros(n, GAME)
        self.orders = np.zeros((n, 4), np.uint8)
        self.legal = np.zeros(n, np.uint64)
        """The actions open in each game, as they were last shown."""
        self.rewards = np.zeros((n, 2))
        """What the step under way has paid each seat."""
        self.results = np.zeros(n, RESULT)
        """How the last episode of each game ended."""
        self.all = np.arange(n)
        self.seed = np.uint64(0)
        self.agent_key = agent_key(0)
        """Where the random streams of agents start."""
        self.ready = False
        """Whether there is something to step: not before a reset, nor after one that failed."""
        self._begun = False
        self._led_to = np.zeros(n, np.int8)
        self._views = np.zeros(2, VIEW)
        self._tables = (options.rules_record, options.pay_record, options.setting)
        self._shape = options.observation_shape
        self._size = int(np.prod(self._shape))
        self._kept: tuple[Array, Array] | None = None
        if options.horizon == "foreplay":
            known_endings(options.rules)

    # -- stepping

    def start(
        self,
        seed: int | None,
        seats: Array,
        fixed_seat: int = 0,
        wishes: Mapping[str, Any] | None = None,
        known: tuple[str, ...] = RESET_OPTIONS,
    ) -> Array:
        """Begin every game with a seed's first deals; without a seed, go on to the next ones.

        `wishes` are the options of a reset, by names of `known`: `number`, the deal of
        the seed; `deal` and `dealer`, a deal that is given, for a batch of one;
        `reset_mask`, the games to begin. Returns those games; what can not be done is
        refused before anything has changed, but then there is nothing to step.
        """
        was_ready, self.ready = self.ready, False
        check_reset_options(wishes, known)
        wishes = {} if wishes is None else wishes
        where = self.all
        if wishes.get("reset_mask") is not None:
            where = self._checked_mask(wishes["reset_mask"], seed, was_ready)
        given = self._given_deal(wishes.get("deal"), wishes.get("dealer"))
        number, next_seed = wishes.get("number"), self.seed
        if seed is None and self._begun:
            numbers = self.records["number"] + np.uint64(self.n)
        else:
            next_seed = np.uint64(fresh_seed() if seed is None else checked_seed(seed))
            numbers = self.all.astype(np.uint64)
        if number is not None:
            numbers = np.uint64(checked_seed(number, "number")) + self.all.astype(np.uint64)
        self.seed = next_seed
        self.agent_key = agent_key(int(next_seed))
        self._begun = True
        self.rewards[:] = 0
        self.begin(where, numbers, seats, fixed_seat)
        if given is not None:
            if wishes.get("deal") is None:
                given.deal_cards(self.records["deal"][0, : len(self.rules.deck)], given.dealer)
            given.record["number"] = self.records["number"]
            self.records[:] = given.record
        self.ready = True
        return where

    def _checked_mask(self, mask: object, seed: int | None, was_ready: bool) -> Array:
        """The games of a `reset_mask`."""
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.n,):
            raise ValueError(f"reset_mask is {mask!r}: it has to be {self.n} booleans in an array")
        if not mask.any():
            raise ValueError("reset_mask holds no True: it has to name a game to reset")
        if seed is not None:
            raise ValueError(
                f"seed is {seed} beside a reset_mask: games of one batch share a seed, so give it "
                "to a reset of them all"
            )
        if not was_ready:
            raise ValueError("reset_mask names some games, but nothing is dealt: reset them all")
        return np.flatnonzero(mask)

    def _given_deal(self, deal: Any, dealer: Any) -> Game | None:
        """A game with a deal that is given, or of a dealer that is; None if neither is."""
        if deal is None and dealer is None:
            return None
        if self.n != 1:
            raise ValueError(f"a deal can be given to one game, not to a batch of {self.n}")
        game = Game(self.rules, match=self.options.match)
        game.deal_cards(self.rules.deck if deal is None else deal, 0 if dealer is None else dealer)
        return game

    def begin(self, indices: Array, numbers: Array, seats: Array, fixed_seat: int = 0) -> None:
        """Begin episodes with the deals of these numbers (one for each game of the batch)."""
        rules = self._tables[0]
        begin_all(rules, self.records, self.seed, numbers, indices, seats, fixed_seat)

    def begin_next(self, indices: Array, seats: Array, fixed_seat: int = 0) -> None:
        """Begin the next episodes in games whose episode is over."""
        self.begin(indices, self.records["number"] + np.uint64(self.n), seats, fixed_seat)

    def play(self, indices: Array, actions: Array, *, shown: bool) -> tuple[Array, Array]:
        """Play an action in each of these games: whose episode ended, and who is in a new hand.

        What was paid is added to `rewards`. With `shown` the actions are as `show` relabels them.
        """
        led_to = self._led_to[: len(indices)]
        events = play_all(
            *self._tables,
            self.records,
            self.seed,
            indices,
            actions,
            self.orders,
            shown,
            self.rewards,
            led_to,
        )
        if not events:
            return self.all[:0], self.all[:0]
        ended = led_to >= ENDED
        where = indices[ended]
        if len(where):
            self.close(where, led_to[ended] == ENDING, self.rewards)
        return where, indices[(led_to != 0) & ~ended]

    def close(self, indices: Array, endings: Array, rewards: Array) -> None:
        """Enter the results of episodes that are over, and pay for endings that are not played."""
        best = np.zeros(len(indices), np.int64)
        if endings.any():
            best = best_tricks(self.records[indices])
            close_all(*self._tables, self.records, indices, best, rewards)
        rules, _, setting = self._tables
        wins = self.options.win_record
        write_results(rules, wins, setting, self.records, indices, best, self.results)

    def abandon(self, seat: int) -> None:
        """Stop the one game where it stands, lost by this seat."""
        result, record = self.results, self.records
        result["tricks"], result["points"] = record["tricks"], record["points"]
        result["won"], result["deal"] = (-1 if seat == 0 else 1), record["number"]
        record["phase"] = OVER

    # -- showing

    def show(
        self, indices: Array, seats: Array, *, copy: bool = True, keep: bool = True
    ) -> tuple[Array, Array]:
        """The observations and masks of a seat of each of these games, one row per game.

        `seats` holds a seat for every game of the batch. With `keep` the actions
        shown are those the next step is checked against.
        """
        count = len(indices)
        if copy or count != self.n:
            observations = np.empty((count, self._size), np.int8)
            masks = np.empty((count, self.rules.actions), np.int8)
        else:
            if self._kept is None:
                self._kept = (
                    np.empty((count, self._size), np.int8),
                    np.empty((count, self.rules.actions), np.int8),
                )
            observations, masks = self._kept
        legal = self.legal if keep else np.empty_like(self.legal)
        show_all(
            self._tables[0],
            self._tables[2],
            self.records,
            indices,
            seats,
            self._views,
            self.orders if keep else np.empty_like(self.orders),
            legal,
            observations,
            masks,
        )
        return observations.reshape(count, *self._shape), masks

    def turns(self) -> Array:
        """The seat to move in each game."""
        seats = np.empty(self.n, np.uint8)
        turns(self.records, seats)
        return seats

    def views(self, seats: Array) -> Array:
        """What a seat of each game may know, as `VIEW` records that share no memory with it."""
        views = np.zeros(self.n, VIEW)
        write_views(self._tables[0], self.records, seats, views)
        return views

    def game(self, index: int = 0) -> Game:
        """A copy of one game as it stands, both hands and the stock open."""
        record = self.records[self._checked_index(index)]
        return Game.of_record(self.rules, record, match=self.options.match, seed=int(self.seed))

    def view(self, index: int, seat: int) -> View:
        """All that a seat of one game may know."""
        view = np.zeros(1, VIEW)
        seats = np.full(1, checked_seat(seat), np.uint8)
        write_views(self._tables[0], self.records[self._checked_index(index)], seats, view)
        return View(self.rules, view)

    def _checked_index(self, index: int) -> slice:
        if not 0 <= index < self.n:
            raise IndexError(f"there is no game {index}: games run from 0 to {self.n - 1}")
        return slice(index, index + 1)

    # -- checking

    def checked_actions(self, actions: Any, where: Array | None = None) -> Array:
        """The actions of every game, or of those of `where`, refused unless they are legal.

        There is one for each game in any case.
        """
        self.check_ready()
        chosen = np.asarray(actions)
        if chosen.shape != (self.n,):
            raise IllegalAction(
                f"actions have shape {chosen.shape}: one for each of {self.n} games is needed"
            )
        if chosen.dtype.kind not in "iu":
            raise IllegalAction(f"actions are {chosen.dtype}: they have to be whole numbers")
        chosen = np.ascontiguousarray(chosen, np.int64)
        legal = self.legal
        if where is not None:
            chosen, legal = chosen[where], legal[where]
        wrong = first_illegal(legal, chosen)
        if wrong >= 0:
            index = wrong if where is None else where[wrong]
            raise IllegalAction(self._why_illegal(int(index), int(chosen[wrong])))
        return chosen

    def check_ready(self) -> None:
        """Refuse to go on where nothing is dealt."""
        if not self.ready:
            raise IllegalAction("there is nothing to step yet: call reset() first")

    def _why_illegal(self, index: int, action: int) -> str:
        named = str(action)
        if not 0 <= action < self.rules.actions:
            why = f"actions run from 0 to {self.rules.actions - 1} with these rules"
        else:
            named = actions_text([action], self.options)
            allowed = int(self.legal[index])
            shown = [each for each in range(53) if allowed >> each & 1]
            why = f"its mask allows {actions_text(shown, self.options) or 'nothing'}"
        return f"action {named} is not legal in game {index}: {why}"
