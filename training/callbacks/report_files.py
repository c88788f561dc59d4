"""Files of a run that callbacks write: metrics and evaluations as CSV, and the HTML report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ...agents.base import EXACT_SOLVER, OWN_POLICY
from ...agents.checkpoints import FOLDER, WEIGHTS
from ...agents.perfect_endgame import EndgamePlayer
from ...common.files import write_file
from ...common.markup import html_text
from ...common.serialization import csv_text
from ...evaluation.reports import charts as pictures
from ..run_state import EvaluationResult
from ..settings import Settings
from .base import Callback, TrainingRun
from .evaluation import ITSELF, RESULT_COLUMNS, result_row

TABLE, EVALUATIONS, REPORT = "progress.csv", "evaluations.csv", "report.html"
_POSITIVE = 0.0, math.inf
LEARNING = (
    ("entropy", "entropy of the policy, in nats", _POSITIVE),
    (
        "explained_variance",
        "fraction of the returns' variance that the critic explains",
        (-math.inf, 1.0),
    ),
    ("value_loss", "mean squared error of the critic", _POSITIVE),
    (
        "approx_kl",
        "approximate KL divergence between the policies before and after an iteration",
        _POSITIVE,
    ),
    ("clip_fraction", "fraction of decisions with a clipped ratio", (0.0, 1.0)),
    ("decisions_per_second", "decisions per second", _POSITIVE),
)
"""Metrics that reports plot, with captions and possible values."""


def write_report(
    path: Path,
    settings: Settings,
    rows: Sequence[Mapping[str, float]],
    results: Sequence[EvaluationResult],
) -> None:
    name = path.parent.name
    parts = [f"<h1>{html_text(name)}</h1><p class='soft'>{html_text(settings.about)}</p>"]
    if results:
        # Not of its earlier checkpoints: each evaluation has another one, a stronger one.
        drawn = [result for result in results if not result.opponent.startswith(f"{ITSELF}@")]
        parts.append("<h2>Win rates</h2>")
        if drawn:
            parts.append(pictures.card(_win_rate_curves(drawn)))
        rows_of_results = [[f"{result.decisions:,}", *result_row(result)] for result in results]
        table = pictures.table(["decisions", *RESULT_COLUMNS], rows_of_results)
        parts.append(pictures.card(table))
        checkpoint, endgame = f"{FOLDER}/DECISIONS{WEIGHTS}", endgame_player(settings)
        parts.append(
            f"<p class='soft'>Each row is of the checkpoint {html_text(checkpoint)}, "
            f"its decisions written with twelve digits. Endgame: {html_text(endgame)}.</p>"
        )
    plots: list[str] = []
    single: list[list[str]] = []
    for key, about, possible in LEARNING:
        points = [(row["decisions"], row[key]) for row in rows if key in row]
        if len(points) == 1:
            single.append([key, about, f"{points[0][1]:.4g}"])
        elif points:
            curve = {key: pictures.Curve(pictures.thinned(points))}
            picture = pictures.curves(
                curve, "decisions", key, width=480, height=240, possible=possible
            )
            plots.append(pictures.figure(picture, html_text(about)))
    if plots or single:
        parts.append("<h2>Learning</h2>")
    if single:
        parts.append(pictures.card(pictures.table(["metric", "meaning", "value"], single, left=2)))
    if plots:
        parts += ["<section class='side'>", *plots, "</section>"]
    parts.append(
        f"<details><summary>Settings</summary><pre>{html_text(settings.as_yaml())}</pre></details>"
    )
    write_file(path, pictures.page(name, parts))


def endgame_player(settings: Settings) -> str:
    """Player of the endgames in evaluations of a run."""
    solved = [
        EndgamePlayer.solves(options.rules) and options.horizon == "foreplay"
        for options in settings.all_options
    ]
    if len(set(solved)) > 1:
        return f"{EXACT_SOLVER} in rules that are trained without endgames, else {OWN_POLICY}"
    return EXACT_SOLVER if all(solved) else OWN_POLICY


def _win_rate_curves(results: Sequence[EvaluationResult]) -> str:
    by_curve: dict[str, list[EvaluationResult]] = {}
    for result in results:
        by_curve.setdefault(result.title, []).append(result)
    curves = {
        name: pictures.Curve(
            [(result.decisions, 100 * result.win_rate) for result in results],
            [100 * result.margin_of_error for result in results],
        )
        for name, results in by_curve.items()
    }
    picture = pictures.curves(
        curves, "decisions", "hands won, in %", reference=50.0, possible=(0.0, 100.0)
    )
    keys = pictures.keys(list(curves))
    return pictures.figure(picture, f"against {keys}; bands and bars are 95 % intervals")


class ReportFiles(Callback):
    """Writes `progress.csv`, `evaluations.csv`, and `report.html` with the learning curves."""

    def on_start(self, run: TrainingRun) -> None:
        self.on_save(run)

    def on_save(self, run: TrainingRun) -> None:
        if run.rows:
            write_file(run.folder / TABLE, csv_text(run.rows))
        if run.evaluations:
            rows = [msgspec.to_builtins(result) for result in run.evaluations]
            rows = [{"decisions": row.pop("decisions"), **row} for row in rows]
            write_file(run.folder / EVALUATIONS, csv_text(rows))
        write_report(run.folder / REPORT, run.settings, run.rows, run.evaluations)

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        self.on_save(run)

    def on_end(self, run: TrainingRun) -> None:
        self.on_save(run)
