"""The examples of README and docs pass a strict type checker, and so does what the package gives.

Of the thorough tests: `make thorough`.
"""

from __future__ import annotations

import inspect
import json
import operator
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jedi
import pytest

import german_whist
from german_whist import agents, engine, envs, training

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "scripts"))
from pages import module_of, program, programs  # noqa: E402

sys.path.pop(0)

pytestmark = pytest.mark.thorough


def typed_programs() -> dict[Path, str]:
    """Those of all pages but of other libraries', whose types are unknown."""
    return {page: text for page, text in programs().items() if page.parent.name != "interop"}


# What a checker has to know of what the package gives, and what it has to find wrong.
TYPES = """
import german_whist
import numpy as np
import numpy.typing as npt
from german_whist import FOREPLAY_OPTIONS, Game, GameRecord, View, german_whist_v0
from german_whist import read_records, record_of
from german_whist.agents import load_agent
from german_whist.agents.base import LoadedAgent
from german_whist.envs import GermanWhistEnv, GermanWhistVecEnv, GermanWhistVectorEnv, SelfPlayEnv
from gymnasium import spaces
from typing_extensions import assert_type

assert_type(Game().turn, int | None)
assert_type(Game().view(), View)
assert_type(Game().legal(), list[int])
assert_type(record_of(Game()), GameRecord)
assert_type(SelfPlayEnv().observe().masks, npt.NDArray[np.int8])
assert_type(SelfPlayEnv().step(np.zeros(1024, int)).rewards, npt.NDArray[np.float32])
assert_type(SelfPlayEnv().reset().seats, npt.NDArray[np.uint8])
assert_type(load_agent("random"), LoadedAgent)
assert_type(GermanWhistEnv().action_masks(), npt.NDArray[np.bool_])
assert_type(GermanWhistEnv().view(), View)
assert_type(read_records("hands.jsonl")[0], list[GameRecord])

german_whist_v0.raw_env("classic", suit_order="trump-first", observation="history", match=None)
env = german_whist_v0.env("draft", reward="win", horizon="foreplay", render_view=0)
german_whist_v0.env("mine.yaml", **FOREPLAY_OPTIONS)
german_whist_v0.env(german_whist.Rules(name="mine", stock=20), observation="text", retries=1)
german_whist_v0.env({"name": "mine", "stock": 20}, render_mode="ansi", render_view="open")
SelfPlayEnv(4, ["classic", "mine.yaml"], **FOREPLAY_OPTIONS)
GermanWhistEnv("classic", opponent="threshold", seat=1, costs="exact", **FOREPLAY_OPTIONS)
GermanWhistVectorEnv(4, autoreset_mode="NextStep", **FOREPLAY_OPTIONS)
GermanWhistVecEnv(4, mask_in_observation=True, **FOREPLAY_OPTIONS)
assert_type(env.last()[0], dict[str, npt.NDArray[np.int8]])
assert_type(env.last()[1], float)
assert_type(env.agent_selection, str)
assert_type(env.rewards, dict[str, float])
assert_type(env.observation_space("player_0"), spaces.Dict)
assert_type(env.unwrapped.view("player_0"), View)
assert_type(german_whist_v0.raw_env().observe("player_0"), dict[str, npt.NDArray[np.int8]])
for agent in env.agent_iter():
    assert_type(agent, str)
"""
WRONG = """
```python
import german_whist
from german_whist import Game, german_whist_v0
from german_whist.envs import GermanWhistEnv, GermanWhistVecEnv, GermanWhistVectorEnv, SelfPlayEnv

game = Game("classic", sede=1)
turn: str = game.turn
env = german_whist_v0.env()
env.reset(seed="1")
observation, *_ = env.last()
observation.nothing
german_whist_v0.env(rewards="win")
german_whist_v0.raw_env("classic", horizon=3)
german_whist_v0.env(suit_order="trump_first")
german_whist_v0.env(render_mode="text")
GermanWhistEnv(reward="wins", seat="first")
GermanWhistVectorEnv(4, illegal="loose")
SelfPlayEnv(4, observation="text")
GermanWhistVecEnv(4, horizon="endgame")
```
"""
WRONG_LINES = [7, 8, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory, pytestconfig: pytest.Config) -> str:
    """What mypy says of all examples at once: lines of `file.py:line: words`."""
    folder = tmp_path_factory.mktemp("examples")
    wrong, types = Path("wrong.md"), Path("types.md")
    for page, text in {**typed_programs(), wrong: program(wrong, WRONG), types: TYPES}.items():
        (folder / module_of(page)).write_text(text, encoding="utf-8")
    assert pytestconfig.cache is not None
    # What mypy knows of NumPy and others is kept from run to run.
    return complaints_of_mypy(folder, pytestconfig.cache.mkdir("mypy"))


# Large libraries in which mypy follows no names, which takes it twice as long as all the rest;
# pyright knows the types of these, too.
UNREAD = (
    "PIL",
    "coverage",
    "matplotlib",
    "numba",
    "onnx",
    "onnxruntime",
    "optuna",
    "pandas",
    "pygame",
    "rich",
    "sqlalchemy",
    "torch",
)


def complaints_of_mypy(folder: Path, cache: Path) -> str:
    settings = folder / "mypy.ini"
    unread = ",".join(f"{name}.*" for name in UNREAD)
    settings.write_text(f"[mypy]\n[mypy-{unread}]\nfollow_imports = skip\n", encoding="utf-8")
    # The package's own files are what an installed package is: typed, and not examined.
    options = [
        "--strict",
        "--allow-subclassing-any",
        "--no-error-summary",
        "--follow-imports=silent",
        f"--cache-dir={cache}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--config-file={settings}", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def pyright(*arguments: str | Path, cwd: Path) -> dict[str, Any]:
    """What pyright tells, with this Python's packages."""
    here = Path(sys.executable).parent
    path = os.pathsep.join([str(here), os.environ["PATH"]])
    more = {"PATH": path, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *map(str, arguments)],
        env={**os.environ, **more},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("page", typed_programs(), ids=lambda page: page.name)
def test_the_examples_of_a_page_pass_a_strict_checker(page: Path, complaints: str) -> None:
    assert not re.findall(rf"^{module_of(page)}:.*", complaints, re.MULTILINE)


def test_what_the_package_gives_has_its_type(complaints: str) -> None:
    assert not re.findall(r"^page_types\.py:.*", complaints, re.MULTILINE)


def test_a_wrong_example_is_found_on_its_line(complaints: str) -> None:
    lines = {int(line) for line in re.findall(r"^page_wrong\.py:(\d+)", complaints, re.MULTILINE)}
    assert set(WRONG_LINES) <= lines


@pytest.mark.parametrize(("text", "lines"), [(TYPES, []), (WRONG, WRONG_LINES)])
def test_pyright_checks_option_names_in_a_users_file(
    text: str, lines: list[int], tmp_path: Path
) -> None:
    file = tmp_path / "users.py"
    file.write_text(text.replace("```python", "").replace("```", ""), encoding="utf-8")
    found = pyright(file, cwd=tmp_path)["generalDiagnostics"]
    errors = [each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"]
    assert sorted(set(errors)) == lines


@pytest.mark.parametrize(
    "name",
    [
        "german_whist_v0.env",
        "german_whist_v0.raw_env",
        "GermanWhistEnv",
        "GermanWhistVectorEnv",
        "GermanWhistVecEnv",
        "SelfPlayEnv",
        "OpponentPool",
        "evaluate",
        "ladder",
    ],
)
def test_jedi_offers_every_option(name: str) -> None:
    package = german_whist if name in ("evaluate", "ladder") else envs
    function = operator.attrgetter(name)(package)
    code = f"import german_whist.envs\n{package.__name__}.{name}("
    offered = jedi.Script(code).complete(2, len(code.splitlines()[1]))
    options = {completion.name for completion in offered if completion.name.endswith("=")}
    assert options == {f"{option}=" for option in inspect.signature(function).parameters}


def test_every_public_name_has_a_known_type(tmp_path: Path) -> None:
    told = pyright("--verifytypes", "german_whist", "--ignoreexternal", cwd=tmp_path)
    symbols = {each["name"]: each for each in told["typeCompleteness"]["symbols"]}
    # PettingZoo and OpenSpiel have no types, so a class on top of theirs is never known as a whole.
    beyond = {
        "german_whist.german_whist_v0",
        "german_whist.envs.german_whist_v0",
        "german_whist.envs.open_spiel_game",
    }
    public = {
        f"{module.__name__}.{name}"
        for module in (german_whist, agents, engine, envs, training)
        for name in module.__all__
        if not name.startswith("_")
    } - beyond
    assert public <= symbols.keys()
    members = {
        name
        for name in symbols
        if name.startswith(
            ("german_whist.envs.german_whist_v0.raw_env.", "german_whist.envs.typed_aec.TypedAEC.")
        )
    }
    assert members
    unknown = {
        name: [each["message"] for each in symbols[name]["diagnostics"]]
        for name in sorted(public | members)
        if not symbols[name]["isTypeKnown"]
    }
    assert not unknown
