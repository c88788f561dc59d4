"""The command line: closed pipes, encodings, signals, and errors of one sentence."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, redirect_stdout, suppress
from pathlib import Path

import pytest
from command_output import finishes_without_a_reader, prints_everything

from german_whist.cli import COMMANDS, main
from german_whist.common.console import DEBUG, lasting_streams
from german_whist.engine.records import write_records
from support import random_hand

WHIST = (sys.executable, "-m", "german_whist")
posix = pytest.mark.skipif(os.name == "nt", reason="closes streams as a shell does")
has_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}


@pytest.mark.parametrize(
    ("words", "status", "errors"),
    [(["agents"], 0, subprocess.PIPE), (["rules", "clasic"], 2, subprocess.STDOUT)],
)
def test_a_reader_that_goes_away_is_no_error(words: list[str], status: int, errors: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*WHIST, *words],
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=errors,
        env=ENVIRONMENT,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr or b"") == (status, b"")


def test_characters_that_an_encoding_lacks_are_replaced() -> None:
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    with redirect_stdout(out), lasting_streams():
        print("5 ± 3 %, −2, 10♦, é")
    assert out.buffer.getvalue() == b"5 +- 3 %, -2, 10d, ?\n"


FULL = (
    "german-whist: the output could not be written (No space left on device); "
    "everything else was done\n"
)


@posix
@pytest.mark.parametrize(
    ("streams", "status", "told"),
    [(">&-", 0, ""), (">&- 2>&- <&-", 0, ""), pytest.param(">/dev/full", 1, FULL, marks=has_full)],
)
def test_streams_may_be_closed_from_birth_or_full(streams: str, status: int, told: str) -> None:
    command = f'"{sys.executable}" -m german_whist rules classic {streams}'
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (status, told, "")


def test_python_ends_without_a_search_for_garbage() -> None:
    code = (
        "import atexit, gc; from german_whist.cli import main; "
        "atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects()))); "
        "main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frozen, left = map(int, done.stdout.split()[-2:])
    assert frozen > 100 * left


def test_streams_are_as_before_after_a_command() -> None:
    before = sys.stdin, sys.stdout, sys.stderr
    assert main(["rules"]) == 0
    assert (sys.stdin, sys.stdout, sys.stderr) == before


# -- what goes wrong


@pytest.mark.parametrize("words", [["--debug", "rules", "clasic"], ["rules", "clasic", "--debug"]])
def test_debug_shows_a_traceback_wherever_it_stands(words: list[str], whist) -> None:
    told = whist(*words, status=2).err
    assert "Traceback" in told
    assert told.splitlines()[-1].startswith("german-whist rules: 'clasic' is not a rule set")
    assert not os.environ.get(DEBUG)
    assert "Traceback" not in whist("rules", "clasic", status=2).err


def test_child_processes_inherit_traceback_option(monkeypatch) -> None:
    def look(_: object) -> int:
        return int(os.environ[DEBUG])

    monkeypatch.setattr("german_whist.commands.agents.run", look)
    assert main(["agents", "--debug"]) == 1


@pytest.mark.parametrize(
    ("fault", "told", "status"),
    [
        (KeyError("x"), "KeyError: 'x'; this is a fault of the program, or of your own code", 1),
        (MemoryError(), "the memory of this machine is not enough", 1),
        (FileNotFoundError(2, "No such file", "a.txt"), "agents: a.txt: No such file", 2),
        (OSError(28, "No space left"), "agents: No space left; make room on that disk", 4),
        (OSError("a sentence"), "agents: a sentence", 2),
        (ValueError("a sentence"), "agents: a sentence", 2),
        (KeyboardInterrupt(), "stopped", 130),
    ],
)
def test_exceptions_end_in_a_sentence(
    fault: BaseException, told: str, status: int, monkeypatch, whist
) -> None:
    def fail(_: object) -> int:
        raise fault

    monkeypatch.setattr("german_whist.commands.agents.run", fail)
    found = whist("agents", status=status).err
    assert told in found.splitlines()[-1]
    # A fault comes with its place.
    assert ("Traceback" in found) is (len(found.splitlines()) > 1) is isinstance(fault, KeyError)


@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_command_though_a_compiler_swallows_it(
    number: signal.Signals, swallowed: bool, monkeypatch, capsys
) -> None:
    def compile_something(_: object) -> int:
        with suppress(BaseException) if swallowed else nullcontext():
            os.kill(os.getpid(), number)
            time.sleep(60)
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr("german_whist.commands.agents.run", compile_something)
    # A shell starts what goes on in the background without the handler of Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    of_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        assert main(["agents"]) == 128 + number
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.getsignal(signal.SIGTERM) is of_sigterm
    more = " (no compiled object yet)" if swallowed else ""
    assert capsys.readouterr().err == f"stopped{more}\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "german-whist: name a command: rules, "),
        ("evalute", "german-whist: 'evalute' is not a command; did you mean 'evaluate'?"),
        ("nothing-near", "is not a command; there are rules, "),
        ("agents x", "'x' is a word too many"),
        ("evaluate champion --agianst random", "no option --agianst; did you mean '--against"),
        ("evaluate '' --against random", "the name of an agent is empty"),
        ("evaluate a= --against random", "'a=' names no agent: nothing follows its ="),
        ("compare nope=", "'nope=' names no run: nothing follows its ="),
        ("solve 2x4-h2 --target abc", "--target: 'abc' is not a number"),
        ("ladder random threshold --workers -1", "--workers is -1: it has to be from 1"),
        ("rules --yaml", "name it"),
        ("rules --yml", "there is no option --yml; did you mean '--yaml'?"),
        ("tablebase biuld", "'biuld' is not known; did you mean 'build'?"),
        ("tablebase build --cards many", "--cards: 'many' is not a whole number"),
        (f"tablebase build --cards {'9' * 5000}", "999...' is not a whole number of at most"),
        ("evaluate random", "the opponents are missing: name them after --against"),
        ("train quick --seed 3", "settings have no dashes: write seed=3"),
        ("train quick --save-every=3", "write save_every=3"),
        ("train quick --ent_ceof=3", "have no dashes; did you mean 'ent_coef'"),
        ("train qick", "'qick' is not a preset; did you mean 'quick'?"),
        ("ladder --config lader", "'lader' is not a ladder; did you mean 'ladder'?"),
    ],
)
def test_typed_errors_are_answered(line: str, told: str, whist) -> None:
    found = whist(*shlex.split(line), status=2)
    assert told in found.err
    assert len(found.err.splitlines()) == 1
    assert found.out == ""


def test_every_command_has_help_that_names_debug(whist) -> None:
    for name in COMMANDS:
        assert "--debug" in whist(name, "--help").out


# -- output that nobody reads

TINY = "name: tiny\nsuits: 2\nranks: 3\nhand: 2\nstock: 2\n"


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    write_records(tmp_path / "hands.jsonl", [random_hand()])
    (tmp_path / "tiny.yaml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("sys.stdin", io.StringIO("hint\nquit\n"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("export champion", "champion.onnx"),
        ("endgame AS_KS_2H QS_JS_3H --trump H", ""),
        ("exploitability random --rules tiny.yaml", ""),
        ("evaluate random --against random --hands 4 --json run.json", "run.json"),
        ("ladder random threshold --hands 4 --html run.html", "run.html"),
    ],
)
@posix
def test_commands_finish_without_a_reader(words: str, left: str, files: Path) -> None:
    finishes_without_a_reader(words, files / left)


PRINTING_COMMANDS = (
    "exploitability random --rules tiny.yaml",
    "ladder random-exact threshold counting --hands 20",
)


# Whatever another encoding lacks, this one lacks too.
@pytest.mark.parametrize(
    ("words", "encoding"),
    [*((words, "ascii") for words in PRINTING_COMMANDS), (PRINTING_COMMANDS[0], "cp1252")],
)
@posix
def test_every_encoding_prints_all_of_a_command(words: str, encoding: str, files: Path) -> None:
    prints_everything(words, encoding)
