"""One training with several seeds: a run for each, side by side as cores allow, in one folder.

Each is a process of its own. What they came to is compared over seeds, on a page of the folder.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import msgspec

from ..engine.files import written_whole
from ..engine.threads import usable_threads
from .arena.remote import LOCAL, checked_place
from .claim import claim_new, claim_numbered
from .compare import Comparison, compare, runs_in
from .remote_runs import RemoteRuns
from .session import Wanted, resolved
from .settings import Settings, SettingsError
from .stopping import Stopped
from .tables import REPORT
from .trainers import trainer_kind

_SHARED = "training.yaml"
_PACKAGE = __name__.partition(".")[0]


def train_seeds(
    settings: Wanted,
    seeds: Sequence[int],
    *,
    folder: str | Path | None = None,
    name: str | None = None,
    say: Callable[[str], None] = print,
    on: str = LOCAL,
    **changes: Any,
) -> Comparison:
    """Train as `train` does once for each seed, in `FOLDER/seed-1` and so on, and compare them.

    `on` says where: on the cores of this machine, or of a cluster of Ray (`ray`,
    `ray://HOST:PORT`), from which the runs come back.
    """
    wanted, base = resolved(settings, changes, folder, name)
    if len(set(seeds)) < len(seeds) or not seeds:
        raise SettingsError(f"seeds are {list(seeds)}: give each once, as in seeds=1,2,3")
    for seed in seeds:
        msgspec.structs.replace(wanted, seed=seed)  # refused before a folder is made
    trainer_kind(wanted.trainer)
    there = None if checked_place(on) == LOCAL else RemoteRuns(on, say)
    claim = claim_numbered(base) if folder is None else claim_new(base)
    claim.release()
    folder = claim.folder
    shared = folder / _SHARED
    with written_whole(shared, "w") as file:
        file.write(wanted.as_yaml())
    names = [f"seed {seed}" for seed in seeds]
    if there is not None:
        return _trained_there(folder, wanted, seeds, names, there)
    jobs = min(len(seeds), usable_threads())
    threads = wanted.threads or max(1, usable_threads() // jobs)
    commands = [
        [str(shared), f"seed={seed}", f"threads={threads}", "--run", str(folder / f"seed-{seed}")]
        for seed in seeds
    ]
    return _trained(folder, commands, names, jobs, say)


def _trained_there(
    folder: Path, wanted: Settings, seeds: Sequence[int], names: Sequence[str], there: RemoteRuns
) -> Comparison:
    with ThreadPoolExecutor(len(seeds)) as pool:
        codes = pool.map(
            lambda seed, name: there.train(
                name, msgspec.structs.replace(wanted, seed=seed), folder / f"seed-{seed}"
            ),
            seeds,
            names,
        )
        return _compared(folder, names, [*codes])


def train_seeds_on(
    folder: Path, words: Sequence[str] = (), *, say: Callable[[str], None] = print
) -> Comparison:
    """Go on with all runs of a folder."""
    runs = runs_in(folder)
    commands = [["--resume", str(each), *words] for each in runs]
    names = [each.name.replace("-", " ") for each in runs]
    return _trained(folder, commands, names, min(len(runs), usable_threads()), say)


def _trained(
    folder: Path,
    commands: Iterable[Sequence[str]],
    names: Sequence[str],
    jobs: int,
    say: Callable[[str], None],
) -> Comparison:
    crew = _Crew(say)
    with ThreadPoolExecutor(jobs) as pool:
        started = [
            pool.submit(crew.train, name, words)
            for name, words in zip(names, commands, strict=True)
        ]
        try:
            codes = [each.result() for each in started]
        except BaseException:
            crew.end()
            raise
    return _compared(folder, names, codes)


def _compared(folder: Path, names: Iterable[str], codes: Sequence[int]) -> Comparison:
    """What all came to, on a page of the folder; refused if one did not come to its end."""
    if any(codes):
        failed = ", ".join(name for name, code in zip(names, codes, strict=True) if code)
        raise Stopped(
            f"{failed} did not come to an end; go on with: german-whist train --resume {folder}",
            max(codes),
        )
    found = compare([folder])
    with written_whole(folder / REPORT, "w") as file:
        file.write(found.page())
    return found


class _Crew:
    """The processes under way."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._ended = False
        self._working: set[subprocess.Popen[str]] = set()

    def train(self, name: str, words: Sequence[str]) -> int:
        """Train in a process, whose lines are told under a name; its exit status."""
        # In a session of its own: Ctrl-C is for this process, which passes it on once.
        with self._lock:
            if self._ended:
                return 1
            process = subprocess.Popen(
                [sys.executable, "-m", _PACKAGE, "train", *words], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self._working.add(process)
        with process:
            stdout: IO[str] = process.stdout  # type: ignore[assignment]
            for line in stdout:
                self._say(f"{name}: {line.rstrip()}")
        self._working.discard(process)
        return process.returncode

    def end(self) -> None:
        """Ask all to save and end; none begins any more."""
        with self._lock:
            self._ended = True
            for each in self._working:
                each.send_signal(signal.SIGTERM)
