"""Imports, packages, versions and pages agree with each other."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import german_whist
from german_whist.cli import main

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {
    "torch",
    "stable_baselines3",
    "sb3_contrib",
    "matplotlib",
    "pygame",
    "PIL",
    "starlette",
    "uvicorn",
}
# What the engine may know beside the standard library; what single files of it may know apart.
# Names of types that a newer Python has are for checkers alone.
ENGINE_KNOWS = {"numpy", "numba", "llvmlite"}
FILES_KNOW = {"records.py": {"msgspec"}}


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# -- imports


def test_imports_keep_the_contracts_of_pyproject(monkeypatch) -> None:
    """Packages import those below them alone, and no files import each other in a circle."""
    linter = pytest.importorskip("importlinter.cli")
    monkeypatch.chdir(ROOT)
    assert linter.lint_imports(no_cache=True) == 0


def test_engine_imports_numpy_and_the_compiler_alone() -> None:
    for path in (ROOT / "engine").rglob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        names = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
        names += [
            str(node.module)
            for node in nodes
            if isinstance(node, ast.ImportFrom) and not node.level
        ]
        allowed = ENGINE_KNOWS | FILES_KNOW.get(path.name, set()) | sys.stdlib_module_names
        assert {name.split(".")[0] for name in names} <= allowed, path


USED_LATER = """
import sys
from german_whist.cli import main
main(["--help"])
main(["rules", "classic"])
print("LOADED", *sys.modules)
import german_whist
german_whist.Game(seed=1)
import german_whist.envs
assert "german_whist.envs.german_whist_v0" not in sys.modules
german_whist.envs.german_whist_v0.env()
print("LOADED", *sys.modules)
"""


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", USED_LATER], capture_output=True, check=True)
    _, light, played = done.stdout.decode().split("LOADED")
    for told, heavy in ((light, HEAVY | {"numba"}), (played, HEAVY)):
        assert not {name.split(".")[0] for name in told.split()} & heavy


def test_every_public_name_is_there() -> None:
    for name in german_whist.__all__:
        assert getattr(german_whist, name) is not None
    assert {*german_whist.__all__} <= {*dir(german_whist)}


# -- packages


def test_every_package_is_type_checked_and_has_its_place() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    settings = project()["tool"]
    assert folders - {"configs"} <= {*settings["pyright"]["include"]}
    layers = " ".join(settings["importlinter"]["contracts"][0]["layers"])
    assert folders - {"benchmarks"} <= {*re.findall(r"\w+", layers)}


def test_compiled_modules_alone_switch_off_type_checks() -> None:
    """And three that CONTRIBUTING names: they annotate or override another library's classes."""
    less = set()
    for folder in {path.parent for path in ROOT.glob("*/__init__.py")} - {ROOT / "tests"}:
        for path in folder.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            compiled = re.search("^@(jit|noinline|forceinline|inline_ir|intrinsic)", text, re.M)
            if text.startswith("# pyright: report") and not compiled:
                less.add(path.relative_to(ROOT).as_posix())
    assert less == {"common/jit/dispatch.py", "common/jit/pipeline.py", "envs/typed_aec.py"}


def test_command_prints_the_version_of_pyproject(capsys) -> None:
    assert main(["--version"]) == 0
    version = project()["project"]["version"]
    assert capsys.readouterr().out == f"german-whist {version}\n"
    assert german_whist.__version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_constraints_pin_everything_that_pyproject_names() -> None:
    settings = project()
    described = settings["project"]
    wanted = [*described["dependencies"]]
    for group in (described["optional-dependencies"], settings["dependency-groups"]):
        wanted += [each for names in group.values() for each in names]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split(" ;")[0].split("==") for line in lines if not line.startswith("#"))
    pinned = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    for requirement in wanted:
        name = re.split(r"[\[<>=~!; ]", requirement)[0].lower().replace("_", "-")
        assert name in pinned, f"{name} is in pyproject.toml, but not in constraints.txt"
    assert pinned["torch"] == "2.13.0"
    # Builds for a GPU pin what they bring, each its own: another pin leaves pip no way.
    assert not [name for name in pinned if re.match("nvidia-|triton|cuda-(bindings|toolkit)", name)]


# -- pages and words


def _of_docs(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs" / "scripts"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


PAGE = """\
| command | wins | ms |
|---|--:|--:|
| `german-whist evaluate threshold --against random-exact --hands 40 --seed 3` | ? | ? |
| `german-whist evaluate random-exact --against threshold --hands 40 --seed 3` | ? | |
| `german-whist evaluate random --against threshold --hands 40 --seed 3` | ? | ? |

Not a row.
"""


def test_rows_of_pages_are_played_again(tmp_path, monkeypatch, capfd) -> None:
    rows = _of_docs("rows")

    def run(words: list[str], *, check: bool, **_: object) -> None:
        assert words[:3] == [sys.executable, "-m", "german_whist"]
        assert check
        assert main(words[3:]) == 0

    monkeypatch.setattr(rows.subprocess, "run", run)
    path, found = tmp_path / "page.md", tmp_path / "found.json"
    path.write_text(PAGE, encoding="utf-8")
    words = [str(path), "--like", "random-exact", "--seed", "7"]
    rows.main(words)
    before, after = PAGE.splitlines(), path.read_text(encoding="utf-8").splitlines()
    for line, seed in ((2, 7), (3, 8)):
        command, wins, ms = after[line].strip("| ").split(" | ") + [""] * (line == 3)
        assert command == before[line].split(" | ")[0][2:].replace("--seed 3", f"--seed {seed}")
        # The command beside the figures comes to them.
        key = ["--key", f"{seed:032}"]
        assert main([*command.strip("`").split()[1:], *key, "--json", str(found)]) == 0
        rate = json.loads(found.read_text("utf-8"))["pairings"][0]["win_rate"]
        middle, half = wins.removesuffix(" %").split(" ± ")
        assert float(middle) == pytest.approx(100 * rate["value"], abs=0.06)
        assert float(half) == pytest.approx(50 * (rate["high"] - rate["low"]), abs=0.06)
        assert (ms == "") == (line == 3)
        assert not ms or 0 <= float(ms) < 1000
        before[line] = after[line]
    assert before == after
    # What is there is not played again.
    capfd.readouterr()
    rows.main(words)
    assert capfd.readouterr().out.count("unchanged: ") == 2
    assert path.read_text(encoding="utf-8").splitlines() == after


def test_the_pages_made_from_code_are_up_to_date() -> None:
    for name, text in _of_docs("write").pages().items():
        written = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert written == text, f"docs/{name} is out of date: make docs"


def test_marked_tables_of_a_page_are_made_anew() -> None:
    write = _of_docs("write")
    page = "One\n\n<!-- table it -->\n\n{}\n\n<!-- end of table -->\n\nTwo\n"
    assert write.with_tables(page.format("| old |"), {"it": "| new |"}) == page.format("| new |")
    with pytest.raises(ValueError, match="there is no table it: other can be made"):
        write.with_tables(page.format("| old |"), {"other": "| new |"})
    for part in ("<!-- table it -->", "<!-- end of table -->"):
        with pytest.raises(ValueError, match="marker has no partner"):
            write.with_tables(page.replace(part, "").format("| old |"), {"it": "| new |"})


def test_an_empty_place_for_a_table_or_for_code_keeps_the_text_after_it(tmp_path: Path) -> None:
    write = _of_docs("write")
    page = "<!-- table one -->\n\n{}<!-- end of table -->\n\nText\n\n" * 2
    made = page.format("| new |\n\n", "| new |\n\n")
    assert write.with_tables(page.format("", "| old |\n\n"), {"one": "| new |"}) == made
    # A marker without a partner does not take that of the next table.
    with pytest.raises(ValueError, match="marker has no partner"):
        write.with_tables(f"<!-- table one -->\n\nText\n\n{made}", {"one": "| new |"})
    (tmp_path / "one.py").write_text("first\nlast\n", encoding="utf-8")
    page = "<!-- code one.py from first to last -->\n\n{}<!-- end of code -->\n\nText\n\n" * 2
    (tmp_path / "page.md").write_text(page.format("", "old\n\n"), encoding="utf-8")
    code = "```python\nfirst\n```\n\n"
    assert write.with_code(tmp_path / "page.md") == page.format(code, code)


def test_no_file_names_a_place_on_some_machine() -> None:
    place = re.compile(r"(?<![\w.<])/(home|root|work|opt|Users|mnt)/\w")
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    for path in {ROOT / line for line in listed.stdout.splitlines()} - {Path(__file__).resolve()}:
        if path.is_file():
            assert not place.search(path.read_text(encoding="utf-8", errors="replace")), path


def test_readme_commands_need_no_variable() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (text, (ROOT / "docs" / "guide" / "start.md").read_text(encoding="utf-8")):
        commands = re.findall(r"^(?:uv )?pip install .*", page, re.MULTILINE)
        assert commands[0] == 'pip install ".[train]"'
        assert 'uv pip install --torch-backend=cpu ".[train]"' in page
        assert "$" not in "".join(commands)
    targets = re.findall(r"^make (\w+)(?: +#.*)?$", text, re.MULTILINE)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert {"test", "train", "site"} <= set(targets)
