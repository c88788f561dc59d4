"""What a run shows while it goes on: a live panel in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO, Any

from ..checkpoint import Measured
from .base import Callback, Watched
from .evaluation import curve_of


class Pace:
    """How long a run still takes, from its last iterations.

    The first iteration of a session is left out: it compiles and warms up, and would
    make the rest look as slow as itself.
    """

    def __init__(self, most: int = 50) -> None:
        self._ends: deque[tuple[float, int]] = deque(maxlen=most)

    def note(self, now: float, decisions: int) -> None:
        """An iteration ended at this time, after so many decisions in all."""
        self._ends.append((now, decisions))

    def left(self, budget: int) -> str:
        """The time that is left, in words; nothing where nothing tells yet."""
        if len(self._ends) < 2:
            return ""
        (first, before), (last, now) = self._ends[0], self._ends[-1]
        speed = (now - before) / max(last - first, 1e-9)
        return duration(max(0, budget - now) / max(speed, 1e-9))


def duration(seconds: float) -> str:
    """Hours, minutes and seconds as people write them."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class Lines(Callback):
    """Plain lines: what a run has to tell, every measurement, and now and then how far it is."""

    every = 20.0

    def __init__(self, out: IO[str], stamped: bool = False) -> None:
        """With `stamped` each line begins with the time."""
        self._out = out
        self._stamped = stamped
        self._last = 0.0
        self._pace = Pace()

    def write(self, text: str) -> None:
        """A line."""
        words = [time.strftime("%Y-%m-%d %H:%M:%S"), text] if self._stamped else [text]
        print(*words, file=self._out, flush=True)

    def on_text(self, run: Watched, text: str) -> None:
        """A sentence for people."""
        self.write(text)

    def on_iteration(self, run: Watched, told: Mapping[str, float]) -> None:
        """An iteration is over."""
        now = time.monotonic()
        self._pace.note(now, run.trainer.decisions)
        if now - self._last < self.every:
            return
        self._last = now
        self.write(progress_line(run, told, self._pace))

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """Print the results of an evaluation."""
        for each in found:
            self.write(f"measured the checkpoint at {each.decisions:,} decisions: {each.text()}")

    def close(self) -> None:
        """Nothing more will be shown."""


def progress_line(run: Watched, told: Mapping[str, float], pace: Pace) -> str:
    """Where a run is, in one line."""
    done = run.trainer.decisions
    speed = f"{told['decisions_per_second']:,.0f}/s" if "decisions_per_second" in told else ""
    left = pace.left(run.settings.decisions)
    figure = "".join(f" {name} {value}" for name, value in _figures(told)[:1])
    return (
        f"{done:>13,} decisions {run.trainer.hands:>11,} hands {speed:>10} "
        f"{f'{left:>8} left,' if left else '':14}{figure}"
    ).rstrip(" ,")


def _figures(told: Mapping[str, float]) -> list[tuple[str, str]]:
    """The figures of an iteration that are shown: those that are known, else the trainer's own."""
    known = [name for name in ("entropy", "explained_variance", "approx_kl") if name in told]
    if known:
        return [(name, f"{told[name]:.3f}") for name in known]
    return [
        (name, f"{value:.4g}") for name, value in told.items() if name != "decisions_per_second"
    ][:3]


class LiveDisplay(Lines):
    """A panel that is drawn anew after each iteration."""

    def __init__(self) -> None:
        super().__init__(sys.stdout)
        from rich.live import Live

        self._live: Any = Live(refresh_per_second=4)
        self._live.start()

    def write(self, text: str) -> None:
        """A line above the panel."""
        self._live.console.print(text, highlight=False, markup=False)

    def on_iteration(self, run: Watched, told: Mapping[str, float]) -> None:
        """Draw the panel."""
        self._pace.note(time.monotonic(), run.trainer.decisions)
        self._live.update(_panel(run, told, self._pace))

    def close(self) -> None:
        """Leave the panel as it is."""
        self._live.stop()


def _panel(run: Watched, told: Mapping[str, float], pace: Pace) -> Any:
    from rich.markup import escape
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    done, budget = run.trainer.decisions, run.settings.decisions
    left = pace.left(budget)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(justify="right")
    grid.add_row("decisions", f"{done:,} of {budget:,}")
    grid.add_row("", ProgressBar(total=budget, completed=min(done, budget), width=36))
    grid.add_row("hands", f"{run.trainer.hands:,}")
    if "decisions_per_second" in told:
        grid.add_row("a second", f"{told['decisions_per_second']:,.0f} decisions")
    grid.add_row("time", duration(run.seconds) + (f", {left} left" if left else ""))
    for name, value in _figures(told):
        grid.add_row(escape(name), value)
    latest = {curve_of(each.title): each for each in run.measured}
    for each in latest.values():
        rate, reach = 100 * each.win_rate, 100 * each.half_width
        grid.add_row(
            f"against {escape(each.title)}", f"{rate:.1f} ± {reach:.1f} % at {each.decisions:,}"
        )
    return Panel(grid, title=escape(str(run.folder)), expand=False)


def display_for() -> Lines:
    """A panel in a terminal, plain lines elsewhere."""
    return LiveDisplay() if sys.stdout.isatty() else Lines(sys.stdout)
