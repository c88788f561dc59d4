"""Match player: plays a chunk of deals between two players, each deal twice with exchanged seats.

Each half of a chunk holds every deal once, and is played by itself: both players
are called once per round with the views of all its games in which they are to
move. Nothing they get tells which game of the other half has the same cards. A
chunk is the same wherever and whenever it is played: deals are those of the seed,
the order of the games and the agents' random streams follow from a secret key,
and its size does not depend on the number of workers.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ..agents.base import Agent, checked_answer, copied
from ..agents.calls import claims_perfection
from ..agents.registry import as_agent
from ..common.jit.compiler import warm_up
from ..common.plugins import error_location, error_text
from ..common.typing import Array
from ..engine.cards import N_CARDS, action_text
from ..engine.dtypes import SEATS
from ..engine.endgame import Scratch, Tables, new_scratch, no_tables
from ..engine.endgame.game_values import endgame_tables
from ..engine.records import record_of_finished
from ..engine.rng import key_of_bytes, siphash
from ..engine.rules import Rules
from . import kernels
from .aivat import FIGURES, PARTS, Judge, add_luck, new_judge
from .chunks import Chunk, Fault, MatchConfig, Tally, Task, add_at
from .kernels import MATCH_DEALS, TOTALS

PlayerSpec = Any
"""A player as it is given: a name, or for one process alone whatever `as_agent` takes."""

Pair = tuple[Agent, Agent]
Halves = tuple[Pair, Pair]
"""The two players of each half. They may be the same objects; one that remembers what it saw
in spite of `reset` knows then in the second half what it learnt in the first."""

# Stands for the action of a player that gave none.
_RAISED = -(1 << 40)
# Beside it the key gives the seed of the deals that are played to warm up.
_WARM_UP = np.uint64(1 << 10)


class MatchPlayer:
    """The players of all pairings in one process, made when first needed.

    Those that are named are made anew for each pairing, each half of its deals, each side
    and each attempt: none meets a deal twice, so none can know it from before.
    """

    def __init__(
        self, players: Sequence[tuple[PlayerSpec, PlayerSpec]], config: MatchConfig
    ) -> None:
        self._specs = players
        self._config = config
        self._made: dict[int, tuple[int, Halves]] = {}
        self._warm: set[int] = set()

    def halves(self, pairing: int, attempt: int = 0) -> Halves:
        """The players of a pairing: those of the first half of its deals, and of the second."""
        made_for, halves = self._made.get(pairing, (-1, None))
        if halves is None or made_for != attempt:
            halves = self._make_pair(pairing), self._make_pair(pairing)
            self._made[pairing] = attempt, halves
        return halves

    def _make_pair(self, pairing: int) -> Pair:
        rules, match = self._config.rules, self._config.match
        one, two = self._specs[pairing]
        return as_agent(one, rules, match=match), as_agent(two, rules, match=match)

    def play(self, task: Task) -> Chunk:
        """Play a chunk."""
        halves = self.halves(task.pairing, task.attempt)
        if task.pairing not in self._warm:
            self._warm.add(task.pairing)
            warm_up_match(halves, self._config)
        return play_chunk(halves, self._config, task)


def chunk_player(
    setup: tuple[MatchConfig, Sequence[PlayerSpec]],
) -> Callable[[Task], Chunk]:
    """What a worker calls with its tasks; the players are those of the first pairing first."""
    config, players = setup
    return MatchPlayer(list(zip(players[::2], players[1::2], strict=True)), config).play


def play_chunk(halves: Halves, config: MatchConfig, task: Task) -> Chunk:
    """Play the deals (or matches) of a task.

    Where both players' endings count as perfect, the exact value of an ending takes its place.
    In an audited chunk endings are played out all the same and followed card by card; where
    nobody errs, the chunk counts as if they had not been.
    """
    for one, two in halves:
        if one is two and one.keeps_state:
            raise ValueError(
                f"{one.name} remembers between its moves, so it cannot sit on both sides: "
                "make a second one"
            )
    exact = all(task.trusted_exact) and not config.plays_endings
    tally = Tally(
        task.pairs, exact=exact and not task.audited, reduce_variance=config.reduce_variance
    )
    lines: list[tuple[int, int, str]] = []
    by_pair = np.zeros((task.pairs, TOTALS), np.int64)
    for number, players in enumerate(halves):
        half = _Half(players, config, task, number)
        half.play()
        tally.add(half.tally)
        lines += half.lines
        by_pair[half.batch.pairs] += half.batch.totals
    tally.moments = by_pair.T @ by_pair
    tally.totals = by_pair.sum(axis=0)
    if task.audited and exact and not any(map(tally.endgame_errors, range(SEATS))):
        _leave_out_endings(tally, config.rules)
    scores = by_pair[:, kernels.RESULT] - by_pair[:, kernels.SCORE_LUCK] / PARTS
    return Chunk(tally, (scores / SEATS).astype(np.float32), [line for _, _, line in sorted(lines)])


def _leave_out_endings(tally: Tally, rules: Rules) -> None:
    """Count endings that were played perfectly as if their exact value had taken their place."""
    foreplay = rules.foreplay_tricks
    tally.exact = True
    tally.course[[kernels.PLAYED, kernels.WON], foreplay:] = 0
    tally.course[kernels.TRUMPS :, foreplay + 1 :] = 0


class _Half:
    """The games of one half of a chunk: each round both players move in all of them."""

    def __init__(self, players: Pair, config: MatchConfig, task: Task, half: int) -> None:
        self.players = players
        self.config = config
        trusted = (False, False) if task.audited else task.trusted_exact
        self.exact = all(trusted) and not config.plays_endings
        self.tally = Tally()
        self.lines: list[tuple[int, int, str]] = []
        """Records, after what they are sorted by: the deal, and player one's seat."""
        count = task.pairs
        self.batch = kernels.new_games(config.rules.record(config.match), count)
        self.decisions = [kernels.new_decisions(count) for _ in players]
        self.counters = kernels.Counters(self.tally.sums, self.tally.course)
        self.endings = _endings(config, self.exact, trusted)
        self.seed, self.key = np.uint64(config.seed), key_of_bytes(config.key)
        self.listed = np.zeros(count, np.int64)
        """Buffer for the numbers of games that a kernel lists."""
        self.luck = np.zeros((count, FIGURES))
        """Player one's, in each game."""
        self.judge = _judge(config.rules) if config.reduce_variance else None
        stride = np.uint64(1) if config.match is None else MATCH_DEALS
        deals = kernels.Deals(self.seed, self.key, np.uint64(task.start), stride)
        kernels.deal_half(self.batch, deals, half)

    def play(self) -> None:
        """Play all games to their end."""
        left = len(self.batch.games)
        self._begin_hands(np.arange(left))
        while left:
            for player in range(len(self.players)):
                self._move(player)
            left -= self._count()
        if self.config.match is not None:
            kernels.score_matches(self.batch)
        self.batch.totals[:, kernels.SCORE_LUCK :] = np.rint(PARTS * self.luck)

    def _move(self, player: int) -> None:
        """Let one player act in all games in which it is to move."""
        agent, decisions, tally = self.players[player], self.decisions[player], self.tally
        count = kernels.collect(self.batch, player, agent.reads_tricks, self.key, decisions)
        if not count:
            return
        actions = np.full(count, _RAISED, np.int64)
        began = time.perf_counter()
        self._ask(player, slice(0, count), actions)
        tally.seconds = add_at(tally.seconds, player, time.perf_counter() - began)
        tally.moves = add_at(tally.moves, player, count)
        illegal = kernels.play_all(
            self.batch, decisions, actions, self.counters.course, self.listed
        )
        for place in self.listed[:illegal]:
            index, action = int(decisions.game_index[place]), int(actions[place])
            if action != _RAISED:
                self._add_fault(player, index, "illegal", f"played {action_text(action)}")
            self._lose(player, index)
        if self.exact:
            kernels.end_exactly(self.batch, self.endings)
        if self.judge is not None:
            add_luck(self.batch, decisions.game_index[:count], self.judge, self.luck)

    def _ask(self, player: int, part: slice, actions: Array) -> None:
        """Fill in a player's actions; where it raises, ask again by halves to find the hand."""
        agent, decisions = self.players[player], self.decisions[player]
        views, rng = copied(decisions.views[part]), decisions.rng[part].copy()
        index = decisions.game_index[part].copy()
        fault: BaseException | None = None
        answered = False
        try:
            if agent.keeps_state:
                answer = agent.act(views, rng, indices=index.copy())  # type: ignore[call-arg]
            else:
                answer = agent.act(views, rng)
            answered = True
            actions[part] = checked_answer(agent, answer, len(index))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = error
        if fault is None:
            return
        if len(index) > 1:
            middle = (part.start + part.stop) // 2
            self._ask(player, slice(part.start, middle), actions)
            self._ask(player, slice(middle, part.stop), actions)
        else:
            self._add_error(player, int(index[0]), fault, in_agent=not answered)

    def _lose(self, player: int, index: int) -> None:
        """A player loses the hand of a game by forfeit."""
        if self.batch.games[index]["trick"] >= self.config.rules.foreplay_tricks:
            self.tally.failed = add_at(self.tally.failed, player, 1)
        self.batch.forfeits[index] = player + 1
        kernels.forfeit(self.batch, index, int(self.batch.seats[index]) ^ player)

    def _add_error(self, player: int, index: int, error: BaseException, in_agent: bool) -> None:
        """Note an error of a player, with its place and traceback if its own code raised it."""
        what, trace = error_text(error), ""
        source = error_location(error) if in_agent else ""
        if in_agent:
            below = error.__traceback__ and error.__traceback__.tb_next
            trace = "".join(traceback.format_exception(type(error), error, below))
        self._add_fault(player, index, "raised", what, source=source, trace=trace)

    def _add_fault(
        self, player: int, index: int, kind: str, what: str, *, source: str = "", trace: str = ""
    ) -> None:
        game, seat = self.batch.games[index], int(self.batch.seats[index]) ^ player
        where = f"deal {game['number']}, seat {seat}, trick {int(game['trick']) + 1}"
        where += f"; {source}" if source else ""
        self.tally.add_fault(Fault(player, kind, 1, f"{what} ({where})", trace))

    def _count(self) -> int:
        """Count what is over and deal on in matches; returns how many games have ended."""
        ended = kernels.count_hands(self.batch, self.endings, self.counters, self.listed)
        if not ended:
            return 0
        over = self.listed[:ended].copy()
        if self.config.records:
            self.lines += [self._line(index) for index in over if not self.batch.forfeits[index]]
        if self.config.match is None:
            return ended
        dealt = kernels.deal_on(self.batch, self.seed, over, self.listed)
        self._begin_hands(self.listed[:dealt].copy())
        return ended - dealt

    def _begin_hands(self, indices: Array) -> None:
        for player, agent in enumerate(self.players):
            if agent.keeps_state:
                self._reset(player, indices)
        if self.exact:  # a hand without a foreplay is its ending
            kernels.end_exactly(self.batch, self.endings)

    def _reset(self, player: int, indices: Array) -> None:
        """Notify a player of new hands; where it raises, by halves, to find those it forfeits."""
        if not len(indices):
            return
        fault: BaseException | None = None
        try:
            self.players[player].reset(indices.copy())
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = error
        if fault is not None and len(indices) > 1:
            middle = len(indices) // 2
            self._reset(player, indices[:middle])
            self._reset(player, indices[middle:])
        elif fault is not None and not self.batch.forfeits[indices[0]]:
            self._add_error(player, int(indices[0]), fault, in_agent=True)
            self._lose(player, int(indices[0]))

    def _line(self, index: int) -> tuple[int, int, str]:
        names = [agent.name for agent in self.players]
        game, seat = self.batch.games[index], int(self.batch.seats[index])
        meta = {"players": names if seat == 0 else names[::-1]}
        config = self.config
        record = record_of_finished(config.rules, config.match, config.seed, game, meta)
        return int(game["number"]), seat, record.to_line()


@cache
def _scratch() -> Scratch:
    return new_scratch()


def _tables(rules: Rules, solvable: bool) -> tuple[Tables, Tables]:
    """Tables of exact endings, for high and for low contracts."""
    if not solvable:
        return no_tables(), no_tables()
    tables = endgame_tables(rules)
    return tables[0], tables[-1]


def _endings(config: MatchConfig, exact: bool, trusted: tuple[bool, bool]) -> kernels.Endings:
    high, low = _tables(config.rules, config.solvable)
    return kernels.Endings(
        config.solvable, exact, np.array(trusted), high, low, _scratch(),
        np.zeros(N_CARDS, np.int64), np.zeros(SEATS, np.uint64), np.zeros(SEATS, np.int64),
    )  # fmt: skip


@cache
def _judge(rules: Rules) -> Judge:
    return new_judge(rules, _tables(rules, True)[0], _scratch())


def warm_up_match(halves: Halves, config: MatchConfig) -> None:
    """Compile and load everything by playing one pair that does not count, of no deal that does."""
    seed = siphash(key_of_bytes(config.key), np.uint64(0), _WARM_UP)
    elsewhere = replace(config, seed=int(seed))
    one, two = map(claims_perfection, halves[0])

    def play() -> None:
        play_chunk(halves, elsewhere, Task(trusted_exact=(one, two)))

    warm_up("arena", "training", play)
    play()
