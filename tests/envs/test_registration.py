"""The environments are known by name in every order of imports."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

KNOWN = (
    "[gymnasium.spec(f'german_whist/GermanWhist{x}-v0') for x in ('', 'Three')];"
    "[pettingzoo.spec('aec', f'german_whist/german_whist{x}_v0') for x in ('', '_three')];"
    "gymnasium.make('german_whist/GermanWhist-v0').reset(seed=1);"
    "pettingzoo.make('aec', 'german_whist/german_whist_v0').reset(seed=1);"
    "print(1)"
)


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "order",
    [
        "import german_whist, gymnasium, pettingzoo",
        "import gymnasium, pettingzoo, german_whist",
        "import german_whist, gymnasium, pettingzoo, importlib; importlib.reload(german_whist)",
    ],
)
def test_libraries_know_and_make_the_environments_whichever_is_imported_first(order: str) -> None:
    assert run(f"{order}; {KNOWN}") == "1\n"


def test_gymnasium_can_be_told_in_the_name_whom_to_import() -> None:
    name = "german_whist:german_whist/GermanWhist-v0"
    assert run(f"import gymnasium; gymnasium.make('{name}').reset(seed=1); print(1)") == "1\n"
