"""Code blocks of pages, and running them.

The Python blocks of a page form one program, on the same lines as in the page. A block whose first
line names a file, `# mine.py`, is that file too. `build_site.py` runs the programs of all pages,
the tests also check their types.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import extension_pages
import reference

import german_whist

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
FOLDERS = ("guide", "reference", "results", "develop")
# Their examples are excerpts.
FROM_DOCSTRINGS = {"environments.md", *reference.FILES}
# Those of other libraries are run where these are installed, by `interop/run.py`.
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "extensions" / "README.md",
    *(
        page
        for folder in extension_pages.FOLDERS
        for page in extension_pages.pages(folder)
        if page.name not in FROM_DOCSTRINGS
    ),
    DOCS / "index.md",
    *sorted(
        page
        for folder in FOLDERS
        for page in (DOCS / folder).glob("*.md")
        if page.name not in FROM_DOCSTRINGS
    ),
    DOCS / "interop" / "optuna.md",
    DOCS / "interop" / "open_spiel.md",
]
FILE = re.compile(r"# ([\w./]+\.py)$")

# The smallest budgets that an example runs with, in place of those of the page.
SMALLER = {
    "learn(1_000_000)": "learn(1)",
    "n_eval_episodes=2000": "n_eval_episodes=4",
    "n_eval_episodes=64": "n_eval_episodes=4",
    "    1000, metadata": "    16, metadata",
    "decisions=4000, n_envs=64, n_steps=16, final_eval_hands=200": (
        "decisions=1400, n_envs=32, n_steps=16, final_eval_hands=4"
    ),
    "decisions=20_000, final_eval_hands=200": "decisions=2_000, final_eval_hands=20",
    "num_envs=4096": "num_envs=16",
    "SelfPlayEnv(4096": "SelfPlayEnv(16",
    'VecEnv(256, "classic"': 'VecEnv(16, "classic"',
    'open_spiel_game({"suits": 2, "ranks": 3, "hand": 2})': (
        'open_spiel_game({"suits": 2, "ranks": 2, "hand": 1})'
    ),
}


class Block(NamedTuple):
    """A fenced block: the lines between the fences, of which the first has this number."""

    page: Path
    language: str
    line: int
    text: str


def blocks(page: Path, text: str | None = None) -> Iterator[Block]:
    """Every fenced block of a page."""
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    start: int | None = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
            continue
        language = lines[start - 1].removeprefix("```").strip()
        content = "".join(f"{line}\n" for line in lines[start : number - 1])
        yield Block(page, language, start + 1, content)
        start = None
    if start is not None:
        raise ValueError(f"{page.name}: the block of line {start} has no end")


def program(page: Path, text: str | None = None) -> str:
    """The examples of a page as one program."""
    lines: list[str] = []
    for block in blocks(page, text):
        if block.language == "python":
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines) + "\n" if lines else ""


def programs(pages: list[Path] = PAGES) -> dict[Path, str]:
    """The program of every page that has one."""
    return {page: text for page in pages if (text := program(page))}


def module_of(page: Path) -> str:
    """The file that a page's program is run as."""
    return f"page_{page.stem.lower()}.py"


def lay_out(folder: Path, pages: list[Path] = PAGES) -> None:
    """Write the files that pages mention into a folder."""
    for page in pages:
        for block in blocks(page):
            if match := FILE.match(block.text.partition("\n")[0]):
                (folder / match[1]).write_text(block.text, encoding="utf-8")
    for name in ("my.yaml", "runs/sweep-space/best.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("decisions: 1000\n", encoding="utf-8")
    game = german_whist.Game("classic", seed=1)
    records: list[german_whist.GameRecord] = []
    for number in range(3):
        game.deal(1, number)
        while not game.over:
            game.play(game.legal()[0])
        records.append(german_whist.record_of(game))
    german_whist.write_records(folder / "hands.jsonl", records)


def run(page: Path, folder: Path) -> None:
    """Run the program of a page in a folder made by `lay_out`, the working directory."""
    text = program(page)
    for large, small in SMALLER.items():
        text = text.replace(large, small)
    file = folder / module_of(page)
    file.write_text(text, encoding="utf-8")
    runpy.run_path(str(file))


def failures(pages: list[Path]) -> list[str]:
    """Run the programs of pages without output; return errors with page and line."""
    errors: list[str] = []
    home = Path.cwd()
    for page in programs(pages):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            os.chdir(folder)
            sys.path.insert(0, name)
            try:
                lay_out(folder, pages)
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    run(page, folder)
            except Exception as problem:
                steps = traceback.extract_tb(problem.__traceback__)
                lines = [step.lineno for step in steps if step.filename.endswith(module_of(page))]
                line = lines[0] if lines else getattr(problem, "lineno", None)
                error = f"{type(problem).__name__}: {problem}"
                errors.append(f"{page.name}:{line}: the example fails: {error}")
            finally:
                sys.path.remove(name)
                os.chdir(home)
    return errors
