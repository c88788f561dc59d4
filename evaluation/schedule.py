"""Schedule of a tournament: which hands are played next, and which of the results count.

All pairings advance side by side, chunk by chunk, on the same deals. A pairing's chunks count
in their order, whichever was played first, and only these decide when the pairing is done: the
number of workers changes nothing. A journal keeps every chunk, so that a run can be resumed.

Where both players claim to play endings perfectly, the exact value of an ending replaces playing
it. In a sample of the chunks endings are played out nevertheless: a player that errs there is
not trusted any more, and all of its pairings are played again from their beginning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..common.typing import Array
from ..engine.dtypes import SEATS
from ..engine.rng import key_of_bytes, siphash
from .figures import Tally, win_rate_of
from .journal import Journal
from .kernels import ENDINGS
from .match import Chunk, MatchConfig, Task

# Pairs in a chunk: large ones are faster, small ones stop sooner and spread better over workers.
_MAX_CHUNK, _MIN_CHUNK, _OPEN_CHUNK = 512, 8, 64
_CHUNKS = 32
# Playing endings out is slow, so audited chunks are smaller by this factor.
_AUDIT_FACTOR = 8
# Intervals over fewer pairs are too rough to stop at.
_MIN_PAIRS = 128
MAX_PAIRS = 1 << 40
# The first chunk of a pairing is audited, and of the others one in so many.
_AUDIT_PERIOD = np.uint64(16)
# Hashed with the key of a run and a chunk's number to draw them.
_AUDIT_DRAWS = np.uint64(1 << 11)

Both = tuple[bool, bool]
RecordWriter = Callable[[str], object]


@dataclass
class EndgameErrors:
    """Errors of a player that claims perfect endings, in a sample of its endings."""

    endgame_error: int = 0
    """Tricks given away and hands forfeited."""
    endings: int = 0


class Audit:
    """Checks of players that claim perfect endings."""

    def __init__(self, config: MatchConfig) -> None:
        self._key = key_of_bytes(config.key)
        self._solvable = config.solvable
        self.errors: dict[str, EndgameErrors] = {}
        """By name the players whose claim was refuted."""

    def samples(self, chunk: int, trusted_exact: Both) -> bool:
        """Whether the endings of a chunk are played out to check trusted players."""
        if not self._solvable or not any(trusted_exact):
            return False
        draw = siphash(self._key, np.uint64(chunk), _AUDIT_DRAWS)
        return bool(chunk == 0 or draw % _AUDIT_PERIOD == 0)

    def refutes(self, names: tuple[str, str], trusted_exact: Both, tally: Tally) -> bool:
        """Whether a trusted player erred in a chunk; its errors are recorded."""
        refuted = False
        for player in range(SEATS):
            errors = tally.endgame_errors(player)
            if trusted_exact[player] and errors:
                refuted = True
                total = self.errors.setdefault(names[player], EndgameErrors())
                total.endgame_error += errors
                total.endings += int(tally.sums[ENDINGS]) + sum(tally.failed)
        return refuted

    def still_trusted(self, names: tuple[str, str], trusted_exact: Both) -> Both:
        """The trust in each player of a pairing, less those whose claim was refuted."""
        one, two = (
            trusted and name not in self.errors
            for name, trusted in zip(names, trusted_exact, strict=True)
        )
        return one, two

    def notes(self) -> Iterator[str]:
        for name, errors in self.errors.items():
            count = errors.endgame_error
            tricks = "1 trick" if count == 1 else f"{count:,} tricks"
            yield (
                f"{name} says that it plays endings perfectly, and does not: it gave away {tricks} "
                f"in a sample of {errors.endings:,} endings. All of its endings were played out."
            )


@dataclass(frozen=True)
class Limits:
    """Stopping rule of a pairing: a number of pairs, or a precision of the win rate."""

    pairs: int
    until: float | None = None

    @property
    def chunk(self) -> int:
        most = _MAX_CHUNK if self.pairs < MAX_PAIRS else _OPEN_CHUNK
        return min(most, max(_MIN_CHUNK, self.pairs // _CHUNKS))

    def reached(self, tally: Tally) -> bool:
        """Whether a pairing needs no more hands."""
        if tally.pairs >= self.pairs:
            return True
        if self.until is None or tally.pairs < _MIN_PAIRS:
            return False
        return win_rate_of(tally).half_width <= self.until

    def fraction(self, tally: Tally) -> float:
        part = tally.pairs / self.pairs
        if self.until is not None and tally.pairs:
            # The interval shrinks with the square root of the pairs.
            part = max(part, min(1.0, (self.until / win_rate_of(tally).half_width) ** 2))
        return part


@dataclass
class PairingProgress:
    """Chunks of a pairing that are given out, returned and counted, and its tally."""

    players: tuple[str, str]
    trusted_exact: Both
    """Players whose endings count as perfect."""
    attempt: int = 0
    next_start: int = 0
    """The first pair of the next chunk."""
    next_chunk: int = 0
    counted: int = 0
    """Number of chunks in the tally: all before the first that is missing."""
    waiting: dict[int, Chunk] = field(default_factory=dict)
    """Chunks that returned before an earlier one."""
    tally: Tally = field(default_factory=Tally)
    scores: list[Array] = field(default_factory=list)
    """Scores of the deals, by chunk."""
    luck: list[Array] = field(default_factory=list)
    """Luck in these scores, with variance reduction."""
    done: bool = False


class Schedule:
    """Gives out the chunks of all pairings in turn, and counts their results."""

    def __init__(
        self,
        pairings: Sequence[tuple[tuple[str, str], Both]],
        limits: Limits,
        audit: Audit,
        *,
        journal: Journal | None = None,
        write_record: RecordWriter | None = None,
    ) -> None:
        """`pairings` are the names of two players, and their claims of exact endings."""
        self.pairings = [PairingProgress(names, trusted) for names, trusted in pairings]
        self._limits = limits
        self._audit = audit
        self._journal = journal
        self._records = None if write_record is None else _RecordQueue(write_record, len(pairings))
        self._turn = 0

    def next_task(self) -> Task | None:
        """The next chunk to play, None for none now; results in the journal are counted at once."""
        while (task := self._next_chunk()) is not None and self._journal is not None:
            if (chunk := self._journal.pop(task)) is None:
                break
            self._count(task, chunk)
        return task

    def _next_chunk(self) -> Task | None:
        count = len(self.pairings)
        for step in range(count):
            index = (self._turn + step) % count
            pairing = self.pairings[index]
            if pairing.done or pairing.next_start >= self._limits.pairs:
                continue
            audited = self._audit.samples(pairing.next_chunk, pairing.trusted_exact)
            size = self._limits.chunk
            size = max(_MIN_CHUNK, size // _AUDIT_FACTOR) if audited else size
            task = Task(
                index,
                pairing.next_chunk,
                pairing.next_start,
                min(size, self._limits.pairs - pairing.next_start),
                pairing.trusted_exact,
                audited,
                pairing.attempt,
            )
            pairing.next_start += task.pairs
            pairing.next_chunk += 1
            self._turn = index + 1
            return task
        return None

    def add(self, task: Task, chunk: Chunk) -> None:
        if self._journal is not None:
            self._journal.add(task, chunk)
        self._count(task, chunk)

    def _count(self, task: Task, chunk: Chunk) -> None:
        """Count a chunk, and later ones that were waiting for it."""
        index, pairing = task.pairing, self.pairings[task.pairing]
        if task.attempt != pairing.attempt:
            return
        pairing.waiting[task.chunk] = chunk
        while not pairing.done and (ready := pairing.waiting.pop(pairing.counted, None)):
            if self._audit.refutes(pairing.players, pairing.trusted_exact, ready.tally):
                self._restart(index)
                break
            if self._records is not None:
                self._records.add(pairing.counted, index, ready.records)
            pairing.counted += 1
            pairing.tally.add(ready.tally)
            pairing.scores.append(ready.scores)
            pairing.luck.append(ready.luck)
            pairing.done = self._limits.reached(pairing.tally)
        if pairing.done:
            pairing.waiting.clear()
        self.write_records()

    def _restart(self, index: int) -> None:
        """Replay a pairing from its beginning, without trust in players whose claim was refuted."""
        old = self.pairings[index]
        trusted = self._audit.still_trusted(old.players, old.trusted_exact)
        self.pairings[index] = PairingProgress(old.players, trusted, old.attempt + 1)
        if self._records is not None:
            self._records.drop(index)

    def restart_inconsistent(self) -> bool:
        """Restart pairings that trust a player who erred in another; whether there were any.

        Called once nothing is left to play: the errors found then do not depend on the workers.
        """
        inconsistent = [
            index
            for index, pairing in enumerate(self.pairings)
            if self._audit.still_trusted(pairing.players, pairing.trusted_exact)
            != pairing.trusted_exact
        ]
        for index in inconsistent:
            self._restart(index)
        return bool(inconsistent)

    def write_records(self, incomplete: bool = False) -> None:
        """Write the records that are next in order; with `incomplete`, all that there are."""
        if self._records is not None:
            unfinished = (
                []
                if incomplete
                else [
                    (pairing.counted, index)
                    for index, pairing in enumerate(self.pairings)
                    if not pairing.done
                ]
            )
            self._records.write(min(unfinished, default=(math.inf, 0)))

    def fraction_done(self) -> float:
        return sum(
            1.0 if pairing.done else self._limits.fraction(pairing.tally)
            for pairing in self.pairings
        ) / len(self.pairings)


class _RecordQueue:
    """Records of hands, written in order of chunk, then pairing."""

    def __init__(self, write: RecordWriter, pairings: int) -> None:
        self._write = write
        self._lines: dict[tuple[int, int], list[str]] = {}
        self._written = [0] * pairings
        """Number of chunks of each pairing whose records are written."""

    def add(self, chunk: int, pairing: int, lines: list[str]) -> None:
        """Queue a chunk's records, unless an earlier attempt wrote them already."""
        if chunk >= self._written[pairing]:
            self._lines[chunk, pairing] = lines

    def drop(self, pairing: int) -> None:
        self._lines = {key: lines for key, lines in self._lines.items() if key[1] != pairing}

    def write(self, before: tuple[float, int]) -> None:
        while self._lines and (key := min(self._lines)) <= before:
            for line in self._lines.pop(key):
                self._write(line)
            self._written[key[1]] = key[0] + 1
