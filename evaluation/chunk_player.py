"""Plays a chunk of deals between two agents, each deal twice with exchanged seats.

Each half of a chunk holds every deal once, and is played by itself: both agents
are called once per round with the views of all its games in which they are to
move. Nothing in those views identifies the game of the other half with the same cards. A
chunk is the same on any worker, at any time: deals are those of the seed,
the order of the games and the agents' random streams follow from a secret key,
and its size does not depend on the number of workers.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from ..agents.base import Agent, CannotPlay, check_actions, copy_views
from ..agents.calls import claims_perfect_endgame
from ..agents.registry import as_agent
from ..common.jit.compiler import warm_up
from ..common.plugins import error_location, error_text
from ..common.typing import Array, JsonObject
from ..engine.cards import N_CARDS, action_text
from ..engine.dtypes import SEATS
from ..engine.endgame import Scratch, Tablebase, empty_tablebase, new_scratch
from ..engine.endgame.game_values import (
    endgame_tablebases,
    inexact_reason,
    prepare_tablebases,
)
from ..engine.records import record_of_finished
from ..engine.rng import fresh_secret, key_of_bytes, siphash
from ..engine.rules import Match, Rules
from . import kernels
from .aivat import LUCK_UNITS, METRICS, ValueEstimator, add_luck, new_value_estimator
from .kernels import MATCH_DEALS, TOTALS
from .tally import Fault, Tally

AgentSpec = Any
"""An agent's name, or for one process alone whatever `as_agent` takes."""

Opponents = tuple[Agent, Agent]
"""Two agents that play each other, agent one first."""
OpponentsByHalf = tuple[Opponents, Opponents]
"""The two agents of each half. They may be the same objects; one that keeps state
in spite of `reset` then knows in the second half what it learned in the first."""

# Action of an agent that raised an error.
_RAISED = -(1 << 40)
_PACKAGE = __name__.partition(".")[0] + "."
# Hashed with the key for the seed of the deals that are played to warm up.
_WARM_UP = np.uint64(1 << 10)


@dataclass(frozen=True)
class PlayConfig:
    """The rules, a match or single hands, and the random seeds of both deals and agents."""

    rules: Rules
    match: Match | None = None
    seed: int = 0
    """Of the deals."""
    key: bytes = field(default_factory=fresh_secret, repr=False)
    """Secret seed of all other random numbers; no agent knows it."""
    records: bool = False
    """Record every hand, for which endings are played out."""
    play_out: bool = False
    """Play endings out even where both agents are perfect in them."""
    reduce_variance: bool = False
    """Measure the luck of the stock (AIVAT)."""

    @property
    def plays_endings(self) -> bool:
        """Whether endings are played out for all agents."""
        return self.play_out or self.records or not self.solvable

    @property
    def solvable(self) -> bool:
        return not inexact_reason(self.rules)


def has_exact_endings(agent: Agent) -> bool:
    """Whether an agent's endings count as perfect: those of agents of the package that say so.

    Others play theirs out, whatever they claim.
    """
    of_package = type(agent).__module__.startswith(_PACKAGE) and "act" not in vars(agent)
    return of_package and claims_perfect_endgame(agent)


@dataclass(frozen=True)
class Task:
    """A chunk to play: `pairs` deals from number `start` on, each twice with exchanged seats."""

    pairing: int = 0
    start: int = 0
    pairs: int = 1

    def __str__(self) -> str:
        return f"the deals {self.start} to {self.start + self.pairs - 1}"


@dataclass
class Chunk:
    """The tally of one chunk, its scores by deal, and the lines of its records."""

    tally: Tally
    scores: Array
    """Of two games of each deal, those that agent one won, a tie as half."""
    luck: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    """Its luck in these, with variance reduction. All are exact in single precision."""
    records: list[str] = field(default_factory=list)


class ChunkPlayer:
    """The agents of all pairings in one process, made on first use.

    Agents given by name are made anew for each pairing, each half of its deals and each side:
    none meets a deal twice. What their modules and classes hold, all of them
    share, so code that remembers there can know a deal from its other half.
    """

    def __init__(self, agents: Sequence[tuple[AgentSpec, AgentSpec]], config: PlayConfig) -> None:
        self._specs = agents
        self._config = config
        self._agents: dict[int, OpponentsByHalf] = {}
        self._warm: set[int] = set()
        self.errors: dict[tuple[int, int], BaseException] = {}
        """The first error of each pairing's side."""

    def opponents_by_half(self, pairing: int) -> OpponentsByHalf:
        """The agents of a pairing: those of the first half of its deals, and of the second."""
        if pairing not in self._agents:
            self._agents[pairing] = self._make_opponents(pairing), self._make_opponents(pairing)
        return self._agents[pairing]

    def _make_opponents(self, pairing: int) -> Opponents:
        rules, match = self._config.rules, self._config.match
        one, two = self._specs[pairing]
        return as_agent(one, rules, match=match), as_agent(two, rules, match=match)

    def play(self, task: Task) -> Chunk:
        opponents_by_half = self.opponents_by_half(task.pairing)
        if task.pairing not in self._warm:
            self._warm.add(task.pairing)
            warm_up_play(opponents_by_half, self._config)
        errors: dict[int, BaseException] = {}
        chunk = play_chunk(opponents_by_half, self._config, task, errors)
        for side, error in errors.items():
            self.errors.setdefault((task.pairing, side), error)
        return chunk


def chunk_worker(
    setup: tuple[PlayConfig, Sequence[AgentSpec]],
) -> Callable[[Task], Chunk]:
    """The function that a worker calls with its tasks; agents stand pairing by pairing."""
    config, agents = setup
    return ChunkPlayer(list(zip(agents[::2], agents[1::2], strict=True)), config).play


def play_chunk(
    opponents_by_half: OpponentsByHalf,
    config: PlayConfig,
    task: Task,
    errors: dict[int, BaseException] | None = None,
) -> Chunk:
    """Play the deals (or matches) of a task.

    Where both agents' endings count as perfect, the exact value of an ending takes its place.
    The first error that each side raises is added to `errors`.
    """
    for one, two in opponents_by_half:
        if one is two and one.keeps_state:
            raise ValueError(
                f"{one.name} remembers between its moves, so it cannot sit on both sides: "
                "make a second one"
            )
    tally = Tally(task.pairs, reduce_variance=config.reduce_variance)
    lines: list[tuple[int, int, str]] = []
    by_pair = np.zeros((task.pairs, TOTALS), np.int64)
    for number, agents in enumerate(opponents_by_half):
        half = _Half(agents, config, task, number)
        half.play()
        if errors is not None:
            for side, error in half.errors.items():
                errors.setdefault(side, error)
        tally.add(half.tally)
        lines += half.lines
        by_pair[half.batch.pairs] += half.batch.totals
    tally.moments = by_pair.T @ by_pair
    tally.totals = by_pair.sum(axis=0)
    chunk = Chunk(tally, (by_pair[:, kernels.RESULT] / SEATS).astype(np.float32))
    if config.reduce_variance:
        luck = by_pair[:, kernels.SCORE_LUCK] / (LUCK_UNITS * SEATS)
        chunk.luck = luck.astype(np.float32)
    chunk.records = [line for _, _, line in sorted(lines)]
    return chunk


class _Half:
    """The games of one half of a chunk: each round both agents move in all of them."""

    def __init__(self, agents: Opponents, config: PlayConfig, task: Task, half: int) -> None:
        self.agents = agents
        self.config = config
        trusted = [has_exact_endings(agent) for agent in agents]
        self.exact = all(trusted) and not config.plays_endings
        self.tally = Tally(exact=self.exact)
        self.lines: list[tuple[int, int, str]] = []
        """Records, after their sort key: the deal, and agent one's seat."""
        self.texts: dict[int, list[JsonObject]] = {}
        """Prompts and answers of the current hand of each game, for its record."""
        self.errors: dict[int, BaseException] = {}
        """The first error that each side raised in its own code."""
        count = task.pairs
        self.batch = kernels.new_games(config.rules.array(config.match), count)
        self.decisions = [kernels.new_decisions(count) for _ in agents]
        self.counters = kernels.Counters(self.tally.sums, self.tally.course)
        high, low = _tablebases(config.rules, config.solvable)
        self.endings = kernels.Endings(
            solvable=config.solvable,
            exact=self.exact,
            trusted=np.array(trusted),
            high=high,
            low=low,
            scratch=_scratch(),
            move_values=np.zeros(N_CARDS, np.int64),
            hands=np.zeros(SEATS, np.uint64),
            thrown=np.zeros(SEATS, np.int64),
        )
        self.seed, self.key = np.uint64(config.seed), key_of_bytes(config.key)
        self.index_buffer = np.zeros(count, np.int64)
        """Kernels list games or decisions here."""
        self.luck = np.zeros((count, METRICS))
        """Agent one's, in each game."""
        self.estimator = _estimator(config.rules) if config.reduce_variance else None
        stride = np.uint64(1) if config.match is None else MATCH_DEALS
        deals = kernels.Deals(self.seed, self.key, np.uint64(task.start), stride)
        kernels.deal_half(self.batch, deals, half)

    def play(self) -> None:
        n_games = len(self.batch.games)
        self._begin_hands(np.arange(n_games))
        while n_games:
            for side in range(len(self.agents)):
                self._move(side)
            n_games -= self._count()
        if self.config.match is not None:
            kernels.score_matches(self.batch)
        self.batch.totals[:, kernels.SCORE_LUCK :] = np.rint(LUCK_UNITS * self.luck)

    def _move(self, side: int) -> None:
        agent, decisions, tally = self.agents[side], self.decisions[side], self.tally
        rules, games, seats = self.batch.rules, self.batch.games, self.batch.seats
        count = kernels.collect(
            rules,
            games,
            seats,
            side=side,
            with_tricks=agent.reads_tricks,
            key=self.key,
            views=decisions.views,
            choices=decisions.choices,
        )
        if not count:
            return
        actions = np.full(count, _RAISED, np.int64)
        start = time.perf_counter()
        self._act(side, slice(0, count), actions)
        tally.seconds[side] += time.perf_counter() - start
        tally.moves[side] += count
        choices = decisions.choices
        n_illegal = kernels.apply_legal_actions(
            rules,
            games,
            seats,
            choices=choices,
            actions=actions,
            course=self.counters.course,
            illegal=self.index_buffer,
        )
        for decision in self.index_buffer[:n_illegal]:
            index, action = int(choices["game"][decision]), int(actions[decision])
            if action != _RAISED:
                self._add_fault(side, index, "illegal", f"played {action_text(action)}")
            self._lose(side, index)
        if self.exact:
            kernels.end_exactly(self.batch, self.endings)
        if self.estimator is not None:
            add_luck(self.batch, choices["game"][:count], self.estimator, self.luck)

    def _act(self, side: int, part: slice, actions: Array) -> None:
        """Fill in an agent's actions; after an error by bisection, to find the hand it is about."""
        agent, decisions = self.agents[side], self.decisions[side]
        # Copies: what an agent writes to must be none of the arena's arrays.
        views, rng = copy_views(decisions.views[part]), decisions.choices["rng"][part].copy()
        index = decisions.choices["game"][part].copy()
        returned = False
        try:
            if agent.keeps_state:
                answer = agent.act(views, rng, indices=index.copy())  # type: ignore[call-arg]
            else:
                answer = agent.act(views, rng)
            returned = True
            actions[part] = check_actions(agent, answer, len(index))
            if self.config.records and agent.transcript is not None:
                for game, texts in zip(index.tolist(), agent.transcript, strict=True):
                    self.texts.setdefault(game, []).extend(filter(None, [texts]))
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = error
        if len(index) > 1:
            middle = (part.start + part.stop) // 2
            self._act(side, slice(part.start, middle), actions)
            self._act(side, slice(middle, part.stop), actions)
        else:
            self._add_error(side, int(index[0]), fault, in_agent=not returned)

    def _lose(self, side: int, index: int) -> None:
        if self.batch.games[index]["trick"] >= self.config.rules.foreplay_tricks:
            self.tally.failed[side] += 1
        self.batch.forfeits[index] = side + 1
        kernels.forfeit(self.batch, index, int(self.batch.seats[index]) ^ side)

    def _add_error(self, side: int, index: int, error: BaseException, in_agent: bool) -> None:
        """Record an error; with its source line and traceback if the agent's own code raised it."""
        source = trace = ""
        if in_agent:
            self.errors.setdefault(side, error)
            source = error_location(error)
            below = error.__traceback__ and error.__traceback__.tb_next
            trace = "".join(traceback.format_exception(type(error), error, below))
        self._add_fault(side, index, "raised", error_text(error), source=source, trace=trace)

    def _add_fault(
        self, side: int, index: int, kind: str, message: str, *, source: str = "", trace: str = ""
    ) -> None:
        game, seat = self.batch.games[index], int(self.batch.seats[index]) ^ side
        position = f"deal {game['number']}, seat {seat}, trick {int(game['trick']) + 1}"
        position += f"; {source}" if source else ""
        self.tally.add_fault(Fault(side, kind, 1, f"{message} ({position})", trace))

    def _count(self) -> int:
        """Count ended hands and deal on in matches; returns the number of games that ended."""
        n_ended = kernels.count_hands(self.batch, self.endings, self.counters, self.index_buffer)
        if not n_ended:
            return 0
        ended = self.index_buffer[:n_ended].copy()
        if self.config.records:
            self.lines += [self._line(index) for index in ended if not self.batch.forfeits[index]]
            for index in ended.tolist():
                self.texts.pop(index, None)
        if self.config.match is None:
            return n_ended
        n_dealt = kernels.deal_on(self.batch, self.seed, ended, self.index_buffer)
        self._begin_hands(self.index_buffer[:n_dealt].copy())
        return n_ended - n_dealt

    def _begin_hands(self, indices: Array) -> None:
        for side, agent in enumerate(self.agents):
            if agent.keeps_state:
                self._reset(side, indices)
        if self.exact:  # a hand without a foreplay is its ending
            kernels.end_exactly(self.batch, self.endings)

    def _reset(self, side: int, indices: Array) -> None:
        """Notify an agent of new hands; after an error by bisection, to find those it forfeits."""
        if not len(indices):
            return
        try:
            self.agents[side].reset(indices.copy())
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = error
        if len(indices) > 1:
            middle = len(indices) // 2
            self._reset(side, indices[:middle])
            self._reset(side, indices[middle:])
        elif not self.batch.forfeits[indices[0]]:
            self._add_error(side, int(indices[0]), fault, in_agent=True)
            self._lose(side, int(indices[0]))

    def _line(self, index: int) -> tuple[int, int, str]:
        names = [agent.name for agent in self.agents]
        game, seat = self.batch.games[index], int(self.batch.seats[index])
        meta: dict[str, object] = {"players": names if seat == 0 else names[::-1]}
        if index in self.texts:
            meta["texts"] = self.texts[index]
        config = self.config
        record = record_of_finished(config.rules, config.match, config.seed, game, meta)
        return int(game["number"]), seat, record.to_line()


@cache
def _scratch() -> Scratch:
    return new_scratch()


def _tablebases(rules: Rules, solvable: bool) -> tuple[Tablebase, Tablebase]:
    if not solvable:
        return empty_tablebase(), empty_tablebase()
    tablebases = endgame_tablebases(rules)
    return tablebases[0], tablebases[-1]


@cache
def _estimator(rules: Rules) -> ValueEstimator:
    return new_value_estimator(rules, *_tablebases(rules, True), _scratch())


def warm_up_play(opponents_by_half: OpponentsByHalf, config: PlayConfig) -> None:
    """Compile and load everything by playing one pair of deals that the run does not contain."""
    compile_play(config)
    _play_once(opponents_by_half, config)


def compile_play(config: PlayConfig) -> None:
    """Compile what the arena calls besides the agents."""
    if config.solvable:
        prepare_tablebases(config.rules)
    warm_up("arena", "training", partial(_play_randomly, config), seconds=5)


def _play_randomly(config: PlayConfig) -> None:
    agents = as_agent("random", config.rules, match=config.match)
    half = _Half((agents, agents), config, Task(), 0)
    if config.solvable:
        kernels.end_exactly(half.batch, half.endings)
    _play_once(((agents, agents), (agents, agents)), config)


def _play_once(opponents_by_half: OpponentsByHalf, config: PlayConfig) -> None:
    seed = siphash(key_of_bytes(config.key), np.uint64(0), _WARM_UP)
    play_chunk(opponents_by_half, replace(config, seed=int(seed)), Task())


def make_all(agents: Sequence[str], configs: Sequence[PlayConfig]) -> None:
    """Make agents and an arena for what they compile."""
    for config in configs:
        for agent in agents:
            with suppress(CannotPlay):
                as_agent(agent, config.rules, match=config.match)
        compile_play(config)
