# pyright: strict
"""Lay runs side by side: the settings that differ, their curves, and how strong they became.

RUN is a run's folder, or a folder of runs with several seeds, which counts as one whose
intervals are over seeds. NAME=RUN says what one is called.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help="one or more")
    parser.add_argument("--html", type=Path, metavar="FILE", help="a page with curves")
    parser.add_argument("--json", type=Path, metavar="FILE", help="everything that was compared")


def run(arguments: argparse.Namespace) -> int:
    """Compare, write and tell."""
    from ..common.files import atomic_write, check_writable
    from ..training.experiments.compare import compare

    if not arguments.runs:
        raise ValueError("name runs, as in `compare runs/quick-1 runs/quick-2`")
    for run in arguments.runs:
        if not run.rpartition("=")[2].strip() and not Path(run or "=").exists():
            raise ValueError(
                f"{run!r} names no run: {'nothing follows its =' if run else 'it is empty'}; give "
                "a run's folder, as in `compare mine=runs/quick-1`"
            )
    wanted: list[Path] = [*filter(None, [arguments.html, arguments.json])]
    for path in wanted:
        check_writable(path)
    found = compare(arguments.runs)
    for path in wanted:
        with atomic_write(path, "w") as file:
            file.write(
                found.page() if path == arguments.html
                else json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n"
            )  # fmt: skip
        print(f"wrote {path}", file=sys.stderr)
    print(found.text())
    return 0
