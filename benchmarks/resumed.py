"""Comparisons of many trainings, which the same command continues after an interruption."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from german_whist.common.files import write_file
from german_whist.common.signals import RunStopped
from german_whist.evaluation import Result

OPTIONS = "options.json"


def keep_options(folder: Path, options: argparse.Namespace, *may_change: str) -> None:
    """Keep the options that the results in a folder belong to; refuse others there."""
    current = {
        name: value for name, value in vars(options).items() if name not in ("folder", *may_change)
    }
    path = folder / OPTIONS
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
    """A result whose hands were all played; raises if a signal ended it."""
    if not played.complete:
        raise RunStopped("the evaluation was interrupted")
    return played


@contextmanager
def interruptible() -> Iterator[None]:
    """Say how to go on where a signal ends a training or an evaluation."""
    try:
        yield
    except (KeyboardInterrupt, RunStopped):
        raise SystemExit("interrupted: the same command goes on") from None
