"""The disk cache of compiled code never holds code that has changed since."""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import german_whist
from german_whist.common.files import file_lock
from german_whist.common.jit import compiler as compiled
from german_whist.common.jit.compiler import (
    COMPILED,
    compile_in_child,
    forceinline,
    inline_ir,
    jit,
    machine_code_folder,
    noinline,
)
from german_whist.engine.play import suit_of

ROOT = Path(__file__).resolve().parents[2]

compiled_only = pytest.mark.skipif(not COMPILED, reason="the compiler is off")

MINE = """\
from german_whist.common.jit.compiler import {decorator}
from {helper} import helped

@{decorator}
def answer(x):
    return helped(x) + 1
"""
HELPER = """\
from german_whist.common.jit.compiler import jit

@jit
def helped(x):
    return x * {factor}
"""


def answer_of(folder: Path, names: tuple[str, str]) -> int:
    sys.path.insert(0, str(folder))
    try:
        for name in names:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        module = importlib.import_module(names[0])
        return int(module.answer(10))
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("decorator", "home"),
    [(jit, ""), (jit, "engine"), (forceinline, ""), (inline_ir, "engine"), (noinline, "")],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_edited_helper_of_user_function_recompiles(
    decorator: object, home: str, tmp_path: Path
) -> None:
    word = getattr(decorator, "__name__", "")
    names = (f"users_{word}", f"users_helper_{word}")
    folder = tmp_path
    if home:  # a package of the user's with a folder that is called like one of ours
        folder = tmp_path / "users_package" / home
        folder.mkdir(parents=True)
        names = (f"users_package.{home}.{names[0]}", f"users_package.{home}.{names[1]}")
        sys.modules.pop("users_package", None)
        sys.modules.pop(f"users_package.{home}", None)
    own, helper = (name.rpartition(".")[2] for name in names)
    text = MINE.format(decorator=word, helper=names[1])
    (folder / f"{own}.py").write_text(text)
    for factor in (2, 300):
        (folder / f"{helper}.py").write_text(HELPER.format(factor=factor))
        assert answer_of(tmp_path, names) == 10 * factor + 1
    assert not [path.name for path in machine_code_folder().rglob("*") if own in path.name]


@pytest.fixture
def extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose packages are extensions of the package, as after an installation."""
    folder = tmp_path / "extensions"
    folder.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(german_whist, "__path__", [*german_whist.__path__, str(folder)])
    yield folder
    compiled._hash_of_sources.cache_clear()


def loaded_function(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    read_sources_anew(monkeypatch)
    for module in [each for each in sys.modules if each.startswith((name, "helpers_of_"))]:
        del sys.modules[module]
    importlib.invalidate_caches()
    return importlib.import_module(f"{name}.answers").answer


def write_extension(folder: Path, helper: str, factor: int) -> None:
    own = folder / "added"
    own.mkdir(exist_ok=True)
    (own / "__init__.py").touch()
    (own / "answers.py").write_text(MINE.format(decorator="jit", helper=helper))
    (own / "inner.py").write_text(HELPER.format(factor=factor))


@compiled_only
def test_extension_elsewhere_is_cached_until_edited(
    extensions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for factor, found in ((2, 0), (2, 1), (300, 0)):
        write_extension(extensions, "german_whist.added.inner", factor)
        answer = loaded_function("german_whist.added", monkeypatch)
        assert answer(10) == 10 * factor + 1
        assert sum(answer._cache_hits.values()) == found


@compiled_only
@pytest.mark.parametrize("how", ["by name", "by module", "by way of another"])
def test_extension_that_calls_foreign_code_is_not_cached(
    how: str, extensions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(extensions)
    write_extension(extensions, "helpers_of_others", 2)
    if how == "by module":
        source = MINE.replace("from {helper} import helped", "import {helper} as others")
        source = source.replace("helped(", "others.helped(")
        text = source.format(decorator="jit", helper="helpers_of_others")
        (extensions / "added" / "answers.py").write_text(text)
    elif how == "by way of another":
        text = MINE.format(decorator="jit", helper="helpers_of_others")
        (extensions / "added" / "between.py").write_text(text.replace("answer", "helped_by"))
        text = MINE.format(decorator="jit", helper="german_whist.added.between")
        (extensions / "added" / "answers.py").write_text(text.replace("helped", "helped_by"))
    added = 2 if how == "by way of another" else 1
    for factor in (2, 300):
        (extensions / "helpers_of_others.py").write_text(HELPER.format(factor=factor))
        answer = loaded_function("german_whist.added", monkeypatch)
        assert answer(10) == 10 * factor + added
    assert not [*machine_code_folder("added").rglob("*.code")]


@compiled_only
def test_package_functions_are_cached_on_disk() -> None:
    suit_of(17)
    assert [*machine_code_folder().glob("play.suit_of-*.code")]


@compiled_only
@pytest.mark.parametrize("works", [True, False])
def test_child_compiles_unless_it_fails(
    works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled, "_folders", {})
    monkeypatch.setattr(compiled, "_child_compiler", None)
    compile_in_child()
    if not works:
        (tmp_path / "sitecustomize.py").write_text("raise SystemExit(3)")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    function = jit(suit_of.py_func)  # pyright: ignore[reportFunctionMemberAccess]
    assert function(17) == 1
    assert bool(function._cache_hits) == works
    assert [*machine_code_folder().glob("play.suit_of-*.code")]
    compiled._child_compiler.close()


# -- where machine code is kept, and for how long


EXTENSIONS = ("added", "other")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Packages in one folder, an extension in another, and one in two places."""
    folders: dict[str, list[str]] = {}
    for package in (*compiled.PACKAGES, *EXTENSIONS):
        places = ("extensions", "more") if package == "other" else ("extensions",)
        for place in places if package in EXTENSIONS else ("home",):
            folder = tmp_path / place / package
            (folder / "inner").mkdir(parents=True)
            (folder / "inner" / "some.py").write_text("pass")
            folders.setdefault(f"german_whist.{package}", []).append(str(folder))

    def find_spec(name: str) -> ModuleSpec | None:
        if name not in folders:
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = folders[name]
        return spec

    monkeypatch.setattr(compiled, "find_spec", find_spec)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    read_sources_anew(monkeypatch)
    yield tmp_path
    compiled._hash_of_sources.cache_clear()


def read_sources_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_folders", {})
    compiled._hash_of_sources.cache_clear()


@pytest.mark.parametrize("how", ["edit", "add", "rename"])
@pytest.mark.parametrize(
    "edited",
    [
        f"home/{compiled.PACKAGES[0]}",
        f"home/{compiled.PACKAGES[-1]}",
        "extensions/added",
        "more/other",
    ],
)
def test_edit_renews_cache_of_all_that_may_call_it(
    edited: str, how: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = (*compiled.PACKAGES, *EXTENSIONS)
    before = {package: machine_code_folder(package) for package in packages}
    read_sources_anew(monkeypatch)
    source = home / edited / "inner" / "some.py"
    if how == "edit":
        source.write_text("pass\n")
    elif how == "add":
        source.with_name("another.py").write_text("")
    else:
        source.rename(source.with_name("another.py"))
    after = {package: machine_code_folder(package) for package in packages}
    changed = [package for package in packages if before[package] != after[package]]
    package = edited.rpartition("/")[2]
    calling = packages[packages.index(package) :] if package in compiled.PACKAGES else (package,)
    assert tuple(changed) == calling


def test_cache_folder_is_the_same_wherever_sources_lie(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machine_code_folder("added")
    read_sources_anew(monkeypatch)
    elsewhere = home / "elsewhere"
    (home / "extensions" / "added").rename(elsewhere)
    (home / "extensions" / "added").symlink_to(elsewhere, target_is_directory=True)
    assert machine_code_folder("added") == before


@pytest.mark.parametrize("package", ["unheard_of", "added"])
def test_package_without_sources_has_no_cache_folder(package: str, home: Path) -> None:
    (home / "extensions" / "added" / "inner" / "some.py").rename(home / "some.pyc")
    with pytest.raises(compiled.SourcesUnknown, match=f"german_whist.{package} has no source"):
        machine_code_folder(package)


@compiled_only
def test_code_without_sources_works_and_is_not_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "home" / "common" / "inner" / "some.py").unlink()
    monkeypatch.setattr(compiled, "COMPILED", True)
    monkeypatch.setattr(compiled, "_warm", set())
    monkeypatch.setattr(compiled, "_warned_not_cached", False)
    function = jit(suit_of.py_func)  # pyright: ignore[reportFunctionMemberAccess]
    answers: list[int] = []
    compiled.warm_up("thing", "engine", lambda: answers.append(function(17)))
    assert answers == [1]
    assert "(german_whist.common has no source files here)" in capsys.readouterr().err
    assert not [*(home / "cache").rglob("*.code")]


def test_core_packages_are_listed_in_the_order_of_imports() -> None:
    project = ROOT / "pyproject.toml"
    layers, *_ = re.findall(
        r"^layers = \[(.*?)\]", project.read_text(encoding="utf-8"), re.M | re.S
    )
    core = [layer for layer in re.findall('"([a-z]+)"', layers) if (ROOT / layer).is_dir()]
    assert tuple(reversed(core)) == ("configs", *compiled.PACKAGES)


@pytest.mark.parametrize(
    ("name", "value", "changes_code"),
    [
        ("numba.__version__", "9.9", True),
        ("platform.machine", lambda: "another", True),
        ("numba.config.OPT", 0, True),
        ("numba.config.BOUNDSCHECK", 1, True),
        ("numba.config.LOOP_VECTORIZE", 0, True),
        ("numba.config.DEBUGINFO_DEFAULT", 1, True),
        ("numba.config.NUMBA_NUM_THREADS", 7, False),
    ],
)
def test_cache_folder_depends_on_what_changes_code(
    name: str, value: Any, changes_code: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home.exists()
    before = machine_code_folder()
    assert machine_code_folder() is before
    assert before.is_dir()
    read_sources_anew(monkeypatch)
    monkeypatch.setattr(name, value)
    assert (machine_code_folder() != before) is changes_code


def test_cache_keeps_newest_folders_of_a_package(home: Path) -> None:
    cache, now = home / "cache", time.time()
    for number in range(9):
        for package in ("engine", "envs"):
            folder = cache / f"{package}-{number}"
            folder.mkdir(parents=True)
            days = number if number < 8 else 0.9
            os.utime(folder, (now - days * 86_400 - 60,) * 2)
    current = machine_code_folder("engine")
    # The new one and those of 0, 0.9, 1, 2 and 3 days.
    kept = {current.name, *(f"engine-{number}" for number in (0, 1, 2, 3, 8))}
    assert {path.name for path in cache.glob("engine*")} == kept
    assert len([*cache.glob("envs*")]) == 9


def test_cache_keeps_all_folders_of_today(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        (home / "cache" / f"agents-{number}").mkdir(parents=True)
    folder = machine_code_folder("agents")
    assert len(list((home / "cache").iterdir())) == 10
    os.utime(folder, (1e9, 1e9))
    monkeypatch.setattr(compiled, "_folders", {})
    assert machine_code_folder("agents") == folder
    assert time.time() - folder.stat().st_mtime < 600


def test_warm_up_reports_first_compilation_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert home.exists()
    calls: list[str] = []

    def in_a_new_process() -> None:
        monkeypatch.setattr(compiled, "_warm", set())
        compiled.warm_up("thing", "engine", lambda: calls.append("thing"))

    monkeypatch.setattr(compiled, "COMPILED", True)
    in_a_new_process()
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert "compiling the thing for this machine" in output.err
    compiled.warm_up("thing", "engine", lambda: calls.append("again"))
    in_a_new_process()
    assert capsys.readouterr().err == ""
    assert calls == ["thing", "thing"]
    compiled.warm_up("other thing", "envs", lambda: calls.append("other"))
    assert "compiling the other thing" in capsys.readouterr().err
    assert (machine_code_folder("envs") / "other thing.ready").exists()
    monkeypatch.setattr(compiled, "COMPILED", False)
    monkeypatch.setattr(compiled, "_warm", set())
    compiled.warm_up("thing", "engine", lambda: calls.append("interpreted"))
    assert calls[-1] == "other"


def test_second_process_waits_for_first_compilation(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert home.exists()
    monkeypatch.setattr(compiled, "COMPILED", True)
    monkeypatch.setattr(compiled, "_warm", set())
    folder = machine_code_folder("engine")
    ran, begun = threading.Event(), threading.Event()

    def second() -> None:
        begun.set()
        compiled.warm_up("thing", "engine", ran.set)

    waiting = threading.Thread(target=second)
    with file_lock(folder / "thing.lock"):
        waiting.start()
        assert begun.wait(60)
        assert not ran.wait(0.3)
        (folder / "thing.ready").touch()
    waiting.join(60)
    assert ran.is_set()
    assert capsys.readouterr().err == ""
