"""Comparisons of many trainings, which the same command continues after an interruption."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from german_whist.common.files import write_file
from german_whist.common.signals import FIRST_SIGNAL, RunStopped
from german_whist.evaluation import Result

OPTIONS, RESULTS = "options.json", "results.jsonl"
_GO_ON = "interrupted: the same command goes on"


def keep_options(folder: Path, options: argparse.Namespace, *may_change: str) -> None:
    """Keep the options that the results in a folder belong to; refuse others there."""
    current = {
        name: value for name, value in vars(options).items() if name not in ("folder", *may_change)
    }
    path = folder / OPTIONS
    if (folder / RESULTS).exists() and not path.exists():
        raise SystemExit(
            f"{folder} has results of which no {OPTIONS} tells the options: name another --folder"
        )
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else current
    for name, value in current.items():
        if kept.get(name) != value:
            option = f"--{name.replace('_', '-')}"
            raise SystemExit(
                f"{folder} was begun with {option} {kept.get(name)}, and now it is {value}: name "
                "another --folder"
            )
    write_file(path, json.dumps(current, indent=1) + "\n")


def checked(played: Result) -> Result:
    """A result whose hands were all played; raises if something ended it before."""
    if not played.complete:
        status = FIRST_SIGNAL + played.signal if played.signal else 1
        raise RunStopped("not all hands of an evaluation were played", status)
    return played


@contextmanager
def interruptible() -> Iterator[None]:
    """Say what ended a training or an evaluation, and how to go on after a signal."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(_GO_ON) from None
    except RunStopped as stopped:
        raise SystemExit(_GO_ON if stopped.status >= FIRST_SIGNAL else str(stopped)) from None
