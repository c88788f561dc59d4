# pyright: strict
"""Compare algorithms on several rule sets, with several seeds each.

BENCHMARK is a name (`small`, `full`, `exact`, `exact-large`), a YAML file, or the results.jsonl of
a benchmark, of which nothing is trained. The same command resumes an interrupted benchmark; its
folder holds all runs and results.jsonl. The page benchmark.md and its charts show the results of
all that are given, and lie in the folder of the first.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from .worker_options import add_trust_option

_PAGE = "benchmark.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "benchmarks", nargs="+", metavar="BENCHMARK", help="name, YAML file, or results.jsonl"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="folder of the first (default: runs/benchmark-BENCHMARK)",
    )
    parser.add_argument(
        "--jobs", type="positive", metavar="N", default=1, help="number of processes (default: 1)"
    )
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..common.files import write_file
    from ..common.signals import RunStopped
    from ..training.experiments.benchmark import (
        Benchmark,
        load_benchmark,
        load_results,
        run_benchmark,
    )
    from ..training.experiments.benchmark_report import Result, draw_charts, page

    names: list[str] = arguments.benchmarks
    folders = [Path("runs", f"benchmark-{Path(name).stem}") for name in names]
    folders[0] = arguments.folder or folders[0]
    # Those to run are checked before the first begins.
    sources = [
        load_results(Path(name)) if Path(name).suffix == ".jsonl" else load_benchmark(name)
        for name in names
    ]
    results: list[Result] = []
    try:
        for source, folder in zip(sources, folders, strict=True):
            is_benchmark = isinstance(source, Benchmark)
            results += run_benchmark(source, folder, arguments.jobs) if is_benchmark else source
    except RunStopped as stopped:
        print(stopped)
        return stopped.status
    text = page(results, shlex.join(["german-whist", "benchmark", *names]), ".")
    for file_name, content in {_PAGE: text, **draw_charts(results)}.items():
        write_file(folders[0] / file_name, content)
    print(text)
    print(folders[0] / _PAGE)
    return 0
