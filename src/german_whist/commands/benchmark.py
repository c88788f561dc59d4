# pyright: strict
"""Compare algorithms on several rule sets, with several seeds each.

BENCHMARK is one of the benchmarks `small`, `full`, `exact`, `exact-large`, `exact-long`,
`exact-hour`, `exact-ablation`, `exact-depth` and `exact-hand`, or a YAML file. To continue an
interrupted benchmark, give the same command again. Its folder holds all runs, and results.jsonl,
which grows with each run.

To compare your own trainers and networks, name them after the benchmark as `file.py:Class` or
`module:Class`. Only your classes are then trained, and the page shows them beside the package's
results. It says where your classes had other decks, budgets or information.

You can also name the results.jsonl of a finished benchmark. It is shown, and nothing is trained.
The page benchmark.md and its charts show the results of all that you name. They are written to the
folder of what you name first. For FILE.jsonl this is runs/benchmark-FILE.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .worker_options import add_trust_option, worker_count

if TYPE_CHECKING:
    from ..training.experiments.benchmark_results import Result

_PAGE = "benchmark.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "benchmarks",
        nargs="+",
        metavar="BENCHMARK",
        help="name of a benchmark, YAML file, results.jsonl, or your own file.py:Class",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="folder to write the first benchmark to (default: runs/benchmark-BENCHMARK[-Class])",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="W",
        default=1,
        help="number of runs that train side by side (default: 1; 0: one per core)",
    )
    add_trust_option(parser)


def _is_class(name: str) -> bool:
    """Whether a word is file.py:Class or module:Class, and no path with a drive."""
    return ":" in name and Path(name).suffix not in (".yaml", ".yml", ".jsonl")


def _on_decks_of(
    shown: Sequence[tuple[str, Sequence[Result]]], published: Sequence[Result]
) -> list[Result]:
    """Published results on the decks of those that are shown."""
    decks = {result.rules for _, results in shown for result in results}
    return [result for result in published if result.rules in decks]


def run(arguments: argparse.Namespace) -> int:
    from ..common.files import write_file
    from ..common.markup import printable
    from ..common.settings import SettingsError
    from ..common.signals import RunStopped
    from ..common.trust import trusting
    from ..training.experiments.benchmark import (
        Benchmark,
        expected_results,
        load_benchmark,
        run_benchmark,
    )
    from ..training.experiments.benchmark_report import columns_of, draw_charts, page, values_of
    from ..training.experiments.benchmark_results import (
        EXPLOITABILITY,
        PUBLISHED,
        load_results,
        published_results,
        unite,
    )
    from ..training.experiments.benchmark_statistics import draw_intervals, draw_pairs

    workers = worker_count(arguments)
    classes = [name for name in arguments.benchmarks if _is_class(name)]
    names = [name for name in arguments.benchmarks if name not in classes]
    if classes and all(Path(name).suffix == ".jsonl" for name in names):
        raise SettingsError(
            f"{classes[0]} is a class: name the benchmark that it is for, as in "
            f"`german-whist benchmark exact {classes[0]}`"
        )
    for name in names:
        if Path(name).suffix == ".py":
            raise SettingsError(
                f"{name} is a program: name the trainer or the network in it, as in "
                f"`german-whist benchmark exact {name}:Class`"
            )
    ends = [name.rpartition(":")[2] for name in classes]
    folders = [Path("runs", "-".join(["benchmark", Path(name).stem, *ends])) for name in names]
    folders[0] = arguments.folder or folders[0]
    trained = [
        folder for name, folder in zip(names, folders, strict=True) if Path(name).suffix != ".jsonl"
    ]
    for folder in trained:
        if trained.count(folder) > 1:
            raise SettingsError(
                f"two of the benchmarks would be written to {folder}: give one of the files "
                "another name, or run one benchmark after the other"
            )
    with trusting(classes):
        # Those to run are checked before the first begins.
        sources = [
            load_results(Path(name))
            if Path(name).suffix == ".jsonl"
            else load_benchmark(name, classes)
            for name in names
        ]
        shown: list[tuple[str, list[Result]]] = []
        published: list[Result] = published_results() if classes else []
        # Results that will contradict others are refused before the first begins, too.
        expected = [
            (str(folder), expected_results(source, folder))
            if isinstance(source, Benchmark)
            else (name, source)
            for name, source, folder in zip(names, sources, folders, strict=True)
        ]
        unite([*expected, (PUBLISHED, _on_decks_of(expected, published))])
        try:
            for name, source, folder in zip(names, sources, folders, strict=True):
                is_benchmark = isinstance(source, Benchmark)
                results = run_benchmark(source, folder, workers) if is_benchmark else source
                shown.append((str(folder) if is_benchmark else name, results))
        except RunStopped as stopped:
            print(printable(str(stopped)))
            return stopped.status
        except KeyboardInterrupt:
            print("the benchmark goes on with the same command")
            raise
    results = unite([*shown, (PUBLISHED, _on_decks_of(shown, published))])
    command = shlex.join(["german-whist", "benchmark", *arguments.benchmarks])
    files: dict[str, str | bytes] = {**draw_charts(results)}
    try:
        log = [column for column in columns_of(results) if EXPLOITABILITY in column[1]]
        files |= draw_intervals(values_of(results), log=log)
        files |= draw_pairs(values_of(results), log=log)
    except ValueError as error:
        print(error)
    text = page(results, command, ".", published, files)
    for file_name, content in {_PAGE: text, **files}.items():
        write_file(folders[0] / file_name, content)
    print(printable(text))
    print(folders[0] / _PAGE)
    return 0
