"""Play rows of tables again, and write what they come to: `python docs/rows.py PAGE --seed N`.

A row is one that begins with a `german-whist evaluate` of one player against one other; what
stands under `wins` and `ms` is what it came to. Rows that hold all the words of `--like` are
played, the first from seed N, the next from N + 1 and so on, with the same in 32 digits as key, and
written one by one: the same command goes on with what was stopped.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladders import estimate_text

_BEGINS = "| `german-whist evaluate "


@dataclass
class Row:
    """A row of a page that tells what a command came to."""

    line: int
    cells: list[str]
    columns: list[str]

    @property
    def words(self) -> list[str]:
        """What is typed after `german-whist`."""
        return shlex.split(self.cells[0].strip("`"))[1:]

    @property
    def seed(self) -> int:
        """Where its deals begin."""
        return int(self.words[self.words.index("--seed") + 1])

    def with_seed(self, seed: int) -> Row:
        """The same command from another seed."""
        words = self.words
        at = words.index("--seed") + 1
        words[at] = str(seed)
        return Row(self.line, [f"`{shlex.join(['german-whist', *words])}`", *self.cells[1:]],
                   self.columns)  # fmt: skip

    def told(self, found: dict[str, Any]) -> Row:
        """The same row with what the command found, as JSON."""
        pairing = found["pairings"][0]
        rate, ms = pairing["win_rate"], pairing["timing"][0]["ms_a_move"]
        figures = {
            "wins": f"{estimate_text(rate, 100, '.1f')} %",
            "ms": f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}",
        }
        cells = [
            figures.get(column, cell) if cell else cell
            for column, cell in zip(self.columns, self.cells, strict=True)
        ]
        return Row(self.line, cells, self.columns)

    def __str__(self) -> str:
        return "| " + " | ".join(self.cells) + " |"


def rows_of(page: str) -> list[Row]:
    """The rows of a page that begin with a command, in order."""
    found: list[Row] = []
    columns: list[str] = []
    lines = page.splitlines()
    for number, line in enumerate(lines):
        cells = _cells(line)
        if number + 1 < len(lines) and lines[number + 1].startswith("|--"):
            columns = cells
        elif line.startswith(_BEGINS):
            found.append(Row(number, cells, columns))
    return found


def _cells(line: str) -> list[str]:
    return [each.strip() for each in line.strip().strip("|").split("|")]


def written(page: str, row: Row) -> str:
    """A page with a row as it is now."""
    lines = page.splitlines(keepends=True)
    lines[row.line] = f"{row}\n"
    return "".join(lines)


def play(row: Row, workers: int) -> Row:
    """What a row comes to."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        more = ["--workers", str(workers), "--json", str(found)]
        more += ["--key", f"{row.seed:032}"]
        subprocess.run([sys.executable, "-m", "german_whist", *row.words, *more], check=True)
        return row.told(json.loads(found.read_text("utf-8")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the rows that are wanted, and write each when it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--like", nargs="*", default=[], help="what a row has to hold")
    parser.add_argument("--seed", type=int, required=True, help="of the first row")
    parser.add_argument("--workers", type=int, default=1)
    told = parser.parse_args(arguments)
    wanted = [
        row
        for row in rows_of(told.page.read_text("utf-8"))
        if all(each in str(row) for each in told.like)
    ]
    for seed, row in enumerate(wanted, told.seed):
        again = row.with_seed(seed)
        if str(again) == str(row):
            print(f"is there: {row}", flush=True)
            continue
        again = play(again, told.workers)
        print(again, flush=True)
        told.page.write_text(written(told.page.read_text("utf-8"), again), "utf-8")


if __name__ == "__main__":
    main()
