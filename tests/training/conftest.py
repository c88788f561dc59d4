"""What tests of trainings share: torch on one thread, and workers that begin as forks."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Trainings set the threads of the process, and small ones are fastest on one."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers be forks of a process that has imported what they need."""
    known = "german_whist.training.benchmark", "german_whist.training.arena.workers"
    multiprocessing.set_forkserver_preload([*known])
    there = SimpleNamespace(get_context=lambda _: multiprocessing.get_context("forkserver"))
    for each in known:
        monkeypatch.setattr(f"{each}.multiprocessing", there)
