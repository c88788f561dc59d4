"""Trainings on the machines of a cluster of Ray: each is a process there, and its run comes back.

What its settings name by path or module travels along. A machine that dies has its training begun
again elsewhere, from where it began here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from .arena.luggage import Luggage, files_below, packed, unpack
from .arena.remote import checked_version, cores_of_cluster, joined
from .settings import Settings
from .stopping import Stopped

_RETRIES = 2
_RUN, _SETTINGS = "run", "training.yaml"
# Settings in which paths and modules may stand.
_NAMING = ("trainer", "init", "yardsticks", "final_yardsticks", "opponents", "callbacks")


def _train_there(words: Sequence[str], luggage: Luggage) -> tuple[int, str, Luggage]:
    """Train in a process on this machine; its exit status, what it told, and its run."""
    with tempfile.TemporaryDirectory(prefix="german-whist-") as folder:
        unpack(luggage, Path(folder))
        done = subprocess.run(
            [sys.executable, "-m", __name__.partition(".")[0], "train", *words, "--run", _RUN],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=folder,
        )  # fmt: skip
        return done.returncode, done.stdout, files_below(Path(folder, _RUN))


class RemoteRuns:
    """Trainings that are shared out among the cores of a cluster."""

    def __init__(self, on: str, say: Callable[[str], None]) -> None:
        self._ray = joined(on)
        self.cores = cores_of_cluster(on)
        self._say = say
        checked_version(self._ray)

    def train(self, name: str, settings: Settings, folder: Path) -> int:
        """Train with these settings, into a folder here; the exit status of the training."""
        threads = settings.threads or 1
        # As they are called elsewhere.
        changed = {each: getattr(settings, each) for each in _NAMING if hasattr(settings, each)}
        flat = [one for value in changed.values() for one in _listed(value)]
        called, luggage = packed(flat)
        names = iter(called)
        there = {
            each: next(names) if isinstance(value, str) else tuple(next(names) for _ in value)
            for each, value in changed.items()
        }
        told = msgspec.structs.replace(settings, threads=threads, **there)
        luggage[_SETTINGS] = told.as_yaml().encode()
        remote = self._ray.remote(num_cpus=threads, max_retries=_RETRIES)(_train_there)
        try:
            code, text, run = self._ray.get(remote.remote([_SETTINGS], luggage))
        except self._ray.exceptions.RayError as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise Stopped(
                f"{name}: the machines that trained it died, {_RETRIES + 1} times in a row "
                f"({first}); what others came to is in {folder.parent}"
            ) from error
        for line in text.splitlines():
            self._say(f"{name}: {line}")
        unpack(run, folder)
        return code


def _listed(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value
