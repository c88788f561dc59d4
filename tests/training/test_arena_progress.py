"""Where a run of the arena stands is told truly, when it is time."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from german_whist.engine.progress import Progress
from german_whist.training.arena.intervals import Estimate
from german_whist.training.arena.progress import fraction_done, shown_by, status_of


@dataclass
class Run:
    """What is asked of an arena while it plays: pairs played of `pairs`, and the reaches."""

    played: list[int]
    pairs: int = 100
    reaches: list[float] = field(default_factory=lambda: [0.02, 0.04, 0.03])
    until: float | None = None
    done: tuple[int, ...] = ()
    match: str | None = None

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


def test_the_line_tells_the_result_and_the_hands() -> None:
    run: Any = Run([50])
    assert status_of(run) == "a – z 60.0 ± 2.0 %, 100 hands"
    run = Run([25], match="to 5")
    assert status_of(run) == "a – z 60.0 ± 2.0 %, 50 matches"


def test_of_several_pairings_the_least_sure_that_still_plays_is_shown() -> None:
    def shown(**how: Any) -> str:
        told = status_of(Run(**how))  # type: ignore[arg-type]
        return told.split(" ")[0]

    assert shown(played=[10, 10, 10]) == "b"
    assert shown(played=[10, 10, 10], done=(1,)) == "c"
    assert shown(played=[10, 0, 10]) == "c"
    assert shown(played=[10, 100, 10], done=(0, 1, 2)) == "b"
    assert status_of(Run([0, 0, 0])) == "0 hands"  # type: ignore[arg-type]


def test_a_run_is_shown_when_it_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with Progress("playing", out=out) as progress:
        tell: Any = shown_by(progress)
        tell(Run([10]))
        now[0] += 11
        tell(Run([50]))
    assert out.getvalue().split(maxsplit=2)[:2] == ["playing", "50%"]
    assert "a – z 60.0 ± 2.0 %, 100 hands" in out.getvalue()
