"""What tests of trainings share: torch on one thread, and trainings that begin as forks."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import warm


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
def forked_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings that are processes of their own, and what measures beside them, be forks."""
    for each in ("measuring", "separate_runs"):
        monkeypatch.setattr(f"german_whist.training.{each}.subprocess", warm)
