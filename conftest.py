"""What all tests share: their folder on the import path, torch on one thread, no windows.

Processes that run tests side by side compile nothing twice, and do not wait for threads of theirs.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before NumPy and torch load: where cores are busy, threads that wait for each other spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "hide")

import compile_once  # noqa: F401
import current_links  # noqa: F401
import pytest
from hypothesis import HealthCheck, settings

from german_whist.cli import main
from german_whist.common import reference_loop, threads
from german_whist.common.jit import compiler
from german_whist.common.threads import one_torch_thread
from german_whist.engine.batch import cpu_backend
from german_whist.evaluation.exploitability import probability_check

# `nohup` and background jobs of a shell ignore them, and so would every process of the tests.
for name in ("SIGINT", "SIGHUP"):
    if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

# A first call may compile; how long an example takes says nothing about it.
settings.register_profile(
    "whist",
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("whist")

# The longest first, so that none of them begins when all others are done.
LONG = (
    "test_deletion",
    "test_plain_jit",
    "test_table_command",
    "test_algorithms",
    "test_packaging",
    "test_device",
    "test_browser_faults",
    "test_benchmark",
    "test_frozen",
    "test_browser",
    "test_trainer_clock",
    "test_custom_network",
    "test_policy_exploitability",
    "test_exact_payoffs",
    "test_sweep",
    "test_browser_learning",
    "test_thinker",
    "test_terminal",
    "test_cfr_plus",
    "test_hidden_cards",
    "test_documentation",
    "test_server",
    "test_pipeline",
    "test_data_parallel",
    "test_browser_phone",
    "test_compare",
    "test_arena",
    "test_arena_reports",
    "test_example_trainer",
    "test_losses",
    "test_probability_check",
    "test_executors",
    "test_interpreted",
    "test_players",
    "test_batch",
    "test_endgame_files",
    "test_checks",
    "test_agreement",
    "test_run",
    "test_project",
    "test_lifecycle",
    "test_game_tree",
    "test_endgame_build",
    "test_luck",
    "test_hidden",
    "test_pictures",
    "test_device_training",
)


def pytest_configure(config: pytest.Config) -> None:
    # What tests import stays, and nothing looks for garbage in it: now, or between tests.
    gc.disable()
    # Once per process: which test it comes in depends on their order.
    config.addinivalue_line("filterwarnings", "ignore:.*illegal action ends")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(Path(item.fspath).stem, len(LONG)))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module")
def small_parts() -> Iterator[None]:
    """Few games are split among threads as many are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "MIN_PART_NS", 1)
        yield


@pytest.fixture(scope="module")
def pooled_memory() -> Iterator[None]:
    """Observations of few games lie in memory that was used before, as those of many do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_backend, "LARGE_BYTES", 1000)
        yield


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Trainings set the threads of the process, and small ones are fastest on one."""
    with one_torch_thread():
        yield


@pytest.fixture
def few_checked_hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether players play as they say is checked on few hands: other players take seconds."""
    monkeypatch.setattr(probability_check, "HANDS", 16)
    monkeypatch.setattr(probability_check, "DRAWS", 8)


@pytest.fixture(autouse=True)
def short_reference_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job of a benchmark times this loop twice, for longer than its training takes here."""
    monkeypatch.setattr(reference_loop, "_ROUNDS", 40)


@pytest.fixture(autouse=True)
def no_child_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command may let a child compile, from then on, whatever comes of it."""
    monkeypatch.setattr(compiler, "_child_compiler", None)


@pytest.fixture
def whist(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """`german-whist` in this process: what it tells until it ends with a status."""

    def run(*words: object, status: int = 0) -> Any:
        assert main([str(word) for word in words]) == status
        return capsys.readouterr()

    return run
