"""Repeat the evaluations in a page's tables: `python docs/scripts/rows.py PAGE --seed N`.

A row begins with a `german-whist evaluate` of one agent against another; the columns `wins` and
`ms` hold its results. Rows that contain all the words of `--like` are played, the first with seed
N, the next with N + 1 and so on, and the seed in 32 digits as key. Each row is written when it is
done, so an interrupted command resumes.
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
    """A row of a page's table: a command and its results."""

    line: int
    cells: list[str]
    columns: list[str]

    @property
    def words(self) -> list[str]:
        """The command's words after `german-whist`."""
        return shlex.split(self.cells[0].strip("`"))[1:]

    @property
    def seed(self) -> int:
        """Seed of the deals."""
        return int(self.words[self.words.index("--seed") + 1])

    def with_seed(self, seed: int) -> Row:
        """The same command from another seed."""
        words = self.words
        at = words.index("--seed") + 1
        words[at] = str(seed)
        return Row(
            self.line, [f"`{shlex.join(['german-whist', *words])}`", *self.cells[1:]], self.columns
        )

    def with_result(self, result: dict[str, Any]) -> Row:
        """The row with a result, as JSON."""
        pairing = result["pairings"][0]
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
    rows: list[Row] = []
    columns: list[str] = []
    lines = page.splitlines()
    for number, line in enumerate(lines):
        cells = _cells(line)
        if number + 1 < len(lines) and lines[number + 1].startswith("|--"):
            columns = cells
        elif line.startswith(_BEGINS):
            rows.append(Row(number, cells, columns))
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def replace_row(page: str, row: Row) -> str:
    """The page with a new version of a row."""
    lines = page.splitlines(keepends=True)
    lines[row.line] = f"{row}\n"
    return "".join(lines)


def play(row: Row, workers: int) -> Row:
    """Run a row's command."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        options = ["--workers", str(workers), "--json", str(path), "--key", f"{row.seed:032}"]
        subprocess.run([sys.executable, "-m", "german_whist", *row.words, *options], check=True)
        return row.with_result(json.loads(path.read_text("utf-8")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the selected rows, and write each when it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--like", nargs="*", default=[], help="words that a row must contain")
    parser.add_argument("--seed", type=int, required=True, help="of the first row")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    page: Path = options.page
    rows = rows_of(page.read_text("utf-8"))
    selected = [row for row in rows if all(word in str(row) for word in options.like)]
    for seed, row in enumerate(selected, options.seed):
        new_row = row.with_seed(seed)
        if str(new_row) == str(row):
            print(f"unchanged: {row}", flush=True)
            continue
        new_row = play(new_row, options.workers)
        print(new_row, flush=True)
        page.write_text(replace_row(page.read_text("utf-8"), new_row), "utf-8")


if __name__ == "__main__":
    main()
