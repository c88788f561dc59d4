"""Files of a run that callbacks write: metrics and evaluations as CSV, and the HTML report."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...common.files import write_file
from ...common.serialization import csv_text
from ..checkpoint import EvaluationResult
from .base import Callback, TrainingRun
from .html_report import write_report

TABLE, EVALUATIONS, REPORT = "progress.csv", "evaluations.csv", "report.html"


class CsvFiles(Callback):
    """Writes `progress.csv` and `evaluations.csv`."""

    def on_save(self, run: TrainingRun) -> None:
        if run.rows:
            write_file(run.folder / TABLE, csv_text(run.rows))
        if run.evaluations:
            rows = [msgspec.to_builtins(result) for result in run.evaluations]
            rows = [{"decisions": row.pop("decisions"), **row} for row in rows]
            write_file(run.folder / EVALUATIONS, csv_text(rows))

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
