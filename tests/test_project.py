"""The project keeps its house rules: imports, packages, versions, pages and words."""

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
# Imports point one way: a room knows itself and those before it.
ORDER = (
    "configs",
    "common",
    "engine",
    "agents",
    "envs",
    "evaluation",
    "training",
    "table",
    "three_player",
)
ROOMS = tuple(name for name in ORDER if (ROOT / name / "__init__.py").exists())
MOST_MODULES = 14
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
ENGINE_KNOWS = {"numpy", "numba", "llvmlite", "typing_extensions"}
FILES_KNOW = {"records.py": {"msgspec"}}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def sources(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Every piece of a file's code that may name another."""
    kinds = (ast.Import, ast.ImportFrom, ast.Constant)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def packages_imported(path: Path) -> set[str]:
    """The packages that a file imports by their own names, anywhere in it."""
    nodes = nodes_of(path)
    names = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    names += [
        node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level
    ]
    return {name.split(".")[0] for name in names}


# -- imports


def files_by_name() -> dict[str, Path]:
    """Every file of the rooms and of the front door, by the name that it is imported by."""
    named = {}
    for folder in (*ROOMS, "src/german_whist"):
        for path in sources(folder):
            inside = path.relative_to(ROOT / "src" if folder.startswith("src") else ROOT)
            parts = [*inside.parent.parts, *([] if path.stem == "__init__" else [path.stem])]
            named[".".join(parts if folder.startswith("src") else ["german_whist", *parts])] = path
    return named


@cache
def imported_files() -> dict[str, set[str]]:
    """Which files each file imports, anywhere in it: in functions and for checkers alone too."""
    named = files_by_name()
    graph: dict[str, set[str]] = {}
    for name, path in named.items():
        package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
        graph[name] = set()
        for node in nodes_of(path):
            graph[name] |= files_named_in(node, package, named) - {name}
    return graph


def files_named_in(node: ast.AST, package: list[str], named: dict[str, Path]) -> set[str]:
    """The files that a piece of code imports, or names as `module:object`, in full or nearby."""
    if isinstance(node, ast.Import):
        return {each.name for each in node.names} & {*named}
    if isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*above, *filter(None, [node.module])])
        each = {f"{base}.{alias.name}" for alias in node.names}
        # What is no file is a name within the one that it is imported from.
        return {one if one in named else base for one in each} & {*named}
    if isinstance(node, ast.Constant) and re.fullmatch(r"[\w.]+:\w+", str(node.value)):
        module = str(node.value).partition(":")[0]
        return {module, ".".join([*package, module])} & {*named}
    return set()


def test_imports_point_one_way() -> None:
    for name, others in imported_files().items():
        room = name.split(".")[1] if "." in name else ""
        if room in ROOMS:
            allowed = ORDER[: ORDER.index(room) + 1]
            for other in others - {"german_whist"}:
                assert other.split(".")[1] in allowed, f"{name} imports {other}"


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Files that import each other, the first once more at the end; nothing if there are none."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name not in done:
            for other in sorted(graph[name]):
                if found := walk(other, [*way, name]):
                    return found
            done.add(name)
        return []

    for name in sorted(graph):
        if found := walk(name, []):
            return found
    return []


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = imported_files()
    assert "german_whist.engine.play" in graph["german_whist.engine.game"]
    assert {*graph["german_whist.agents"]} >= {"german_whist.agents.registry"}
    # As a name for Gymnasium, as one from its own package, and imported by its whole name.
    assert "german_whist.envs.gymnasium_env" in graph["german_whist.registration"]
    assert (
        "german_whist.training.algorithms.ppo" in graph["german_whist.training.algorithms.registry"]
    )
    assert "german_whist.common.threads" in graph["german_whist.commands.tablebase"]
    assert circle_in(graph) == []


def test_no_packages_import_each_other_in_a_circle() -> None:
    """Files directly in a room stand for themselves: some are below its packages, some above."""
    graph: dict[str, set[str]] = {}
    for name, others in imported_files().items():
        graph.setdefault(package_of(name), set()).update(map(package_of, others))
    assert "german_whist.agents.checkpoints" in graph["german_whist.agents.search"]
    assert circle_in({name: others - {name} for name, others in graph.items()}) == []


def package_of(file: str) -> str:
    """`german_whist.room.package` of a file in it; a file directly in a room is its own."""
    return ".".join(file.split(".")[:3])


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_others_by_relative_names_and_its_folders_are_small(room: str) -> None:
    for path in sources(room):
        assert "german_whist" not in packages_imported(path), path
    for folder in {path.parent for path in sources(room)}:
        modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= MOST_MODULES, folder


def test_the_engine_knows_numbers_and_the_compiler_only() -> None:
    for path in sources("engine"):
        allowed = ENGINE_KNOWS | FILES_KNOW.get(path.name, set()) | sys.stdlib_module_names
        assert packages_imported(path) <= allowed, path


def test_torch_is_for_learning() -> None:
    for path in (path for room in {*ROOMS, "src"} - {"training"} for path in sources(room)):
        if path.name != "sb3.py":
            learning = {"torch", "stable_baselines3", "sb3_contrib"}
            assert not packages_imported(path) & learning, path


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


def test_every_room_is_type_checked_and_in_the_order_of_rooms() -> None:
    assert {*ROOMS} - {"configs"} <= {*project()["tool"]["pyright"]["include"]}
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms - {"tests", "benchmarks"} == {*ROOMS}


def test_the_command_tells_the_version_of_pyproject(capsys) -> None:
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
    # uv gets the same, but those that a build for a GPU needs otherwise.
    shared = [line.replace('"', "'") for line in lines if not line.startswith(("#", "cuda-"))]
    assert settings["tool"]["uv"]["constraint-dependencies"] == shared
    # Builds for a GPU pin what they bring, each its own: another pin leaves pip no way.
    assert not [name for name in pinned if re.match("nvidia-|triton|cuda-(bindings|toolkit)", name)]


def test_readme_commands_need_no_variable_and_name_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (text, (ROOT / "docs" / "guide" / "start.md").read_text(encoding="utf-8")):
        commands = re.findall(r"^(?:uv )?pip install .*", page, re.MULTILINE)
        assert commands[0] == 'pip install ".[train,table]"'
        assert 'uv pip install --torch-backend=cpu ".[train,table]"' in page
        assert "$" not in "".join(commands)
    for target in re.findall(r"^make (\w+)$", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "\nmake test\n" in text


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


def test_rows_of_pages_are_played_again(tmp_path, capfd) -> None:
    path, found = tmp_path / "page.md", tmp_path / "found.json"
    path.write_text(PAGE, encoding="utf-8")
    words = [str(path), "--like", "random-exact", "--seed", "7"]
    _of_docs("rows").main(words)
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
    _of_docs("rows").main(words)
    assert capfd.readouterr().out.count("unchanged: ") == 2
    assert path.read_text(encoding="utf-8").splitlines() == after


def test_the_pages_made_from_code_are_up_to_date() -> None:
    for name, text in _of_docs("write").pages().items():
        written = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert written == text, f"docs/{name} is out of date: make docs"


def _prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def _anchors(page: Path) -> set[str]:
    """Where its headings can be linked to on GitHub, which keeps the underscores of a name."""
    headings = re.findall(r"^#+ +(.+)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_links_of_the_pages_lead_somewhere_in_the_repository_too() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
            name, _, anchor = target.partition("#")
            if "://" in name:
                continue
            there = page.parent / name if name else page
            assert there.exists(), f"{page} links to {target}"
            assert not anchor or anchor in _anchors(there), f"{page} links to {target}"


def test_no_file_names_a_place_on_some_machine() -> None:
    place = re.compile(r"(?<![\w.<])/(home|root|work|opt|Users|mnt)/\w")
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    for path in {ROOT / line for line in listed.stdout.splitlines()} - {Path(__file__).resolve()}:
        if path.is_file():
            assert not place.search(path.read_text(encoding="utf-8", errors="replace")), path
