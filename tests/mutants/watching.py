"""The pytest plugin of a mutation run: the wanted tests in order, each one told, timed, covered."""

from __future__ import annotations

import math
import os
import random
import signal
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest


class TooLong(BaseException):
    """A test has had its share of the processor."""


class Watching:
    """Runs the wanted tests of what was collected, and says what became of each."""

    def __init__(
        self,
        tell: Callable[..., None],
        wanted: Sequence[str] | None,
        caps: Callable[[str], float | None],
        stop: bool,
        budget: float | None,
        coverage: Any,
    ) -> None:
        """Without `wanted` all run, or as many as a `budget` allows; with `stop` until one fails.

        Budget and caps are in seconds of the processor.
        """
        self.tell, self.caps, self.stop, self.coverage = tell, caps, stop, coverage
        self.left = math.inf if budget is None else budget
        self.ranks = None if wanted is None else {name: rank for rank, name in enumerate(wanted)}
        self.outcome = ""

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave the wanted tests, in the order that was asked for."""
        if self.ranks is not None:
            kept = [item for item in items if item.nodeid in self.ranks]
            items[:] = sorted(kept, key=lambda item: self.ranks[item.nodeid])
        elif self.left < math.inf:  # a budget takes some of each kind
            random.Random(len(items)).shuffle(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Time a test with its fixtures."""
        self.tell(started=item.nodeid)
        self.outcome = "passed"
        if self.coverage is not None:
            self.coverage.switch_context(item.nodeid)
        begun = processor_seconds()
        cap = self.caps(item.nodeid)
        if cap is not None:
            signal.signal(signal.SIGPROF, self._stop)
            signal.setitimer(signal.ITIMER_PROF, cap, 1.0)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            cost = processor_seconds() - begun
            self.left -= cost
            self.tell(done=item.nodeid, outcome=self.outcome, cost=cost)
            if self.left < 0 or (self.stop and self.outcome == "failed"):
                item.session.shouldstop = "that is enough"

    def _stop(self, *_: object) -> None:
        self.outcome = "too long"
        raise TooLong

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst that a test's parts came to."""
        if self.outcome == "passed" and report.outcome != "passed":
            self.outcome = report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that can not be imported is a failure of its own."""
        if report.failed:
            self.tell(done=report.nodeid, outcome="failed", cost=0.0)


def processor_seconds() -> float:
    """What this process and its children have used."""
    return sum(os.times()[:4])
