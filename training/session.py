"""A run from the command line: its display, its log, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .display import display_for
from .measuring import strength_table
from .run import LOG, REPORT, Stopped, make_trainer, resume, start


def train(
    folder: Path, settings: Any = None, words: Sequence[str] = (), *, numbered: bool = False
) -> int:
    """Begin a run with these settings, or go on with the one in the folder; the exit status.

    A new run takes the folder, or the first free of FOLDER-1, FOLDER-2 ... if `numbered`. One
    that goes on may change what `words` name.
    """
    if settings is None:
        run = resume(folder, make_trainer, words)
    else:
        run = start(folder, settings, make_trainer, numbered=numbered)
    with open(run.folder / LOG, "a", encoding="utf-8") as log:
        display = display_for(log)
        try:
            display.say(f"{run.folder}: {run.settings.about or run.settings.kind}")
            path = run.go(display)
        except Stopped as stopped:
            display.say(str(stopped))
            return stopped.status
        finally:
            display.close()
    print(strength_table(path))
    print(f"{path}\n{run.folder / REPORT}")
    return 0
