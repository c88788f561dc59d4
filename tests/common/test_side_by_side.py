"""What a command needs is compiled by several processes, and by one if the others fail."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import time
from functools import partial
from pathlib import Path
from threading import Event, Thread, active_count

import pytest

from german_whist.agents.registry import is_own_code
from german_whist.common.executors import worker
from german_whist.common.executors.local import LocalWorker
from german_whist.common.jit import compiler, side_by_side
from german_whist.common.jit.compiler import COMPILED, compile_if_free, put_off, warm_up
from german_whist.common.jit.side_by_side import compiled_in_background, compiled_side_by_side

if not COMPILED:
    pytest.skip("the compiler is off", allow_module_level=True)

NAMES = "abcdefgh"
PARENT = os.getpid()


def compile_part(folder: str, fault: str, parent: int, name: str) -> None:
    """Write down who compiles the part, here until a helper has begun; helpers have the fault."""
    with (Path(folder) / name).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if os.getpid() == parent:
        end = time.monotonic() + 60
        while fault != "alone" and pids_of(folder) == {parent} and time.monotonic() < end:
            time.sleep(0.1)
        if fault == "interrupted":
            raise KeyboardInterrupt
    elif fault == "interrupted":
        time.sleep(60)
    elif fault == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "raises":
        raise ValueError("no compiler here")


def make_parts(folder: str, fault: str = "", parent: int = PARENT) -> None:
    for seconds, name in enumerate(NAMES, 1):
        warm_up(name, "engine", partial(compile_part, folder, fault, parent, name), seconds)


def pids_of(folder: str | Path, name: str = "*") -> set[int]:
    return {int(pid) for path in Path(folder).glob(name) for pid in path.read_text().split()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where parts are noted; two cores, and an empty cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_folders", {})
    monkeypatch.setattr(compiler, "_warm", set())
    monkeypatch.setattr(side_by_side, "usable_threads", lambda: 2)
    (tmp_path / "parts").mkdir()
    return tmp_path / "parts"


def compile_all(folder: Path, fault: str = "") -> None:
    with compiled_side_by_side(partial(make_parts, str(folder), fault, PARENT)):
        make_parts(str(folder), fault)
        assert not pids_of(folder)


def test_each_part_is_compiled_by_one_process_the_largest_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compile_all(folder)
    first = {name: int((folder / name).read_text().split()[0]) for name in NAMES}
    assert first["h"] == PARENT
    (helper,) = {*first.values()} - {PARENT}
    # What the helper compiled is loaded, and what is compiled here is not called again.
    for name, pid in first.items():
        assert (folder / name).read_text().split() == [str(pid), str(PARENT)][: 1 + (pid == helper)]
    assert compiler._warm == {*NAMES}
    told = capsys.readouterr().err
    assert told == ("german-whist: compiling for this machine, once (about 18 s of 2 cores) ...\n")
    with compiled_side_by_side(partial(make_parts, "nowhere")):
        make_parts(str(folder))
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """What each line showed last, as a terminal draws it."""
        drawn: list[str] = []
        for line in self.getvalue().split("\n"):
            cells, at = list[str](), 0
            for char in line:
                if char in "\r\b":
                    at = 0 if char == "\r" else at - 1
                    continue
                cells[at : at + 1] = [char]
                at += 1
            drawn.append("".join(cells).rstrip())
        return drawn


def test_seconds_count_down_in_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float | None] = []

    class Tick(Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout)
            ended = super().wait(0.01)
            time.sleep(0.1 * ended)  # slow to end
            return ended

    terminal = Terminal()
    monkeypatch.setattr(side_by_side, "Event", Tick)
    monkeypatch.setattr(sys, "stderr", terminal)
    text = "german-whist: compiling for this machine, once (about {} s of 2 cores) ..."
    threads, end = active_count(), time.monotonic() + 60
    with side_by_side._counting_down(11, 2):
        while terminal.getvalue().count("\r") < 13:
            assert time.monotonic() < end
            time.sleep(0.01)
            (line,) = terminal.lines()
            assert line.startswith(text.partition("{}")[0])
    shown = [int(count) for count in re.findall(r"about (\d+) s", terminal.getvalue())]
    assert shown[:13] == [*range(11, 0, -1), 1, 1]
    assert {*waited} == {1}
    assert terminal.lines() == [text.format(1), ""]
    # Nothing can be written into the lines of the command that follows.
    assert active_count() == threads


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
@pytest.mark.parametrize("fault", ["dies", "raises"])
def test_command_goes_on_alone_without_its_helper(
    fault: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compile_all(folder, fault)
    assert len(pids_of(folder)) == 2
    assert all(PARENT in pids_of(folder, name) for name in NAMES)
    assert compiler._warm == {*NAMES}
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="asks for a process by signal")
def test_interrupt_leaves_no_process_and_no_half_part(folder: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compile_all(folder, "interrupted")
    assert time.monotonic() - begun < 50
    (helper,) = pids_of(folder) - {PARENT}
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)
    (begun_by_helper,) = (name for name in NAMES if helper in pids_of(folder, name))
    assert not list((folder.parent / "cache").rglob(f"{begun_by_helper}.ready"))
    make_parts(str(folder), "alone")
    assert PARENT in pids_of(folder, begun_by_helper)


@pytest.mark.parametrize("why", ["one core", "worker", "frozen", "no cache"])
def test_no_process_is_started_where_none_may(
    why: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(side_by_side, "LocalWorker", started)
    with pytest.raises(AssertionError):
        compile_all(folder, "alone")
    if why == "one core":
        monkeypatch.setattr(side_by_side, "usable_threads", lambda: 1)
    elif why == "worker":
        monkeypatch.setattr(worker, "_in_worker", True)
    elif why == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        (folder.parent / "file").touch()
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder.parent / "file" / "cache"))
        monkeypatch.setattr(compiler, "_folders", {})
    compile_all(folder, "alone")
    for path in folder.iterdir():
        path.unlink()
    monkeypatch.setattr(compiler, "_warm", set())
    with compiled_in_background(partial(make_parts, str(folder))):
        make_parts(str(folder), "alone")
    assert pids_of(folder) == {PARENT}


def test_workers_know_that_they_are_workers() -> None:
    assert not worker.in_worker()
    helper = LocalWorker(_asks, None, threads=1)
    try:
        assert helper.call(None, print) is True
    finally:
        helper.close()


def _asks(_: None) -> object:
    return lambda _: worker.in_worker()


def test_in_the_background_a_helper_compiles_all(folder: Path) -> None:
    with compiled_in_background(partial(make_parts, str(folder), "", PARENT)):
        make_parts(str(folder))
    end = time.monotonic() + 60
    markers = folder.parent / "cache"
    while len(list(markers.rglob("*.ready"))) < len(NAMES):
        assert time.monotonic() < end
        time.sleep(0.1)
    (helper,) = pids_of(folder)
    assert helper != PARENT


def test_part_whose_first_call_asks_for_it_is_compiled(folder: Path) -> None:
    calls: list[str] = []

    def ask() -> None:
        warm_up("nested", "engine", first_call)

    def first_call() -> None:
        calls.append("nested")
        ask()

    with put_off() as parts:
        ask()
    (part,) = parts
    compile_if_free(part)
    assert part.is_ready
    assert calls == ["nested"]


def test_other_threads_compile_at_once(folder: Path) -> None:
    with put_off() as parts:
        thread = Thread(target=make_parts, args=(str(folder), "alone"))
        thread.start()
        thread.join()
        warm_up("another", "engine", lambda: None, 3)
    assert [(part.name, part.seconds) for part in parts] == [("another", 3)]
    assert compiler._warm == {*NAMES}


class Mine:
    """An agent of somebody else's module."""


def test_only_own_code_is_handed_over() -> None:
    assert is_own_code("thinker:2")
    assert is_own_code("mine=counting")
    assert is_own_code("responder:8,against=threshold")
    assert not is_own_code("responder:8,against=test_side_by_side:Mine")
    assert not is_own_code("test_side_by_side:Mine")
    assert not is_own_code("sb3:model.zip,trusted")
