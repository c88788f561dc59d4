# pyright: strict
"""Finished hands for review: those played here, and uploaded files of records.

One thread analyses one hand at a time; the latest analyses and uploads are kept in memory.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from msgspec import Struct

from ...engine.records import GameRecord, RecordError
from ..game.database import StoredHand, new_id
from ..game.store import Store
from ..review.analysis import Analysis, AnalysisStopped, analyse
from ..review.replay import ReplayResult, player_names, replay_result
from ..review.what_if import what_if
from ..text.labels import YOU, label
from ..text.words import title_of
from .live_table import log
from .messages import HandRef, Refused

UPLOAD_LIMIT = 5 * 2**20
_MAX_LINES = 20_000
_MAX_PROBLEMS = 100
_UPLOADS_PER_PERSON, _UPLOADS_IN_ALL = 4, 32
_MAX_ANALYSES, _MAX_PENDING = 200, 16
_MAX_LISTED = 500
_MAX_CHANGES, _MAX_CHANGE = 60, 8
"""What-ifs of one hand, and the characters of each."""
_SECONDS_TO_ASK = 90
"""An analysis of a changed hand that nobody has asked for so long is given up.

Hidden tabs ask once a minute.
"""
_MAX_HAND = 2**31
"""More than any match has, and within the integers of SQLite."""


class HandSummary(Struct):
    """A finished hand in a list; `when` and `opponent` only of hands played here."""

    replay: HandRef
    rules_title: str
    players: tuple[str, str]
    result: ReplayResult
    when: float | None = None
    opponent: str = ""


class UploadResult(Struct):
    """The hands of an uploaded file, and its invalid lines."""

    id: str
    hands: list[HandSummary]
    problems: list[str]


class AnalysisProgress(Struct):
    """The finished fraction of an analysis."""

    done: float
    ready: bool = False


@dataclass
class AnalysisJob:
    """An analysis, pending or finished."""

    changed_by: str | None = None
    """The person who began it, if it is of a changed hand."""
    last_request: float = 0.0
    """By the monotonic clock."""
    done: float = 0.0
    result: Analysis | None = None
    error: str | None = None
    stored: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])
    """Persons, tables and hands it was stored for: the same hand may be several people's."""

    @property
    def finished(self) -> bool:
        return not (self.result is None and self.error is None)


class FinishedHands:
    """Replays and analyses."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        # Persons and the valid lines of the files that they uploaded.
        self._uploads: OrderedDict[str, tuple[str, list[str]]] = OrderedDict()
        self._jobs: OrderedDict[str, AnalysisJob] = OrderedDict()
        self._stop = threading.Event()
        self._executor = ThreadPoolExecutor(1, "analysis")

    def close(self) -> None:
        self._stop.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- hands

    def by_person(self, person: str) -> list[HandSummary]:
        summaries: list[HandSummary] = []
        for hand in self._store.hands.by_person(person, _MAX_LISTED):
            ref = HandRef(hand.session, hand.hand)
            summary = _summary(GameRecord.from_line(hand.record), ref)
            summary.when, summary.opponent = hand.finished, hand.opponent
            summaries.append(summary)
        return summaries

    def open(self, person: str, text: str) -> UploadResult:
        """Read a file of records; every hand is replayed, and invalid lines are reported."""
        lines = text.splitlines()
        if len(lines) > _MAX_LINES:
            raise RecordError(label("records.many_lines", n=len(lines), most=_MAX_LINES))
        name, valid = new_id(), list[str]()
        hands: list[HandSummary] = []
        problems: list[str] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = GameRecord.from_line(line)
            except RecordError as error:
                problems.append(label("records.line", n=number, error=error))
                continue
            valid.append(line)
            hands.append(_summary(record, HandRef(name, len(valid))))
        if not hands:
            error = problems[0] if problems else label("records.empty")
            raise RecordError(label("records.no_hand", error=error))
        n_omitted = len(problems) - _MAX_PROBLEMS
        if n_omitted > 0:
            problems[_MAX_PROBLEMS:] = [label("records.more_lines", n=n_omitted)]
        with self._lock:
            self._uploads[name] = person, valid
            own = [key for key, (other, _) in self._uploads.items() if other == person]
            for oldest in own[:-_UPLOADS_PER_PERSON]:
                del self._uploads[oldest]
            while len(self._uploads) > _UPLOADS_IN_ALL:
                self._uploads.popitem(last=False)
        return UploadResult(name, hands, problems)

    def record(self, person: str, name: str, hand: int) -> GameRecord:
        """Hand number `hand`, from 1, of a table, a share link or a person's own upload.

        `NAME~N.ACTION` is that hand with another action at decision `N`.
        """
        return GameRecord.from_line(self._line(person, name, hand))

    def _line(self, person: str, name: str, hand: int) -> str:
        name, *changes = name.split("~")
        line = self._played_line(person, name, hand)
        if len(changes) > _MAX_CHANGES:
            raise Refused(label("refused.no_hand"), 404)
        for change in changes:
            n, _, action = change.partition(".")
            if not (n.isdecimal() and action.isdecimal() and len(change) <= _MAX_CHANGE):
                raise Refused(label("refused.no_hand"), 404)
            line = what_if(line, int(n), int(action))
        return line

    def _played_line(self, person: str, name: str, hand: int) -> str:
        with self._lock:
            owner, lines = self._uploads.get(name, ("", []))
        if owner == person and 1 <= hand <= len(lines):
            return lines[hand - 1]
        if (own := self._own_hand(person, name, hand)) is not None:
            return own.record
        shared = self._store.hands.get_shared(name) if hand == 1 else None
        if shared is None:
            raise Refused(label("refused.no_hand"), 404)
        return _anonymous(shared.record)

    def _own_hand(self, person: str, name: str, hand: int) -> StoredHand | None:
        stored = self._store.hands.get(name, hand) if hand <= _MAX_HAND else None
        return stored if stored is not None and stored.person == person else None

    def share(self, person: str, name: str, hand: int) -> HandRef:
        """Open a hand to everybody who has the link; a shared one keeps its link."""
        self._line(person, name, hand)  # refuses a change that leads to no hand
        name, tilde, changes = name.partition("~")
        if self._own_hand(person, name, hand) is not None:
            return HandRef(self._store.hands.share(name, hand) + tilde + changes, 1)
        if self._store.hands.get_shared(name) is None:
            raise Refused(label("refused.no_share"), 404)
        return HandRef(name + tilde + changes, hand)

    # -- analyses

    def analysis(self, person: str, name: str, hand: int) -> Analysis | AnalysisProgress:
        line, key = self._line(person, name, hand), (person, name, hand)
        with self._lock:
            job = self._jobs.get(line)
            if job is None:
                changed_by = person if "~" in name else None
                pending = [other for other in self._jobs.values() if not other.finished]
                # Changed hands are opened one after the other: they do not keep others waiting.
                own = [other for other in pending if "~" in name and other.changed_by == person]
                if own or len(pending) >= _MAX_PENDING:
                    raise Refused(label("refused.many_analyses"), 429)
                job = self._jobs[line] = AnalysisJob(changed_by)
                while len(self._jobs) > _MAX_ANALYSES:
                    self._jobs.popitem(last=False)
                self._executor.submit(self._analyse, line, job, key)
            job.last_request = time.monotonic()
        if job.error is not None:
            raise RecordError(job.error)
        if job.result is None:
            return AnalysisProgress(round(job.done, 3))
        self._store_result(job, key)
        return job.result

    def finished_analysis(self, person: str, name: str, hand: int) -> Analysis | None:
        """The analysis of a hand if it is finished; does not start one."""
        line = self._line(person, name, hand)
        with self._lock:
            job = self._jobs.get(line)
        return None if job is None else job.result

    def _store_result(self, job: AnalysisJob, key: tuple[str, str, int]) -> None:
        if job.result is not None and key not in job.stored:
            self._store.progress.store_analysis(*key, job.result)
            job.stored.add(key)

    def _analyse(self, line: str, job: AnalysisJob, key: tuple[str, str, int]) -> None:
        def progress(done: float) -> None:
            job.done = done
            idle = time.monotonic() - job.last_request
            if job.changed_by is not None and idle > _SECONDS_TO_ASK:
                raise AnalysisStopped

        try:
            record = GameRecord.from_line(line)
            job.result = analyse(record, progress=progress, stop=self._stop)
            self._store_result(job, key)
        except AnalysisStopped:
            with self._lock:
                if self._jobs.get(line) is job:
                    del self._jobs[line]
        except Exception as error:
            log.exception("an analysis failed")
            job.error = label("refused.no_analysis", error=error)


def _anonymous(line: str) -> str:
    """A record without the name `you`: to others, the player is somebody."""
    record = GameRecord.from_line(line)
    names = [label("replay.somebody") if name == YOU else name for name in player_names(record)]
    return replace(record, meta={**record.meta, "players": names}).to_line()


def _summary(record: GameRecord, ref: HandRef) -> HandSummary:
    title = title_of(record.rules.name)
    return HandSummary(ref, title, player_names(record), replay_result(record))
