"""`python -m benchmarks [SUITE ...]`: measure, print tables, and write them as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from .measure import Row, machine, table

SUITES = ("engine", "endgame", "envs", "agents", "arena", "training", "ranks", "gpu")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", help=f"some of {', '.join(SUITES)} (default: all)")
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks.json"))
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(SUITES)}")
    results: dict[str, list[Row]] = {}
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    for suite in arguments.suites or SUITES:
        results[suite] = importlib.import_module(f".{suite}", __package__).run()
        print(f"\n{suite}\n\n{table(results[suite])}", flush=True)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    rows = {suite: [row.as_dict() for row in rows] for suite, rows in results.items()}
    arguments.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    print(f"\nwritten to {arguments.json}")


if __name__ == "__main__":
    main()
