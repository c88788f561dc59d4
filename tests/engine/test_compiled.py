"""What is compiled is never answered from the disk by code that has changed since."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from german_whist.engine.compiled import COMPILED, inlined, jit, machine_code_folder, pasted
from german_whist.engine.play import suit_of

compiled_only = pytest.mark.skipif(not COMPILED, reason="the compiler is off")

MINE = """\
from german_whist.engine.compiled import {decorator}
from {helper} import helped

@{decorator}
def answer(x):
    return helped(x) + 1
"""
HELPER = """\
from german_whist.engine.compiled import jit

@jit
def helped(x):
    return x * {factor}
"""


def answer_of(folder: Path, names: tuple[str, str]) -> int:
    """What the user's module answers when it is imported anew."""
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


@pytest.mark.parametrize("decorator", [jit, inlined, pasted], ids=lambda each: each.__name__)
@pytest.mark.parametrize("home", ["", "engine"])
def test_an_edited_helper_of_a_users_function_gives_the_new_answer(
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
    mine, helper = (name.rpartition(".")[2] for name in names)
    text = MINE.format(decorator=word, helper=names[1])
    (folder / f"{mine}.py").write_text(text)
    for factor in (2, 300):
        (folder / f"{helper}.py").write_text(HELPER.format(factor=factor))
        assert answer_of(tmp_path, names) == 10 * factor + 1
    assert not [path.name for path in machine_code_folder().rglob("*") if mine in path.name]


@compiled_only
def test_functions_of_the_package_are_kept_on_disk() -> None:
    suit_of(17)
    assert [path for path in machine_code_folder().rglob("*.nbi") if "play.suit_of" in path.name]
