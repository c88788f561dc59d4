# pyright: strict
"""Compare runs: the settings that differ, learning curves and win rates.

Name the folder of a run, or a folder with the runs of several seeds. Several seeds count as one
run, with intervals over the seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="folder of a run, or of the runs of several seeds; NAME=RUN gives it a name",
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page with learning curves to FILE"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the comparison as JSON to FILE"
    )


def run(arguments: argparse.Namespace) -> int:
    from ..common.files import check_writable, write_file
    from ..training.experiments.compare import compare

    if not arguments.runs:
        raise ValueError("name runs, as in `compare runs/quick-1 runs/quick-2`")
    for run in arguments.runs:
        if not run.rpartition("=")[2].strip() and not Path(run or "=").exists():
            raise ValueError(
                f"{run!r} names no run: {'nothing follows its =' if run else 'it is empty'}; give "
                "a run's folder, as in `compare mine=runs/quick-1`"
            )
    paths: list[Path] = [*filter(None, [arguments.html, arguments.json])]
    for path in paths:
        check_writable(path)
    comparison = compare(arguments.runs)
    for path in paths:
        write_file(
            path,
            comparison.page()
            if path == arguments.html
            else json.dumps(comparison.to_json(), indent=1, ensure_ascii=False) + "\n",
        )
        print(f"wrote {path}", file=sys.stderr)
    print(comparison.text())
    return 0
