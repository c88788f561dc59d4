"""Console lines and HTML report of a run."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from german_whist.training.callbacks import console as display
from german_whist.training.callbacks.console import (
    ConsoleLog,
    FileLog,
    LiveDisplay,
    progress_line,
)
from german_whist.training.callbacks.evaluation import earlier_checkpoint
from german_whist.training.callbacks.report_files import write_report
from german_whist.training.presets import load_settings
from german_whist.training.run_state import EvaluationResult


def measured(decisions: int, opponent: str, rate: float) -> EvaluationResult:
    return EvaluationResult(
        decisions=decisions,
        opponent=opponent,
        win_rate=rate,
        margin_of_error=0.0123,
        margin=-1.25,
        hands=4_000,
    )


MEASURED = [
    measured(0, "random", 0.25),
    measured(0, "[threshold] <b>", 0.5),
    measured(50_000, "random", 0.75),
    measured(50_000, "itself@0", 0.625),
    measured(100_000, "random", 1.0),
    measured(100_000, "itself@50,000", 0.5),
]


def a_run(decisions: int = 50_000, **more: Any) -> Any:
    return SimpleNamespace(
        settings=SimpleNamespace(decisions=200_000),
        seconds=3_725.4,
        rows=[],
        folder="runs/[a]",
        trainer=SimpleNamespace(decisions=decisions, hands=1_923),
        evaluations=MEASURED,
        **more,
    )


TOLD = {
    "decisions_per_second": 12_345.6,
    "entropy": 1.2345,
    "explained_variance": 0.5,
    "approx_kl": 0.0104,
}


def test_progress_line_has_speed_and_time_left() -> None:
    begun = "50,000 of 200,000 decisions, 1,923 hands"
    # Three quarters are left of a run that took 3,725 seconds for the first.
    shown = "12,346/s, 3:06:16 left, entropy 1.234, explained_variance 0.5, approx_kl 0.0104"
    assert progress_line(a_run(), TOLD) == f"{begun}, {shown}"
    assert progress_line(a_run(), {}) == f"{begun}, 3:06:16 left"
    own = {"paid": 0.25, "decisions_per_second": 12.0, "lost": 1, "won\n": 2, "drawn": 3}
    assert progress_line(a_run(), own) == f"{begun}, 12/s, 3:06:16 left, paid 0.25, lost 1, won 2"
    assert progress_line(a_run(250_000), {}).endswith("0:00:00 left")
    assert progress_line(a_run(0), {}) == "0 of 200,000 decisions, 1,923 hands"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "strftime", lambda _: "NOW")
    return now


def test_console_log_prints_a_line_every_20_seconds(clock: list[float], tmp_path: Path) -> None:
    out, log = io.StringIO(), tmp_path / "log.txt"
    for shown in (ConsoleLog(out), FileLog(log)):
        shown.on_message(a_run(), "a sentence")
        for wait in (0, 19.9, 0.2, 1):
            clock[0] += wait
            shown.on_iteration(a_run(), TOLD)
        shown.on_evaluation(a_run(), MEASURED[2:3])
        shown.close()
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["a", "50,000", "50,000", "evaluated"]
    assert lines[1] == progress_line(a_run(), TOLD)
    assert lines[3] == "evaluated the checkpoint at 50,000 decisions: 75.0 ± 1.2 % against random"
    assert log.read_text(encoding="utf-8") == "".join(f"NOW {line}\n" for line in lines)


def test_terminal_shows_sentences_above_the_progress(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    live = LiveDisplay()
    live.on_iteration(a_run(0), TOLD)
    live.on_message(a_run(), "[a] sentence")
    clock[0] += 10
    live.on_iteration(a_run(50_000), TOLD)
    live.on_evaluation(a_run(), MEASURED[1:2])
    live.close()
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("[a] sentence evaluated the checkpoint at 0 decisions: 50.0 ± 1.2 %")
    assert text.endswith(f"against [threshold] <b> {progress_line(a_run(50_000), TOLD)}")


def test_terminal_shows_the_end_of_a_last_short_iteration(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    live = LiveDisplay()
    live.on_iteration(a_run(150_000), TOLD)
    live.on_checkpoint(a_run(200_000), Path("200000.safetensors"))
    live.close()
    # Metrics are those of the last whole iteration.
    text = " ".join(capsys.readouterr().out.split())
    assert text == progress_line(a_run(200_000), TOLD)


def test_live_display_is_for_terminals_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert type(display.make_display()) is ConsoleLog
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    live = display.make_display()
    live.close()
    assert type(live) is LiveDisplay


def test_earlier_checkpoint_is_half_as_old(tmp_path: Path) -> None:
    for number in (0, 100, 200, 280, 400, 500):
        for ending in ("safetensors", "json"):
            (tmp_path / f"{number:012d}.{ending}").write_bytes(b"")
    for number, past in ((400, 200), (500, 280), (100, 0), (200, 100), (280, 100)):
        found = earlier_checkpoint(tmp_path / f"{number:012d}.safetensors")
        assert found is not None
        assert int(found.stem) == past
    assert earlier_checkpoint(tmp_path / f"{0:012d}.safetensors") is None


# -- the page


def page_of(tmp_path: Path, rows: list[dict[str, float]], found: list[EvaluationResult]) -> str:
    path = tmp_path / "my <run>" / "report.html"
    write_report(path, load_settings("tiny"), rows, found)
    return path.read_text(encoding="utf-8")


def figures(page: str) -> list[str]:
    """The pictures of a page, in order."""
    return re.findall(r"<figure>(<svg.*?</svg>)<figcaption>", page)


def shapes(picture: str, shape: str) -> list[list[tuple[float, float]]]:
    return [
        [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.split())]
        for line in re.findall(rf'<{shape} points="(.*?)"', picture)
    ]


def test_report_draws_evaluations_to_scale(tmp_path: Path) -> None:
    page = page_of(tmp_path, [], MEASURED)
    assert "<title>my &lt;run&gt;</title>" in page
    (picture,) = figures(page)
    # The curves of random and the threshold: 25, 75, 100; 50. Its own past is in the table alone.
    (first, *others) = shapes(picture, "polyline")
    a_percent = (first[2][1] - first[0][1]) / 75
    values = [[25 + (y - first[0][1]) / a_percent for _, y in each] for each in (first, *others)]
    assert [value for curve in values for value in curve] == pytest.approx(
        [25, 75, 100, 50], abs=0.1
    )
    early, middle, late = (x for x, _ in first)
    assert middle == (early + late) / 2
    assert [[x for x, _ in each] for each in others] == [[early]]
    bands = shapes(picture, "polygon")
    assert len(bands) == 1  # one point alone has no band
    upper, lower = bands[0][0][1], bands[0][-1][1]
    assert (lower - upper) / -a_percent == pytest.approx(2 * 1.23, abs=0.05)
    assert "[threshold] &lt;b&gt;" in page
    assert "<b>" not in page
    row = "<td>50,000</td><td>itself@0</td><td>62.5 ± 1.2 %</td><td>-1.25</td><td>4,000</td>"
    assert row in page
    assert page.count("<tr>") == 1 + len(MEASURED)


def test_report_of_a_new_run_shows_its_settings(tmp_path: Path) -> None:
    page = page_of(tmp_path, [], [])
    assert "<figure>" not in page
    assert "<table>" not in page
    assert "decisions: " in page.partition("<pre>")[2]
    (at_the_start,) = figures(page_of(tmp_path, [], MEASURED[:1]))
    assert len(shapes(at_the_start, "polyline")[0]) == 1
