"""Schedule of a tournament: which hands are played next, and which of the results count.

All pairings advance side by side, chunk by chunk, on the same deals. A pairing's chunks count
in their order, whichever was played first, and only these decide when the pairing is done: the
number of workers changes nothing. A journal keeps every chunk, so that a run can be resumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..common.typing import Array
from .chunk_player import Chunk, Task
from .journal import Journal
from .tally import Tally, win_rate_of

# Pairs in a chunk: large ones are faster, small ones stop sooner and spread better over workers.
_MAX_CHUNK, _MIN_CHUNK, _OPEN_CHUNK = 512, 8, 64
_CHUNKS = 32
# Intervals over fewer pairs are too rough to stop at.
_MIN_PAIRS = 128
MAX_PAIRS = 1 << 40

RecordWriter = Callable[[str], object]


@dataclass(frozen=True)
class StoppingRule:
    """When a pairing stops: after a number of pairs, or at a precision of the win rate.

    Sequential stopping: intervals are not corrected for being looked at repeatedly.
    """

    pairs: int
    until: float | None = None
    """Half of the win rate's 95 % interval, as a fraction."""

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
        return win_rate_of(tally).margin_of_error <= self.until

    def fraction(self, tally: Tally) -> float:
        part = tally.pairs / self.pairs
        if self.until is not None and tally.pairs:
            # The interval shrinks with the square root of the pairs.
            part = max(part, min(1.0, (self.until / win_rate_of(tally).margin_of_error) ** 2))
        return part


@dataclass
class PairingProgress:
    """Chunks of a pairing that are given out, returned and counted, and its tally.

    The tally contains all chunks before the first that is missing.
    """

    agents: tuple[str, str]
    perfect: tuple[bool, bool]
    """Agents whose endings count as perfect."""
    next_start: int = 0
    """The first pair of the next chunk."""
    waiting: dict[int, Chunk] = field(default_factory=dict)
    """Chunks that returned before an earlier one, by their first pair."""
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
        pairings: Sequence[PairingProgress],
        stopping_rule: StoppingRule,
        *,
        journal: Journal | None = None,
        write_record: RecordWriter | None = None,
    ) -> None:
        self.pairings = pairings
        self._stopping_rule = stopping_rule
        self._journal = journal
        self._write_record = write_record
        self._records: dict[tuple[int, int], list[str]] = {}
        """Of counted chunks, by first pair and pairing: they are written in this order."""
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
            if pairing.done or pairing.next_start >= self._stopping_rule.pairs:
                continue
            size = min(self._stopping_rule.chunk, self._stopping_rule.pairs - pairing.next_start)
            task = Task(index, pairing.next_start, size)
            pairing.next_start += size
            self._turn = index + 1
            return task
        return None

    def add(self, task: Task, chunk: Chunk) -> None:
        if self._journal is not None:
            self._journal.add(task, chunk)
        self._count(task, chunk)

    def _count(self, task: Task, chunk: Chunk) -> None:
        """Count a chunk, and later ones that were waiting for it."""
        pairing = self.pairings[task.pairing]
        pairing.waiting[task.start] = chunk
        while not pairing.done and (ready := pairing.waiting.pop(pairing.tally.pairs, None)):
            if self._write_record is not None:
                self._records[pairing.tally.pairs, task.pairing] = ready.records
            pairing.tally.add(ready.tally)
            pairing.scores.append(ready.scores)
            pairing.luck.append(ready.luck)
            pairing.done = self._stopping_rule.reached(pairing.tally)
        if pairing.done:
            pairing.waiting.clear()
        unfinished = (
            (pairing.tally.pairs, index)
            for index, pairing in enumerate(self.pairings)
            if not pairing.done
        )
        self._write_records(min(unfinished, default=(math.inf, 0)))

    def write_records(self) -> None:
        """Write all records that there are, of a run that ended early."""
        self._write_records((math.inf, 0))

    def _write_records(self, before: tuple[float, int]) -> None:
        while self._write_record is not None and self._records:
            key = min(self._records)
            if key >= before:
                return
            for line in self._records.pop(key):
                self._write_record(line)

    def fraction_done(self) -> float:
        return sum(
            1.0 if pairing.done else self._stopping_rule.fraction(pairing.tally)
            for pairing in self.pairings
        ) / len(self.pairings)
