"""What a run leaves for people and programs to read: its tables as CSV, and its page."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...common.files import atomic_write
from ..checkpoint import Measured
from .base import Callback, Watched
from .html_report import write_report

TABLE, MEASURED, REPORT = "progress.csv", "measured.csv", "report.html"


class Tables(Callback):
    """Writes what every iteration and every measurement told, each as a table."""

    def on_saved(self, run: Watched) -> None:
        """Write what there is."""
        if run.rows:
            _write_csv(run.folder / TABLE, run.rows)
        if run.measured:
            rows = [msgspec.to_builtins(each) for each in run.measured]
            _write_csv(run.folder / MEASURED, [
                {"decisions": row.pop("decisions"), **row} for row in rows
            ])  # fmt: skip

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """The same."""
        self.on_saved(run)

    def on_end(self, run: Watched) -> None:
        """The same."""
        self.on_saved(run)


class Page(Tables):
    """Writes the page of a run, with its learning curves."""

    def on_start(self, run: Watched) -> None:
        """Write what there is."""
        self.on_saved(run)

    def on_saved(self, run: Watched) -> None:
        """Write what there is."""
        write_report(run.folder / REPORT, run.settings, run.rows, run.measured)


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with atomic_write(path, "w") as file:
        file.write(text.getvalue())
