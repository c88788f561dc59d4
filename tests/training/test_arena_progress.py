"""Where a run stands is told truly: in time, in one line, and gone when the report comes."""

from __future__ import annotations

import io
import os
import shutil
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from german_whist.training.arena.progress import Mark, ProgressLine, fraction_done, status_of
from german_whist.training.arena.statistics import Estimate


@dataclass
class Run:
    """What is asked of an arena while it plays: pairs played of `pairs`, and the reaches."""

    played: list[int]
    pairs: int = 100
    reaches: list[float] = field(default_factory=lambda: [0.02, 0.04, 0.03])
    until: float | None = None
    done: tuple[int, ...] = ()
    seconds: float = 30.0
    match: str | None = None
    workers: int = 1

    @property
    def courses(self) -> list[Any]:
        return [
            SimpleNamespace(
                tally=SimpleNamespace(pairs=pairs), done=place in self.done, counted=pairs // 10
            )
            for place, pairs in enumerate(self.played)
        ]

    @property
    def hands(self) -> int:
        return 2 * sum(self.played)

    @property
    def setting(self) -> Any:
        return SimpleNamespace(match=self.match)

    def pairing(self, place: int) -> Any:
        reach = self.reaches[place]
        rate = Estimate(0.6, 0.6 - reach, 0.6 + reach)
        return SimpleNamespace(player="abc"[place], opponent="z", win_rate=rate)


@pytest.mark.parametrize(
    ("run", "share"),
    [
        (Run([0, 0]), 0.0),
        (Run([50]), 0.5),
        (Run([50, 100], done=(1,)), 0.75),
        (Run([20, 30], done=(0,)), 0.65),  # ended by its precision
        (Run([50], until=0.01), 0.5),  # a quarter of the precision, by half of the pairs
        (Run([10], until=0.01), 0.25),
        (Run([10], until=0.04), 1.0),
        (Run([0], until=0.01), 0.0),
        (Run([10], until=0.01, reaches=[0.0]), 1.0),
    ],
)
def test_what_is_done_is_the_mean_over_the_pairings(run: Any, share: float) -> None:
    assert fraction_done(run) == pytest.approx(share)


def test_the_line_tells_share_result_hands_and_time_left() -> None:
    run: Any = Run([50], seconds=30.0)
    begun = Mark(0.0, 0.0)
    told = status_of(run, bar=False, since=begun)
    assert told == " 50 %, a – z 60.0 ± 2.0 %, 100 hands, 30.0 s left"
    assert status_of(run, bar=True, since=begun).startswith("[######      ]  50 %, a – z")
    run = Run([25], seconds=30.0, match="to 5")
    told = status_of(run, bar=False, since=begun)
    assert told == " 25 %, a – z 60.0 ± 2.0 %, 50 matches, 2 min left"


def test_what_came_before_the_mark_is_not_in_the_time_left() -> None:
    # 28 seconds of compiling and 10 % came first; then 2 seconds brought 10 % more.
    assert "16.0 s left" in status_of(Run([20], seconds=30.0), bar=False, since=Mark(28.0, 0.1))  # type: ignore[arg-type]


@pytest.mark.parametrize("since", [None, Mark(29.5, 0.2), Mark(20.0, 0.5), Mark(20.0, 0.6)])
def test_no_time_is_told_that_nobody_can_know(since: Mark | None) -> None:
    assert "left" not in status_of(Run([50]), bar=False, since=since)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "workers", "told"),
    [
        ([10, 10], 1, True),
        ([10, 0], 1, False),  # the second pairing may still have to be compiled
        ([10, 10], 3, False),  # the third worker too
        ([20, 10], 3, True),
    ],
)
def test_the_mark_is_set_when_everybody_plays(
    first: list[int], workers: int, told: bool, clock: list[float]
) -> None:
    progress = ProgressLine(out := io.StringIO())
    progress(Run(first, seconds=28.0, workers=workers))  # type: ignore[arg-type]
    clock[0] += 30
    progress(Run([50, 50], seconds=31.0, workers=workers))  # type: ignore[arg-type]
    assert ("left" in out.getvalue()) == told


def test_of_several_pairings_the_least_sure_that_still_plays_is_shown() -> None:
    def shown(**how: Any) -> str:
        told = status_of(Run(**how), bar=False)  # type: ignore[arg-type]
        return told.split(", ")[1].split(" ")[0]

    assert shown(played=[10, 10, 10]) == "b"
    assert shown(played=[10, 10, 10], done=(1,)) == "c"
    assert shown(played=[10, 0, 10]) == "c"
    assert shown(played=[10, 100, 10], done=(0, 1, 2)) == "b"
    assert status_of(Run([0, 0, 0]), bar=False) == "  0 %, 0 hands"  # type: ignore[arg-type]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((41, 24)))
    return now


def test_a_terminal_has_one_line_that_is_cut_padded_and_wiped(clock: list[float]) -> None:
    out = Terminal()
    progress = ProgressLine(out)
    run: Any = Run([50])
    progress(run)
    drawn = out.getvalue()
    assert drawn == "\r" + status_of(run, bar=True)[:40]
    clock[0] += 0.09
    progress(run)
    assert out.getvalue() == drawn
    clock[0] += 0.02
    progress(Run([0]))  # type: ignore[arg-type]
    assert out.getvalue() == drawn + "\r" + "[            ]   0 %, 0 hands".ljust(40)
    progress.close()
    assert out.getvalue().endswith("\r" + " " * 40 + "\r")


def test_a_file_gets_a_line_now_and_then_and_nothing_is_wiped(clock: list[float]) -> None:
    out = io.StringIO()
    progress = ProgressLine(out)
    run: Any = Run([50])
    clock[0] += 1.9
    progress(run)
    assert out.getvalue() == ""
    for wait, written in ((0.2, 1), (9.9, 1), (0.2, 2)):
        clock[0] += wait
        progress(run)
        assert out.getvalue().count("\n") == written
    progress.close()
    assert out.getvalue() == (status_of(run, bar=False) + "\n") * 2


def test_what_was_never_drawn_is_not_wiped(clock: list[float]) -> None:
    out = Terminal()
    ProgressLine(out).close()
    assert out.getvalue() == ""
    assert clock
