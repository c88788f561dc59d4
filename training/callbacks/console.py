"""Console output of a run: a live panel in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ...common.markup import one_line, printable
from ..run_state import EvaluationResult
from .base import Callback, TrainingRun
from .evaluation import curve_of, result_row

if TYPE_CHECKING:
    from rich.panel import Panel


class TimeEstimate:
    """Estimate of a run's remaining time from its last iterations.

    The first iteration of a session compiles and warms up, so its duration is left out.
    """

    def __init__(self, window: int = 50) -> None:
        self._ends: deque[tuple[float, int]] = deque(maxlen=window)

    def add(self, now: float, decisions: int) -> None:
        """Add the end of an iteration: time in seconds, decisions so far."""
        self._ends.append((now, decisions))

    def remaining(self, budget: int) -> str:
        """Time to the budget as text; empty before the second iteration."""
        if len(self._ends) < 2:
            return ""
        (first, before), (last, decisions) = self._ends[0], self._ends[-1]
        speed = (decisions - before) / max(last - first, 1e-9)
        return duration(max(0, budget - decisions) / max(speed, 1e-9))


def duration(seconds: float) -> str:
    """Hours, minutes and seconds as H:MM:SS, without hours M:SS."""
    total = round(seconds)
    hours, minutes = total // 3600, total % 3600 // 60
    return f"{hours}:{minutes:02d}:{total % 60:02d}" if hours else f"{minutes}:{total % 60:02d}"


class ConsoleLog(Callback):
    """Plain lines: sentences of the run, evaluations, and progress every 20 seconds."""

    every = 20.0

    def __init__(self, out: IO[str], timestamps: bool = False) -> None:
        self._out, self._timestamps = out, timestamps
        self._last = 0.0
        self._estimate = TimeEstimate()

    def write(self, text: str) -> None:
        text = printable(text)
        words = [time.strftime("%Y-%m-%d %H:%M:%S"), text] if self._timestamps else [text]
        print(*words, file=self._out, flush=True)

    def on_message(self, run: TrainingRun, text: str) -> None:
        self.write(text)

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        now = time.monotonic()
        self._estimate.add(now, run.trainer.decisions)
        if now - self._last < self.every:
            return
        self._last = now
        self.write(progress_line(run, metrics, self._estimate))

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        for result in results:
            self.write(
                f"evaluated the checkpoint at {result.decisions:,} decisions: {result.text()}"
            )

    def close(self) -> None:
        """End the output."""


def progress_line(run: TrainingRun, metrics: Mapping[str, float], estimate: TimeEstimate) -> str:
    speed = f"{metrics['decisions_per_second']:,.0f}/s" if "decisions_per_second" in metrics else ""
    remaining = estimate.remaining(run.settings.decisions)
    metric = "".join(f" {name} {value}" for name, value in _main_metrics(metrics)[:1])
    return (
        f"{run.trainer.decisions:>13,} decisions {run.trainer.hands:>11,} hands {speed:>10} "
        f"{f'{remaining:>8} left,' if remaining else '':14}{metric}"
    ).rstrip(" ,")


def _main_metrics(metrics: Mapping[str, float]) -> list[tuple[str, str]]:
    """The metrics of PPO that are shown, else the first three of the trainer."""
    names = [name for name in ("entropy", "explained_variance", "approx_kl") if name in metrics]
    if names:
        return [(name, f"{metrics[name]:.3f}") for name in names]
    return [
        (one_line(name), f"{value:.4g}")
        for name, value in metrics.items()
        if name != "decisions_per_second"
    ][:3]


class LiveDisplay(ConsoleLog):
    """Panel in a terminal, redrawn after iterations, checkpoints and evaluations."""

    def __init__(self) -> None:
        super().__init__(sys.stdout)
        from rich.live import Live

        self._metrics: Mapping[str, float] = {}
        self._live = Live(refresh_per_second=4)
        self._live.start()

    def write(self, text: str) -> None:
        self._live.console.print(printable(text), highlight=False, markup=False)

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        self._estimate.add(time.monotonic(), run.trainer.decisions)
        self._metrics = metrics
        self._draw(run)

    def on_checkpoint(self, run: TrainingRun, path: Path) -> None:
        # The last iteration may have been cut short: then there was no event of it.
        self._draw(run)

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        super().on_evaluation(run, results)
        self._draw(run)

    def _draw(self, run: TrainingRun) -> None:
        self._live.update(_panel(run, self._metrics, self._estimate))

    def close(self) -> None:
        """Leave the last panel on the screen."""
        self._live.stop()


def _panel(run: TrainingRun, metrics: Mapping[str, float], estimate: TimeEstimate) -> Panel:
    from rich.markup import escape
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    done, budget = run.trainer.decisions, run.settings.decisions
    remaining = estimate.remaining(budget)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(justify="right")
    grid.add_row("decisions", f"{done:,} of {budget:,}")
    grid.add_row("", ProgressBar(total=budget, completed=min(done, budget), width=36))
    grid.add_row("hands", f"{run.trainer.hands:,}")
    if "decisions_per_second" in metrics:
        grid.add_row("a second", f"{metrics['decisions_per_second']:,.0f} decisions")
    grid.add_row("time", duration(run.seconds) + (f", {remaining} left" if remaining else ""))
    for name, value in _main_metrics(metrics):
        grid.add_row(escape(name), value)
    latest = {curve_of(result.title): result for result in run.evaluations}
    for result in latest.values():
        title, win_rate, *_ = result_row(result)
        against = escape(one_line(title))
        grid.add_row(f"against {against}", f"{win_rate} at {result.decisions:,}")
    return Panel(grid, title=escape(one_line(str(run.folder))), expand=False)


def make_display() -> ConsoleLog:
    return LiveDisplay() if sys.stdout.isatty() else ConsoleLog(sys.stdout)
