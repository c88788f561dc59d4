# pyright: strict
"""Compare algorithms on several rule sets, with several seeds each.

BENCHMARK is a name (`small`, `full`, `exact`, `exact-large`, `exact-long`), a YAML file, or the
results.jsonl of a benchmark, of which nothing is trained. After a name or file, trainers of your
own (`module:Class`) are trained in place of its algorithms, and shown beside the package's results.
The same command resumes an interrupted benchmark; its folder holds all runs and results.jsonl,
which grows with each run. The page benchmark.md and its charts show the results of all that are
given, and lie in the folder of the first.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from .worker_options import add_trust_option

_PAGE = "benchmark.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "benchmarks",
        nargs="+",
        metavar="BENCHMARK",
        help="name, YAML file, results.jsonl, or a trainer as module:Class",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="folder of the first (default: runs/benchmark-BENCHMARK[-Class])",
    )
    parser.add_argument(
        "--jobs", type="positive", metavar="N", default=1, help="number of processes (default: 1)"
    )
    add_trust_option(parser)


def _is_trainer(name: str) -> bool:
    """Whether a word is a trainer as module:Class, and no path with a drive."""
    return ":" in name and Path(name).suffix not in (".yaml", ".yml", ".jsonl")


def run(arguments: argparse.Namespace) -> int:
    from ..common.files import write_file
    from ..common.markup import printable
    from ..common.settings import SettingsError
    from ..common.signals import RunStopped
    from ..training.experiments.benchmark import (
        PUBLISHED,
        Benchmark,
        load_benchmark,
        load_results,
        published_results,
        run_benchmark,
        unite,
    )
    from ..training.experiments.benchmark_report import Result, draw_charts, page

    trainers = [name for name in arguments.benchmarks if _is_trainer(name)]
    names = [name for name in arguments.benchmarks if name not in trainers]
    if trainers and all(Path(name).suffix == ".jsonl" for name in names):
        raise SettingsError(
            f"{trainers[0]} is a trainer: name the benchmark that it is for, as in "
            f"`german-whist benchmark exact {trainers[0]}`"
        )
    for name in names:
        if Path(name).suffix == ".py":
            raise SettingsError(
                f"{name} is a program: name the trainer in it, as in `german-whist benchmark exact "
                f"{Path(name).stem}:Class`"
            )
    classes = [trainer.rpartition(":")[2] for trainer in trainers]
    folders = [Path("runs", "-".join(["benchmark", Path(name).stem, *classes])) for name in names]
    folders[0] = arguments.folder or folders[0]
    # Those to run are checked before the first begins.
    sources = [
        load_results(Path(name))
        if Path(name).suffix == ".jsonl"
        else load_benchmark(name, trainers)
        for name in names
    ]
    shown: list[tuple[str, list[Result]]] = []
    try:
        for name, source, folder in zip(names, sources, folders, strict=True):
            is_benchmark = isinstance(source, Benchmark)
            results = run_benchmark(source, folder, arguments.jobs) if is_benchmark else source
            shown.append((str(folder) if is_benchmark else name, results))
            if is_benchmark and trainers:
                shown.append((PUBLISHED, published_results(source)))
    except RunStopped as stopped:
        print(printable(str(stopped)))
        return stopped.status
    except KeyboardInterrupt:
        print("the benchmark goes on with the same command")
        raise
    results = unite(shown)
    text = page(results, shlex.join(["german-whist", "benchmark", *arguments.benchmarks]), ".")
    for file_name, content in {_PAGE: text, **draw_charts(results)}.items():
        write_file(folders[0] / file_name, content)
    print(printable(text))
    print(folders[0] / _PAGE)
    return 0
