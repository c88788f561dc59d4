# pyright: strict
"""Console output of a run: lines, of which a terminal redraws the one of progress in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO

from ...common.files import CannotWrite
from ...common.markup import one_line, printable
from ..run_state import EvaluationResult
from .base import Callback, TrainingRun


class ConsoleLog(Callback):
    """Plain lines: sentences of the run, evaluations, and progress every 20 seconds."""

    every = 20.0

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._last = 0.0

    def write(self, text: str) -> None:
        print(printable(text), file=self._out, flush=True)

    def write_progress(self, text: str) -> None:
        self.write(text)

    def on_message(self, run: TrainingRun, text: str) -> None:
        self.write(text)

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        now = time.monotonic()
        if now - self._last >= self.every:
            self._last = now
            self.write_progress(progress_line(run, metrics))

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        for result in results:
            self.write(
                f"evaluated the checkpoint at {result.decisions:,} decisions: {result.text()}"
            )

    def close(self) -> None:
        """End the output."""


def progress_line(run: TrainingRun, metrics: Mapping[str, float]) -> str:
    """Decisions, speed, time left at the run's mean speed, and three metrics; PPO's are chosen."""
    done, budget = run.trainer.decisions, run.settings.decisions
    left = timedelta(seconds=round(run.seconds * max(0, budget - done) / max(done, 1)))
    chosen = {"entropy", "explained_variance", "approx_kl"}.intersection(metrics)
    shown = [name for name in metrics if name in chosen or not chosen]
    parts = [f"{done:,} of {budget:,} decisions", f"{run.trainer.hands:,} hands"]
    if "decisions_per_second" in metrics:
        parts.append(f"{metrics['decisions_per_second']:,.0f}/s")
        shown = [name for name in shown if name != "decisions_per_second"]
    if done:
        parts.append(f"{left} left")
    parts += [f"{one_line(name)} {metrics[name]:.4g}" for name in shown[:3]]
    return ", ".join(parts)


class FileLog(ConsoleLog):
    """The lines of a console log at the end of a file, with the time of each."""

    def __init__(self, path: Path) -> None:
        try:
            file = open(path, "a", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        except OSError as error:
            raise CannotWrite.for_path(path, error) from error
        super().__init__(file)
        self._path = path

    def write(self, text: str) -> None:
        try:
            super().write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}")
        except OSError as error:
            raise CannotWrite.for_path(self._path, error) from error

    def close(self) -> None:
        # What could not be written is tried again, and has been reported.
        with suppress(OSError):
            self._out.close()


class LiveDisplay(ConsoleLog):
    """Lines in a terminal, the last of which is the progress."""

    every = 0.25

    def __init__(self) -> None:
        super().__init__(sys.stdout)
        from rich.live import Live

        self._metrics: Mapping[str, float] = {}
        self._live = Live(auto_refresh=False)
        self._live.start()

    def write(self, text: str) -> None:
        self._live.console.print(printable(text), highlight=False, markup=False)

    def write_progress(self, text: str) -> None:
        from rich.text import Text

        self._live.update(Text(printable(text)), refresh=True)

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        self._metrics = metrics
        super().on_iteration(run, metrics)

    def on_checkpoint(self, run: TrainingRun, path: Path) -> None:
        # The last iteration may have been cut short: then there was no event of it.
        self.write_progress(progress_line(run, self._metrics))

    def close(self) -> None:
        """Leave the last progress on the screen."""
        self._live.stop()


def make_display() -> ConsoleLog:
    return LiveDisplay() if sys.stdout.isatty() else ConsoleLog(sys.stdout)
