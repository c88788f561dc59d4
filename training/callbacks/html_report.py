"""The page of a run: its learning curves as pictures in the page, and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ...agents.base import EXACT_SOLVER, OWN_POLICY
from ...agents.checkpoints.checkpoint import FOLDER, WEIGHTS
from ...agents.perfect_endgame import EndgamePlayer
from ...common.files import atomic_write
from ...evaluation.reports import charts as pictures
from ..checkpoint import Measured
from ..settings import Settings
from .evaluation import curve_of

LEARNING = (
    ("entropy", "entropy of the policy, in nats"),
    ("explained_variance", "fraction of the returns' variance that the critic explains"),
    ("value_loss", "mean squared error of the critic"),
    ("approx_kl", "approximate KL divergence between the policies before and after an iteration"),
    ("clip_fraction", "fraction of decisions with a clipped ratio"),
    ("decisions_per_second", "decisions per second"),
)
"""The figures of iterations that reports show, and what they are."""


def write_report(
    path: Path,
    settings: Settings,
    rows: Sequence[Mapping[str, Any]],
    measured: Sequence[Measured],
) -> None:
    """Write the page of a run as far as it is."""
    name = path.parent.name
    parts = [f"<h1>{escape(name)}</h1><p class='soft'>{escape(settings.about)}</p>"]
    if measured:
        parts += ["<h2>Win rates</h2>", pictures.card(_strength(measured))]
        parts.append(pictures.card(_table(measured)))
        parts.append(f"<p class='soft'>{escape(_measured_as(settings))}</p>")
    if rows:
        parts.append("<h2>Learning</h2><section class='side'>")
        for key, about in LEARNING:
            found = [(row["decisions"], row[key]) for row in rows if key in row]
            if found:
                points = pictures.thinned(found)
                line = {key: pictures.Curve(points)}
                picture = pictures.curves(line, "decisions", key, width=480, height=240)
                parts.append(pictures.figure(picture, escape(about)))
        parts.append("</section>")
    parts.append(f"<h2>Settings</h2><pre>{escape(settings.as_yaml())}</pre>")
    with atomic_write(path, "w") as file:
        file.write(pictures.page(name, parts))


def endgame_player(settings: Settings) -> str:
    """Who plays the endings of a run's checkpoints where they are measured."""
    solved = [EndgamePlayer.solves(each.rules) for each in settings.all_options]
    if len(set(solved)) > 1:
        return f"{EXACT_SOLVER} in rules whose endings are solved, else {OWN_POLICY}"
    return EXACT_SOLVER if all(solved) else OWN_POLICY


def _measured_as(settings: Settings) -> str:
    """Which files the measurements are of, and who played their endings."""
    return (
        f"Each row is of the checkpoint {FOLDER}/DECISIONS{WEIGHTS}, its decisions written with "
        f"twelve digits. Endgame: {endgame_player(settings)}."
    )


def _strength(measured: Sequence[Measured]) -> str:
    names = list(dict.fromkeys(curve_of(each.title) for each in measured))
    lines: dict[str, pictures.Curve] = {}
    for name in names:
        mine = [each for each in measured if curve_of(each.title) == name]
        lines[name] = pictures.Curve(
            [(each.decisions, 100 * each.win_rate) for each in mine],
            [100 * each.half_width for each in mine],
        )
    picture = pictures.curves(lines, "decisions", "hands won, in %", reference=50.0)
    return pictures.figure(picture, f"against {pictures.keys(names)}; bands are 95 % intervals")


def _table(measured: Sequence[Measured]) -> str:
    return pictures.table(
        ("decisions", "against", "wins", "margin", "hands"),
        [
            (
                f"{each.decisions:,}",
                each.title,
                f"{100 * each.win_rate:.1f} ± {100 * each.half_width:.1f} %",
                f"{each.margin:+.2f}",
                f"{each.hands:,}",
            )
            for each in measured
        ],
    )
