"""Extensions import the core, and the core knows none of them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from german_whist import load_agent
from german_whist.common import plugins

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = sorted(path.parent for path in ROOT.glob("extensions/*/__init__.py"))
CORE = [path.parent for path in ROOT.glob("*/__init__.py")] + [ROOT / "src", ROOT / "docs"]
each_extension = pytest.mark.parametrize("folder", EXTENSIONS, ids=lambda folder: folder.name)


def modules_of(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*.py"):
        if path.relative_to(folder).parts[0] not in ("tests", "examples", "docs", "benchmarks"):
            yield path


@each_extension
def test_extension_imports_the_core_by_absolute_names(folder: Path) -> None:
    for path in modules_of(folder):
        depth = len(path.relative_to(folder).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= depth, f"{path}:{node.lineno} leaves the extension"
                own = (node.module or "").startswith(f"german_whist.{folder.name}")
                assert not own, f"{path}:{node.lineno} imports its own by an absolute name"


@each_extension
def test_core_names_no_extension(folder: Path) -> None:
    """Neither in an import that static analysis sees, nor in a text that is imported later."""
    name = re.compile(rf"german_whist\.{folder.name}\b|extensions/{folder.name}\b")
    sources = [path for core in CORE for path in core.rglob("*.py") if path.is_file()]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "extensions" / "README.md"]
    for path in [*sources, *pages, *(ROOT / "src").rglob("*.pyi")]:
        if "german_whist" not in path.parts or not path.parent.is_symlink():
            assert not name.search(path.read_text(encoding="utf-8")), path


@each_extension
def test_extension_says_on_one_screen_what_it_is_for(folder: Path) -> None:
    assert len((folder / "README.md").read_text(encoding="utf-8").splitlines()) <= 60
    assert [*(folder / "tests").glob("test_*.py")]


# -- commands by entry points

GREET = """\
GROUPS = {"play": {"greet": "greet somebody"}}
"""
GREETING = """\
\'\'\'Greet somebody by name.\'\'\'


def add_arguments(parser):
    parser.add_argument("name")


def run(arguments):
    print(f"hello, {arguments.name}")
"""


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that brings a command by an entry point, as if it were installed."""
    package, about = tmp_path / "whist_greeter", tmp_path / "whist_greeter-1.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text(GREET)
    (package / "greet.py").write_text(GREETING)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: whist-greeter\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[german_whist.commands]\ngreeter = whist_greeter\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("whist_greeter", "whist_greeter.greet"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return package


def test_entry_point_brings_a_command(greeter: Path, whist: Any) -> None:
    assert whist("greet", "you").out == "hello, you\n"
    assert "greet somebody" in whist("--help").out
    assert "Greet somebody by name." in whist("greet", "--help").out
    assert "did you mean 'greet'" in whist("gret", status=2).err


LEVELS = """\
class Weak:
    "Plays badly."
class Strong:
    "Plays well."
"""


def test_agents_of_a_module_are_listed_as_it_defines_them(
    tmp_path: Path, whist: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "whist_levels-1.dist-info"
    about.mkdir()
    (tmp_path / "whist_levels.py").write_text(LEVELS)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: whist-levels\nVersion: 1\n")
    points = ["[german_whist.agents]", "expert = whist_levels:Strong", "novice = whist_levels:Weak"]
    (about / "entry_points.txt").write_text("\n".join(points))
    monkeypatch.syspath_prepend(tmp_path)
    assert "novice\n    Plays badly\nexpert\n    Plays well\n" in whist("agents").out


@pytest.mark.parametrize("fault", ["raise RuntimeError('boom')", "import nothing_of_this_name"])
def test_agent_that_cannot_be_imported_is_named_and_others_are_listed(
    tmp_path: Path, whist: Any, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    about = tmp_path / "whist_levels-1.dist-info"
    about.mkdir()
    (tmp_path / "whist_levels.py").write_text(LEVELS)
    (tmp_path / "whist_fault.py").write_text(fault)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: whist-levels\nVersion: 1\n")
    points = ["[german_whist.agents]", "broken = whist_fault:Bad", "novice = whist_levels:Weak"]
    (about / "entry_points.txt").write_text("\n".join(points))
    monkeypatch.syspath_prepend(tmp_path)
    listed = whist("agents")
    assert "champion[:sample]" in listed.out
    assert "novice\n    Plays badly" in listed.out
    named = "the agent 'broken' of the package whist-levels (entry point whist_fault:Bad) cannot be"
    error = "boom" if "boom" in fault else "No module named 'nothing_of_this_name'"
    (line,) = listed.err.splitlines()
    assert named in line
    assert error in line
    with pytest.raises(ValueError, match=re.escape(named)):
        load_agent("broken")


def test_missing_extra_of_an_entry_point_of_this_package_stays_an_import_error() -> None:
    entry = plugins.Entry("mine", "german_whist.none_such:Mine", "", "mine", origin="the agent")
    with pytest.raises(ImportError):
        entry.load()


def test_commands_that_cannot_be_imported_are_named(greeter: Path, whist: Any) -> None:
    (greeter / "__init__.py").write_text("import nothing_of_this_name\n")
    for words in (["--help"], ["greet", "you"]):
        error = whist(*words, status=2).err
        assert "the commands of 'greeter' cannot be imported from whist_greeter (Module" in error
        assert "install the package that brings them again, or remove it" in error
    assert whist("rules", "classic").out


def test_core_is_used_without_reading_entry_points(
    whist: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(**_: object) -> None:
        raise AssertionError("entry points are read")

    monkeypatch.setattr(plugins, "entry_points", read)
    plugins._installed.cache_clear()
    assert whist("rules", "classic").out
    words = ("evaluate", "threshold", "--against", "random", "--hands", "4", "--workers", "1")
    assert "threshold" in whist(*words).out
