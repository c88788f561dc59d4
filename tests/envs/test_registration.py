"""The environments are known by name in every order of imports."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from german_whist import envs

KNOWN = (
    "[gymnasium.spec(f'german_whist/GermanWhist{x}-v0') for x in ('', 'Text')];"
    "pettingzoo.spec('aec', 'german_whist/german_whist_v0');"
    "gymnasium.make('german_whist/GermanWhist-v0').reset(seed=1);"
    "pettingzoo.make('aec', 'german_whist/german_whist_v0').reset(seed=1);"
    "print(1);"
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


FIRST = "import german_whist, gymnasium, pettingzoo, importlib"
# Gymnasium can be told in the name whom to import.
LAST = (
    "import gymnasium, pettingzoo, importlib;"
    "gymnasium.make('german_whist:german_whist/GermanWhist-v0'); import german_whist"
)


@pytest.mark.parametrize("order", [FIRST, LAST])
def test_environments_register_whichever_library_comes_first(order: str) -> None:
    assert run(f"{order}; {KNOWN} importlib.reload(german_whist); {KNOWN}") == "1\n1\n"


def test_envs_package_lists_its_names() -> None:
    for name in envs.__all__:
        assert getattr(envs, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = envs.nonsense  # type: ignore[attr-defined]
