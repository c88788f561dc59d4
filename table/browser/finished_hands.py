# pyright: strict
"""Finished hands to look at: those played here, and files of records that somebody opens.

One thread analyses, one hand after the other; what was asked for and found is kept for a while.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from msgspec import Struct

from ...engine.records import GameRecord, RecordError
from ..game.database import new_id
from ..game.hands import StoredHand
from ..game.store import Store
from ..review.analysis import Analysis, AnalysisStopped, analyse
from ..review.replay import ReplayResult, player_names, replay_result
from ..text.labels import say, you
from ..text.words import title_of
from .live_table import log
from .live_tables import LimitExceeded
from .messages import HandRef

UPLOAD_LIMIT = 5 * 2**20
_MOST_LINES = 20_000
_PROBLEMS_TOLD = 100
_UPLOADS_EACH, _UPLOADS_IN_ALL = 4, 32
_ANALYSES_KEPT = 200
_ANALYSES_WAITING = 16
_HANDS_LISTED = 500
_MOST_HAND = 2**31
"""More than any match has, and no more than the store's numbers hold."""


class HandNotFound(LookupError):
    """There is no such hand, or it is somebody else's."""


class HandSummary(Struct):
    """A finished hand in a list; `when` and `opponent` of those that were played here."""

    replay: HandRef
    rules_title: str
    players: tuple[str, str]
    result: ReplayResult
    when: float | None = None
    opponent: str = ""


class UploadResult(Struct):
    """A file of records that was opened."""

    id: str
    hands: list[HandSummary]
    problems: list[str]


class ShareLink(Struct):
    """Where others find a hand."""

    replay: HandRef


class AnalysisProgress(Struct):
    """How much of an analysis is done."""

    done: float
    ready: bool = False


@dataclass
class Upload:
    """A file of records that somebody opened: the good lines."""

    person: str
    lines: list[str] = field(default_factory=list[str])


@dataclass
class AnalysisJob:
    """An analysis, under way or done."""

    done: float = 0.0
    result: Analysis | None = None
    trouble: str | None = None
    noted: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])
    """Who has learned from it: the same hand may be several people's."""


class FinishedHands:
    """Replays and analyses for all who ask."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._uploads: OrderedDict[str, Upload] = OrderedDict()
        self._jobs: OrderedDict[str, AnalysisJob] = OrderedDict()
        self._stop = threading.Event()
        self._analyst = ThreadPoolExecutor(1, "analysis")

    def close(self) -> None:
        """Stop the analysis under way."""
        self._stop.set()
        self._analyst.shutdown(wait=False, cancel_futures=True)

    # -- hands

    def played(self, person: str) -> list[HandSummary]:
        """The hands that a person finished here, the last first."""
        return [_listed(hand) for hand in self._store.hands.by_person(person, _HANDS_LISTED)]

    def open(self, person: str, text: str) -> UploadResult:
        """Read a file of records; every hand is played again, and broken lines are told."""
        lines = text.splitlines()
        if len(lines) > _MOST_LINES:
            raise RecordError(say("records.many_lines", n=len(lines), most=_MOST_LINES))
        name, upload = new_id(), Upload(person)
        hands: list[HandSummary] = []
        problems: list[str] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = GameRecord.from_line(line)
            except RecordError as error:
                problems.append(say("records.line", n=number, error=error))
                continue
            upload.lines.append(line)
            hands.append(_told(record, HandRef(name, len(upload.lines))))
        if not hands:
            told = problems[0] if problems else say("records.empty")
            raise RecordError(say("records.no_hand", error=told))
        left_out = len(problems) - _PROBLEMS_TOLD
        if left_out > 0:
            problems[_PROBLEMS_TOLD:] = [say("records.more_lines", n=left_out)]
        self._shelve(name, upload)
        return UploadResult(name, hands, problems)

    def _shelve(self, name: str, upload: Upload) -> None:
        with self._lock:
            self._uploads[name] = upload
            own = [each for each, kept in self._uploads.items() if kept.person == upload.person]
            for old in own[:-_UPLOADS_EACH]:
                del self._uploads[old]
            while len(self._uploads) > _UPLOADS_IN_ALL:
                self._uploads.popitem(last=False)

    def record(self, person: str, name: str, hand: int) -> GameRecord:
        """Hand number `hand`, from 1, of a table or of a file that this person opened."""
        return GameRecord.from_line(self._line(person, name, hand))

    def _line(self, person: str, name: str, hand: int) -> str:
        with self._lock:
            upload = self._uploads.get(name)
        if upload is not None and upload.person == person and 1 <= hand <= len(upload.lines):
            return upload.lines[hand - 1]
        if (kept := self._own(person, name, hand)) is not None:
            return kept.record
        shared = self._store.hands.get_shared(name) if hand == 1 else None
        if shared is None:
            raise HandNotFound(say("refused.no_hand"))
        return _for_others(shared.record)

    def _own(self, person: str, name: str, hand: int) -> StoredHand | None:
        """A hand that this person finished here."""
        kept = self._store.hands.get(name, hand) if hand <= _MOST_HAND else None
        return kept if kept is not None and kept.person == person else None

    def share(self, person: str, name: str, hand: int) -> ShareLink:
        """Let whoever knows the address look at a hand; one that is shared has it already."""
        if self._own(person, name, hand) is not None:
            return ShareLink(HandRef(self._store.hands.share(name, hand), 1))
        if self._store.hands.get_shared(name) is None:
            raise HandNotFound(say("refused.no_share"))
        return ShareLink(HandRef(name, hand))

    # -- analyses

    def analysis(self, person: str, name: str, hand: int) -> Analysis | AnalysisProgress:
        """The analysis of a hand, or how much of it is done."""
        line, asker = self._line(person, name, hand), (person, name, hand)
        with self._lock:
            job = self._jobs.get(line)
            if job is None:
                waiting = sum(not (each.result or each.trouble) for each in self._jobs.values())
                if waiting >= _ANALYSES_WAITING:
                    raise LimitExceeded(say("refused.many_analyses"))
                job = self._jobs[line] = AnalysisJob()
                while len(self._jobs) > _ANALYSES_KEPT:
                    self._jobs.popitem(last=False)
                self._analyst.submit(self._analyse, line, job, asker)
        if job.trouble is not None:
            raise RecordError(job.trouble)
        if job.result is None:
            return AnalysisProgress(round(job.done, 3))
        self._note(job, asker)
        return job.result

    def _note(self, job: AnalysisJob, asker: tuple[str, str, int]) -> None:
        if job.result is not None and asker not in job.noted:
            self._store.progress.store_analysis(*asker, job.result)
            job.noted.add(asker)

    def found(self, person: str, name: str, hand: int) -> Analysis | None:
        """The analysis of a hand, if it is there already."""
        line = self._line(person, name, hand)
        with self._lock:
            job = self._jobs.get(line)
        return None if job is None else job.result

    def _analyse(self, line: str, job: AnalysisJob, asker: tuple[str, str, int]) -> None:
        def progress(done: float) -> None:
            job.done = done

        try:
            record = GameRecord.from_line(line)
            job.result = analyse(record, progress=progress, stop=self._stop)
            self._note(job, asker)
        except AnalysisStopped:
            pass
        except Exception as error:
            log.exception("an analysis failed")
            job.trouble = say("refused.no_analysis", error=error)


def _for_others(line: str) -> str:
    """A record in which nobody is called `you`, as whoever played it is to others."""
    record = GameRecord.from_line(line)
    names = [say("replay.somebody") if each == you() else each for each in player_names(record)]
    return replace(record, meta={**record.meta, "players": names}).to_line()


def _listed(hand: StoredHand) -> HandSummary:
    told = _told(GameRecord.from_line(hand.record), HandRef(hand.session, hand.hand))
    told.when, told.opponent = hand.finished, hand.opponent
    return told


def _told(record: GameRecord, name: HandRef) -> HandSummary:
    return HandSummary(
        name, title_of(record.rules.name), player_names(record), replay_result(record)
    )
