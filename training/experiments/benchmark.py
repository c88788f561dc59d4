"""Algorithms beside each other: each on several games with several seeds, at one budget.

On a small deck a player is measured by its exact exploitability, on others by its duplicate win
rates against fixed players. The result of an algorithm is the mean over its seeds with Student's
95 % interval; a percentile bootstrap of three to five seeds covers only 74 to 93 %. An algorithm is
a trainer with settings over those that all have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from ...agents.checkpoints.checkpoint import FOLDER, checkpoints_in
from ...agents.equilibrium.public_tree import public_tree, why_not
from ...agents.registry import make_agent
from ...common.executors import Executor
from ...common.files import atomic_write
from ...common.settings_files import PresetFiles, build_settings
from ...common.typed_settings import (
    CheckedSettings,
    EvenHands,
    Names,
    PositiveInt,
    SettingsError,
    doc,
)
from ...common.typing import Array
from ...engine.rules import load_rules
from ...evaluation import Estimate, evaluate
from ...evaluation.exploitability.exact import measure_exploitability
from ...evaluation.reports import charts as pictures
from ...evaluation.statistics import mean_of
from ..callbacks.evaluation import evaluation_seed
from ..runs.api import train_or_go_on
from ..runs.presets import settings_from
from ..settings import Settings
from .compare import Point, as_curve, mean_curve

BENCHMARKS = PresetFiles("benchmark", "a benchmark")
"""Those that come with the package."""
RESULT, PAGE = "result.json", "benchmark.md"
EXPLOITABILITY = "exploitability"
_MOST_CARDS, _MOST_SETS = 16, 5_000_000


class Benchmark(CheckedSettings, frozen=True, kw_only=True):
    """What a benchmark plays, as its YAML file says."""

    about: Annotated[str, doc("What it is for, in a line.")] = ""
    algorithms: Annotated[
        dict[str, dict[str, Any]],
        doc(
            "Trainers by the names of their rows, each with settings; `trainer` names another.",
            min_length=1,
        ),
    ]
    sizes: Annotated[Names, doc("The games: solved decks or other rule sets.", min_length=1)]
    seeds: Annotated[
        int,
        doc(
            "How many seeds each has, from 1 on; an interval over them needs three.",
            ge=3,
            le=10_000,
        ),
    ] = 5
    decisions: Annotated[PositiveInt, doc("The budget of each training.")] = 200_000
    points: Annotated[PositiveInt, doc("How often each is measured, the end included.")] = 5
    settings: Annotated[dict[str, Any], doc("Of all of them.")] = msgspec.field(
        default_factory=dict[str, Any]
    )
    against: Annotated[Names, doc("Whom players of other games are measured against.")] = (
        "threshold",
    )
    hands: Annotated[EvenHands, doc("Against each of them.")] = 2_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for cell in self.cells():
            self.training(cell)

    def cells(self) -> list[Cell]:
        """Every training there is to be, all seeds of one after another."""
        return [
            Cell(size, algorithm, seed)
            for size in self.sizes
            for seed in range(1, self.seeds + 1)
            for algorithm in self.algorithms
        ]

    def training(self, cell: Cell) -> Settings:
        """The settings of one of them."""
        own = {"trainer": cell.algorithm, **self.algorithms[cell.algorithm]}
        every = -(-self.decisions // self.points)
        fixed = {
            "rules": cell.size, "seed": cell.seed, "decisions": self.decisions,
            "eval_every": every, "save_every": every, "eval_opponents": [],
            "final_eval_opponents": [],
            "eval_mode": "sync", "final_eval_hands": 2, "eval_hands": 2, "threads": 1,
            "about": "a training of a benchmark",
        }  # fmt: skip
        return settings_from({**self.settings, **own, **fixed}, f"algorithms: {cell.algorithm}")


class Cell(NamedTuple):
    """One training."""

    size: str
    algorithm: str
    seed: int

    def folder(self, base: Path) -> Path:
        """Where it is."""
        return base / self.size / self.algorithm / f"seed-{self.seed}"


Curve = list[tuple[int, float]]
"""A figure after so many decisions."""


class Measured(NamedTuple):
    """What a training came to: a curve of each figure."""

    cell: Cell
    curves: dict[str, Curve]


def load_benchmark(wanted: str | Path) -> Benchmark:
    """A benchmark by its name, or from a YAML file."""
    values, source = BENCHMARKS.values(wanted)
    return build_settings(Benchmark, values, source, "a part of a benchmark")


def run_benchmark(
    wanted: Benchmark, folder: Path, jobs: int = 1, say: Callable[[str], None] = print
) -> list[Measured]:
    """Train and measure whatever is not there yet, and write the page; goes on where it was."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "benchmark.yaml"
    if kept.exists() and kept.read_text(encoding="utf-8") != wanted.as_yaml():
        raise SettingsError(f"{folder} holds another benchmark: name another folder")
    with atomic_write(kept, "w") as file:
        file.write(wanted.as_yaml())
    cells = wanted.cells()
    left = [cell for cell in cells if not (cell.folder(folder) / RESULT).exists()]
    with Executor(_trainer, (wanted, folder), jobs, threads=0) as executor:
        futures = {executor.submit(cell): cell for cell in left}
        for number, future in enumerate(as_completed(futures), 1):
            future.result()
            cell = futures[future]
            say(f"{number} of {len(left)}: {cell.algorithm} on {cell.size}, seed {cell.seed}")
    return [_read(cell, folder) for cell in cells]


def _trainer(setup: tuple[Benchmark, Path]) -> Callable[[Cell], None]:
    wanted, folder = setup
    return lambda cell: _trained(wanted, cell, folder)


def _trained(wanted: Benchmark, cell: Cell, base: Path) -> None:
    """Train one, or go on with it, and measure all of its checkpoints."""
    folder = cell.folder(base)
    train_or_go_on(wanted.training(cell), folder, quiet=True)
    curves: dict[str, Curve] = {}
    for checkpoint in checkpoints_in(folder / FOLDER):
        for name, value in _figures(wanted, cell, checkpoint).items():
            curves.setdefault(name, []).append((int(checkpoint.stem), value))
    with atomic_write(folder / RESULT, "w") as file:
        file.write(json.dumps(curves, indent=1) + "\n")


def _figures(wanted: Benchmark, cell: Cell, checkpoint: Path) -> dict[str, float]:
    rules = load_rules(cell.size)
    player = f"network:{checkpoint},sample"
    if is_solvable(cell.size):
        return {
            EXPLOITABILITY: measure_exploitability(make_agent(player, rules), rules).exploitability
        }
    seed = evaluation_seed(cell.seed)
    found = evaluate(player, list(wanted.against), rules, hands=wanted.hands, seed=seed)
    return {f"wins against {each.opponent}": each.win_rate.value for each in found.pairings}


def is_solvable(size: str) -> bool:
    """Whether exploitability is found exactly, and soon enough to be found for every checkpoint."""
    rules = load_rules(size)
    if why_not(rules) is not None or len(rules.deck) > _MOST_CARDS:
        return False
    return public_tree(rules).sets <= _MOST_SETS


def _read(cell: Cell, folder: Path) -> Measured:
    told = json.loads((cell.folder(folder) / RESULT).read_text(encoding="utf-8"))
    return Measured(cell, {name: [(int(n), x) for n, x in curve] for name, curve in told.items()})


# -- over seeds


def over_seeds(games: Sequence[Array]) -> Estimate:
    """The mean of the figures of several games, each by seed, with its 95 % interval over seeds.

    A seed's figures of all games are one observation.
    """
    return mean_of(np.mean(games, axis=0))


# -- the page


def page(wanted: Benchmark, found: Sequence[Measured], command: str, images: str) -> str:
    """The tables in Markdown, with the pictures that `drawn` draws, which lie at `images`."""
    random_play = _at_random(wanted, found)
    parts = [
        f"{wanted.seeds} seeds of {wanted.decisions:,} decisions each; means over seeds with 95 % "
        "intervals (Student's t)."
    ]
    columns = _columns(found)
    header = ["algorithm", *(f"`{size}` {name}" for size, name in columns)]
    solved = [size for size, name in columns if name == EXPLOITABILITY]
    if len(solved) > 1:
        header.append("share of random play's")
    rows = []
    for algorithm in wanted.algorithms:
        last = {column: _last(found, algorithm, column) for column in columns}
        cells = [_text(over_seeds([last[column]])) for column in columns]
        if len(solved) > 1:
            shares = [last[size, EXPLOITABILITY] / random_play[size] for size in solved]
            cells.append(_text(over_seeds(shares), 3))
        rows.append([f"`{algorithm}`", *cells])
    if solved:
        told = [f"{random_play[size]:.4f}" if size in solved else "–" for size, _ in columns]
        rows.append(["`random-exact`", *told, *(["1"] if len(solved) > 1 else [])])
    parts.append(_table(header, rows))
    parts += [
        f"![{name} on {size} while training]({images}/{picture_name(size, name)})"
        for size, name in columns
    ]
    parts.append(f"Made by `{command}`.")
    return "\n\n".join(parts) + "\n"


def drawn(wanted: Benchmark, found: Sequence[Measured]) -> dict[str, str]:
    """The curves of each game and figure as SVG files, by name."""
    names = [*wanted.algorithms]
    files = {}
    for size, name in _columns(found):
        lines: dict[str, pictures.Curve] = {}
        for algorithm in names:
            of_seeds = [
                [Point(decisions, value, 0.0) for decisions, value in each.curves[name]]
                for each in found
                if (each.cell.size, each.cell.algorithm) == (size, algorithm)
            ]  # fmt: skip
            lines[algorithm] = as_curve(mean_curve(of_seeds))
        picture = pictures.curves(lines, "decisions", f"{name}, {size}")
        files[picture_name(size, name)] = pictures.standalone(picture, names)
    return files


def picture_name(size: str, figure: str) -> str:
    """The file of a picture."""
    return f"benchmark-{size}-{figure.replace(' ', '-')}.svg"


def _columns(found: Sequence[Measured]) -> list[tuple[str, str]]:
    return [*dict.fromkeys((each.cell.size, name) for each in found for name in each.curves)]


def _last(found: Sequence[Measured], algorithm: str, column: tuple[str, str]) -> Array:
    size, name = column
    return np.array(
        [each.curves[name][-1][1] for each in found
         if (each.cell.size, each.cell.algorithm) == (size, algorithm)]
    )  # fmt: skip


def _at_random(wanted: Benchmark, found: Sequence[Measured]) -> Mapping[str, float]:
    """How much is won from random play on each solved deck, which tells what is much."""
    sizes = {each.cell.size for each in found if EXPLOITABILITY in each.curves}
    decks = [load_rules(size) for size in wanted.sizes if size in sizes]
    return {
        rules.name: measure_exploitability(make_agent("random-exact", rules), rules).exploitability
        for rules in decks
    }


def _text(told: Estimate, digits: int = 4) -> str:
    return f"{told.value:.{digits}f} [{told.low:.{digits}f}, {told.high:.{digits}f}]"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, marks, *rows))
