"""A learner's seat in many games against an agent: the core of the Gymnasium and SB3 environments.

A step plays the learner's action in all games and then the opponent's, until each game waits for
the learner again. The next episode begins in the same step, in the next step, or by a reset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ..agents.base import Agent, agent_key
from ..agents.game_numbers import GameNumbers, reserve_game_numbers
from ..agents.registry import as_agent
from ..common.jit.compiler import warm_up
from ..engine.batch.batch import READ_NS, RESET_OPTIONS, Array, Batch, action_array, state_array
from ..engine.batch.config import GameOptions, Options, RulesLike, checked_choice, options_from
from ..engine.batch.kernels import ENDGAME_REACHED, EPISODE_OVER, NO_EVENT, first_illegal
from ..engine.batch.results import results_by_seat
from ..engine.dtypes import FOLLOW, OVER, VIEW
from ..engine.game import IllegalAction
from ..engine.rules import Rules
from ..engine.seeding import checked_count, checked_seat
from ..engine.view import blank_tricks
from .illegal import LOSE, RAISE, warn_of_illegal_action
from .opponent_pool import OpponentPool
from .opponents import (
    OpponentGames,
    PendingDecisions,
    draw_seats,
    find_opponent_turns,
    is_random,
    play_random,
    query_opponent,
    write_decisions,
    write_legal,
    write_paid,
)
from .render.modes import OPEN, SEAT, Painter, painter_for
from .spaces import dict_space, observation_box

RANDOM_SEAT = "random"


class LearnerStep(NamedTuple):
    """Result of a learner's step, a row per game; ended episodes have rows of their own."""

    observations: Array
    masks: Array
    rewards: Array
    """`(n,)` float64, the learner's rewards since its last action."""
    ended: Array
    """`(n,)` bool; the observation is then the last one, or with SAME_STEP of the next episode."""
    ended_indices: Array
    """The games whose episode ended, in order."""
    final_observations: Array
    """One row for each of `ended_indices`."""
    results: dict[str, Array]
    """One row for each of `ended_indices`: `results_by_seat` by the learner."""
    returns: Array
    """The sum of the learner's rewards, one for each of `ended_indices`."""
    seats: Array
    """`(n,)` uint8, the learner's seats in the episodes of the step's actions."""
    opponents: Array
    """`(n,)` int64, the pool's indices of the opponents in these episodes; zeros without a pool."""


class SingleAgentBatch:
    """A learner against an agent in `n` games."""

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
        illegal: str = LOSE,
        warm: bool = True,
    ) -> None:
        """`autoreset` is Gymnasium's: when the next episode begins."""
        self.n = checked_count(n, "num_envs")
        self.options = options
        self.batch = Batch(options, self.n, checked_count(threads, "threads"))
        checked_seat(seat, (0, 1, RANDOM_SEAT))
        self._fixed_seat = -1 if seat == RANDOM_SEAT else int(seat)
        self._rows = None if copy else self.batch.new_rows(self.n)
        self.autoreset = autoreset
        self._illegal_loses = checked_choice("illegal", illegal, (LOSE, RAISE)) == LOSE
        self.seats = np.zeros(self.n, np.uint8)
        self.returns = np.zeros(self.n)
        """The learner's rewards in the current episodes, summed."""
        self.over = np.zeros(self.n, np.bool_)
        """Games between two episodes; none with SAME_STEP."""
        self.opponents = np.zeros(self.n, np.int64)
        """The opponent of each episode, an index into the names of the pool, if there is one."""
        self._agents: dict[int, Agent] = {}
        # Of each of these agents; several environments may play against one that keeps state.
        self._numbers: dict[int, GameNumbers] = {}
        self._key = agent_key(0)
        self._index_buffer = np.zeros(self.n, np.int64)
        self._rng = np.zeros(self.n, np.uint64)
        self._no_results = results_by_seat(self.batch.results[:0], self.seats[:0])
        self.observations, self.masks = self.batch.new_rows(self.n)
        self.masks[:] = 0
        self._warm = warm
        self.replace_opponent(opponent)

    def replace_opponent(self, opponent: object) -> None:
        self.pool: OpponentPool | None
        self.opponent: Agent | OpponentPool
        if isinstance(opponent, OpponentPool):
            opponent.check_game(self.options)
            if self.batch.ready:
                opponent.check_not_empty()
            self.opponent = self.pool = opponent
        else:
            self.opponent = as_agent(opponent, self.options.rules, match=self.options.match)
            self.pool = None
            self._use_agents({0: self.opponent})
            self.opponents[:] = 0
        self._reads_tricks = False
        # An agent that reads no tricks must not see those that another one did.
        self._opponent_views = np.zeros(self.n, VIEW)
        blank_tricks(self._opponent_views)
        # A pool that is still empty may be filled before the first reset.
        if self.pool is None or self.batch.ready:
            self._assign_opponents(self.batch.all_games)

    def reset(
        self,
        seed: int | None = None,
        reset_options: Mapping[str, Any] | None = None,
        allowed: tuple[str, ...] = RESET_OPTIONS,
    ) -> None:
        """Begin episodes in all games or by a reset mask; the opponent may move first."""
        batch = self.batch
        begun = batch.reset(seed, reset_options, allowed)
        self._key = agent_key(batch.seed)
        with self._unready_on_error():
            self.over[begun] = False
            self._begin(begun)
            self._play_opponent(batch.all_games)
            self._observe()

    def _begin(self, indices: Array) -> None:
        """Begin the episodes of dealt games."""
        self.returns[indices] = 0
        if self._fixed_seat < 0:
            draw_seats(self.batch.arrays, indices, self.seats)
        else:
            self.seats[indices] = self._fixed_seat
        self._assign_opponents(indices)

    def _assign_opponents(self, indices: Array) -> None:
        """Draw opponents of a pool for these games, and tell the agents that a hand begins."""
        if self.pool is not None:
            self.opponents[indices] = self.pool.draw(len(indices))
            self._take_agents()
        self._reads_tricks |= any(agent.reads_tricks for agent in self._agents.values())
        self._notify_opponents(indices)

    def _take_agents(self) -> None:
        """Take the agents of all games from the pool; some may have left it since they began."""
        assert self.pool is not None
        agents = self.pool.agents
        playing = np.flatnonzero(np.bincount(self.opponents)).tolist()
        self._use_agents({index: agents.get(index) or self._agents[index] for index in playing})

    def _use_agents(self, agents: dict[int, Agent]) -> None:
        numbers = {k: self._numbers[k] for k in agents if self._agents.get(k) is agents[k]}
        self._numbers.clear()
        for index, agent in agents.items():
            self._numbers[index] = numbers.get(index) or reserve_game_numbers(agent, self.n)
        self._agents = agents
        if self._warm:
            _warm_up(self.options.observation, agents.values())

    @contextmanager
    def _unready_on_error(self) -> Iterator[None]:
        """Require a reset after an error, as of the opponent, in the middle of a step."""
        self.batch.ready = False
        yield
        self.batch.ready = True

    def _observe(self) -> None:
        batch = self.batch
        self.observations, self.masks = batch.observe(batch.all_games, self.seats, out=self._rows)

    def step(self, actions: Any) -> LearnerStep:
        """Play the learner's actions, then the opponent's, until the learner is to move again.

        Actions of games that are over are ignored: with NEXT_STEP their next episode begins.
        """
        batch = self.batch
        batch.check_ready()
        finished = np.flatnonzero(self.over)
        playing = np.flatnonzero(~self.over) if len(finished) else None
        if len(finished) and self.autoreset is not AutoresetMode.NEXT_STEP:
            raise IllegalAction(self._why_over(finished))
        if playing is not None:
            actions = action_array(actions, self.n)[playing]
        games, chosen, lost = self._split_illegal(actions, playing)
        seats, opponents = self.seats.copy(), self.opponents.copy()
        with self._unready_on_error():
            if len(finished):
                batch.results["paid"][finished], batch.events[finished] = 0, NO_EVENT
                self.begin_next(finished)
            if len(lost):
                self._lose(lost, seats)
            self._notify_opponents(batch.play(games, chosen, relabelled=True))
            self._play_opponent(batch.all_games)
            ended = batch.events >= EPISODE_OVER
            ended_indices = np.flatnonzero(ended)
            paid = np.empty(self.n)
            batch.run(self.n, write_paid, seats, paid, cost_ns=READ_NS)
            self.returns += paid
            returns, final_observations = self.returns[ended_indices], self.observations[:0]
            results = self._no_results
            if len(ended_indices):
                results = results_by_seat(batch.results[ended_indices], seats[ended_indices])
                final_observations, _ = batch.observe(ended_indices, seats, keep=False)
                if self.pool is not None:
                    self.pool.record(opponents[ended_indices], results["won"])
                if self.autoreset is AutoresetMode.SAME_STEP:
                    self.begin_next(ended_indices)
                    self._play_opponent(ended_indices)
            self._observe()
        if self.autoreset is not AutoresetMode.SAME_STEP:
            self.over = ended.copy()
        return LearnerStep(
            self.observations,
            self.masks,
            paid,
            ended,
            ended_indices,
            final_observations,
            results,
            returns,
            seats,
            opponents,
        )

    def _split_illegal(self, actions: Any, playing: Array | None) -> tuple[Array, Array, Array]:
        """The games to play in, their actions, and the games that an illegal action loses."""
        batch = self.batch
        games = batch.all_games if playing is None else playing
        if not self._illegal_loses:
            return games, batch.checked_actions(actions, playing), games[:0]
        chosen = action_array(actions, len(games))
        if first_illegal(batch.legal, games, chosen) < 0:
            return games, chosen, games[:0]
        outside = (chosen < 0) | (chosen >= self.options.rules.actions)
        batch.checked_actions(chosen[outside], games[outside])
        warn_of_illegal_action()
        legal = (batch.legal[games] >> chosen.view(np.uint64) & np.uint64(1)).astype(np.bool_)
        return games[legal], chosen[legal], games[~legal]

    def _lose(self, indices: Array, seats: Array) -> None:
        """End episodes by illegal actions: the return becomes the worst of an episode or less."""
        batch = self.batch
        batch.abandon(indices, seats[indices])
        batch.results["paid"][indices] = 0
        batch.results["paid"][indices, seats[indices]] = -self.options.max_loss - np.maximum(
            self.returns[indices], 0
        )

    def begin_next(self, indices: Array) -> None:
        self.batch.begin_next(indices)
        self._begin(indices)

    def state(self) -> dict[str, Array]:
        state = self.batch.state()
        state |= {"seats": self.seats.copy(), "returns": self.returns.copy()}
        return state if self.pool is None else {**state, "opponents": self.opponents.copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state`; the opponent gets reset notifications as for new hands.

        A pool of opponents has a state of its own, to be restored before.
        """
        seats = state_array(state, "seats", self.n)
        if not np.isin(seats, (0, 1)).all():
            raise ValueError("seats of the state are not all 0 or 1: give what state() returned")
        returns = state_array(state, "returns", self.n)
        if returns.dtype != self.returns.dtype or not np.isfinite(returns).all():
            raise ValueError("returns of the state are not all numbers: give what state() returned")
        rests = self.autoreset is not AutoresetMode.SAME_STEP
        records, _ = self.batch.checked_state(state, over=rests, abandoned=self._illegal_loses)
        over = records["phase"] == OVER
        waiting = ~over & (records["turn"] != seats)
        if waiting.any():
            raise ValueError(
                f"the learner is not to move in game {int(waiting.argmax())} of the state: give "
                "what state() returned"
            )
        if self.pool is not None:
            opponents = state_array(state, "opponents", self.n)
            if not np.isin(opponents, np.arange(len(self.pool.names))).all():
                raise ValueError(
                    f"opponents of the state are not all of the {len(self.pool.names)} policies of "
                    "the opponent pool: restore the pool's own state before"
                )
            playing = np.unique(opponents).tolist()
            self._use_agents({index: self.pool.agent(index) for index in playing})
            self.opponents[:] = opponents
        self.batch.restore(state, abandoned=self._illegal_loses)
        self._key = agent_key(self.batch.seed)
        self.seats[:], self.returns[:] = seats, returns
        self.over = over
        self._reads_tricks |= any(agent.reads_tricks for agent in self._agents.values())
        self._notify_opponents(self.batch.all_games)
        self._observe()

    def names(self, index: int) -> tuple[str, str]:
        """Names of the learner and the opponent of a game."""
        return "learner", self._agents[int(self.opponents[index])].name

    def _why_over(self, resting: Array) -> str:
        if self.n == 1:
            return "the episode is over: call reset() to deal again"
        return (
            f"the episode of game {resting[0]} is over, and the environment does not go on by "
            "itself: call reset(options={'reset_mask': terminations}) first"
        )

    def legal_masks(self) -> Array:
        masks = np.empty((self.n, self.options.rules.actions), np.bool_)
        self.batch.run(self.n, write_legal, masks.view(np.int8))
        return masks

    def _notify_opponents(self, dealt: Array) -> None:
        # A match has several hands: reset notifications come before each of them.
        for games in self._by_agent(dealt):
            games.agent.reset(games.numbers)

    def _by_agent(self, indices: Array) -> list[OpponentGames]:
        """These games by the agent that is their opponent."""
        parts, one = [], len(self._agents) == 1
        for k, agent in self._agents.items():
            games = indices if one else indices[self.opponents[indices] == k]
            if len(games):
                parts.append(OpponentGames(agent, self._numbers[k].first, games))
        return parts

    def _play_opponent(self, indices: Array) -> None:
        """Let the opponent move in these games until the learner is to move in all of them."""
        batch = self.batch
        if any(map(is_random, self._agents.values())):
            indices = self._play_random(indices)
        while len(indices):
            buffer = self._index_buffer[: len(indices)]
            count = batch.run(len(indices), find_opponent_turns, indices, self.seats, buffer)
            if not count:
                return
            # Each thread fills the front of its own part of the buffer.
            contiguous = buffer[count - 1] >= 0 and buffer[:count].min() >= 0
            indices = buffer[:count].copy() if contiguous else buffer[buffer >= 0]
            parts = self._by_agent(indices)
            # Each agent's decisions side by side: one call for all of its games.
            indices = np.concatenate([games.indices for games in parts])
            decisions = PendingDecisions(indices, self._opponent_views[:count], self._rng[:count])
            batch.run(count, write_decisions, self._key, self._reads_tricks, decisions)
            actions, start = np.empty(count, np.int64), 0
            for games in parts:
                rows = slice(start, start := start + len(games.indices))
                actions[rows] = query_opponent(
                    batch, games, PendingDecisions(*(array[rows] for array in decisions))
                )
            self._notify_opponents(batch.play(indices, actions, relabelled=False))

    def _play_random(self, indices: Array) -> Array:
        """Let random opponents move, without views; returns the games of the others."""
        batch, others = self.batch, [indices[:0]]
        for agent, _, games in self._by_agent(indices):
            if not is_random(agent):
                others.append(games)
            elif batch.run(len(games), play_random, self._key, games, self.seats):
                ends = batch.events[games] == ENDGAME_REACHED
                batch.close(games[ends & (batch.records["phase"][games] != OVER)])
        return np.concatenate(others)


class SingleAgentMixin:
    """Mixin of environments with an opponent: options, spaces, state and rendering."""

    options: Options
    rules: Rules
    render_mode: str | None
    _batch: SingleAgentBatch
    # Gymnasium closes an environment that could not be made, too.
    _painter: Painter | None = None

    def _set_up(
        self,
        num_envs: int,
        rules: RulesLike,
        options: GameOptions,
        opponent: object,
        seat: int | str,
        mask_in_observation: bool,
        render_mode: str | None,
        render_view: str,
        **batch_options: Any,
    ) -> tuple[spaces.Space[Any], spaces.Discrete]:
        """Make the batch; returns the spaces of one observation and one action."""
        self.options = options_from(rules, **options)
        self.rules = self.options.rules
        self._batch = SingleAgentBatch(self.options, num_envs, opponent, seat, **batch_options)
        self.render_mode = render_mode
        self._painter = painter_for(render_mode)
        self._render_view = checked_seat(render_view, (SEAT, OPEN), "render_view")
        self._mask_in_observation = mask_in_observation
        make_space = dict_space if mask_in_observation else observation_box
        return make_space(self.options), spaces.Discrete(self.rules.actions)

    @property
    def opponent(self) -> Agent | OpponentPool:
        """The opponent or the pool; it may be replaced at any time."""
        return self._batch.opponent

    @opponent.setter
    def opponent(self, agent: object) -> None:
        self._batch.replace_opponent(agent)

    def state(self) -> dict[str, Array]:
        """The complete state as arrays, without that of an opponent that keeps state."""
        return self._batch.state()

    def _observation_of(self, observations: Array, masks: Array) -> Any:
        if self._mask_in_observation:
            return {"observation": observations, "action_mask": masks}
        return observations

    def _render_game(self, index: int) -> Any:
        """Render one game from the learner's seat; None without a render mode."""
        if self._painter is None:
            return None
        self._batch.batch.check_ready()
        names, seat = self._batch.names(index), int(self._batch.seats[index])
        game, open_hands = self._batch.batch.game(index), self._render_view == OPEN
        return self._painter.paint(game, seat, names, open_hands=open_hands)

    def _close_window(self) -> None:
        if self._painter is not None:
            self._painter.close()


def _lowest_legal_cards(views: Array, _: Array) -> Array:
    """An agent whose play compiles nothing, in rules without choices."""
    suits = np.uint64(0x1FFF) << (13 * (views["led"] // 13)).astype(np.uint64)
    following = views["hand"] & suits
    follows = (views["phase"] == FOLLOW) & (following != 0)
    cards = np.where(follows, following, views["hand"])
    return np.log2(cards & (~cards + np.uint64(1))).astype(np.int64)


def _warm_up(observation: str, opponents: Iterable[Agent]) -> None:
    """Compile or load the kernels for these opponents, so that no step has to."""
    for is_drawn in {is_random(agent) for agent in opponents}:
        opponent, title = ("random", "random") if is_drawn else (_lowest_legal_cards, "an agent")
        name = f"vector environment ({observation}, against {title})"
        warm_up(name, "envs", partial(_compile_all, observation, opponent), seconds=4)


def _compile_all(observation: str, opponent: object) -> None:
    options = options_from("small-last", observation=observation)
    batch = SingleAgentBatch(options, 2, opponent, warm=False)
    batch.reset(0)
    for _ in range(20):
        batch.step(batch.masks.argmax(axis=1))
