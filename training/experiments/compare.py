"""Comparison of runs: settings that differ, learning curves, and win rates.

A folder of runs with several seeds counts as one training, with intervals over seeds; the
intervals of a single run are over hands.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from ...common.files import read_yaml_mapping, suggest_path
from ...common.markup import html_text
from ...common.plugins import error_text
from ...common.schema import short_repr
from ...common.serialization import data_frame
from ...common.settings import format_value
from ...common.typing import Array, JsonObject
from ...evaluation.formats import in_columns
from ...evaluation.reports import charts
from ...evaluation.statistics import (
    Estimate,
    difference_of_means,
    mean_of,
    probability_of_improvement,
)
from ..callbacks.evaluation import ITSELF
from ..callbacks.report_files import EVALUATIONS, LEARNING, TABLE
from ..folder import SETTINGS
from .budgets import aligned, ended_early

if TYPE_CHECKING:
    import pandas


_IGNORED_SETTINGS = ("about", "seed")
_OF_A_RUN = (*_IGNORED_SETTINGS, "decisions", "max_minutes", "device", "threads")
"""Settings in which the seeds of one training may differ: `ends` tells their decisions."""


class Point(Struct, frozen=True):
    """A point of a learning curve."""

    decisions: float
    value: float
    margin_of_error: float
    """Half of the 95 % interval: over seeds where there are several, else over hands."""


class ComparedTraining(Struct, frozen=True, kw_only=True, dict=True):
    """A training: one run, or several with different seeds."""

    name: str
    folders: tuple[Path, ...]
    settings: JsonObject
    rates: dict[str, list[Point]]
    """Win rates by opponent."""
    learning: dict[str, list[Point]]
    """Metrics of the iterations by name."""
    ends: dict[str, float]
    """Decisions of the last evaluated checkpoint by seed, of those that have one."""
    finals: dict[str, list[float]]
    """By opponent, the win rate of each seed in the last point of `rates`."""

    @property
    def evaluated_seeds(self) -> int:
        return len(self.ends)

    @property
    def last(self) -> dict[str, Point]:
        """Win rates of the last checkpoint that all seeds have, against those whom all have met."""
        ends = {
            opponent: points[-1]
            for opponent, points in self.rates.items()
            if points and len(self.finals[opponent]) == self.evaluated_seeds
        }
        last = max((point.decisions for point in ends.values()), default=0.0)
        return {opponent: point for opponent, point in ends.items() if point.decisions == last}

    @property
    def evaluated_after(self) -> str:
        """Decisions of `last`, the number of its seeds, and those that ended before the others."""
        if self.ends and not self.last:
            ends = (f"{name} ended after {end:,.0f}" for name, end in self.ends.items())
            return f"no evaluation in common ({', '.join(ends)})"
        decisions = next((f"{point.decisions:,.0f}" for point in self.last.values()), "–")
        if len(self.folders) == 1:
            return decisions
        longest = max(self.ends.values(), default=0.0)
        early = [name for name, end in self.ends.items() if ended_early(end, longest)]
        ended = f"; {', '.join(early)} ended there, others after {longest:,.0f}" if early else ""
        return f"{decisions} ({self.evaluated_seeds} of {len(self.folders)} seeds{ended})"


class Improvement(Struct, frozen=True, kw_only=True):
    """A training beside the first of a comparison."""

    training: str
    differences: dict[str, Estimate]
    """By opponent, its last win rate less that of the first training: over seeds with Welch's
    interval where both have several, else over hands."""
    probability: Estimate | None
    """That a seed of it wins more than a seed of the first, the mean over opponents (Agarwal and
    others 2021, as rliable); None without several seeds."""


class Comparison(Struct, frozen=True, dict=True):
    """Several trainings side by side."""

    trainings: list[ComparedTraining]

    @cached_property
    def differing(self) -> dict[str, list[object]]:
        """The settings that differ, with their values by training."""
        names = dict.fromkeys(
            name
            for training in self.trainings
            for name in training.settings
            if name not in _IGNORED_SETTINGS
        )
        values: dict[str, list[object]] = {
            name: [training.settings.get(name) for training in self.trainings] for name in names
        }
        return {name: row for name, row in values.items() if any(value != row[0] for value in row)}

    @cached_property
    def improvements(self) -> list[Improvement]:
        """The trainings but the first, beside it."""
        return [_improvement(training, self.trainings[0]) for training in self.trainings[1:]]

    def to_json(self) -> JsonObject:
        # msgspec writes null for the infinite margin of error of an interval over one seed.
        text = msgspec.json.encode(self.trainings, enc_hook=str)
        improvements = msgspec.json.decode(msgspec.json.encode(self.improvements))
        return {
            "trainings": msgspec.json.decode(text),
            "differing": self.differing,
            "improvements": improvements,
        }

    def rows(self) -> list[JsonObject]:
        """All win rates, a row per point."""
        return [
            {
                "training": training.name,
                "seeds": len(training.folders),
                "opponent": opponent,
                **msgspec.to_builtins(point),
            }
            for training in self.trainings
            for opponent, points in training.rates.items()
            for point in points
        ]

    def frame(self) -> pandas.DataFrame:
        """All win rates as a `pandas.DataFrame`."""
        return data_frame(self.rows())

    def text(self) -> str:
        """Differing settings, final win rates and improvements as tables of text."""
        parts = self._settings(), self._win_rates(), self._improvements()
        tables = [(header, rows) for header, rows in parts if rows]
        return "\n\n".join("\n".join(in_columns(*table)) for table in tables)

    def page(self) -> str:
        """Tables and learning curves as a page of HTML."""
        names = [training.name for training in self.trainings]
        title = " and ".join(names) if len(names) < 4 else f"{len(names)} trainings"
        parts = [
            f"<h1>{html_text(title)}</h1>",
            f"<p class='soft'>{html_text(self._intervals())}</p>",
        ]
        header, rows = self._settings()
        parts.append("<h2>Settings that differ</h2>")
        parts.append(charts.card(charts.table(header, rows)) if rows else "<p>None.</p>")
        parts.append("<h2>Win rates</h2>")
        for opponent in self._opponents():
            curves = {
                training.name: as_curve(training.rates.get(opponent, []), 100)
                for training in self.trainings
            }
            if not any(curve.points for curve in curves.values()):
                continue
            chart = charts.curves(
                curves, "decisions", "hands won, in %", reference=50.0, possible=(0.0, 100.0)
            )
            caption = f"against {html_text(opponent)} {charts.keys(names)}"
            parts.append(charts.card(charts.figure(chart, caption)))
        parts.append("<h2>In the end</h2>")
        parts.append(charts.card(charts.table(*self._win_rates())))
        header, rows = self._improvements()
        if rows:
            parts.append(charts.card(charts.table(header, rows)))
        parts.append("<h2>Learning</h2><section class='side'>")
        for metric, about, possible in LEARNING:
            curves = {
                training.name: as_curve(training.learning.get(metric, []))
                for training in self.trainings
            }
            if any(curve.points for curve in curves.values()):
                chart = charts.curves(
                    curves, "decisions", metric, width=480, height=240, possible=possible
                )
                parts.append(charts.figure(chart, html_text(about) + charts.keys(names)))
        return charts.page(title, [*parts, "</section>"])

    def _intervals(self) -> str:
        seeds = [
            f"{training.name}: {training.evaluated_seeds} seeds"
            for training in self.trainings
            if len(training.folders) > 1
        ]
        unit = f"seeds ({', '.join(seeds)})" if seeds else "hands"
        return f"Bands are 95 % intervals over {unit}."

    def _opponents(self) -> list[str]:
        return [*dict.fromkeys(name for training in self.trainings for name in training.rates)]

    def _settings(self) -> tuple[list[str], list[list[str]]]:
        header = ["setting", *(training.name for training in self.trainings)]
        rows = [
            [name, *("–" if value is None else str(value) for value in values)]
            for name, values in self.differing.items()
        ]
        return header, rows

    def _win_rates(self) -> tuple[list[str], list[list[str]]]:
        header = ["wins in % against", *(training.name for training in self.trainings)]
        rows = [
            [opponent, *(rate_text(training.last.get(opponent)) for training in self.trainings)]
            for opponent in self._opponents()
            if any(opponent in training.last for training in self.trainings)
        ]
        if self._opponents():
            ends = [training.evaluated_after for training in self.trainings]
            rows.append(["evaluated after", *ends])
        return header, rows

    def _improvements(self) -> tuple[list[str], list[list[str]]]:
        if not any(each.differences for each in self.improvements):
            return [], []
        header = [
            f"more than {self.trainings[0].name}, in %",
            *(each.training for each in self.improvements),
        ]
        rows = [
            [
                opponent,
                *(difference_text(each.differences.get(opponent)) for each in self.improvements),
            ]
            for opponent in self._opponents()
            if any(opponent in each.differences for each in self.improvements)
        ]
        probabilities = [each.probability for each in self.improvements]
        if any(probabilities):
            texts = [
                f"{each.value:.2f} ({each.low:.2f} to {each.high:.2f})" if each else "–"
                for each in probabilities
            ]
            rows.append(["probability of improvement", *texts])
        return header, rows


def _improvement(training: ComparedTraining, first: ComparedTraining) -> Improvement:
    opponents = [name for name in training.last if name in first.last]
    differences: dict[str, Estimate] = {}
    for name in opponents:
        own, other = training.last[name], first.last[name]
        value = own.value - other.value
        if len(training.folders) == len(first.folders) == 1:
            margin = math.hypot(own.margin_of_error, other.margin_of_error)
            differences[name] = Estimate(value, value - margin, value + margin)
        else:
            differences[name] = difference_of_means(training.finals[name], first.finals[name])
    probability = None
    if opponents and min(training.evaluated_seeds, first.evaluated_seeds) > 1:
        # All results of a seed are one observation, since opponents meet the same network.
        wins = [_win_matrix(training.finals[name], first.finals[name]) for name in opponents]
        probability = probability_of_improvement(np.mean(wins, axis=0))
    return Improvement(training=training.name, differences=differences, probability=probability)


def _win_matrix(values: Sequence[float], others: Sequence[float]) -> Array:
    """For each pair of seeds 1 if the first is better, a half if they are equal."""
    differences = np.subtract.outer(values, others)
    return (differences > 0) + 0.5 * (differences == 0)


def compare(runs: Sequence[str | Path]) -> Comparison:
    """Compare training runs: which settings differ, and how strong the runs are.

    Returns a `Comparison`. Its `text()` has the tables that the command `compare` prints, and its
    `frame()` is a pandas data frame. `runs` is a list of folders, each of a run or of a training
    with several seeds. `"NAME=FOLDER"` gives a run another name.
    """
    if isinstance(runs, (str, Path)) or not isinstance(runs, Iterable):
        raise TypeError(
            f"runs is {short_repr(runs)}: give a list of folders, as in "
            'compare(["runs/a", "runs/b"])'
        )
    trainings = [_load_training(str(run)) for run in runs]
    names = [training.name for training in trainings]
    for training in trainings:
        if names.count(training.name) > 1:
            raise ValueError(
                f"two of these are called {training.name}: give one a name, as in "
                f"NAME={training.folders[0]}"
            )
    return Comparison(trainings)


def runs_in(folder: Path) -> list[Path]:
    """The folder itself if it is a run, else its runs with several seeds."""
    if (folder / SETTINGS).exists():
        return [folder]
    runs = [path.parent for path in folder.glob(f"seed-*/{SETTINGS}")]
    return sorted(runs, key=lambda run: (len(run.name), run.name))


def _load_training(text: str) -> ComparedTraining:
    name, separator, path = text.partition("=")
    folder = Path(path if separator and not Path(text).exists() else text)
    runs = runs_in(folder)
    if not runs and not folder.exists():
        raise ValueError(f"{folder}: there is no such run{suggest_path(folder)}")
    if not runs:
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it, nor in its seeds")
    win_rates = [_load_win_rates(run) for run in runs]
    opponents = dict.fromkeys(opponent for rates in win_rates for opponent in rates)
    curves_of = {name: [rates.get(name, []) for rates in win_rates] for name in opponents}
    metrics = [_load_metrics(run) for run in runs]
    metric_names = dict.fromkeys(metric for curves in metrics for metric in curves)
    return ComparedTraining(
        name=name if str(folder) != text else folder.name,
        folders=tuple(runs),
        settings=_common_settings(runs),
        ends={
            run.name: max(points[-1].decisions for points in rates.values())
            for run, rates in zip(runs, win_rates, strict=True)
            if rates
        },
        finals={
            name: [point.value for points in aligned(curves)[-1:] for point in points]
            for name, curves in curves_of.items()
        },
        rates={name: mean_curve(curves) for name, curves in curves_of.items()},
        learning={
            name: mean_curve([curves.get(name, []) for curves in metrics]) for name in metric_names
        },
    )


def _common_settings(runs: Sequence[Path]) -> JsonObject:
    """Settings of the first run; refused if another learned by others, which makes no mean."""
    first = read_yaml_mapping(runs[0] / SETTINGS)
    for run in runs[1:]:
        settings = read_yaml_mapping(run / SETTINGS)
        for name in dict.fromkeys([*first, *settings]):
            if name not in _OF_A_RUN and settings.get(name) != first.get(name):
                raise ValueError(
                    f"{run / SETTINGS}: {name} is {format_value(settings.get(name))}, and in "
                    f"{runs[0].name} it is {format_value(first.get(name))}: these are seeds of two "
                    f"trainings, so name each run, as in `german-whist compare {runs[0]} {run}`"
                )
    return first


def mean_curve(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """The mean of the `aligned` curves with intervals over seeds; a single curve as it is."""
    if len(curves) == 1:
        return [*curves[0]]
    means = []
    for points in aligned(curves):
        mean = mean_of([point.value for point in points])
        decisions = fmean(point.decisions for point in points)
        means.append(Point(decisions, mean.value, mean.margin_of_error))
    return means


def _load_win_rates(run: Path) -> dict[str, list[Point]]:
    curves: dict[str, list[Point]] = {}
    with _rows_of(run / EVALUATIONS) as rows:
        for row in rows:
            opponent, rules = row["opponent"], row.get("rules")
            if not opponent.startswith(f"{ITSELF}@"):
                title = f"{opponent} ({rules})" if rules else opponent
                values = (float(row[name]) for name in ("decisions", "win_rate", "margin_of_error"))
                curves.setdefault(title, []).append(Point(*values))
    return curves


def _load_metrics(run: Path) -> dict[str, list[Point]]:
    with _rows_of(run / TABLE) as every:
        rows = charts.thinned(every)
        return {
            name: [
                Point(float(row["decisions"]), float(row[name]), 0.0) for row in rows if row[name]
            ]
            for name, *_ in LEARNING
            if rows and name in rows[0]
        }


@contextmanager
def _rows_of(path: Path) -> Iterator[list[dict[str, str]]]:
    """The rows of a run's table, without any before it is written; names a broken file."""
    try:
        if not path.exists():
            yield []
            return
        with open(path, encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
        yield rows
    # A row that is cut short has None in places of numbers.
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise ValueError(
            f"{path}: is not as its run wrote it ({error_text(error)}): leave this run out, or "
            "bring back the file"
        ) from error


def as_curve(points: Sequence[Point], scale: float = 1.0) -> charts.Curve:
    return charts.Curve(
        [(point.decisions, scale * point.value) for point in points],
        [scale * point.margin_of_error for point in points],
    )


def rate_text(point: Point | None) -> str:
    """A win rate in %, with half of its interval."""
    if point is None:
        return "–"
    finite = math.isfinite(point.margin_of_error)
    return f"{100 * point.value:.1f}" + (f" ± {100 * point.margin_of_error:.1f}" if finite else "")


def difference_text(difference: Estimate | None) -> str:
    """A difference of win rates in %, with its margin of error."""
    if difference is None:
        return "–"
    margin = difference.margin_of_error
    finite = f" ± {100 * margin:.1f}" if math.isfinite(margin) else ""
    return f"{100 * difference.value:+.1f}{finite}"
