"""Runs side by side: the settings that differ, curves over each other, and what they came to.

A folder of runs with several seeds counts as one, and its intervals are over seeds; those of a
single run are over hands.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct

from ...common.files import read_yaml_mapping
from ...common.serialization import data_frame
from ...evaluation.formats import in_columns
from ...evaluation.reports import charts as pictures
from ...evaluation.statistics import mean_of
from ..callbacks.csv_files import MEASURED, TABLE
from ..callbacks.evaluation import ITSELF
from ..callbacks.html_report import LEARNING
from ..runs.store import SETTINGS

# What differs between runs without making them different trainings.
_NOT_COMPARED = ("about", "seed")


class Point(Struct, frozen=True):
    """A figure at some moment of a training."""

    decisions: float
    value: float
    half_width: float
    """Of the 95 % interval: over seeds where there are several, else over hands."""


class Compared(Struct, frozen=True, kw_only=True, dict=True):
    """A training: one run, or one with several seeds."""

    name: str
    folders: tuple[Path, ...]
    settings: dict[str, Any]
    rates: dict[str, list[Point]]
    """Win rates against each opponent, by decisions."""
    learning: dict[str, list[Point]]
    """What the iterations told."""
    measured: int
    """How many of its seeds were measured."""

    @property
    def last(self) -> dict[str, Point]:
        """What its last checkpoint was measured at."""
        ends = {name: points[-1] for name, points in self.rates.items() if points}
        most = max((each.decisions for each in ends.values()), default=0.0)
        return {name: each for name, each in ends.items() if each.decisions == most}

    @property
    def measured_after(self) -> str:
        """At how many decisions the last checkpoint was measured, and of which seeds."""
        decisions = next((f"{each.decisions:,.0f}" for each in self.last.values()), "–")
        seeds = len(self.folders)
        return f"{decisions} ({self.measured} of {seeds} seeds)" if seeds > 1 else decisions


class Comparison(Struct, frozen=True, dict=True):
    """Some trainings side by side."""

    trainings: list[Compared]

    @cached_property
    def differing(self) -> dict[str, list[Any]]:
        """The settings that differ, each with its value in every training."""
        names = dict.fromkeys(name for each in self.trainings for name in each.settings)
        found = {name: [each.settings.get(name) for each in self.trainings] for name in names}
        return {
            name: values for name, values in found.items()
            if name not in _NOT_COMPARED and any(value != values[0] for value in values)
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        # Through its JSON, which has null where an interval has no bounds.
        told = msgspec.json.decode(msgspec.json.encode(self.trainings, enc_hook=str))
        return {"trainings": told, "differing": self.differing}

    def rows(self) -> list[dict[str, Any]]:
        """Every measurement, a row each."""
        return [
            {"training": each.name, "seeds": len(each.folders), "opponent": opponent,
             **msgspec.to_builtins(point)}
            for each in self.trainings for opponent, points in each.rates.items()
            for point in points
        ]  # fmt: skip

    def frame(self) -> Any:
        """Every measurement as a `pandas.DataFrame`."""
        return data_frame(self.rows())

    def text(self) -> str:
        """What differs, and what came of it, in lines."""
        tables = [self._settings_table(), self._strength_table()]
        return "\n\n".join("\n".join(in_columns(*each)) for each in tables if each[1])

    def page(self) -> str:
        """The same with curves, as a page of HTML."""
        names = [each.name for each in self.trainings]
        title = " and ".join(names) if len(names) < 4 else f"{len(names)} trainings"
        parts = [f"<h1>{escape(title)}</h1>", f"<p class='soft'>{escape(self._seeds())}</p>"]
        header, rows = self._settings_table()
        parts.append("<h2>Settings that differ</h2>")
        parts.append(pictures.card(pictures.table(header, rows)) if rows else "<p>None.</p>")
        parts.append("<h2>Win rates</h2>")
        for opponent in self._opponents():
            lines = {
                each.name: as_curve(each.rates.get(opponent, []), 100) for each in self.trainings
            }
            picture = pictures.curves(lines, "decisions", "hands won, in %", reference=50.0)
            caption = f"against {escape(opponent)} {pictures.keys(names)}"
            parts.append(pictures.card(pictures.figure(picture, caption)))
        parts.append("<h2>In the end</h2>")
        parts.append(pictures.card(pictures.table(*self._strength_table())))
        parts.append("<h2>Learning</h2><section class='side'>")
        for figure, about in LEARNING:
            lines = {each.name: as_curve(each.learning.get(figure, [])) for each in self.trainings}
            if any(line.points for line in lines.values()):
                picture = pictures.curves(lines, "decisions", figure, width=480, height=240)
                parts.append(pictures.figure(picture, escape(about) + pictures.keys(names)))
        return pictures.page(title, [*parts, "</section>"])

    def _seeds(self) -> str:
        told = [f"{each.name}: {each.measured} seeds" for each in self.trainings
                if len(each.folders) > 1]  # fmt: skip
        over = "Bands are 95 % intervals"
        return f"{over} over seeds ({', '.join(told)})." if told else f"{over} over hands."

    def _opponents(self) -> list[str]:
        return [*dict.fromkeys(name for each in self.trainings for name in each.rates)]

    def _settings_table(self) -> tuple[list[str], list[list[str]]]:
        header = ["setting", *(each.name for each in self.trainings)]
        rows = [[name, *(_shown(value) for value in values)]
                for name, values in self.differing.items()]  # fmt: skip
        return header, rows

    def _strength_table(self) -> tuple[list[str], list[list[str]]]:
        header = ["wins in % against", *(each.name for each in self.trainings)]
        rows = [
            [name, *(rate_text(each.last.get(name)) for each in self.trainings)]
            for name in self._opponents() if any(name in each.last for each in self.trainings)
        ]  # fmt: skip
        if rows:
            rows.append(["measured after", *(each.measured_after for each in self.trainings)])
        return header, rows


def compare(runs: Sequence[str | Path]) -> Comparison:
    """Runs, and folders of runs with several seeds, side by side; `NAME=RUN` names one anew."""
    found = [_compared(str(each)) for each in runs]
    names = [each.name for each in found]
    for each in found:
        if names.count(each.name) > 1:
            raise ValueError(
                f"two of these are called {each.name}: give one a name, as in "
                f"NAME={each.folders[0]}"
            )
    return Comparison(found)


def runs_in(folder: Path) -> list[Path]:
    """A run as it is, or the runs of a folder with several seeds."""
    if (folder / SETTINGS).exists():
        return [folder]
    found = [each.parent for each in folder.glob(f"seed-*/{SETTINGS}")]
    return sorted(found, key=lambda each: (len(each.name), each.name))


def _compared(text: str) -> Compared:
    title, mark, place = text.partition("=")
    folder = Path(place if mark and not Path(text).exists() else text)
    folders = runs_in(folder)
    if not folders:
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it, nor in its seeds")
    every = [_measured(each) for each in folders]
    opponents = dict.fromkeys(name for each in every for name in each)
    learnt = [_learnt(each) for each in folders]
    figures = dict.fromkeys(name for each in learnt for name in each)
    return Compared(
        name=title if str(folder) != text else folder.name,
        folders=tuple(folders),
        settings=read_yaml_mapping(folders[0] / SETTINGS),
        measured=sum(map(bool, every)),
        rates={name: mean_curve([each.get(name, []) for each in every]) for name in opponents},
        learning={name: mean_curve([each.get(name, []) for each in learnt]) for name in figures},
    )


def mean_curve(lines: Sequence[Sequence[Point]]) -> list[Point]:
    """The means of the seeds' figures, each with its interval; of one run what it says itself.

    A run that was ended before it was measured has fewer: each of its figures meets the others'
    that are nearest in decisions.
    """
    if len(lines) == 1:
        return [*lines[0]]
    told = [line for line in lines if line]
    found = []
    for place in min(told, key=len, default=[]):
        points = [
            min(line, key=lambda each: abs(each.decisions - place.decisions)) for line in told
        ]
        mean = mean_of([each.value for each in points])
        decisions = fmean(each.decisions for each in points)
        found.append(Point(decisions, mean.value, mean.half_width))
    return found


def _measured(folder: Path) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for row in _rows(folder / MEASURED):
        if not row["opponent"].startswith(f"{ITSELF}@"):
            title = f"{row['opponent']} ({row['rules']})" if row.get("rules") else row["opponent"]
            rate, reach = float(row["win_rate"]), float(row["half_width"])
            found.setdefault(title, []).append(Point(float(row["decisions"]), rate, reach))
    return found


def _learnt(folder: Path) -> dict[str, list[Point]]:
    rows = pictures.thinned(_rows(folder / TABLE))
    return {
        name: [Point(float(row["decisions"]), float(row[name]), 0.0) for row in rows if row[name]]
        for name, _ in LEARNING if rows and name in rows[0]
    }  # fmt: skip


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def as_curve(points: Sequence[Point], scale: float = 1.0) -> pictures.Curve:
    """Figures as a line of a picture."""
    return pictures.Curve(
        [(each.decisions, scale * each.value) for each in points],
        [scale * each.half_width for each in points],
    )


def rate_text(point: Point | None) -> str:
    """A win rate in %, with half of its interval."""
    if point is None:
        return "–"
    reach = f" ± {100 * point.half_width:.1f}" if math.isfinite(point.half_width) else ""
    return f"{100 * point.value:.1f}{reach}"


def _shown(value: Any) -> str:
    return "–" if value is None else str(value)
