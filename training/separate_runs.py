"""Trainings as processes of their own, on this machine; one that dies goes on where it was saved.

`remote_runs` does the same on a cluster.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from ..engine.processes import ask_to_end, start_python
from ..engine.threads import usable_threads
from .arena.workers import MOST_DEATHS
from .run import begun
from .settings import Settings

_PACKAGE = __name__.partition(".")[0]
Say = Callable[[str], None]


class PlaceForRuns(Protocol):
    """Where trainings are processes of their own."""

    def at_once(self, runs: int) -> int:
        """How many of so many runs are begun side by side."""
        ...

    def threads(self, runs: int) -> int:
        """How many threads each of so many runs has, if its settings do not say."""
        ...

    def train(self, name: str, settings: Settings, folder: Path, known: bytes = b"") -> int:
        """Train with these settings into a folder; the exit status of the training.

        `known` lies beside the folder, as `known_beside` says, while it trains.
        """
        ...

    def go_on(self, name: str, folder: Path, words: Sequence[str]) -> int:
        """Go on with a run, settings changed by words; the exit status of the training."""
        ...

    def end(self) -> None:
        """Ask all to save and end; none begins any more."""
        ...


def known_beside(folder: Path) -> Path:
    """Where callbacks of a run find what they have to know."""
    return folder.with_name(f"{folder.name}.json")


def side_by_side(place: PlaceForRuns, runs: Sequence[Callable[[], int]]) -> list[int]:
    """Let trainings go to their ends; their exit statuses."""
    with ThreadPoolExecutor(place.at_once(len(runs))) as pool:
        started = [pool.submit(each) for each in runs]
        try:
            return [each.result() for each in started]
        except KeyboardInterrupt:
            place.end()
            raise


class LocalRuns:
    """Trainings that are processes of this machine."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._ended = False
        self._working: set[subprocess.Popen[str]] = set()

    def at_once(self, runs: int) -> int:
        """As many as there are cores."""
        return min(runs, usable_threads())

    def threads(self, runs: int) -> int:
        """The cores in even shares."""
        return max(1, usable_threads() // self.at_once(runs))

    def train(self, name: str, settings: Settings, folder: Path, known: bytes = b"") -> int:
        """Train in a process here."""
        beside = known_beside(folder)
        with tempfile.TemporaryDirectory(prefix="german-whist-") as place:
            told = Path(place, "training.yaml")
            told.write_text(settings.as_yaml(), encoding="utf-8")
            if known:
                folder.parent.mkdir(parents=True, exist_ok=True)
                beside.write_bytes(known)
            try:
                return self._lasting(name, folder, [str(told), "--run", str(folder)])
            finally:
                if known:
                    beside.unlink()

    def go_on(self, name: str, folder: Path, words: Sequence[str]) -> int:
        """Go on in a process here."""
        return self._lasting(name, folder, ["--resume", str(folder), *words])

    def _lasting(self, name: str, folder: Path, words: Sequence[str]) -> int:
        """Train, and on when the process dies, from the state that was saved last."""
        for _ in range(MOST_DEATHS):
            code = self._trained(name, words)
            if code >= 0 or self._ended:
                return abs(code)
            self._say(f"{name}: its process was ended by signal {-code}")
            if begun(folder):
                words = ["--resume", str(folder)]
        self._say(f"{name}: is given up, since its process died {MOST_DEATHS} times in a row")
        return 1

    def _trained(self, name: str, words: Sequence[str]) -> int:
        # Ctrl-C is for this process, which passes it on once.
        with self._lock:
            if self._ended:
                return 1
            process = start_python(["-m", _PACKAGE, "train", *words])
            self._working.add(process)
        with process:
            stdout: IO[str] = process.stdout  # type: ignore[assignment]
            for line in stdout:
                self._say(f"{name}: {line.rstrip()}")
        self._working.discard(process)
        return process.returncode

    def end(self) -> None:
        """Ask all to save and end."""
        with self._lock:
            self._ended = True
            for each in self._working:
                with suppress(OSError):
                    ask_to_end(each)
