"""Try the tests: sample small changes of the sources, and print those that no test notices.

`make mutants SEED=1 COUNT=300` samples each room in proportion to its mutants.
Every result is kept under `build/mutants`, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from mutations import Mutant
from tried import Results, Trial, report, sample
from workshop import Workshop

ROOT = Path(__file__).resolve().parent.parent.parent
# The rooms that are tried; the endgame solver has proofs of its own, which take long.
ROOMS = {
    "engine": ("engine/*.py",),
    "envs": ("envs/*.py", "envs/pictures/*.py"),
    "agents": ("agents/base.py", "agents/player.py", "agents/registry.py"),
    "training": ("training/*.py",),
    "arena": ("training/arena/*.py",),
}
TESTS = ("tests/engine", "tests/agents", "tests/envs", "tests/training", "tests/test_project.py")
# Changes that are known to change nothing, each with the reason.
EQUIVALENT = Path(__file__).parent / "equivalent.json"
_FROM_ELSEWHERE = (
    *("numpy", "numba", "yaml", "msgspec", "filelock", "platformdirs", "safetensors.numpy"),
    *("hypothesis.extra.numpy", "scipy.stats", "gymnasium", "pettingzoo.test"),
    *("torch", "stable_baselines3", "sb3_contrib", "onnx"),
)


def equivalents() -> dict[tuple[str, ...], str]:
    """The changes that are known to change nothing, each with the reason."""
    listed = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    names = ("file", "scope", "before", "after")
    return {tuple(each[name] for name in names): each["reason"] for each in listed}


def main() -> None:
    """Sample, try, and tell."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=[*ROOMS])
    parser.add_argument("--tests", nargs="+", default=TESTS, help="folders and files of tests")
    parser.add_argument("--once", action="store_true", help="no second try with the compiler")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried side by side")
    parser.add_argument("--take-over", action="store_true", help="trust kills of unchanged code")
    asked = parser.parse_args()
    os.nice(19)
    work = ROOT / "build" / "mutants"
    workshop = Workshop(ROOT, work, ("engine", "agents", "envs", "training"), _FROM_ELSEWHERE)
    trial = Trial(workshop, {room: ROOMS[room] for room in asked.rooms}, asked.tests)
    trial.once = asked.once
    workshop.close()  # each job has warm processes of its own
    kept = work / "results.jsonl"
    results = Results(trial, kept, asked.take_over)
    sampled = sample(trial.mutants, asked.seed, asked.count)
    left = [mutant for _, mutant in sampled if results.of(mutant) is None]
    print(f"{len(sampled)} mutants, {len(sampled) - len(left)} of them known", flush=True)
    jobs = [_forked(trial, results, left[job :: asked.jobs]) for job in range(asked.jobs)]
    failed = [job for job in jobs if os.waitpid(job, 0)[1]]
    results = Results(trial, kept, asked.take_over)
    verdicts = {
        mutant.key: verdict for _, mutant in sampled if (verdict := results.of(mutant)) is not None
    }
    print(report(sampled, verdicts, equivalents()))
    if failed:
        sys.exit("a job ended before its time: run again for the rest")


def _forked(trial: Trial, results: Results, mutants: Sequence[Mutant]) -> int:
    """Try mutants in a child process, whose results go to the file."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for number, mutant in enumerate(mutants, 1):
            begun = time.monotonic()
            verdict = trial.try_out(mutant)
            seconds = time.monotonic() - begun
            results.add(mutant, verdict, seconds)
            by = verdict.by.split("::")[-1]
            where = f"{mutant.file}:{mutant.line}"
            print(f"{number}/{len(mutants)} {verdict.status} {seconds:.0f} s {where} {by}")
            sys.stdout.flush()
        trial.workshop.close()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
