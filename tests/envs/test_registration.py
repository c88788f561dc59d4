"""The environments are known by name in every order of imports."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import Any

import gymnasium
import pettingzoo
import pytest

from german_whist import FOREPLAY_OPTIONS, envs, german_whist_v0
from german_whist.engine.batch.config import Options, options_from

KNOWN = (
    "[gymnasium.spec(f'german_whist/GermanWhist{x}-v0') for x in ('', 'Foreplay', 'Text')];"
    "[pettingzoo.spec('aec', f'german_whist/german_whist{x}_v0') for x in ('', '_foreplay')];"
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


FOREPLAY_MAKERS: dict[str, Any] = {
    "gymnasium.make": partial(gymnasium.make, "german_whist/GermanWhistForeplay-v0"),
    "gymnasium.make_vec": partial(gymnasium.make_vec, "german_whist/GermanWhistForeplay-v0"),
    "pettingzoo.make": partial(pettingzoo.make, "aec", "german_whist/german_whist_foreplay_v0"),
    "german_whist_v0.env": partial(german_whist_v0.env, **FOREPLAY_OPTIONS),
    "SelfPlayEnv": partial(envs.SelfPlayEnv, **FOREPLAY_OPTIONS),
}


def options_of(made: Any) -> Options:
    return getattr(made, "unwrapped", made).options


@pytest.mark.parametrize("make", FOREPLAY_MAKERS.values(), ids=FOREPLAY_MAKERS)
def test_foreplay_environments_have_the_options_to_train_with(make: Any) -> None:
    for rules in ("classic", "draft"):
        expected = options_from(rules, reward="win", suit_order="trump-first", horizon="foreplay")
        assert options_of(make(rules=rules)) == expected


def test_an_option_overrides_that_of_the_foreplay_environment() -> None:
    for name in ("gymnasium.make", "gymnasium.make_vec", "pettingzoo.make"):
        options = options_of(FOREPLAY_MAKERS[name](horizon="hand"))
        assert (options.horizon, options.reward) == ("hand", "win")
        assert options_of(FOREPLAY_MAKERS[name]()).horizon == "foreplay"


def test_envs_package_lists_its_names() -> None:
    for name in envs.__all__:
        assert getattr(envs, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = envs.nonsense  # type: ignore[attr-defined]
