# pyright: strict
"""Compute an approximate Nash equilibrium of a small deck by CFR+.

The command prints the exact exploitability as it falls, and the value of the game for the first
leader. To continue an interrupted computation, give the same command again. A stored or bundled
solution is replaced only by one with a lower exploitability.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

from ..agents.checkpoints import CheckpointError, read_card
from ..agents.tabular.strategy import check_file_name, find_strategy, solved_folder, write_strategy
from ..common.files import check_writable
from ..common.progress import Progress
from ..engine.checks import checked_threads
from ..engine.rules import Rules, load_rules

_MEASURE_FACTOR = 1.3
"""Ratio of the iterations at two measurements of the exploitability."""
_SAVE_SECONDS = 300.0
_MIN_EXPLOITABILITY = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rules",
        metavar="SIZE",
        help="name of a small deck such as 2x5-h2 (`german-whist rules` lists them)",
    )
    parser.add_argument(
        "--target",
        type=float,
        default=0.001,
        metavar="X",
        help="stop when the exploitability is at most X points per hand (default: 0.001)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="folder to write the solution to (default: `solved` in the cache)",
    )
    parser.add_argument(
        "--threads",
        type="positive",
        metavar="N",
        help="number of threads (default: one per core)",
    )


def run(arguments: argparse.Namespace) -> int:
    from ..solvers.cfr_plus import CFRPlusSolver

    if arguments.threads is not None:
        checked_threads(arguments.threads)
    rules = load_rules(arguments.rules)
    target: float = arguments.target
    if not _MIN_EXPLOITABILITY <= target < math.inf:
        raise ValueError(
            f"--target is {target}: it has to be at least {_MIN_EXPLOITABILITY}, since the sums "
            "over float32 tell nothing smaller from 0"
        )
    check_file_name(rules)
    folder: Path = arguments.folder or solved_folder()
    if "," in str(folder):
        raise ValueError(
            f"--folder is {str(folder)!r}: the name of an agent in it could not hold the comma: "
            "name another folder"
        )
    name = "nash" if folder == solved_folder() else f"nash:{folder / rules.name}"
    stored = _stored_exploitability(rules, folder)
    if stored <= target:
        print(
            f"{rules.name} is solved already, to an exploitability of {stored:.6f}, "
            f"and --target is {target:g}: {name} plays it; a smaller --target solves it further"
        )
        return 0
    state = folder / f"{rules.name}.state.npz"
    began = saved = time.monotonic()
    check_writable(state, make_folder=True)
    solver = CFRPlusSolver(rules, arguments.threads)
    if state.exists():
        solver.restore(state)
        print(f"{state}: going on after {solver.iterations} iterations")
    first = done = 0.0
    check = solver.iterations + 1
    with Progress(f"solving {rules.name}") as progress:
        try:
            while True:
                solver.iterate()
                if solver.iterations < check:
                    progress.update(done, f"iteration {solver.iterations}")
                    continue
                check = max(solver.iterations + 1, math.ceil(solver.iterations * _MEASURE_FACTOR))
                measured = solver.measure()
                exploitability = max(measured.exploitability, _MIN_EXPLOITABILITY)
                first = first or max(exploitability, 2 * target)
                done = min(1.0, math.log(first / exploitability) / math.log(first / target))
                progress.update(done, f"iteration {solver.iterations}")
                seconds = time.monotonic() - began
                print(
                    f"{seconds:8.1f} s  iteration {solver.iterations:4}  "
                    f"exploitability {exploitability:.6f}  "
                    f"value for the leader {measured.value:+.5f}",
                    flush=True,
                )
                if exploitability <= target:
                    break
                if time.monotonic() - saved > _SAVE_SECONDS:
                    solver.save(state)
                    saved = time.monotonic()
        except BaseException:
            if solver.iterations:
                solver.save(state)
            raise
    # Another process may have solved it in the meantime.
    if measured.exploitability < _stored_exploitability(rules, folder):
        write_strategy(folder / rules.name, solver, measured)
    state.unlink(missing_ok=True)
    print(f"{rules.name} is solved: {name} plays it, for instance in")
    print(f"german-whist evaluate {name} --against random-exact --rules {rules.name}")
    return 0


def _stored_exploitability(rules: Rules, folder: Path) -> float:
    """Exploitability of the solution that is stored; infinite without one."""
    path = None if folder == solved_folder() else str(folder / rules.name)
    try:
        solution = read_card(find_strategy(rules, path)).solution
    except CheckpointError:
        return math.inf
    return math.inf if solution is None else solution.exploitability
