"""A learner's seat in many games against an agent: the core of the Gymnasium and SB3 environments.

A step plays the learner's action in all games and then the opponent's, until each game waits for
the learner again. The next episode begins in the same step, in the next step, or by a reset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ..agents.base import Agent, agent_key
from ..agents.game_numbers import GameNumbers, reserve_game_numbers
from ..agents.registry import as_agent
from ..common.jit.compiler import warm_up
from ..engine.batch.batch import Array, Batch
from ..engine.batch.config import Options, options_from
from ..engine.batch.kernels import REAL, SHOWN, Moves, first_illegal
from ..engine.batch.results import results_by_seat
from ..engine.batch.step import EPISODE_OVER
from ..engine.checks import (
    RESET_OPTIONS,
    IllegalAction,
    action_array,
    checked_choice,
    checked_flag,
    checked_num_envs,
    checked_seat,
    checked_threads,
    state_array,
)
from ..engine.dtypes import FOLLOW, OVER, VIEW
from ..engine.options import NetworkObservation
from ..engine.rules import Rules
from ..engine.view import blank_tricks
from . import step_count
from .illegal import LOSE, RAISE, Illegal, warn_of_illegal_action
from .opponent_pool import OpponentPool
from .opponents import (
    OpponentGames,
    PendingDecisions,
    draw_seats,
    is_random,
    play_random,
    query_opponent,
    write_decisions,
    write_legal,
)
from .options import LearnerObservation, LearnerSeat
from .render.modes import (
    OPEN,
    SEAT,
    LearnerRenderView,
    Painter,
    RenderFrame,
    RenderMode,
    painter_for,
)
from .spaces import dict_space, observation_space, state_box, warm_up_states

RANDOM_SEAT = "random"


class FinishedEpisodes(NamedTuple):
    """Episodes that ended with a step, a row each."""

    indices: Array
    """Their games, in order."""
    observations: Array
    results: dict[str, Array]
    """`results_by_seat` by the learner."""
    returns: Array
    """The sum of the learner's rewards."""
    seats: Array
    """The learner's."""
    opponents: Array
    """The pool's indices of the opponents; zeros without a pool."""


class LearnerStep(NamedTuple):
    """Result of a learner's step, a row per game."""

    observations: Array
    masks: Array
    rewards: Array
    """`(n,)` float64, the learner's rewards since its last action."""
    ended: Array
    """`(n,)` bool; the observation is then the last one, or with SAME_STEP of the next episode."""
    finished: FinishedEpisodes


class SingleAgentBatch:
    """A learner against an agent in `n` games."""

    def __init__(
        self,
        options: Options,
        n: int,
        opponent: object,
        seat: LearnerSeat = "random",
        *,
        copy: bool = True,
        threads: int = 1,
        autoreset: AutoresetMode = AutoresetMode.SAME_STEP,
        illegal: Illegal = "lose",
        with_state: bool = False,
        warm: bool = True,
    ) -> None:
        """`autoreset` is Gymnasium's: when the next episode begins."""
        self.n = checked_num_envs(n)
        self.options = options
        self.batch = Batch(options, self.n, checked_threads(threads))
        checked_seat(seat, (0, 1, RANDOM_SEAT))
        self._fixed_seat = -1 if seat == RANDOM_SEAT else int(seat)
        self._reuses_rows = not checked_flag("copy", copy)
        self._rows = self.batch.new_rows(self.n) if self._reuses_rows else None
        self.states: Array | None = None
        """Global states as of the last observations; None unless asked for."""
        self._with_state = checked_flag("with_state", with_state)
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
        self._rng = np.zeros(self.n, np.uint64)
        self.observations, self.masks = self.batch.new_rows(self.n)
        self.masks[:] = 0
        none = self.batch.all_games[:0]
        self._none_finished = FinishedEpisodes(
            indices=none,
            observations=self.observations[:0],
            results=results_by_seat(self.batch.results[:0], self.seats[:0]),
            returns=self.returns[:0],
            seats=self.seats[:0],
            opponents=self.opponents[:0],
        )
        self._warm = warm
        self.replace_opponent(opponent)

    @property
    def illegal_raises(self) -> bool:
        return not self._illegal_loses

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
        reset_options: Mapping[str, object] | None = None,
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
            _warm_up(self.options.encoding, agents.values())
            if self._with_state:
                warm_up_states()

    @contextmanager
    def _unready_on_error(self) -> Iterator[None]:
        """Require a reset after an error, as of the opponent, in the middle of a step."""
        self.batch.ready = False
        yield
        self.batch.ready = True

    def _observe(self) -> None:
        batch = self.batch
        self.observations, self.masks = batch.observe(batch.all_games, self.seats, out=self._rows)
        if self._with_state:
            self.states = batch.global_states(self.states if self._reuses_rows else None)

    def step(self, actions: object) -> LearnerStep:
        """Play the learner's actions, then the opponent's, until the learner is to move again.

        Actions of games that are over are ignored: with NEXT_STEP their next episode begins.
        """
        self.batch.check_ready()
        waiting = self._waiting_games()
        legal, lost = self._split_illegal(actions, waiting)
        step_count.own[0] += self.n - len(waiting)
        with self._unready_on_error():
            seats = self.seats.copy()
            if len(waiting):
                self.begin_next(waiting)
            if len(lost):
                self._lose(lost)
            self._notify_opponents(self.batch.apply_actions(legal))
            self._play_opponent(self.batch.all_games)
            rewards = self._collect_rewards(seats)
            ended = self.batch.events >= EPISODE_OVER
            finished = self._finish_episodes(np.flatnonzero(ended))
            self._observe()
        if self.autoreset is not AutoresetMode.SAME_STEP:
            self.over = ended.copy()
        return LearnerStep(self.observations, self.masks, rewards, ended, finished)

    def _finish_episodes(self, indices: Array) -> FinishedEpisodes:
        """Report the episodes that ended in these games; with SAME_STEP the next ones begin."""
        if not len(indices):
            return self._none_finished
        finished = self._finished(indices)
        if self.pool is not None:
            self.pool.record(finished.opponents, finished.results["won"])
        if self.autoreset is AutoresetMode.SAME_STEP:
            self.begin_next(indices)
            self._play_opponent(indices)
        return finished

    def _waiting_games(self) -> Array:
        """Games whose next episode a step begins."""
        waiting = np.flatnonzero(self.over)
        if len(waiting) and self.autoreset is not AutoresetMode.NEXT_STEP:
            raise IllegalAction(self._why_over(waiting))
        return waiting

    def _split_illegal(self, actions: object, waiting: Array) -> tuple[Moves, Array]:
        """The actions to play, and the games that an illegal one loses."""
        batch, games = self.batch, self.batch.all_games
        if len(waiting):
            games = np.flatnonzero(~self.over)
            actions = action_array(actions, self.n)[games]
        if not self._illegal_loses:
            return Moves(games, batch.checked_actions(actions, games), SHOWN), games[:0]
        chosen = action_array(actions, len(games))
        if first_illegal(batch.legal, games, chosen) < 0:
            return Moves(games, chosen, SHOWN), games[:0]
        outside = (chosen < 0) | (chosen >= self.options.rules.actions)
        batch.checked_actions(chosen[outside], games[outside])
        warn_of_illegal_action()
        legal = (batch.legal[games] >> chosen.view(np.uint64) & np.uint64(1)).astype(np.bool_)
        return Moves(games[legal], chosen[legal], SHOWN), games[~legal]

    def _collect_rewards(self, seats: Array) -> Array:
        rewards = self.batch.results["rewards"][self.batch.all_games, seats]
        self.returns += rewards
        return rewards

    def _finished(self, indices: Array) -> FinishedEpisodes:
        seats = self.seats[indices]
        observations, _ = self.batch.observe(indices, self.seats, keep=False)
        return FinishedEpisodes(
            indices=indices,
            observations=observations,
            results=results_by_seat(self.batch.results[indices], seats),
            returns=self.returns[indices],
            seats=seats,
            opponents=self.opponents[indices],
        )

    def _lose(self, indices: Array) -> None:
        """End episodes by illegal actions: the return becomes the worst of an episode or less."""
        batch, seats = self.batch, self.seats[indices]
        batch.abandon(indices, seats)
        batch.results["rewards"][indices] = 0
        batch.results["rewards"][indices, seats] = -self.options.max_loss - np.maximum(
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
        while len(indices := self._opponent_turns(indices)):
            count = len(indices)
            parts = self._by_agent(indices)
            # Each agent's decisions side by side: one call for all of its games.
            indices = np.concatenate([games.indices for games in parts])
            decisions = PendingDecisions(indices, self._opponent_views[:count], self._rng[:count])
            batch.run(count, write_decisions, (self._key, self._reads_tricks), decisions)
            actions, start = np.empty(count, np.int64), 0
            for games in parts:
                rows = slice(start, start := start + len(games.indices))
                actions[rows] = query_opponent(
                    batch, games, PendingDecisions(*(array[rows] for array in decisions))
                )
            self._notify_opponents(batch.apply_actions(Moves(indices, actions, REAL)))

    def _opponent_turns(self, indices: Array) -> Array:
        """Those of these games in which the opponent is to move."""
        games = self.batch.games
        waits = (games["turn"][indices] != self.seats[indices]) & (games["phase"][indices] != OVER)
        return indices[waits]

    def _play_random(self, indices: Array) -> Array:
        """Let random opponents move, without views; returns the games of the others."""
        batch, remaining = self.batch, [indices[:0]]
        for agent, _, games in self._by_agent(indices):
            if not is_random(agent):
                remaining.append(games)
            elif batch.run(len(games), play_random, (games, self.seats), self._key):
                batch.score_endings(games[batch.games["phase"][games] != OVER])
        return np.concatenate(remaining)


class SingleAgentMixin:
    """Mixin of environments with an opponent: options, spaces, state and rendering."""

    options: Options
    rules: Rules
    render_mode: str | None
    state_space: spaces.Box
    """Of the global state of one game."""
    _batch: SingleAgentBatch
    # Gymnasium closes an environment that could not be made, too.
    _painter: Painter | None = None

    def _set_up(
        self,
        batch: SingleAgentBatch,
        mask_in_observation: bool,
        render_mode: RenderMode | None,
        render_view: LearnerRenderView,
    ) -> tuple[spaces.Space[LearnerObservation], spaces.Discrete]:
        """Take the batch; returns the spaces of one observation and one action."""
        self._batch = batch
        self.options = batch.options
        self.rules = self.options.rules
        self.state_space = state_box(self.rules)
        self.render_mode = render_mode
        self._painter = painter_for(render_mode)
        self._render_view = checked_seat(render_view, (SEAT, OPEN), "render_view")
        self._mask_in_observation = checked_flag("mask_in_observation", mask_in_observation)
        make_space = dict_space if mask_in_observation else observation_space
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

    def _observation_of(self, observations: Array, masks: Array) -> LearnerObservation:
        if self._mask_in_observation:
            return {"observation": observations, "action_mask": masks}
        return observations

    def _render_game(self, index: int) -> RenderFrame:
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


def _warm_up(observation: NetworkObservation, opponents: Iterable[Agent]) -> None:
    """Compile or load the kernels for these opponents, so that no step has to."""
    for is_drawn in {is_random(agent) for agent in opponents}:
        opponent, title = ("random", "random") if is_drawn else (_lowest_legal_cards, "an agent")
        name = f"vector environment ({observation}, against {title})"
        warm_up(name, "envs", partial(_compile_all, observation, opponent), seconds=4)


@step_count.uncounted()
def _compile_all(observation: NetworkObservation, opponent: object) -> None:
    options = options_from("small-last", observation=observation)
    batch = SingleAgentBatch(options, 2, opponent, warm=False)
    batch.reset(0)
    for _ in range(20):
        batch.step(batch.masks.argmax(axis=1))
