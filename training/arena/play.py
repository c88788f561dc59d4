"""A chunk of deals between two players, every deal played twice with the seats exchanged.

Both players of a chunk are called once per round with the views of all games in
which they are to move. A chunk is the same wherever and whenever it is played:
deals and the agents' random streams are keyed by the seed, and its size does
not depend on the number of workers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...agents.base import Agent, action_text, agent_key, checked_answer
from ...agents.registry import raised_at, told_error
from ...engine.compiled import warm_up
from ...engine.endgame import Scratch, Tables, new_scratch, no_tables, tables
from ...engine.records import GameRecord, MatchScore, TrickRecord
from ...engine.rules import Match, Rules
from ...engine.state import GAME, NO_CARD, SEATS, VIEW
from . import kernels
from .kernels import COURSE_ROWS, COURSE_TRICKS, MATCH_DEALS, SUMS, TOTALS

Array = np.ndarray[Any, Any]

MOST_ENDING_CARDS = 13


@dataclass(frozen=True)
class Setting:
    """What two players play: the rules, a match or single hands, and from which seed."""

    rules: Rules
    match: Match | None = None
    seed: int = 0
    records: bool = False
    """Keep a record of every hand, for which endings are played out."""
    play_out: bool = False
    """Play endings out even where both players are perfect in them."""

    @property
    def solvable(self) -> bool:
        """Whether endings have exact values that count: open, and no race."""
        rules = self.rules
        return rules.open_endgame and rules.race is None and rules.hand <= MOST_ENDING_CARDS


@dataclass
class Fault:
    """Hands that a player forfeited for one reason, with the first case in words."""

    player: int
    kind: str
    """`illegal` or `raised`."""
    hands: int
    example: str


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
    seconds: tuple[float, float] = (0.0, 0.0)
    moves: tuple[int, int] = (0, 0)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in another tally; of the faults' examples the first stays."""
        self.pairs += other.pairs
        for name in ("sums", "course", "moments", "totals"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.exact = self.exact or other.exact
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
        self.faults.append(Fault(fault.player, fault.kind, fault.hands, fault.example))


def _both(mine: tuple[Any, Any], others: tuple[Any, Any]) -> tuple[Any, Any]:
    return mine[0] + others[0], mine[1] + others[1]


@dataclass
class Chunk:
    """The tally of one chunk, and the lines of its records if they were wanted."""

    tally: Tally
    records: list[str] = field(default_factory=list)


def play_chunk(players: tuple[Agent, Agent], setting: Setting, start: int, pairs: int) -> Chunk:
    """Play pairs of games from the deal (or match) number `start` on."""
    if players[0] is players[1] and players[0].keeps_state:
        raise ValueError(
            f"{players[0].name} remembers between its moves, so it can not sit on both sides: "
            "make a second one"
        )
    return _Hall(players, setting, start, pairs).play()


class _Hall:
    """The games of one chunk while they are played."""

    def __init__(
        self, players: tuple[Agent, Agent], setting: Setting, start: int, pairs: int
    ) -> None:
        self.players = players
        self.setting = setting
        self.perfect = np.array([each.perfect_endgame for each in players])
        self.exact = bool(
            setting.solvable and self.perfect.all() and not (setting.play_out or setting.records)
        )
        self.tally = Tally(pairs=pairs, exact=self.exact)
        self.lines: list[str] = []
        count = SEATS * pairs
        self.rules = setting.rules.record(setting.match)
        self.games = np.zeros(count, GAME)
        # Player one sits in seat 0 first, and in seat 1 when the deal comes again.
        self.seats = np.arange(count, dtype=np.uint8) % SEATS
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
        self.key = np.uint64(agent_key(self.seed))
        self.known = _known(setting)
        stride = np.uint64(1) if setting.match is None else MATCH_DEALS
        kernels.deal_pairs(self.rules, self.games, self.seed, np.uint64(start), stride)

    def play(self) -> Chunk:
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
        both = self.totals[0::2] + self.totals[1::2]
        self.tally.moments = both.T @ both
        self.tally.totals = both.sum(axis=0)
        return Chunk(self.tally, self.lines)

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

    def _ask(self, player: int, views: Array, part: slice, actions: Array) -> None:
        """Fill in a player's actions; where it raises, ask again by halves to find the hand."""
        agent = self.players[player]
        rng = self.rng[part].copy()
        answered = False
        try:
            if agent.keeps_state:
                places = self.places[part].copy()
                answer = agent.act(views[part], rng, indices=places)  # type: ignore[call-arg]
            else:
                answer = agent.act(views[part], rng)
            answered = True
            actions[part] = checked_answer(agent, answer, part.stop - part.start)
        except (Exception, SystemExit) as error:
            if part.stop - part.start > 1:
                middle = (part.start + part.stop) // 2
                self._ask(player, views, slice(part.start, middle), actions)
                self._ask(player, views, slice(middle, part.stop), actions)
            else:
                where = "" if answered else raised_at(error)
                self._blame(player, "raised", part.start, told_error(error), where)

    def _forfeit(self, player: int, place: int, action: int) -> None:
        if action != _RAISED:
            self._blame(player, "illegal", place, f"played {action_text(action)}")
        index = int(self.places[place])
        self.forfeits[index] = player + 1
        kernels.forfeit(self.rules, self.games, index)

    def _blame(self, player: int, kind: str, place: int, what: str, source: str = "") -> None:
        game = self.games[self.places[place]]
        where = f"deal {game['number']}, seat {game['turn']}, trick {int(game['trick']) + 1}"
        where += f"; {source}" if source else ""
        self.tally.add_fault(Fault(player, kind, 1, f"{what} ({where})"))

    def _count(self) -> int:
        """Count what is over and deal on in matches; returns how many games have ended."""
        ended = kernels.count_hands(
            self.rules, self.games, self.seats, self.counted, self.forfeits,
            self.setting.solvable, self.exact, self.perfect,
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
        for agent in self.players:
            if agent.keeps_state and len(indices):
                agent.reset(indices.copy())

    def _line(self, index: int) -> str:
        names = [each.name for each in self.players]
        seated = names if self.seats[index] == 0 else names[::-1]
        return record_of_game(self.games[index], self.setting, seated).to_line()


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
    with_trumps = rules.trumps == "upcard"
    if rules.contract == "high":
        high = low = tables(with_trumps, False)
    elif rules.contract == "low":
        high = low = tables(with_trumps, True)
    else:
        high, low = tables(with_trumps, False), tables(with_trumps, True)
    return high, low, _scratch[0]


def record_of_game(game: Any, setting: Setting, players: list[str]) -> GameRecord:
    """The record of a finished hand out of a batch; `players` by seat."""
    rules, match = setting.rules, setting.match
    tricks = []
    for trick in range(int(game["trick"])):
        actions = [int(game["led_cards"][trick]), int(game["followed_cards"][trick])]
        chosen = _choice(game, rules, trick)
        if chosen is not None:
            actions.append(chosen)
        tricks.append(TrickRecord(int(game["leaders"][trick]), tuple(actions)))
    mine, theirs = (int(each) for each in game["tricks"])
    paid = int(_pay_of(rules, game))
    pays = (paid, -paid)
    return GameRecord(
        rules=rules,
        dealer=int(game["dealer"]),
        tricks=tuple(tricks),
        counting_tricks=(mine, theirs),
        pays=pays,
        seed=setting.seed,
        number=int(game["number"]),
        match=_score_before(game, match, pays) if match is not None else None,
        meta={"players": players},
    )


def _pay_of(rules: Rules, game: Any) -> int:
    mine, theirs = (int(each) for each in game["tricks"])
    return kernels.pay_of(rules.record(), int(game["low"]), mine, theirs)


def _choice(game: Any, rules: Rules, trick: int) -> int | None:
    """What the winner of a trick took, where that was a choice."""
    left = rules.stock_cards - 2 * trick
    faced = left > 0 and (rules.faced == "every" or (rules.faced == "after-first" and trick > 0))
    ended_early = rules.race is not None and trick + 1 == int(game["trick"])
    if not rules.choice or not faced or ended_early:
        return None
    second = int(game["took_second"][trick])
    if second and rules.hidden_choice:
        return 52
    return int(game["deal"][SEATS * rules.hand + 2 * trick + second])


def _score_before(game: Any, match: Match, pays: tuple[int, int]) -> MatchScore:
    return MatchScore(
        match=match,
        points=tuple(
            int(now) - max(paid, 0) for now, paid in zip(game["points"], pays, strict=True)
        ),
        hands_won=tuple(
            int(now) - (paid > 0) for now, paid in zip(game["hands_won"], pays, strict=True)
        ),
        hands=int(game["hands"]) - 1,
    )


def warm_up_arena(players: tuple[Agent, Agent], setting: Setting) -> None:
    """Compile and load everything by playing one pair that does not count."""
    warm_up("arena", "training", lambda: play_chunk(players, setting, 0, 1))
    play_chunk(players, setting, 0, 1)
