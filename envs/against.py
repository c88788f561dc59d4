"""A learner's seat in many games, the other seat played by an agent: the core of the
Gymnasium and Stable-Baselines3 environments.

Every step plays the learner's action in all games and then the opponent's, all at
once, until each game waits for the learner again; an episode that ends is dealt anew
within the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..agents.base import Agent, action_text, as_agent, checked_answer
from ..engine.state import NO_CARD, VIEW
from .batch import Array, Batch, checked_count, prepare
from .kernels import first_illegal_answer, waiting
from .options import Options, checked_seat
from .painter import Painter

RANDOM_SEAT = "random"


class Outcome(NamedTuple):
    """What a step of the learner led to: arrays with one row per game, its episode's end apart."""

    observations: Array
    masks: Array
    rewards: Array
    """`(n,)` float64, what the learner was paid since its last action."""
    ended: Array
    """`(n,)` bool; where True, the observation is of the next episode."""
    ended_indices: Array
    """The games whose episode ended, in order."""
    final_observations: Array
    """One row for each of `ended_indices`: what the learner saw at the end."""


class Against:
    """The learner against an agent, in `n` games."""

    def __init__(
        self,
        options: Options,
        n: int,
        opponent: object,
        seat: int | str = RANDOM_SEAT,
        *,
        copy: bool = True,
        deal_anew: bool = True,
        warm: bool = True,
    ) -> None:
        """With `deal_anew` an episode that ends is followed by the next within the step."""
        self.n = checked_count(n, "num_envs")
        self.options = options
        self.batch = Batch(options, self.n)
        checked_seat(seat, (0, 1, RANDOM_SEAT))
        self._fixed_seat = -1 if seat == RANDOM_SEAT else int(seat)
        self._copy = copy
        self.deal_anew = deal_anew
        self.seats = np.zeros(self.n, np.uint8)
        self._found = np.zeros(self.n, np.int64)
        self._opponent_views = np.zeros(self.n, VIEW)
        self._rng = np.zeros(self.n, np.uint64)
        self.observations = np.zeros((self.n, *options.observation_shape), np.int8)
        self.masks = np.zeros((self.n, options.rules.actions), np.int8)
        self.replace_opponent(opponent)
        if warm:
            prepare()

    def replace_opponent(self, opponent: object) -> None:
        """Put another agent in the other seat, from its next decision on."""
        agent = as_agent(opponent, self.options.rules, match=self.options.match)
        self.opponent: Agent = agent
        for name in ("led_cards", "followed_cards", "my_draws", "other_draws"):
            self._opponent_views[name] = NO_CARD
        self._opponent_views["i_led"] = 0
        agent.reset(self.batch.all)

    def reset(self, seed: int | None = None, wishes: Mapping[str, Any] | None = None) -> None:
        """Begin an episode in every game and play until the learner is to move."""
        batch = self.batch
        batch.start(seed, self.seats, self._fixed_seat, wishes)
        with self._or_not_ready():
            self.opponent.reset(batch.all)
            self._play_opponent()
            self._look()

    @contextmanager
    def _or_not_ready(self) -> Iterator[None]:
        """A step that fails on its way, by the opponent's fault, leaves nothing to step."""
        self.batch.ready = False
        yield
        self.batch.ready = True

    def _look(self) -> None:
        """Show every game to the learner anew."""
        batch = self.batch
        self.observations, self.masks = batch.show(batch.all, self.seats, copy=self._copy)

    def step(self, actions: Any) -> Outcome:
        """Play the learner's actions, then the opponent's, until the learner is to move again."""
        batch = self.batch
        chosen = batch.checked_actions(actions)
        batch.rewards[:] = 0
        seats = self.seats.copy()
        ends = _Ends(self)
        with self._or_not_ready():
            ends.add(*batch.play(batch.all, chosen, shown=True))
            self._play_opponent(ends)
            self._look()
        rewards = batch.rewards[batch.all, seats]
        ended_indices, final_observations = ends.collected()
        ended = np.zeros(self.n, np.bool_)
        ended[ended_indices] = True
        return Outcome(
            self.observations, self.masks, rewards, ended, ended_indices, final_observations
        )

    def paint(self, index: int, painter: Painter, *, open_hands: bool) -> Any:
        """A picture of one table from the learner's seat."""
        names = ("learner", self.opponent.name)
        seat = int(self.seats[index])
        return painter.paint(self.batch.game(index), seat, names, open_hands=open_hands)

    def _play_opponent(self, ends: _Ends | None = None) -> None:
        """Let the opponent play wherever it is to move, as often as it is."""
        batch = self.batch
        where = batch.all
        while True:
            count = waiting(
                batch.options.rules_record,
                batch.records,
                batch.seed,
                where,
                self.seats,
                self.opponent.reads_tricks,
                self._found,
                self._opponent_views,
                self._rng,
            )
            if not count:
                return
            where = self._found[:count].copy()
            ended, dealt = batch.play(where, self._answer(where), shown=False)
            if ends is not None:
                ends.add(ended, dealt)

    def _answer(self, where: Array) -> Array:
        count = len(where)
        views, rng = self._opponent_views[:count], self._rng[:count]
        opponent = self.opponent
        if opponent.keeps_state:
            answer = opponent.act(views, rng, indices=where)  # type: ignore[call-arg]
        else:
            answer = opponent.act(views, rng)
        actions = checked_answer(opponent, answer, count)
        batch = self.batch
        wrong = first_illegal_answer(batch.options.rules_record, batch.records, where, actions)
        if wrong >= 0:
            index = int(where[wrong])
            seat = 1 - int(self.seats[index])
            allowed = ", ".join(action_text(each) for each in batch.view(index, seat).legal())
            raise ValueError(
                f"opponent {opponent.name} chose {action_text(int(actions[wrong]))} in game "
                f"{index}, which is not legal: {allowed} are"
            )
        return actions


class _Ends:
    """Episodes that end within a step: shown to the learner a last time, then dealt anew."""

    def __init__(self, against: Against) -> None:
        self._against = against
        self._indices: list[Array] = []
        self._observations: list[Array] = []

    def add(self, ended: Array, dealt: Array) -> None:
        """Episodes of `ended` are over; games of `dealt` are in the next hand of a match."""
        against = self._against
        batch = against.batch
        if len(dealt):
            against.opponent.reset(dealt)
        if not len(ended):
            return
        observations, _ = batch.show(ended, against.seats, keep=False)
        self._indices.append(ended)
        self._observations.append(observations)
        if not against.deal_anew:
            return
        batch.begin_next(ended, against.seats, against._fixed_seat)
        against.opponent.reset(ended)

    def collected(self) -> tuple[Array, Array]:
        """All that ended, in order of the games, and what the learner saw last."""
        if not self._indices:
            against = self._against
            return against.batch.all[:0], against.observations[:0]
        indices = np.concatenate(self._indices)
        order = np.argsort(indices)
        return indices[order], np.concatenate(self._observations)[order]
