# pyright: strict
"""Make the networks that the thinker asks, in one folder: COURSE, or a YAML file.

A course plays hands, fits networks of worth and of beliefs to them, plays hands with advice,
and lets a policy learn from that. The same command goes on with what was broken off.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from ..common.executors.options import add_place_options, place_of
from ..common.settings_files import listed
from ..common.typed_settings import as_help
from ..training.algorithms.base import missing
from ..training.expert_iteration.recipe import COURSES, check_workers, load_course


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("course", nargs="?", metavar="COURSE|FILE.yaml", help="what to study")
    parser.add_argument("words", nargs="*", metavar="key=value", help="settings over the course's")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where (runs/study-COURSE)")
    add_place_options(parser)
    parser.add_argument("--list", action="store_true", help="list the courses")
    parser.add_argument("--show", action="store_true", help="print the resolved settings")


def run(arguments: argparse.Namespace) -> int:
    """List, show, or study."""
    if arguments.list:
        print(listed(COURSES.about()))
        return 0
    if arguments.course is None:
        raise ValueError("name a course, as in `study quick`; --list tells which there are")
    check_workers(arguments.workers)
    course = load_course(arguments.course, arguments.words)
    if arguments.show:
        print(as_help(course), end="")
        return 0
    folder = arguments.folder or Path("runs") / f"study-{Path(arguments.course).stem}"
    # Before torch loads: threads that spin make everything slower on busy cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..common.signals import Stopped

    try:
        from ..training.expert_iteration.pipeline import study
    except ImportError as error:
        raise missing(error) from None

    began = time.perf_counter()

    def tell(line: str) -> None:
        print(f"{time.perf_counter() - began:8.0f} s  {line}", flush=True)

    try:
        study(folder, course, tell, **place_of(arguments))
    except Stopped as stopped:
        print(stopped)
        return stopped.status
    print(f"{folder}: worth, beliefs and policy are there; play them as")
    print(f"thinker:64,policy={folder}/policy,worth={folder}/worth,beliefs={folder}/beliefs")
    return 0
