"""Try the tests: sample small changes of the sources, and print those that no test notices.

`make mutants SEED=1 COUNT=300` samples each room in proportion to its mutants.
Every result is kept under `build/mutants`, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from tried import Results, Trial, Verdict, report, sample
from workshop import Workshop

ROOT = Path(__file__).resolve().parent.parent.parent
# The rooms that are tried; the endgame solver has proofs of its own, which take long.
ROOMS = {
    "engine": ("engine/*.py",),
    "envs": ("envs/*.py",),
    "agents": ("agents/base.py", "agents/registry.py"),
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
    parser.add_argument("--take-over", action="store_true", help="trust kills of unchanged code")
    asked = parser.parse_args()
    os.nice(19)
    work = ROOT / "build" / "mutants"
    workshop = Workshop(ROOT, work, ("engine", "agents", "envs", "training"), _FROM_ELSEWHERE)
    try:
        trial = Trial(workshop, {room: ROOMS[room] for room in asked.rooms}, asked.tests)
        trial.once = asked.once
        results = Results(trial, work / "results.jsonl", asked.take_over)
        sampled = sample(trial.mutants, asked.seed, asked.count)
        verdicts: dict[str, Verdict] = {}
        for number, (_, mutant) in enumerate(sampled, 1):
            verdict = results.of(mutant)
            if verdict is None:
                begun = time.monotonic()
                verdict = trial.try_out(mutant)
                results.add(mutant, verdict, time.monotonic() - begun)
                print(
                    f"{number}/{len(sampled)} {verdict.status} {time.monotonic() - begun:.0f} s "
                    f"{mutant.file}:{mutant.line} {verdict.by.split('::')[-1]}",
                    flush=True,
                )
            verdicts[mutant.key] = verdict
        print(report(sampled, verdicts, equivalents()))
    finally:
        workshop.close()


if __name__ == "__main__":
    main()
