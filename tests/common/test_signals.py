"""Signals that end a run, and handlers that stay as they are."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from multiprocessing import get_context
from typing import Any

import pytest

from german_whist.common.signals import SignalGuard, process_start


@pytest.fixture
def hangup_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


def test_signal_guard_records_a_closed_terminal(hangup_handler: None) -> None:
    with SignalGuard() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
    assert signals.received == signal.SIGHUP


def stay(is_running: Any) -> None:
    is_running.set()
    time.sleep(60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
@pytest.mark.parametrize("immediate", [False, True])
def test_sigterm_ends_a_forked_child_and_ctrl_c_does_not(immediate: bool) -> None:
    with SignalGuard(), SignalGuard() as signals:
        with signals.immediate() if immediate else nullcontext():
            context = get_context("fork")
            is_running = context.Event()
            child = context.Process(target=stay, args=(is_running,))
            child.start()
            # A signal that comes while Python starts in the child is lost.
            assert is_running.wait(10)
        if not immediate:
            os.kill(child.pid or 0, signal.SIGINT)
            child.join(0.2)
            assert child.is_alive()
        child.terminate()
        child.join(10)
        assert child.exitcode == -signal.SIGTERM
    assert signals.received is None


def test_signal_guard_leaves_sighup_ignored_under_nohup(hangup_handler: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with SignalGuard() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
    assert signals.received is None
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_signal_guard_leaves_handlers_of_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """`signal.getsignal` is None for a handler that was not installed by Python."""
    before = signal.getsignal(signal.SIGTERM)
    installed = signal.signal

    def refuse_none(number: int, handler: object) -> object:
        found = installed(number, handler)  # type: ignore[arg-type]
        return None if number == signal.SIGTERM else found

    with monkeypatch.context() as patch:
        patch.setattr(signal, "getsignal", lambda number: None)
        patch.setattr(signal, "signal", refuse_none)
        with SignalGuard([signal.SIGTERM]):
            pass
    assert signal.getsignal(signal.SIGTERM) is before


def test_start_of_a_process_tells_it_from_another() -> None:
    starts = {process_start(os.getpid()), process_start(os.getpid()), process_start(os.getppid())}
    assert len(starts) == (2 if sys.platform == "linux" else 1)
    assert process_start(2**30) == ""
