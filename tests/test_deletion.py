"""The core installs and passes its tests without an extension, and without all of them.

What a user deletes is deleted in a copy of the checkout.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from environments import PACKAGE, show_only
from packaging.utils import canonicalize_name
from test_packaging import Environment, left_out, run

from german_whist.cli import COMMANDS, added_packages

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = sorted(path.parent.name for path in ROOT.glob("extensions/*/__init__.py"))
# Those that go through all commands, pages, modules, entry points and registered names. Whatever
# else an extension could break, it breaks when all are gone, too, and then every test runs.
LOOPING = (
    "tests/test_cli.py",
    "tests/test_completion.py",
    "tests/test_documentation.py",
    "tests/test_doctests.py",
    "tests/test_extensions.py",
    "tests/test_project.py",
    "tests/agents/test_registry.py",
    "tests/envs/test_registration.py",
    "tests/training/test_example_trainer.py",
    "tests/training/test_plugin_trainers.py",
)


def without_extension(pyproject: str, name: str) -> str:
    """The text of pyproject.toml without what names an extension, as its README says.

    A table whose first line names the extension goes whole, of others the lines that name it.
    """
    named = re.compile(rf"german_whist\.{name}\b|extensions/{name}\b")
    kept: list[str] = []
    for table in filter(None, re.split(r"^(?=\[)", pyproject, flags=re.MULTILINE)):
        header, *lines = table.splitlines(keepends=True)
        if header.startswith("[[") and lines and named.search(lines[0]):
            continue
        kept += [header, *(line for line in lines if not named.search(line))]
    return "".join(kept)


def take_away(checkout: Path, name: str) -> None:
    shutil.rmtree(checkout / "extensions" / name)
    path = checkout / "pyproject.toml"
    path.write_text(without_extension(path.read_text("utf-8"), name), encoding="utf-8")


def commands_of(name: str) -> set[str]:
    """The commands that an extension brings."""
    return {
        command
        for package in added_packages()
        if package.__name__.split(".")[1] == name
        for group in package.GROUPS.values()
        for command in group
    }


def commands_in(told: str) -> set[str]:
    """The commands that `--help` lists."""
    return {*re.findall(r"^  ([a-z][\w-]*)  +\w", told, re.MULTILINE)}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "gone",
    [*([name] for name in EXTENSIONS), EXTENSIONS],
    ids=lambda names: "+".join(names) or "nothing is there",
)
def test_core_is_whole_without_extensions(gone: list[str], tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, ignore=left_out)
    for name in gone:
        take_away(checkout, name)
    environment = Environment(tmp_path / "venv", "--editable", checkout)
    others = [each for each in distributions() if canonicalize_name(each.name) != PACKAGE]
    show_only(others, environment.packages)
    told = run(environment.python, "-m", "german_whist", "--help", cwd=tmp_path, COLUMNS="100")
    lost = {command for name in gone for command in commands_of(name)}
    brought = {command for name in EXTENSIONS for command in commands_of(name)}
    assert commands_in(told) == {*COMMANDS} | brought - lost
    for command in COMMANDS:
        about = run(environment.python, "-m", "german_whist", command, "--help", cwd=tmp_path)
        assert not re.search(rf"german-whist ({'|'.join(lost) or '$'})\b", about), command
    tests = LOOPING if len(gone) < len(EXTENSIONS) else ("tests",)
    words = ["-m", "pytest", "-n", str(os.cpu_count()), "--dist", "loadfile", *tests]
    summary = run(environment.python, *words, cwd=checkout).splitlines()[-1]
    print(f"without {', '.join(gone)}: {summary}", file=sys.stderr)


def test_lines_of_an_extension_are_found() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in EXTENSIONS:
        assert name in text
        left = without_extension(text, name)
        assert not re.search(rf"german_whist\.{name}\b|extensions/{name}\b", left)
        # Nothing but lines goes, and few.
        assert {*left.splitlines()} <= {*text.splitlines()}
        assert len(text.splitlines()) - len(left.splitlines()) < 30
