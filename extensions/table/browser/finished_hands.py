# pyright: strict
"""Finished hands for review: replays, and analyses in the background.

One thread analyzes one hand at a time; the latest analyses are kept in memory.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from msgspec import Struct

from german_whist.engine.records import GameRecord, RecordError

from ..game.database import StoredHand
from ..game.store import Store
from ..review.analysis import Analysis, AnalysisStopped, analyze
from ..review.replay import ReplayResult, replay_result
from ..review.what_if import what_if
from ..text.labels import label
from ..text.words import display_name, title_of
from .live_table import log
from .messages import HandRef, Refused

_MAX_ANALYSES = 200
_MAX_LISTED = 500
_CHANGE = re.compile(r"(\d{1,3})\.(\d{1,3})")
"""A decision by its number, and the action that takes the place of the one played."""
_SECONDS_TO_ASK = 90
"""An analysis of a changed hand that nobody has asked for so long is given up.

Hidden tabs ask once a minute.
"""
_MAX_HAND = 2**31
"""More than any match has, and within the integers of SQLite."""


class HandSummary(Struct):
    """A finished hand in a list."""

    replay: HandRef
    rules_title: str
    result: ReplayResult
    when: float
    """Seconds since 1970."""
    opponent: str


class AnalysisProgress(Struct):
    """The finished fraction of an analysis."""

    done: float
    ready: bool = False


@dataclass
class AnalysisJob:
    """An analysis, pending or finished."""

    what_if: bool
    """Whether it is of a changed hand."""
    last_request: float = 0.0
    """By the monotonic clock."""
    done: float = 0.0
    result: Analysis | None = None
    error: str | None = None
    stored: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    """Tables and hands it was stored for: the same deal may have been played alike twice."""


class FinishedHands:
    """Replays and analyses."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, AnalysisJob] = OrderedDict()
        self._stop = threading.Event()
        self._executor = ThreadPoolExecutor(1, "analysis")

    def close(self) -> None:
        self._stop.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- hands

    def latest(self) -> list[HandSummary]:
        """The hands that were played to their end, the latest first."""
        return [_summary(hand) for hand in self._store.hands.latest(_MAX_LISTED)]

    def record(self, name: str, hand: int) -> GameRecord:
        """Hand number `hand`, from 1, of a table.

        `NAME~N.ACTION` is that hand with another action at decision `N`.
        """
        return GameRecord.from_line(self._line(name, hand))

    def _line(self, name: str, hand: int) -> str:
        name, *changes = name.split("~")
        stored = self._store.hands.get(name, hand) if hand <= _MAX_HAND else None
        if stored is None or stored.given_up:
            raise Refused(label("refused.no_hand"), 404)
        line = stored.record
        for change in changes:
            match = _CHANGE.fullmatch(change)
            if match is None:
                raise Refused(label("refused.no_hand"), 404)
            line = what_if(line, int(match[1]), int(match[2]))
        return line

    # -- analyses

    def analysis(self, name: str, hand: int) -> Analysis | AnalysisProgress:
        line, key = self._line(name, hand), (name, hand)
        with self._lock:
            job = self._jobs.get(line)
            if job is None:
                job = self._jobs[line] = AnalysisJob(what_if="~" in name)
                while len(self._jobs) > _MAX_ANALYSES:
                    self._jobs.popitem(last=False)
                self._executor.submit(self._analyze, line, job, key)
            job.last_request = time.monotonic()
        if job.error is not None:
            raise RecordError(job.error)
        if job.result is None:
            return AnalysisProgress(round(job.done, 3))
        self._store_result(job, key)
        return job.result

    def finished_analysis(self, name: str, hand: int) -> Analysis | None:
        """The analysis of a hand if it is finished; does not start one."""
        line = self._line(name, hand)
        with self._lock:
            job = self._jobs.get(line)
        return None if job is None else job.result

    def _store_result(self, job: AnalysisJob, key: tuple[str, int]) -> None:
        if job.result is not None and key not in job.stored:
            self._store.progress.store_analysis(*key, job.result)
            job.stored.add(key)

    def _analyze(self, line: str, job: AnalysisJob, key: tuple[str, int]) -> None:
        def progress(done: float) -> None:
            job.done = done
            idle = time.monotonic() - job.last_request
            if job.what_if and idle > _SECONDS_TO_ASK:
                raise AnalysisStopped

        try:
            record = GameRecord.from_line(line)
            job.result = analyze(record, progress=progress, stop=self._stop)
            self._store_result(job, key)
        except AnalysisStopped:
            with self._lock:
                if self._jobs.get(line) is job:
                    del self._jobs[line]
        except Exception as error:
            log.exception("an analysis failed")
            job.error = label("refused.no_analysis", error=error)


def _summary(hand: StoredHand) -> HandSummary:
    record = GameRecord.from_line(hand.record)
    return HandSummary(
        replay=HandRef(hand.session, hand.hand),
        rules_title=title_of(record.rules.name),
        result=replay_result(record),
        when=hand.finished,
        opponent=display_name(hand.opponent),
    )
