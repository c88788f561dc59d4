"""What README and docs show is true: examples run, commands exist (their types: `test_types`).

The examples of a page are one program, in order, on the lines of the page: those
between them are empty. A block whose first line names a file is that file.
"""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from german_whist.cli import COMMANDS, all_commands, main, parsed
from german_whist.training.presets import load_settings, split_seeds

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "scripts"))
from pages import PAGES, blocks, failures, lay_out, program, programs, run  # noqa: E402

sys.path.pop(0)

# What is run of the commands, and with what behind it: each answers within a second or two.
RUN = {
    r"agents": (),
    r"rules( \w+( --yaml)?)?": (),
    r"train (--list|quick --show)": (),
    r"evaluate mine:Cautious --against threshold --hands 2000": ("--hands", "4", "--workers", "1"),
}


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of a page, with its words: a line of a block, or quoted in a sentence."""
    for page in PAGES:
        lines = [
            shlex.split(line, comments=True)
            for block in blocks(page)
            if block.language != "python"
            for line in block.text.splitlines()
            if line.startswith("german-whist ")
        ]
        outside = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        quoted = re.findall(r"`(german-whist [^`]*)`", outside)
        for words in [*lines, *map(shlex.split, quoted)]:
            yield f"{page.relative_to(ROOT)}: {shlex.join(words)}", words[1:]


COMMANDS_TOLD = dict(commands())


# -- running


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory) -> Path:
    lay_out(folder := tmp_path_factory.mktemp("pages"))
    return folder


@pytest.fixture
def desk(laid_out: Path, tmp_path, monkeypatch) -> Path:
    """A folder to run examples and commands in, with the files that the pages speak of."""
    shutil.copytree(laid_out, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


# Gymnasium's check is given a wrapped environment on purpose, as the page says.
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("page", programs(), ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path, desk: Path) -> None:
    run(page, desk)


def test_files_that_pages_speak_of_are_there() -> None:
    """Those that are named with their folder, one of the repository's."""
    kept = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build", "dist", "runs"}
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("extensions/**/*.md")]:
        for name in re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", page.read_text(encoding="utf-8")):
            if name.partition("/")[0] in kept:
                assert (ROOT / name).exists(), f"{page.name} speaks of {name}, which is not there"


def test_failing_block_is_reported_with_its_line(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\none = 1\n```\n\n```python\none / 0\n```\n")
    assert failures([page]) == ["page.md:8: the example fails: ZeroDivisionError: division by zero"]
    page.write_text("# A page\n\n```python\none = 1\n```\n")
    assert failures([page]) == []


PUBLIC = ("agents", "engine", "engine.endgame", "envs", "evaluation", "training")


def imported_names(program: str) -> Iterator[tuple[str, str]]:
    """Modules of the package that a program imports from, with the names."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "german_whist":
            yield from ((node.module or "", name.name) for name in node.names)


def test_pages_and_examples_import_public_names_alone() -> None:
    """Of the core; an extension says itself what of it is public."""
    others = {path.parent.name for path in ROOT.glob("extensions/*/__init__.py")}
    public = {"german_whist", *(f"german_whist.{name}" for name in PUBLIC)}
    texts = {page: program(page) for page in [*PAGES, *ROOT.glob("docs/interop/*.md")]}
    for pattern in ("examples/*.py", "docs/interop/*_example.py", "docs/plugin/*.py"):
        texts |= {path: path.read_text(encoding="utf-8") for path in ROOT.glob(pattern)}
    found = {
        (path.name, module, name)
        for path, text in texts.items()
        for module, name in imported_names(text)
        if others.isdisjoint(module.split(".")[1:2])
    }
    assert len(found) > 50
    for page, module, name in found:
        assert module in public, f"{page} imports from {module}"
        names = importlib.import_module(module).__all__
        is_public = name in names or f"{module}.{name}" in public
        assert is_public, f"{page} imports {module}.{name}"


# -- commands


# Letters that stand for a word in sentences.
MEANT = {"N": "1", "S": "1", "NAME": "classic", "PRESET": "quick", "A": "threshold", "B": "random"}


@pytest.mark.parametrize("told", COMMANDS_TOLD)
def test_a_command_of_a_page_is_one(told: str, desk: Path) -> None:
    name, *words = [MEANT.get(word, word) for word in COMMANDS_TOLD[told]]
    # Pages of the core speak of no command that an extension brings.
    assert name in (all_commands() if told.startswith("extensions") else COMMANDS)
    arguments = parsed(name, words)[1]
    if name == "train" and arguments.preset is not None and arguments.resume is None:
        preset = [arguments.preset] if "=" not in arguments.preset else [None, arguments.preset]
        load_settings(preset[0], split_seeds([*preset[1:], *arguments.words])[0])
    for pattern, further in RUN.items():
        if re.fullmatch(pattern, shlex.join([name, *words])):
            assert main([name, *words, *further]) == 0


def test_paper_cites_what_its_bibliography_has() -> None:
    folder = ROOT / "docs" / "paper"
    bibliography = (folder / "paper.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE)
    body = (folder / "paper.md").read_text(encoding="utf-8").split("---", 2)[2]
    assert {*re.findall(r"(?<!\w)@(\w+)", body)} == {*keys}
    assert len(keys) == len({*keys})


def test_reading_path_names_at_most_ten_files() -> None:
    page = (ROOT / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
    files = re.findall(r"^\| `(\S+\.py)` \|", page, re.MULTILINE)
    assert 5 <= len(files) <= 10
    assert not [file for file in files if not (ROOT / file).is_file()]
