"""Trainings on the machines of a cluster of Ray: each is a process there, and its run comes back.

What its settings name by path or module travels along, and so does a run that goes on. A machine
that dies has its training begun again elsewhere, from where it began here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..engine.files import written_whole
from .arena.luggage import Luggage, files_below, packed, unpack
from .arena.remote import LOCAL, checked_place, checked_version, joined
from .presets import changed_settings
from .reading import words_of
from .run import SETTINGS, settings_of
from .separate_runs import LocalRuns, PlaceForRuns, Say, known_beside
from .settings import Settings

_RETRIES = 2
_RUN, _TOLD = Path("run"), "training.yaml"
# Settings in which paths and modules may stand.
_NAMING = ("trainer", "init", "yardsticks", "final_yardsticks", "opponents", "callbacks")


def place_for_runs(on: str, say: Say) -> PlaceForRuns:
    """Where trainings are to be processes of their own: this machine, or a cluster."""
    return LocalRuns(say) if checked_place(on) == LOCAL else RemoteRuns(on, say)


def _train_there(words: Sequence[str], luggage: Luggage) -> tuple[int, str, Luggage]:
    """Train in a process on this machine; its exit status, what it told, and its run."""
    with tempfile.TemporaryDirectory(prefix="german-whist-") as folder:
        unpack(luggage, Path(folder))
        done = subprocess.run(
            [sys.executable, "-m", __name__.partition(".")[0], "train", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False,
            cwd=folder, env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )  # fmt: skip
        return done.returncode, done.stdout, files_below(Path(folder) / _RUN)


class RemoteRuns:
    """Trainings that are shared out among the cores of a cluster."""

    def __init__(self, on: str, say: Say) -> None:
        self._ray = joined(on)
        self._say = say
        self._ended = False
        self._working: set[Any] = set()
        checked_version(self._ray)

    def at_once(self, runs: int) -> int:
        """All: the cluster lets them wait."""
        return runs

    def threads(self, runs: int) -> int:
        """A core each."""
        return 1

    def train(self, name: str, settings: Settings, folder: Path, known: bytes = b"") -> int:
        """Train on some machine of the cluster, into a folder here."""
        (there,), names, luggage = _packed(settings)
        luggage[_TOLD] = there.as_yaml().encode()
        if known:
            luggage[known_beside(_RUN).as_posix()] = known
        words = [_TOLD, "--run", _RUN.as_posix()]
        return self._sent(name, words, luggage, folder, settings, names)

    def go_on(self, name: str, folder: Path, words: Sequence[str]) -> int:
        """Go on there with a run of here."""
        before = settings_of(folder)
        after = changed_settings(before, words)
        (was, now), names, luggage = _packed(before, after)
        luggage |= {(_RUN / each).as_posix(): data for each, data in files_below(folder).items()}
        luggage[(_RUN / SETTINGS).as_posix()] = was.as_yaml().encode()
        told = was.as_mapping()
        changed = {each: value for each, value in now.as_mapping().items() if value != told[each]}
        words = ["--resume", _RUN.as_posix(), *words_of(changed)]
        return self._sent(name, words, luggage, folder, after, names)

    def _sent(
        self, name: str, words: Sequence[str], luggage: Luggage, folder: Path, settings: Settings,
        names: Mapping[str, str],
    ) -> int:  # fmt: skip
        if self._ended:
            return 1
        cores = settings.threads or 1
        remote = self._ray.remote(num_cpus=cores, max_retries=_RETRIES)(_train_there)
        told = remote.remote(words, luggage)
        self._working.add(told)
        try:
            code, text, run = self._ray.get(told)
        except self._ray.exceptions.TaskCancelledError:
            return 1
        except self._ray.exceptions.RayError as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            self._say(
                f"{name}: is given up, since the machines that trained it died, {_RETRIES + 1} "
                f"times in a row ({first})"
            )
            return 1
        finally:
            self._working.discard(told)
        for line in text.splitlines():
            self._say(f"{name}: {line}")
        unpack(run, folder)
        # As everything is called here.
        if (folder / SETTINGS).exists():
            found = _renamed(settings_of(folder), lambda each: names.get(each, each))
            with written_whole(folder / SETTINGS, "w") as file:
                file.write(msgspec.structs.replace(found, rules=settings.rules).as_yaml())
        return code

    def end(self) -> None:
        """End all; what they did is lost, but for what had come back."""
        self._ended = True
        for each in tuple(self._working):
            self._ray.cancel(each)


def _packed(*several: Settings) -> tuple[list[Settings], dict[str, str], Luggage]:
    """Settings as they are elsewhere; what everything there is called here; what travels along."""
    here: dict[str, None] = {}
    for each in several:
        _renamed(each, lambda name: here.setdefault(name) or name)
    called, luggage = packed(here)
    names = dict(zip(here, called, strict=True))
    there = [_renamed(_with_rules(each), names.__getitem__) for each in several]
    return there, {there: name for name, there in names.items()}, luggage


def _renamed(settings: Settings, name: Callable[[str], str]) -> Settings:
    """Settings in which whatever may be a path or a module is called otherwise."""
    changed: dict[str, Any] = {}
    for each in _NAMING:
        value = getattr(settings, each, None)
        if isinstance(value, str):
            changed[each] = name(value)
        elif value is not None:
            changed[each] = tuple(map(name, value))
    return msgspec.structs.replace(settings, **changed)


def _with_rules(settings: Settings) -> Settings:
    """Settings that need no file or run to tell what is played."""
    listed = settings.rules if isinstance(settings.rules, (list, tuple)) else [settings.rules]
    if not any(isinstance(each, str) and Path(each).exists() for each in listed):
        return settings
    rules = [each.rules.as_mapping() for each in settings.all_options]
    return msgspec.structs.replace(settings, rules=rules if len(rules) > 1 else rules[0])
