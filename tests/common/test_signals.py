"""Signals that end a run, and handlers that stay as they are."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from german_whist.common.signals import SignalGuard


@pytest.fixture
def hangup_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


def test_signal_guard_records_a_closed_terminal(hangup_handler: None) -> None:
    with SignalGuard() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
    assert signals.received == signal.SIGHUP


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
