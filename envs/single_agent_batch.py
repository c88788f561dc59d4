"""A learner's seat in many games, the other seat played by an agent: the core of the
Gymnasium and Stable-Baselines3 environments.

Every step plays the learner's action in all games and then the opponent's, all at
once, until each game waits for the learner again. An episode that ends is followed by
the next one within the step, with the next step, or by a reset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ..agents.base import Agent, agent_key
from ..agents.registry import as_agent
from ..common.jit.compiler import warm_up
from ..engine.batch.batch import (
    READ_NS,
    RESET_OPTIONS,
    Array,
    Batch,
    action_array,
    state_array,
)
from ..engine.batch.config import GameOptions, Options, RulesLike, options_from
from ..engine.batch.kernels import EPISODE_OVER, NO_EVENT
from ..engine.batch.results import results_by_seat
from ..engine.dtypes import NO_CARD, OVER, VIEW
from ..engine.game import IllegalAction
from ..engine.rules import Rules
from ..engine.seeding import checked_count, checked_seat
from .kernels import Waiting, draw_seats, find_waiting, write_legal, write_paid, write_waiting
from .opponents import legal_answer
from .render.modes import OPEN, SEAT, Painter, painter_for
from .spaces import action_space, observation_space

RANDOM_SEAT = "random"


class Outcome(NamedTuple):
    """What a step of the learner led to: arrays with one row per game, its episode's end apart."""

    observations: Array
    masks: Array
    rewards: Array
    """`(n,)` float64, what the learner was paid since its last action."""
    ended: Array
    """`(n,)` bool; where True, the observation is the last, or already of the next episode."""
    ended_indices: Array
    """The games whose episode ended, in order."""
    final_observations: Array
    """One row for each of `ended_indices`: what the learner saw at the end."""
    results: dict[str, Array]
    """One row for each of `ended_indices`: `results_by_seat` by the learner."""
    seats: Array
    """`(n,)` uint8, the learner's seats in the episodes that the step was played in."""


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
        threads: int = 1,
        autoreset: AutoresetMode = AutoresetMode.SAME_STEP,
        warm: bool = True,
    ) -> None:
        """`autoreset` says when an episode that ends is followed by the next, as in Gymnasium."""
        self.n = checked_count(n, "num_envs")
        self.options = options
        self.batch = Batch(options, self.n, checked_count(threads, "threads"))
        checked_seat(seat, (0, 1, RANDOM_SEAT))
        self._fixed_seat = -1 if seat == RANDOM_SEAT else int(seat)
        self._rows = None if copy else self.batch.new_rows(self.n)
        self.autoreset = autoreset
        self.seats = np.zeros(self.n, np.uint8)
        self.over = np.zeros(self.n, np.bool_)
        """The games whose episode is over and the next not begun; none with SAME_STEP."""
        self._key = agent_key(0)
        self._found = np.zeros(self.n, np.int64)
        self._opponent_views = np.zeros(self.n, VIEW)
        self._rng = np.zeros(self.n, np.uint64)
        self.observations, self.masks = self.batch.new_rows(self.n)
        self.masks[:] = 0
        self.replace_opponent(opponent)
        if warm:
            prepare()

    def replace_opponent(self, opponent: object) -> None:
        """Put another agent in the other seat, from its next decision on."""
        agent = as_agent(opponent, self.options.rules, match=self.options.match)
        self.opponent: Agent = agent
        for name in ("led_cards", "followed_cards", "my_draws", "opponent_draws"):
            self._opponent_views[name] = NO_CARD
        self._opponent_views["i_led"] = 0
        agent.reset(self.batch.all_games.copy())

    def reset(
        self,
        seed: int | None = None,
        wishes: Mapping[str, Any] | None = None,
        known: tuple[str, ...] = RESET_OPTIONS,
    ) -> None:
        """Begin an episode in every game, or in some, and play until the learner is to move."""
        batch = self.batch
        begun = batch.reset(seed, wishes, known)
        self._key = agent_key(batch.seed)
        self._take_seats(begun)
        with self._or_not_ready():
            self.over[begun] = False
            self.opponent.reset(begun.copy())
            self._play_opponent(batch.all_games)
            self._look()

    def _take_seats(self, indices: Array) -> None:
        """The learner's seats in episodes that have begun."""
        if self._fixed_seat < 0:
            draw_seats(self.batch.arrays, indices, self.seats)
        else:
            self.seats[indices] = self._fixed_seat

    @contextmanager
    def _or_not_ready(self) -> Iterator[None]:
        """A step that fails on its way, by the opponent's fault, leaves nothing to step."""
        self.batch.ready = False
        yield
        self.batch.ready = True

    def _look(self) -> None:
        """Show every game to the learner anew."""
        batch = self.batch
        self.observations, self.masks = batch.observe(batch.all_games, self.seats, out=self._rows)

    def step(self, actions: Any) -> Outcome:
        """Play the learner's actions, then the opponent's, until the learner is to move again.

        A game that is over takes no action: with NEXT_STEP its next episode begins.
        """
        batch = self.batch
        batch.check_ready()
        resting = np.flatnonzero(self.over)
        playing = np.flatnonzero(~self.over) if len(resting) else None
        if len(resting) and self.autoreset is not AutoresetMode.NEXT_STEP:
            raise IllegalAction(self._why_over(resting))
        if playing is not None:
            actions = action_array(actions, self.n)[playing]
        chosen = batch.checked_actions(actions, playing)
        seats = self.seats.copy()
        with self._or_not_ready():
            if len(resting):
                batch.results["paid"][resting], batch.events[resting] = 0, NO_EVENT
                self.begin_next(resting)
            self._tell(
                batch.play(batch.all_games if playing is None else playing, chosen, relabelled=True)
            )
            self._play_opponent(batch.all_games)
            ended = batch.events >= EPISODE_OVER
            ended_indices = np.flatnonzero(ended)
            final_observations = self.observations[:0]
            if len(ended_indices):
                final_observations, _ = batch.observe(ended_indices, seats, keep=False)
                if self.autoreset is AutoresetMode.SAME_STEP:
                    self.begin_next(ended_indices)
                    self._play_opponent(ended_indices)
            self._look()
        if self.autoreset is not AutoresetMode.SAME_STEP:
            self.over = ended.copy()
        paid = np.empty(self.n)
        batch.run(self.n, write_paid, seats, paid, cost_ns=READ_NS)
        return Outcome(
            self.observations,
            self.masks,
            paid,
            ended,
            ended_indices,
            final_observations,
            results_by_seat(batch.results[ended_indices], seats[ended_indices]),
            seats,
        )

    def begin_next(self, indices: Array) -> None:
        """Begin the next episodes in games whose episode is over."""
        self.batch.deal_next(indices)
        self._take_seats(indices)
        self.opponent.reset(indices.copy())

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays; what an opponent remembers is not among it."""
        return {**self.batch.state(), "seats": self.seats.copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state` gave, the opponent as if these hands were new to it."""
        seats = state_array(state, "seats", self.n)
        if not np.isin(seats, (0, 1)).all():
            raise ValueError("seats of the state are not all 0 or 1: give what state() returned")
        rests = self.autoreset is not AutoresetMode.SAME_STEP
        records, _ = self.batch.checked_state(state, over=rests)
        over = records["phase"] == OVER
        waiting = ~over & (records["turn"] != seats)
        if waiting.any():
            raise ValueError(
                f"the learner is not to move in game {int(waiting.argmax())} of the state: give "
                "what state() returned"
            )
        self.batch.restore(state)
        self._key = agent_key(self.batch.seed)
        self.seats[:] = seats
        self.over = over
        self.opponent.reset(self.batch.all_games.copy())
        self._look()

    def _why_over(self, resting: Array) -> str:
        if self.n == 1:
            return "the episode is over: call reset() to deal again"
        return (
            f"the episode of game {resting[0]} is over, and the environment does not go on by "
            "itself: call reset(options={'reset_mask': terminations}) first"
        )

    def legal_masks(self) -> Array:
        """The legal actions of every game as booleans, as the learner was shown them."""
        masks = np.empty((self.n, self.options.rules.actions), np.bool_)
        self.batch.run(self.n, write_legal, masks.view(np.int8))
        return masks

    def _tell(self, dealt: Array) -> None:
        """Tell the opponent of games that are in the next hand of their match."""
        if len(dealt):
            self.opponent.reset(dealt.copy())

    def _play_opponent(self, where: Array) -> None:
        """Let the opponent play wherever it is to move among these games, as often as it is."""
        batch = self.batch
        while len(where):
            found = self._found[: len(where)]
            count = batch.run(len(where), find_waiting, where, self.seats, found)
            if not count:
                return
            # What one thread has found stands in front; what several have, in front of each part.
            one = found[count - 1] >= 0 and found[:count].min() >= 0
            where = found[:count].copy() if one else found[found >= 0]
            waiting = Waiting(where, self._opponent_views[:count], self._rng[:count])
            batch.run(count, write_waiting, self._key, self.opponent.reads_tricks, waiting)
            actions = legal_answer(batch, self.opponent, waiting)
            self._tell(batch.play(where, actions, relabelled=False))


class Opposed:
    """What every environment with an opponent has, whatever steps it."""

    options: Options
    rules: Rules
    render_mode: str | None
    _against: Against
    # Gymnasium closes an environment that could not be made, too.
    _painter: Painter | None = None

    def _sit_down(
        self, num_envs: int, rules: RulesLike, options: GameOptions, opponent: object,
        seat: int | str, mask_in_observation: bool, render_mode: str | None, render_view: str,
        **how: Any,
    ) -> tuple[spaces.Space[Any], spaces.Discrete]:  # fmt: skip
        """Seat learner and opponent; the spaces of one observation and one action."""
        self.options = options_from(rules, **options)
        self.rules = self.options.rules
        self._against = Against(self.options, num_envs, opponent, seat, **how)
        self.render_mode = render_mode
        self._painter = painter_for(render_mode)
        self._render_view = checked_seat(render_view, (SEAT, OPEN), "render_view")
        self._mask_in_observation = mask_in_observation
        return observation_space(self.options, mask_in_observation), action_space(self.options)

    @property
    def opponent(self) -> Agent:
        """The agent in the other seats; it may be replaced at any time."""
        return self._against.opponent

    @opponent.setter
    def opponent(self, agent: object) -> None:
        self._against.replace_opponent(agent)

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays; what an opponent remembers is not among it."""
        return self._against.state()

    def _shown(self, observations: Array, masks: Array) -> Any:
        """Observations as the learner gets them."""
        if self._mask_in_observation:
            return {"observation": observations, "action_mask": masks}
        return observations

    def _picture(self, index: int) -> Any:
        """A picture of one table from the learner's seat; None without a render mode."""
        if self._painter is None:
            return None
        names, seat = ("learner", self.opponent.name), int(self._against.seats[index])
        game, opened = self._against.batch.game(index), self._render_view == OPEN
        return self._painter.paint(game, seat, names, open_hands=opened)

    def _close_window(self) -> None:
        if self._painter is not None:
            self._painter.close()


def prepare() -> None:
    """Compile, or load, what the batches call, so that no step has to."""
    warm_up("vector environment", "envs", _compile_all)


def _compile_all() -> None:
    for observation in ("vector", "history"):
        batch = Against(
            options_from("small-last", observation=observation), 2, "random", warm=False
        )
        batch.reset(0)
        for _ in range(20):
            batch.step(batch.masks.argmax(axis=1))
