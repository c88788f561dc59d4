# pyright: strict
"""Train several algorithms on several games with several seeds each, and lay them side by side.

BENCHMARK is a name (`small`, `full`) or a YAML file. The same command goes on with what was broken
off; its folder holds every run, the page benchmark.md and its curves.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("benchmark", metavar="BENCHMARK", help="`small`, `full`, or a YAML file")
    parser.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="where (runs/benchmark-BENCHMARK)"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", default=1, help="trainings at a time, in processes (1)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Train and measure what is missing, and write the page."""
    from ..common.files import atomic_write
    from ..training.experiments.benchmark import PAGE, drawn, load_benchmark, page, run_benchmark

    wanted: str = arguments.benchmark
    benchmark = load_benchmark(wanted)
    if arguments.jobs < 1:
        raise ValueError(f"--jobs is {arguments.jobs}: it has to be at least 1")
    folder: Path = arguments.folder or Path("runs", f"benchmark-{Path(wanted).stem}")
    found = run_benchmark(benchmark, folder, arguments.jobs)
    command = shlex.join(["german-whist", "benchmark", wanted])
    files = {PAGE: page(benchmark, found, command, "."), **drawn(benchmark, found)}
    for name, text in files.items():
        with atomic_write(folder / name, "w") as file:
            file.write(text)
    print(files[PAGE])
    print(folder / PAGE)
    return 0
