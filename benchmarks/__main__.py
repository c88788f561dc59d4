"""`python -m benchmarks [ROOM ...]`: measure, print a table, and write it as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from .measure import Row, machine, table

ROOMS = ("engine", "endgame", "envs", "agents", "arena", "training", "table", "ranks", "gpu")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rooms", nargs="*", help=f"which of {', '.join(ROOMS)}; all by default")
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks.json"))
    given = parser.parse_args()
    unknown = set(given.rooms) - set(ROOMS)
    if unknown:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(ROOMS)}")
    found: dict[str, list[Row]] = {}
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    for room in given.rooms or ROOMS:
        found[room] = importlib.import_module(f".{room}", __package__).run()
        print(f"\n{room}\n\n{table(found[room])}", flush=True)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    rows = {room: [row.as_dict() for row in rows] for room, rows in found.items()}
    given.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    print(f"\nwritten to {given.json}")


if __name__ == "__main__":
    main()
