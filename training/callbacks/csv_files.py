"""Files of a run that callbacks write: metrics and evaluations as CSV, and the HTML report."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...common.files import atomic_write
from ..checkpoint import EvaluationResult
from .base import Callback, TrainingRun
from .html_report import write_report

TABLE, EVALUATIONS, REPORT = "progress.csv", "evaluations.csv", "report.html"


class CsvFiles(Callback):
    """Writes `progress.csv` and `evaluations.csv`."""

    def on_save(self, run: TrainingRun) -> None:
        if run.rows:
            _write_csv(run.folder / TABLE, run.rows)
        if run.evaluations:
            rows = [msgspec.to_builtins(result) for result in run.evaluations]
            _write_csv(run.folder / EVALUATIONS, [
                {"decisions": row.pop("decisions"), **row} for row in rows
            ])  # fmt: skip

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        self.on_save(run)

    def on_end(self, run: TrainingRun) -> None:
        self.on_save(run)


class HtmlReport(CsvFiles):
    """Writes `report.html`, with learning curves and settings."""

    def on_start(self, run: TrainingRun) -> None:
        self.on_save(run)

    def on_save(self, run: TrainingRun) -> None:
        write_report(run.folder / REPORT, run.settings, run.rows, run.evaluations)


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with atomic_write(path, "w") as file:
        file.write(text.getvalue())
