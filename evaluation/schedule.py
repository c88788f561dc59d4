"""Schedule of a tournament: which hands are played next, and which of the results count.

All pairings advance side by side, chunk by chunk, on the same deals. A pairing's chunks count
in their order, whichever was played first, and only these decide when the pairing is done: the
number of workers changes nothing. A journal keeps every chunk, so that a run can be resumed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..common.files import CannotWrite
from ..common.typing import Array
from .audit import Audit, Both
from .chunks import Chunk, Tally, Task
from .figures import win_rate_of

# Pairs in a chunk: many are played faster, few stop sooner and spread better over workers.
_MOST_CHUNK, _LEAST_CHUNK, _OPEN_CHUNK = 512, 8, 64
_CHUNKS = 32
# Played out, endings take long, so that an audited chunk has only this part of the others' pairs.
_AUDITED_PART = 8
# A precision is not believed before so many pairs were played.
_LEAST_PAIRS = 128
MOST_PAIRS = 1 << 40

Records = Callable[[str], object]


@dataclass(frozen=True)
class Limits:
    """When a pairing is done: after so many pairs, or at a precision of its win rate."""

    pairs: int
    until: float | None = None

    @property
    def chunk(self) -> int:
        """Pairs in a chunk."""
        most = _MOST_CHUNK if self.pairs < MOST_PAIRS else _OPEN_CHUNK
        return min(most, max(_LEAST_CHUNK, self.pairs // _CHUNKS))

    def reached(self, tally: Tally) -> bool:
        """Whether a pairing needs no more hands."""
        if tally.pairs >= self.pairs:
            return True
        if self.until is None or tally.pairs < _LEAST_PAIRS:
            return False
        return win_rate_of(tally).half_width <= self.until

    def fraction(self, tally: Tally) -> float:
        """How much of a pairing is played, as far as that can be estimated."""
        part = tally.pairs / self.pairs
        if self.until is not None and tally.pairs:
            # The interval shrinks with the root of the pairs.
            reach = win_rate_of(tally).half_width
            part = max(part, min(1.0, (self.until / reach) ** 2) if reach else 1.0)
        return part


@dataclass
class Progress:
    """Progress of a pairing: what was given out, what came back, and what counts."""

    players: tuple[str, str]
    trusted_exact: Both
    """Whose endings count as perfect."""
    attempt: int = 0
    next_start: int = 0
    """The first pair of the next chunk."""
    next_chunk: int = 0
    counted: int = 0
    """Chunks that count: all before the first that is missing."""
    waiting: dict[int, Chunk] = field(default_factory=dict)
    """Chunks that came back before an earlier one."""
    tally: Tally = field(default_factory=Tally)
    scores: list[Array] = field(default_factory=list)
    """Scores of the deals, by chunk; ratings need them."""
    done: bool = False


class Schedule:
    """Gives out chunks of all pairings in turn, and takes their results in."""

    def __init__(
        self,
        pairings: Sequence[tuple[tuple[str, str], Both]],
        limits: Limits,
        audit: Audit,
        *,
        rated: bool = False,
        journal: Journal | None = None,
        write_record: Records | None = None,
    ) -> None:
        """`pairings` are the names of two players, and whose endings are claimed to be exact."""
        self.pairings = [Progress(names, trusted) for names, trusted in pairings]
        self._limits = limits
        self._audit = audit
        self._rated = rated
        self._journal = journal
        self._records = None if write_record is None else _Records(write_record, len(pairings))
        self._turn = 0

    def next_task(self) -> Task | None:
        """The next chunk to play, if there is one now; those in the journal are taken from it."""
        while (task := self._next_chunk()) is not None and self._journal is not None:
            if (chunk := self._journal.pop(task)) is None:
                break
            self._take_in(task, chunk)
        return task

    def _next_chunk(self) -> Task | None:
        """The next chunk of the pairing whose turn it is."""
        count = len(self.pairings)
        for step in range(count):
            place = (self._turn + step) % count
            pairing = self.pairings[place]
            if pairing.done or pairing.next_start >= self._limits.pairs:
                continue
            audited = self._audit.samples(pairing.next_chunk, pairing.trusted_exact)
            size = self._limits.chunk
            size = max(_LEAST_CHUNK, size // _AUDITED_PART) if audited else size
            task = Task(
                place, pairing.next_chunk, pairing.next_start,
                min(size, self._limits.pairs - pairing.next_start),
                pairing.trusted_exact, audited, pairing.attempt,
            )  # fmt: skip
            pairing.next_start += task.pairs
            pairing.next_chunk += 1
            self._turn = place + 1
            return task
        return None

    def add(self, task: Task, chunk: Chunk) -> None:
        """Take in a chunk that was played, and keep it in the journal."""
        if self._journal is not None:
            self._journal.add(task, chunk)
        self._take_in(task, chunk)

    def _take_in(self, task: Task, chunk: Chunk) -> None:
        """Count a chunk, and those that were waiting for it."""
        place, pairing = task.pairing, self.pairings[task.pairing]
        if task.attempt != pairing.attempt:
            return
        pairing.waiting[task.chunk] = chunk
        while not pairing.done and (ready := pairing.waiting.pop(pairing.counted, None)):
            if self._audit.refutes(pairing.players, pairing.trusted_exact, ready.tally):
                self._begin_anew(place)
                break
            if self._records is not None:
                self._records.add(pairing.counted, place, ready.records)
            pairing.counted += 1
            pairing.tally.add(ready.tally)
            if self._rated:
                pairing.scores.append(ready.scores)
            pairing.done = self._limits.reached(pairing.tally)
        if pairing.done:
            pairing.waiting.clear()
        self.write_records()

    def _begin_anew(self, place: int) -> None:
        """Play a pairing from its beginning, without trust in players whose claim was refuted."""
        old = self.pairings[place]
        trusted = self._audit.still_trusted(old.players, old.trusted_exact)
        self.pairings[place] = Progress(old.players, trusted, old.attempt + 1)
        if self._records is not None:
            self._records.drop(place)

    def restart_doubted(self) -> bool:
        """Begin pairings anew that trust a player who erred in another; whether there were any.

        Only once nothing is left to play: which errors are found does then not depend on workers.
        """
        doubted = [
            place
            for place, pairing in enumerate(self.pairings)
            if self._audit.still_trusted(pairing.players, pairing.trusted_exact)
            != pairing.trusted_exact
        ]
        for place in doubted:
            self._begin_anew(place)
        return bool(doubted)

    def write_records(self, incomplete: bool = False) -> None:
        """Write the records whose turn has come, or when nothing more will come, all there are."""
        if self._records is not None:
            open_ones = [] if incomplete else [
                (pairing.counted, place)
                for place, pairing in enumerate(self.pairings) if not pairing.done
            ]  # fmt: skip
            self._records.write(min(open_ones, default=(math.inf, 0)))

    def fraction_done(self) -> float:
        """How much of the run is played."""
        return sum(
            1.0 if pairing.done else self._limits.fraction(pairing.tally)
            for pairing in self.pairings
        ) / len(self.pairings)  # fmt: skip


class _Records:
    """Records of hands, written in one order: by chunk, then by pairing."""

    def __init__(self, write: Records, pairings: int) -> None:
        self._write = write
        self._lines: dict[tuple[int, int], list[str]] = {}
        self._written = [0] * pairings
        """Chunks of each pairing whose records are written."""

    def add(self, chunk: int, place: int, lines: list[str]) -> None:
        """Take in a chunk's records, unless an earlier attempt wrote them already."""
        if chunk >= self._written[place]:
            self._lines[chunk, place] = lines

    def drop(self, place: int) -> None:
        """Forget the records of a pairing that are not written."""
        self._lines = {key: lines for key, lines in self._lines.items() if key[1] != place}

    def write(self, before: tuple[float, int]) -> None:
        """Write all records before a chunk and pairing, which are still to come."""
        while self._lines and (key := min(self._lines)) <= before:
            for line in self._lines.pop(key):
                self._write(line)
            self._written[key[1]] = key[0] + 1


class _Line(msgspec.Struct):
    task: Task
    chunk: Chunk


_LINES = msgspec.json.Decoder(_Line, dec_hook=lambda _, value: np.array(value))


class Journal:
    """Chunks in a file, a line each, below a line that says what run they are of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault = ""
        """The error that kept it from being written."""
        self._run: dict[str, Any] | None = None
        self._chunks: dict[Task, Chunk] = {}
        data = path.read_bytes() if path.exists() else b""
        # A line without an end was being written when its process died.
        whole = data.rpartition(b"\n")[0]
        self._size = len(whole) + 1
        try:
            first, *lines = whole.splitlines() or [data or b"null"]
            self._run = msgspec.json.decode(first, type=dict[str, Any] | None)
            for line in map(_LINES.decode, lines):
                line.chunk.scores = line.chunk.scores.astype(np.float32)
                self._chunks[line.task] = line.chunk
        except msgspec.MsgspecError as error:
            raise ValueError(
                f"{path} is no file that a run goes on from ({error}): name another"
            ) from None

    @property
    def key(self) -> str | None:
        """The key of its run; None where nothing is in it."""
        return None if self._run is None else self._run.get("key")

    def begin(self, run: dict[str, Any]) -> None:
        """Resume a run, which has to be the one that the file is of."""
        run = msgspec.json.decode(msgspec.json.encode(run))
        before = run if self._run is None else self._run
        for name, value in run.items():
            if (there := before.get(name)) != value:
                raise ValueError(
                    f"{self.path} is of another run: {name} is {there!r} there and {value!r} here; "
                    "name another file"
                )
        try:
            if self._run is None:
                self.path.write_bytes(msgspec.json.encode(run) + b"\n")
            else:
                os.truncate(self.path, self._size)
        except OSError as error:
            raise CannotWrite.for_path(self.path, error) from error

    def pop(self, task: Task) -> Chunk | None:
        """The result of a task, if it was played before."""
        return self._chunks.pop(task, None)

    def add(self, task: Task, chunk: Chunk) -> None:
        """Append the result of a task. A full disk costs the file, and not the run."""
        if self.fault:
            return
        line = msgspec.json.encode(_Line(task, chunk), enc_hook=Array.tolist)
        try:
            with self.path.open("ab") as file:
                file.write(line + b"\n")
        except OSError as error:
            self.fault = f"{error.strerror or error}"
