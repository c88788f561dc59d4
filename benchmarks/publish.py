"""Bring results into the published ones: `python -m benchmarks.publish FOLDER ...`.

FOLDER is that of a benchmark, finished or not. A run replaces the published one of its algorithm,
rule set and seed. If its settings or its budget are others, the published runs with other seeds no
longer belong to it, and are removed. `iterations.csv.xz` gets what the run wrote at each iteration,
and the figure of the intervals is drawn again. Afterwards `make docs` writes the tables anew.
"""

from __future__ import annotations

import argparse
import csv
import io
import lzma
import math
import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import msgspec

from german_whist.common.files import write_file
from german_whist.solvers.public_tree import count_info_sets
from german_whist.training.callbacks.report_files import TABLE as PROGRESS
from german_whist.training.experiments.benchmark import RUN, folder_of
from german_whist.training.experiments.benchmark_report import columns_of, values_of
from german_whist.training.experiments.benchmark_results import (
    PUBLISHED,
    RESULTS,
    Result,
    common_of,
    load_results,
    unite,
)
from german_whist.training.experiments.benchmark_statistics import draw_intervals, draw_pairs

ROOT = Path(__file__).resolve().parents[1]
RANKED = ROOT / "configs" / "benchmark" / PUBLISHED
"""Results of the main table, which `german-whist benchmark` shows beside anybody's."""
OTHERS = ROOT / "benchmarks" / "results" / "exploitability-others.jsonl"
"""Results of the tables beside it, with other budgets, decks or information."""
ITERATIONS = ROOT / "benchmarks" / "results" / "iterations.csv.xz"
PICTURES = ROOT / "docs" / "pictures"
SEARCHED_DECK = "2x5-h3"
"""Deck of the searches for settings, which gives the tables their order."""
_COLUMNS = ("rules", "algorithm", "seed")
"""The run that a row of `ITERATIONS` is of."""
_SECONDS = ("seconds", "processor_seconds")
_DIGITS = 4
"""Digits of the other fractions there: more would say nothing, and fill the source distribution."""
MOST_ROWS = 500
"""Of a longer run, every second, third or later iteration is there, and the last."""
_FOLLOWS = "decisions_per_second"
"""Column that is left out: but for pauses, decisions and seconds say it."""

Key = tuple[str, str, str]


def merged(published: Sequence[Result], results: Sequence[Result]) -> list[Result]:
    """The published results with new ones in their places."""
    new = {_key(result): result for result in results}
    common = {key[:2]: common_of(result) for key, result in new.items()}
    kept: list[Result] = []
    for result in published:
        key = _key(result)
        if key in new:
            kept.append(new.pop(key))
        elif common.get(key[:2], common_of(result)) == common_of(result):
            kept.append(result)
    return [*kept, *new.values()]


def _key(result: Result) -> Key:
    return result.rules, result.algorithm, str(result.seed)


def progress_of(folder: Path, result: Result) -> list[dict[str, str]]:
    """What a run of a benchmark wrote at each iteration; nothing if nothing was trained."""
    run_folder = folder_of(result.algorithm, result.load_rules().name, result.seed)
    path = folder / run_folder / RUN / PROGRESS
    if not path.exists():
        return []
    run = dict(zip(_COLUMNS, _key(result), strict=True))
    with path.open(encoding="utf-8", newline="") as file:
        return [
            run | {name: _short(name, text) for name, text in row.items() if name != _FOLLOWS}
            for row in csv.DictReader(file)
        ]


def thinned(rows: Sequence[dict[str, str]]) -> Sequence[dict[str, str]]:
    """Rows at equal distances, the last of them included: at most `MOST_ROWS`."""
    step = math.ceil(len(rows) / MOST_ROWS)
    return rows[::-1][::step][::-1] if step > 1 else rows


def _short(name: str, text: str) -> str:
    """A number with a fraction in few digits; anything else as it is."""
    if name in _SECONDS or not re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", text) or text.isdigit():
        return text
    return f"{float(text):.{_DIGITS}g}"


def read_iterations(path: Path) -> Iterator[dict[str, str]]:
    """Its rows, which have values in the columns of their algorithm alone."""
    if path.exists():
        with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield {name: value for name, value in row.items() if value}


def write_iterations(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write rows with the columns of all."""
    text = io.StringIO()
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, [*columns], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, lzma.compress(text.getvalue().encode(), preset=9 | lzma.PRESET_EXTREME))


def publish(
    folders: Sequence[Path], target: Path, other: Path, iterations: Path = ITERATIONS
) -> list[Result]:
    """Bring the results of the folders into a file of results; returns those that are new there.

    `other` is the second file of results. A run has its place in one of them.
    """
    published = load_results(target) if target.exists() else []
    elsewhere = {_key(result) for result in load_results(other)} if other.exists() else set()
    results: list[Result] = []
    progress: dict[Key, list[dict[str, str]]] = {}
    for folder in folders:
        for result in load_results(folder / RESULTS):
            if _key(result) in elsewhere:
                raise ValueError(
                    f"{folder}: {result.name} is in {other.name}: bring it there, or give the "
                    "algorithm another name"
                )
            results.append(result)
            rows = progress_of(folder, result)
            # The folder of a run may have been deleted since it was published.
            if rows or result not in published:
                progress[_key(result)] = rows
    together = merged(published, results)
    unite([(target.name, together)])
    gone = {_key(result) for result in published} - {_key(result) for result in together}
    for rules, algorithm, seed in sorted(gone):
        print(f"removed, since its settings are others: {algorithm} on {rules}, seed {seed}")
    runs: dict[Key, list[dict[str, str]]] = {}
    for row in read_iterations(iterations):
        rules, algorithm, seed = (row[name] for name in _COLUMNS)
        runs.setdefault((rules, algorithm, seed), []).append(row)
    kept = {key: run for key, run in runs.items() if key not in gone | progress.keys()}
    written = [row for run in [*kept.values(), *progress.values()] for row in thinned(run)]
    # First, because what is removed from the file of results is known from this file alone.
    write_iterations(iterations, written)
    write_file(target, b"".join(msgspec.json.encode(result) + b"\n" for result in together))
    return [result for result in together if result not in published]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.publish", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--beside",
        action="store_true",
        help=f"bring them into {OTHERS.name}, for other tables than the main one",
    )
    place.add_argument(
        "--into",
        type=Path,
        metavar="DOCS",
        help=f"bring them into {PUBLISHED} and {ITERATIONS.name} of this folder of an extension",
    )
    arguments = parser.parse_args(argv)
    if arguments.into:
        files = arguments.into / PUBLISHED, RANKED, arguments.into / ITERATIONS.name
    else:
        files = (OTHERS, RANKED) if arguments.beside else (RANKED, OTHERS)
    try:
        new = publish(arguments.folders, *files)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    for result in new:
        print(result.name)
    ranked = load_results(RANKED)
    if arguments.into:
        own = load_results(files[0])
        shown = in_order([*ranked, *own], {run.rules for run in own})
        pictures = arguments.into / PICTURES.name
        figures = draw_intervals(values_of(shown), log=columns_of(shown))
    else:
        shown, pictures = in_order(ranked, {run.rules for run in ranked}), PICTURES
        values, log = values_of(shown), columns_of(shown)
        figures = draw_intervals(values, log=log) | draw_pairs(values, log=log)
    for name, content in figures.items():
        write_file(pictures / name, content)


def in_order(results: Sequence[Result], rules: Container[str]) -> list[Result]:
    """The results on these rule sets as the tables have them: small decks and low values first."""
    shown = unite([("", [run for run in results if run.rules in rules])])
    means = {
        name: float(runs.mean())
        for (deck, _), column in values_of(shown).items()
        if deck == SEARCHED_DECK
        for name, runs in column.items()
    }
    return sorted(
        shown,
        key=lambda run: (count_info_sets(run.load_rules()), means.get(run.algorithm, math.inf)),
    )


if __name__ == "__main__":
    main()
