"""Runs of the arena: some players against one or all others, to a number of hands or a precision.

All pairings advance side by side, chunk by chunk, on the same deals. What counts
of a pairing are its first chunks without a gap, and when it is done is decided on
those alone, so that the number of workers changes nothing.

Where both players say that they play endings perfectly, their exact value stands for
playing them. A sample of every pairing's chunks is played out all the same: who slips
there is believed no more, and the pairing is played again from its beginning.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ..agents.base import Agent
from ..agents.calls import claims_perfection
from ..agents.common_rules import common_rules
from ..agents.registry import named_player
from ..common.executors import LOCAL, Executor, WorkersLost, check_place
from ..common.executors.options import MOST_WORKERS
from ..common.executors.processes import END_SIGNALS
from ..common.signals import Signals
from ..common.typing import Array
from ..engine.batch.config import RulesLike
from ..engine.dtypes import SEATS
from ..engine.rng import KEY_BYTES, fresh_secret, key_of_bytes, siphash
from ..engine.rules import Match
from . import kernels as k
from .aivat import check_luck
from .journal import Journal
from .match import Chunk, Setting, Tally
from .packing import packed
from .results import (
    Ladder,
    Pairing,
    Result,
    came_out_level,
    details_of,
    ladder_of,
    pairing_of,
    strongest_first,
)
from .workers import Bench, PlayerSpec, Task, bench_for, played_here

if TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULT_HANDS = 10_000
# Pairs in a chunk: many are played faster, few stop sooner and spread better over workers.
_MOST_CHUNK, _LEAST_CHUNK, _OPEN_CHUNK = 512, 8, 64
_CHUNKS = 32
# A chunk in so many is a trial of what players say of their endings, and the first always is.
# Played out, endings take long, so that such a chunk has only this part of the others' pairs.
_TRIALS = np.uint64(16)
_TRIAL_PART = 8
# What the key of a run is hashed with, beside a chunk's number, to draw them.
_TRIAL_DRAWS = np.uint64(1 << 11)
# A precision is not believed before so many pairs were played.
_LEAST_PAIRS = 128
_MOST_PAIRS = 1 << 40

Records = Callable[[str], object]


class ArenaOptions(TypedDict, total=False):
    """How `evaluate` and `ladder` play: the keywords of `Arena`, which tells what they mean."""

    hands: int | None
    until: float | None
    match: Match | None
    seed: int
    key: str | None
    workers: int
    on: str
    play_out: bool
    without_luck: bool
    records: Records | None
    resume: Path | None


Progress = Callable[["Arena"], None]


@dataclass
class _Course:
    """How far a pairing is: what was given out, what came back, and what counts."""

    believed: tuple[bool, bool]
    """Whose endings count as perfect."""
    attempt: int = 0
    start: int = 0
    """The first pair of the chunk that is given out next."""
    written: int = 0
    """Chunks whose records are written."""
    tally: Tally = field(default_factory=Tally)
    scores: list[Array] = field(default_factory=list)
    """Of each chunk the scores of its deals, where ratings need them."""
    given: int = 0
    counted: int = 0
    waiting: dict[int, Chunk] = field(default_factory=dict)
    done: bool = False

    def anew(self, believed: tuple[bool, bool]) -> _Course:
        """The same from its beginning, with fewer believed; what was written stays."""
        return _Course(believed, self.attempt + 1, written=self.written)


@dataclass
class _Slip:
    """A player that said its endings are perfect, and what it did in a sample of them."""

    slips: int
    endings: int


class Arena:
    """A run of the arena; `evaluate` and `ladder` make one and play it.

    Without `rules` the classic ones are played, or those of the players' checkpoints. A player
    that is written `NAME=PLAYER` is called so.
    `pairings` names by place in `players` who plays whom. With `hands` every pairing
    plays so many hands (matches, where a match is played), an even number, since half
    of them have the seats exchanged; with `until` it stops as soon
    as half of the win rate's interval is no longer than that, and `hands` is the most
    it plays. `key`, 32 hexadecimal digits, stands for all that is drawn beside the
    deals of the seed; without it a secret is drawn, and kept in the result. `on` says where the
    workers are: `local` processes, or a cluster of Ray, as `ray` or `ray://HOST:PORT`.
    `without_luck` takes the luck of the stock out of win rates, margins and points. `resume` is
    a file that keeps what is played, and from which the same run goes on.
    """

    def __init__(
        self,
        players: Sequence[PlayerSpec],
        pairings: Sequence[tuple[int, int]],
        rules: RulesLike | None = None,
        *,
        hands: int | None = None,
        until: float | None = None,
        match: Match | None = None,
        seed: int = 0,
        key: str | None = None,
        workers: int = 1,
        on: str = LOCAL,
        anchor: str | None = None,
        rated: bool = False,
        play_out: bool = False,
        without_luck: bool = False,
        records: Records | None = None,
        resume: Path | None = None,
    ) -> None:
        self._journal = None if resume is None else Journal(resume)
        if self._journal is not None and key is None:
            key = self._journal.key
        self.setting = Setting(
            common_rules(players, rules), match, _whole(seed, "seed", 0, 2**64 - 1),
            fresh_secret() if key is None else _key_bytes(key),
            records=records is not None, play_out=play_out, without_luck=without_luck,
        )  # fmt: skip
        if without_luck:
            check_luck(self.setting.rules, match)
        self.workers = _whole(workers, "workers", 1, MOST_WORKERS)
        self.on = check_place(on)
        if until is not None and not 0 < until < 0.5:
            raise ValueError(f"until is {until}: it has to be more than 0 % and less than 50 %")
        self.until = until
        if hands is None and until is None:
            hands = DEFAULT_HANDS
        if hands is not None:
            hands = _even(_whole(hands, "hands", 1, 2 * _MOST_PAIRS))
        # Half of the hands are the other half with exchanged seats.
        self.pairs = _MOST_PAIRS if hands is None else hands // SEATS
        most = _MOST_CHUNK if hands is not None else _OPEN_CHUNK
        self.chunk = min(most, max(_LEAST_CHUNK, self.pairs // _CHUNKS))
        self._specs = tuple((players[i], players[j]) for i, j in pairings)
        self._bench = Bench(self._specs, self.setting)
        # Made here as well: what can not play is told at once, and by its own name.
        self._agents = [self._bench.halves(place)[0] for place in range(len(pairings))]
        self.names = _names(players, pairings, self._agents)
        self._places = list(pairings)
        made = dict(zip(sum(pairings, ()), sum(self._agents, ()), strict=True))
        self.details = tuple(details_of(name, made[i]) for i, name in enumerate(self.names))
        """What each player is made of."""
        for name in self.names if rated else ():
            if self.names.count(name) > 1:
                raise ValueError(f"{name} stands twice in the ladder: each player once")
        self.anchor, self._rated = anchor, rated
        if anchor is not None and anchor not in self.names:
            raise ValueError(f"anchor is {anchor!r}: it has to be one of {', '.join(self.names)}")
        if self.workers > 1 and not all(isinstance(each, str) for each in players):
            raise ValueError(
                "players that are objects play in this process alone: give their names, or "
                "workers=1"
            )
        if self._journal is not None:
            self._journal.begin(self._identity(players))
        self._write = records
        self._lines: dict[tuple[int, int], list[str]] = {}
        self.courses = [
            _Course((claims_perfection(one), claims_perfection(two))) for one, two in self._agents
        ]
        self.slipped: dict[str, _Slip] = {}
        """The players that are not perfect in the endgame and said so."""
        self._turn = 0
        self.complete = False
        self.replaced = 0
        self.stopped_by: str | None = None
        self.signal = 0
        """The one that stopped it, if one did."""
        self._begun = time.monotonic()
        self.seconds = 0.0

    def _identity(self, players: Sequence[PlayerSpec]) -> dict[str, Any]:
        """What has to be the same in a run that goes on from a file."""
        if not all(isinstance(each, str) for each in players):
            raise ValueError("a run with players that are objects can not be resumed: name them")
        setting = self.setting
        return {
            "players": [*players],
            "details": self.details,
            "pairings": self._places,
            "rules": setting.rules.as_mapping(),
            "match": str(setting.match),
            "seed": setting.seed,
            "key": setting.key.hex(),
            "hands": SEATS * self.pairs,
            "until": self.until,
            "play_out": setting.play_out,
            "records": setting.records,
            "without_luck": setting.without_luck,
        }

    # -- tasks

    def next_task(self) -> Task | None:
        """The next chunk to be played; those that a file kept are taken from there."""
        while (task := self._next_chunk()) is not None and self._journal is not None:
            if (kept := self._journal.take(task)) is None:
                break
            self._take_in(task, kept)
        return task

    def _next_chunk(self) -> Task | None:
        """The next chunk of the pairing whose turn it is."""
        count = len(self.courses)
        for step in range(count):
            place = (self._turn + step) % count
            course = self.courses[place]
            if course.done or course.start >= self.pairs:
                continue
            trial = self._is_trial(course)
            wanted = max(_LEAST_CHUNK, self.chunk // _TRIAL_PART) if trial else self.chunk
            pairs = min(wanted, self.pairs - course.start)
            task = Task(
                place, course.given, course.start, pairs, course.believed, trial, course.attempt
            )
            course.start += pairs
            course.given += 1
            self._turn = place + 1
            return task
        return None

    def _is_trial(self, course: _Course) -> bool:
        """Whether the next chunk shows if those who are believed deserve it."""
        if not any(course.believed) or not self.setting.solvable:
            return False
        drawn = siphash(key_of_bytes(self.setting.key), np.uint64(course.given), _TRIAL_DRAWS)
        return bool(course.given == 0 or drawn % _TRIALS == 0)

    def _take_in(self, task: Task, chunk: Chunk) -> None:
        """Count a chunk, and those that were waiting for it."""
        place, course = task.pairing, self.courses[task.pairing]
        if task.attempt != course.attempt:
            return
        course.waiting[task.chunk] = chunk
        while not course.done and course.counted in course.waiting:
            arrived = course.waiting.pop(course.counted)
            if self._caught(place, arrived.tally):
                break
            course.counted += 1
            course.tally.add(arrived.tally)
            if self._rated:
                course.scores.append(arrived.scores)
            if self._write is not None and course.counted > course.written:
                self._lines[course.counted - 1, place] = arrived.records
            course.done = self._is_done(place)
        if course.done:
            course.waiting.clear()
        self._write_records()

    def _caught(self, place: int, tally: Tally) -> bool:
        """Whether somebody slipped who was believed; the pairing is then begun anew."""
        course = self.courses[place]
        caught = [p for p in range(SEATS) if course.believed[p] and tally.slips(p)]
        for player in caught:
            name = self.names[self._places[place][player]]
            slip = self.slipped.setdefault(name, _Slip(0, 0))
            slip.slips += tally.slips(player)
            slip.endings += int(tally.sums[k.ENDINGS]) + sum(tally.failed)
        if caught:
            self._begin_anew(place)
        return bool(caught)

    def _begin_anew(self, place: int) -> None:
        """Play a pairing from its beginning, whoever slipped anywhere believed no more."""
        course, (i, j) = self.courses[place], self._places[place]
        one, two = (self.names[each] not in self.slipped for each in (i, j))
        self.courses[place] = course.anew((course.believed[0] and one, course.believed[1] and two))
        for key in [key for key in self._lines if key[1] == place]:
            del self._lines[key]

    def _doubtful(self) -> bool:
        """Begin anew what is left that believes a player who slipped elsewhere; was there any?"""
        doubtful = [
            place
            for place, course in enumerate(self.courses)
            for player, believed in zip(self._places[place], course.believed, strict=True)
            if believed and self.names[player] in self.slipped
        ]
        for place in dict.fromkeys(doubtful):
            self._begin_anew(place)
        return bool(doubtful)

    def _write_records(self, whatever_there_is: bool = False) -> None:
        """Write the records of chunks in one order, whoever played them first."""
        while self._lines:
            key = min(self._lines)
            earlier = [
                place
                for place, course in enumerate(self.courses)
                if not course.done and (course.counted, place) < key
            ]
            if self._write is None or (earlier and not whatever_there_is):
                return
            for line in self._lines.pop(key):
                self._write(line)
            self.courses[key[1]].written = key[0] + 1

    def _is_done(self, place: int) -> bool:
        tally = self.courses[place].tally
        if tally.pairs >= self.pairs:
            return True
        if self.until is None or tally.pairs < _LEAST_PAIRS:
            return False
        return self.pairing(place).win_rate.half_width <= self.until

    # -- the run

    def play(self, progress: Progress | None = None) -> Result:
        """Play to the end; Ctrl-C ends it early, with what there is."""
        self._begun = time.monotonic()
        with Signals(_signals()) as signals:
            try:
                with signals.at_once(), self._played() as chunks:
                    for task, chunk in chunks:
                        if self._journal is not None:
                            self._journal.add(task, chunk)
                        self._take_in(task, chunk)
                        self.seconds = time.monotonic() - self._begun
                        if progress is not None:
                            progress(self)
                        if signals.came is not None:
                            raise KeyboardInterrupt
                self.complete = True
            except WorkersLost as error:
                self.stopped_by = (
                    f"{error}; with workers=1 all is played in this process, where the cause may "
                    "show"
                )
            except BaseException as error:
                # A compiler that a signal meets may swallow it, or fail with something else.
                if signals.came is None and not isinstance(error, KeyboardInterrupt):
                    raise
                self.signal = signals.came or signal.SIGINT
                name = signal.Signals(self.signal).name
                self.stopped_by = f"stopped by {_KEYS.get(name, name)}"
        self._write_records(whatever_there_is=True)
        self.seconds = time.monotonic() - self._begun
        return self.result()

    @contextmanager
    def _played(self) -> Iterator[Iterator[tuple[Task, Chunk]]]:
        if self.workers == 1 and self.on == LOCAL:
            yield self._until_nobody_doubts(lambda: played_here(self._bench.play, self.next_task))
            return
        players, files = packed(chain.from_iterable(self._specs), self.on)
        setup = self.setting, players
        with Executor(bench_for, setup, self.workers, self.on, files=files) as self.executor:
            try:
                yield self._until_nobody_doubts(lambda: self.executor.results(self.next_task))
            finally:
                self.replaced = self.executor.replaced

    def _until_nobody_doubts(
        self, played: Callable[[], Iterator[tuple[Task, Chunk]]]
    ) -> Iterator[tuple[Task, Chunk]]:
        """What was played, until no pairing believes who slipped in another."""
        yield from played()
        while self._doubtful():
            yield from played()

    # -- what there is

    def pairing(self, place: int) -> Pairing:
        """The figures of a pairing so far."""
        i, j = self._places[place]
        course, names = self.courses[place], (self.names[i], self.names[j])
        return pairing_of(names, course.believed, self.setting, course.tally)

    @property
    def hands(self) -> int:
        """Hands played so far (matches, where a match is played)."""
        return SEATS * sum(course.tally.pairs for course in self.courses)

    def result(self) -> Result:
        """Everything found so far."""
        played = [place for place, course in enumerate(self.courses) if course.tally.pairs]
        pairings = tuple(map(self.pairing, played))
        found: Ladder | None = None
        if self._rated:
            scores = [np.concatenate(self.courses[place].scores) for place in played]
            found = ladder_of(self.names, pairings, scores, self.anchor)
        if found is not None:
            pairings = strongest_first(found, pairings)
        return Result(
            rules=self.setting.rules.name,
            match=str(self.setting.match) if self.setting.match else None,
            seed=self.setting.seed,
            key=self.setting.key.hex(),
            players=self.names,
            pairings=pairings,
            ladder=found,
            details=self.details,
            complete=self.complete,
            signal=self.signal,
            until=self.until,
            notes=tuple(self._notes(pairings, found)),
            seconds=self.seconds,
            workers=self.workers,
        )

    def _notes(self, pairings: tuple[Pairing, ...], found: Ladder | None) -> Iterator[str]:
        if self.stopped_by is not None:
            yield f"The run is not complete: {self.stopped_by}."
        if self._journal is not None and self._journal.fault:
            yield f"{self._journal.path} could not be written to the end: {self._journal.fault}."
        if any(each.exact_endings for each in pairings):
            yield (
                "Where both players are perfect in the endgame it was not played: its exact value "
                "took its place, which is what perfect play comes to."
            )
        if self.setting.without_luck:
            yield (
                "Win rate, margin and points are without the luck of the stock, which is nothing "
                "on average; what was won with it stands under as played."
            )
        for name, slip in self.slipped.items():
            tricks = "1 trick" if slip.slips == 1 else f"{slip.slips:,} tricks"
            yield (
                f"{name} says that it plays endings perfectly, and does not: it gave away {tricks} "
                f"in a sample of {slip.endings:,} endings. All of its endings were played out."
            )
        if self.replaced:
            died = "A worker process" if self.replaced == 1 else f"{self.replaced} worker processes"
            yield f"{died} died; the deals were played again."
        if found is not None and found.ratings.padded:
            yield (
                "A player won or lost everything that ties it to the others: ratings were found "
                "with half a tie added to every pairing."
            )
        if found is not None and any(math.isinf(elo.half_width) for elo in found.ratings.elo):
            yield "Where Elo has no interval (–), these results tell none: more hands may."
        for (i, j), course in zip(self._places, self.courses, strict=True):
            if came_out_level(course.tally):
                yield (
                    f"{self.names[i]} and {self.names[j]} came out level on every deal, as players "
                    "do that make the same choices in every hand: nothing was measured."
                )
        if self.complete and self.until is not None:
            wide = [each for each in pairings if each.win_rate.half_width > self.until]
            if wide:
                yield f"{SEATS * self.pairs:,} hands a pairing did not reach {self.until:.2%}."
        forfeits = [forfeit for each in pairings for forfeit in each.forfeits]
        yield from (f"{forfeit}." for forfeit in forfeits)
        if forfeits and self.setting.records:
            yield "Forfeited hands have no record."


_KEYS = {"SIGINT": "Ctrl-C"}


def _signals() -> list[int]:
    """Signals that end a run with what there is: those that do not end the process anyway."""
    return [number for number in END_SIGNALS if callable(signal.getsignal(number))]


def _whole(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is {value!r}: it has to be a whole number from {least} to {most}")
    return value


def _even(hands: int) -> int:
    """A number of hands that pairs of exchanged seats make up."""
    if hands % SEATS:
        near = f"{hands - 1} or {hands + 1}" if hands > 1 else "2"
        raise ValueError(
            f"hands is {hands}: every deal is played twice with the seats exchanged, so it has to "
            f"be an even number; give {near}"
        )
    return hands


def _key_bytes(text: str) -> bytes:
    """The key that hexadecimal digits write."""
    try:
        found = bytes.fromhex(text)
    except (TypeError, ValueError):
        found = b""
    if len(found) != KEY_BYTES:
        raise ValueError(
            f"key is {text!r}: it has to be {2 * KEY_BYTES} hexadecimal digits, as a result tells "
            "it; leave it out for a new one"
        )
    return found


def _names(
    players: Sequence[PlayerSpec],
    pairings: Sequence[tuple[int, int]],
    agents: Sequence[tuple[Agent, Agent]],
) -> tuple[str, ...]:
    """What each player is called."""
    names = [named_player(each)[0] if isinstance(each, str) else "" for each in players]
    for places, pair in zip(pairings, agents, strict=True):
        for place, agent in zip(places, pair, strict=True):
            names[place] = names[place] or agent.name
    known = dict(zip(names, players, strict=True))
    for name, player in zip(names, players, strict=True):
        if isinstance(player, str) and known[name] != player:
            raise ValueError(f"{name} is what {known[name]} and {player} are called: name one anew")
    return tuple(names)


def evaluate(
    player: PlayerSpec,
    against: PlayerSpec | Sequence[PlayerSpec],
    rules: RulesLike | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[ArenaOptions],
) -> Result:
    """Measure one player against one or more others; options as of `Arena`.

    >>> evaluate("threshold", "random", hands=200).pairings[0].win_rate.value > 0.9
    True
    """
    several = isinstance(against, (list, tuple))
    others = list(against) if several else [against]
    pairings = [(0, place) for place in range(1, len(others) + 1)]
    return Arena([player, *others], pairings, rules, **options).play(progress)


def ladder(
    players: Sequence[PlayerSpec],
    rules: RulesLike | None = None,
    *,
    progress: Progress | None = None,
    anchor: str | None = None,
    **options: Unpack[ArenaOptions],
) -> Result:
    """Let everybody play everybody, and rate them; options as of `Arena`."""
    if len(players) < 2:
        raise ValueError("a ladder needs two players or more")
    pairings = list(combinations(range(len(players)), 2))
    return Arena(players, pairings, rules, anchor=anchor, rated=True, **options).play(progress)
