"""A chunk of deals between two players, every deal played twice with the seats exchanged.

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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..agents.base import Agent, checked_answer, copied
from ..agents.calls import claims_perfection
from ..common.jit.compiler import warm_up
from ..common.plugins import raised_at, told_error
from ..common.typing import Array
from ..engine.cards import action_text
from ..engine.dtypes import GAME, NO_CARD, SEATS, VIEW
from ..engine.endgame import Scratch, Tables, new_scratch, no_tables
from ..engine.endgame.game_values import known_endings, why_not_exact
from ..engine.records import record_of_finished
from ..engine.rng import fresh_secret, key_of_bytes, siphash
from ..engine.rules import Match, Rules
from . import kernels
from .aivat import FIGURES, PARTS, Judge, add_luck, new_judge
from .kernels import COURSE_ROWS, COURSE_TRICKS, MATCH_DEALS, SUMS, TOTALS


@dataclass(frozen=True)
class Setting:
    """What two players play: the rules, a match or single hands, and from which seed and key."""

    rules: Rules
    match: Match | None = None
    seed: int = 0
    """Of the deals."""
    key: bytes = field(default_factory=fresh_secret, repr=False)
    """Of all else that is drawn; no player knows it."""
    records: bool = False
    """Keep a record of every hand, for which endings are played out."""
    play_out: bool = False
    """Play endings out even where both players are perfect in them."""
    without_luck: bool = False
    """Count how lucky the players were with the stock."""

    @property
    def plays_endings(self) -> bool:
        """Whether endings are played out whoever plays."""
        return self.play_out or self.records or not self.solvable

    @property
    def solvable(self) -> bool:
        """Whether endings have exact values that count."""
        return not why_not_exact(self.rules)


@dataclass
class Fault:
    """Hands that a player forfeited for one reason, with the first case in words."""

    player: int
    kind: str
    """`illegal` or `raised`."""
    hands: int
    example: str
    trace: str = ""
    """Where the player's own code raised it."""


@dataclass
class Tally:
    """What a number of pairs of games came to. Tallies add up, in any order."""

    pairs: int = 0
    sums: Array = field(default_factory=lambda: np.zeros(SUMS, np.int64))
    course: Array = field(default_factory=lambda: np.zeros((COURSE_ROWS, COURSE_TRICKS), np.int64))
    moments: Array = field(default_factory=lambda: np.zeros((TOTALS, TOTALS), np.int64))
    """Sums of products of the pairs' totals."""
    totals: Array = field(default_factory=lambda: np.zeros(TOTALS, np.int64))
    exact: bool = False
    """Whether endings were replaced by their values."""
    without_luck: bool = False
    """Whether the luck of the stock was counted."""
    failed: tuple[int, int] = (0, 0)
    """Hands that a player forfeited in an ending."""
    seconds: tuple[float, float] = (0.0, 0.0)
    moves: tuple[int, int] = (0, 0)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in another tally; of the faults' examples the first stays."""
        self.pairs += other.pairs
        for name in ("sums", "course", "moments", "totals"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.exact = self.exact or other.exact
        self.without_luck = self.without_luck or other.without_luck
        self.failed = _both(self.failed, other.failed)
        self.seconds = _both(self.seconds, other.seconds)
        self.moves = _both(self.moves, other.moves)
        for fault in other.faults:
            self.add_fault(fault)

    def add_fault(self, fault: Fault) -> None:
        """Count a fault with those of its kind."""
        for known in self.faults:
            if (known.player, known.kind) == (fault.player, fault.kind):
                known.hands += fault.hands
                return
        self.faults.append(replace(fault))

    def slips(self, player: int) -> int:
        """What a player did that nobody does who plays endings perfectly."""
        thrown = kernels.THROWN_TWO if player else kernels.THROWN_ONE
        return int(self.sums[thrown]) + self.failed[player]


def _both(mine: tuple[Any, Any], others: tuple[Any, Any]) -> tuple[Any, Any]:
    return mine[0] + others[0], mine[1] + others[1]


Pair = tuple[Agent, Agent]
Halves = tuple[Pair, Pair]
"""The two players of each half. They may be the same objects; one that remembers what it saw
in spite of `reset` knows then in the second half what it learnt in the first."""


@dataclass
class Chunk:
    """The tally of one chunk, its scores, and the lines of its records if they were wanted."""

    tally: Tally
    scores: Array
    """Games of each deal that player one won, of two, a tie as half; less its luck where that is
    counted. All of them are exact in single precision."""
    records: list[str] = field(default_factory=list)


def play_chunk(
    halves: Halves,
    setting: Setting,
    start: int,
    pairs: int,
    believed: tuple[bool, bool] = (False, False),
    trial: bool = False,
) -> Chunk:
    """Play pairs of games from the deal (or match) number `start` on.

    `believed` says which players' endings count as perfect: where both do, the exact
    value of an ending takes its place. In a trial endings are played out all the same
    and followed card by card; where nobody slips, nothing else comes of it.
    """
    for one, two in halves:
        if one is two and one.keeps_state:
            raise ValueError(
                f"{one.name} remembers between its moves, so it can not sit on both sides: "
                "make a second one"
            )
    exact = all(believed) and not setting.plays_endings
    tally = Tally(pairs=pairs, exact=exact and not trial, without_luck=setting.without_luck)
    lines: list[tuple[int, int, str]] = []
    both = np.zeros((pairs, TOTALS), np.int64)
    trusted = (False, False) if trial else believed
    for half, players in enumerate(halves):
        hall = _Hall(players, setting, start, half, trusted, tally, lines)
        hall.play()
        both[hall.order] += hall.totals
    tally.moments = both.T @ both
    tally.totals = both.sum(axis=0)
    if trial and exact and not any(tally.slips(player) for player in range(SEATS)):
        _leave_out_endings(tally, setting.rules)
    scores = both[:, kernels.RESULT] - both[:, kernels.SCORE_LUCK] / PARTS
    return Chunk(tally, (scores / SEATS).astype(np.float32), [line for _, _, line in sorted(lines)])


def _leave_out_endings(tally: Tally, rules: Rules) -> None:
    """What was played perfectly is counted as if its exact value had taken its place."""
    foreplay = rules.foreplay_tricks
    tally.exact = True
    tally.course[[kernels.PLAYED, kernels.WON], foreplay:] = 0
    tally.course[kernels.TRUMPS :, foreplay + 1 :] = 0


class _Hall:
    """The games of one half of a chunk while they are played; what they come to joins a tally."""

    def __init__(
        self,
        players: Pair,
        setting: Setting,
        start: int,
        half: int,
        believed: tuple[bool, bool],
        tally: Tally,
        lines: list[tuple[int, int, str]],
    ) -> None:
        self.players = players
        self.setting = setting
        self.believed = np.array(believed)
        self.exact = tally.exact
        self.tally = tally
        self.lines = lines
        count = tally.pairs
        self.rules = setting.rules.record(setting.match)
        self.games = np.zeros(count, GAME)
        self.seats = np.zeros(count, np.uint8)
        """Where player one sits."""
        self.order = np.zeros(count, np.int64)
        """The pair that each game belongs to, counted from the chunk's first."""
        self.counted = np.zeros(count, np.bool_)
        self.forfeits = np.zeros(count, np.int8)
        self.totals = np.zeros((count, TOTALS), np.int64)
        self.places = np.zeros(count, np.int64)
        self.legal = np.zeros(count, np.uint64)
        self.rng = np.zeros(count, np.uint64)
        self.listed = np.zeros(count, np.int64)
        self.dealt = np.zeros(count, np.int64)
        self.views = [_clean_views(count) for _ in players]
        self.seed = np.uint64(setting.seed)
        self.key = key_of_bytes(setting.key)
        self.known = _known(setting)
        self.luck = np.zeros((count, FIGURES))
        """Player one's, in each game."""
        self.judge = _judge(setting) if setting.without_luck else None
        stride = np.uint64(1) if setting.match is None else MATCH_DEALS
        kernels.deal_half(
            self.rules, self.games, self.seed, self.key, np.uint64(start), stride, half,
            self.order, self.seats,
        )  # fmt: skip

    def play(self) -> None:
        """Play all games to their end."""
        self._tell_new_hands(np.arange(len(self.games)))
        left = len(self.games)
        while left:
            for player in range(len(self.players)):
                if self.exact:
                    kernels.end_exactly(self.rules, self.games, *self.known)
                self._move(player)
            if self.exact:
                kernels.end_exactly(self.rules, self.games, *self.known)
            left -= self._count()
        if self.setting.match is not None:
            kernels.score_matches(self.rules, self.games, self.seats, self.totals)
        self.totals[:, kernels.SCORE_LUCK :] = np.rint(PARTS * self.luck)

    def _move(self, player: int) -> None:
        """Let one player act in all games in which it is to move."""
        agent, views = self.players[player], self.views[player]
        count = kernels.collect(
            self.rules, self.games, self.seats, player, agent.reads_tricks, self.key,
            self.places, views, self.rng, self.legal,
        )  # fmt: skip
        if not count:
            return
        places, legal = self.places[:count], self.legal[:count]
        actions = np.full(count, _RAISED, np.int64)
        begun = time.perf_counter()
        self._ask(player, views[:count], slice(0, count), actions)
        spent = time.perf_counter() - begun
        self.tally.seconds = _both(self.tally.seconds, (spent, 0) if player == 0 else (0, spent))
        self.tally.moves = _both(self.tally.moves, (count, 0) if player == 0 else (0, count))
        wrong = kernels.play_all(
            self.rules, self.games, self.seats, places, legal, actions,
            self.tally.course, self.listed,
        )  # fmt: skip
        for place in self.listed[:wrong]:
            self._forfeit(player, int(place), int(actions[place]))
        if self.judge is not None:
            add_luck(self.rules, self.games, self.seats, places, self.judge, self.luck)

    def _ask(self, player: int, views: Array, part: slice, actions: Array) -> None:
        """Fill in a player's actions; where it raises, ask again by halves to find the hand."""
        agent = self.players[player]
        seen, rng = copied(views[part]), self.rng[part].copy()
        fault: BaseException | None = None
        answered = False
        try:
            if agent.keeps_state:
                places = self.places[part].copy()
                answer = agent.act(seen, rng, indices=places)  # type: ignore[call-arg]
            else:
                answer = agent.act(seen, rng)
            answered = True
            actions[part] = checked_answer(agent, answer, part.stop - part.start)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = error
        if fault is None:
            return
        if part.stop - part.start > 1:
            middle = (part.start + part.stop) // 2
            self._ask(player, views, slice(part.start, middle), actions)
            self._ask(player, views, slice(middle, part.stop), actions)
        else:
            self._blame_error(player, int(self.places[part.start]), fault, of_its_own=not answered)

    def _forfeit(self, player: int, place: int, action: int) -> None:
        index = int(self.places[place])
        if action != _RAISED:
            self._blame(player, "illegal", index, f"played {action_text(action)}")
        self._lose(player, index)

    def _lose(self, player: int, index: int) -> None:
        """A player loses the hand of a game by forfeit."""
        if self.games[index]["trick"] >= self.setting.rules.foreplay_tricks:
            self.tally.failed = _both(self.tally.failed, (1, 0) if player == 0 else (0, 1))
        self.forfeits[index] = player + 1
        kernels.forfeit(self.rules, self.games, index, int(self.seats[index]) ^ player)

    def _blame_error(self, player: int, index: int, error: BaseException, of_its_own: bool) -> None:
        """Note what a player raised, and where if that was in code `of_its_own`."""
        source, trace = "", ""
        if of_its_own:
            source = raised_at(error)
            below = error.__traceback__ and error.__traceback__.tb_next
            trace = "".join(traceback.format_exception(type(error), error, below))
        self._blame(player, "raised", index, told_error(error), source, trace)

    def _blame(
        self, player: int, kind: str, index: int, what: str, source: str = "", trace: str = ""
    ) -> None:
        game, seat = self.games[index], int(self.seats[index]) ^ player
        where = f"deal {game['number']}, seat {seat}, trick {int(game['trick']) + 1}"
        where += f"; {source}" if source else ""
        self.tally.add_fault(Fault(player, kind, 1, f"{what} ({where})", trace))

    def _count(self) -> int:
        """Count what is over and deal on in matches; returns how many games have ended."""
        ended = kernels.count_hands(
            self.rules, self.games, self.seats, self.counted, self.forfeits,
            self.setting.solvable, self.exact, self.believed,
            self.tally.sums, self.tally.course, self.totals, self.listed, *self.known,
        )  # fmt: skip
        if not ended:
            return 0
        over = self.listed[:ended]
        if self.setting.records:
            self.lines += [self._line(index) for index in over if not self.forfeits[index]]
        if self.setting.match is None:
            return ended
        again = kernels.deal_on(
            self.rules, self.games, self.seed, self.counted, self.forfeits, over, self.dealt
        )
        self._tell_new_hands(self.dealt[:again])
        return ended - again

    def _tell_new_hands(self, indices: Array) -> None:
        for player, agent in enumerate(self.players):
            if agent.keeps_state:
                self._reset(player, indices)

    def _reset(self, player: int, indices: Array) -> None:
        """Tell a player of new hands; where it raises, by halves, to find those it forfeits."""
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
        elif fault is not None and not self.forfeits[indices[0]]:
            self._blame_error(player, int(indices[0]), fault, of_its_own=True)
            self._lose(player, int(indices[0]))

    def _line(self, index: int) -> tuple[int, int, str]:
        """The record of a hand, with what it is sorted by: its deal, and player one's seat."""
        names = [each.name for each in self.players]
        seat = int(self.seats[index])
        rules, match, seed = self.setting.rules, self.setting.match, self.setting.seed
        meta = {"players": names if seat == 0 else names[::-1]}
        record = record_of_finished(rules, match, seed, self.games[index], meta)
        return int(self.games[index]["number"]), seat, record.to_line()


# Stands for the action of a player that gave none.
_RAISED = -(1 << 40)


def _clean_views(count: int) -> Array:
    """Room for views, without tricks for the players that do not look at them."""
    views = np.zeros(count, VIEW)
    for name in ("led_cards", "followed_cards", "my_draws", "other_draws"):
        views[name] = NO_CARD
    return views


_scratch: list[Scratch] = []


def _known(setting: Setting) -> tuple[Tables, Tables, Scratch]:
    """The tables of endings for high and for low contracts, and room to search in."""
    if not _scratch:
        _scratch.append(new_scratch())
    rules = setting.rules
    if not setting.solvable:
        return no_tables(), no_tables(), _scratch[0]
    known = known_endings(rules)
    return known[0], known[-1], _scratch[0]


_judges: dict[Rules, Judge] = {}


def _judge(setting: Setting) -> Judge:
    """Who says how lucky the players are, made once in a process."""
    if setting.rules not in _judges:
        high, _, scratch = _known(setting)
        _judges[setting.rules] = new_judge(setting.rules, high, scratch)
    return _judges[setting.rules]


def warm_up_arena(halves: Halves, setting: Setting) -> None:
    """Compile and load everything by playing one pair that does not count, of no deal that does."""
    seed = siphash(key_of_bytes(setting.key), np.uint64(0), _WARM_UP)
    elsewhere = replace(setting, seed=int(seed))
    believed = tuple(map(claims_perfection, halves[0]))

    def play() -> None:
        play_chunk(halves, elsewhere, 0, 1, (believed[0], believed[1]))

    warm_up("arena", "training", play)
    play()


# Beside it the key gives the seed of what is played to warm up.
_WARM_UP = np.uint64(1 << 10)
