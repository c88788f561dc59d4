# pyright: strict
"""Compare algorithms on several rule sets, with several seeds each.

BENCHMARK is a name (`small`, `full`) or a YAML file. The same command resumes an interrupted
benchmark; its folder holds all runs, the page benchmark.md and its charts.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from .worker_options import add_trust_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", help="`small`, `full`, or a YAML file")
    parser.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="default: runs/benchmark-BENCHMARK"
    )
    parser.add_argument(
        "--jobs", type="positive", metavar="N", default=1, help="number of processes (default: 1)"
    )
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..common.files import write_file
    from ..training.experiments.benchmark import (
        PAGE,
        draw_charts,
        load_benchmark,
        page,
        run_benchmark,
    )

    name: str = arguments.benchmark
    benchmark = load_benchmark(name)
    folder: Path = arguments.folder or Path("runs", f"benchmark-{Path(name).stem}")
    results = run_benchmark(benchmark, folder, arguments.jobs)
    command = shlex.join(["german-whist", "benchmark", name])
    files = {PAGE: page(benchmark, results, command, "."), **draw_charts(benchmark, results)}
    for file_name, text in files.items():
        write_file(folder / file_name, text)
    print(files[PAGE])
    print(folder / PAGE)
    return 0
