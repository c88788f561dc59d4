"""Progress is a bar in a terminal, and a line now and then elsewhere."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from german_whist.common.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_progress_in_a_file_is_a_line_every_ten_seconds(clock: list[float]) -> None:
    out = io.StringIO()
    with Progress("reading [all]", 40, out) as progress:
        for done, wait, lines in ((1, 9.9, 0), (10, 0.2, 1), (11, 9.8, 1), (20, 0.3, 2)):
            clock[0] += wait
            assert progress.due() == (lines > out.getvalue().count("\n"))
            progress.update(done, f"{done} [read]")
            assert out.getvalue().count("\n") == lines
    first, second = (" ".join(line.split()) for line in out.getvalue().splitlines())
    assert first == "reading [all] 25% 10 [read] -:--:--"
    assert re.fullmatch(r"reading \[all\] 50% 20 \[read\] 0:00:\d\d", second)


def test_progress_bar_of_terminal_is_cleared(clock: list[float]) -> None:
    out = Terminal()
    with Progress("reading", 4, out) as progress:
        clock[0] += 0.4
        progress.add(1)
        assert out.getvalue() == ""
        clock[0] += 0.2
        progress.add(1)
    text = out.getvalue()
    assert "reading" in text
    assert "50%" in text
    assert text.endswith("\x1b[2K")  # the line is wiped
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is there again


def test_short_work_shows_and_imports_nothing() -> None:
    code = (
        "import sys; from german_whist.common.progress import Progress\n"
        "with Progress('reading') as progress: progress.update(0.5)\n"
        "assert not any(name.startswith('rich') for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_progress_adds_up_over_threads(clock: list[float]) -> None:
    out = io.StringIO()
    with Progress("adding", 2_000, out) as progress, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: progress.add(1), range(999)))
        clock[0] += 11
        progress.add(1)
    assert " 50%" in out.getvalue()
