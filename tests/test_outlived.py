"""Commands that leave something behind do so when nobody listens, and in any encoding."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from german_whist.cli import main
from german_whist.engine.records import write_records
from support import random_hand

pytestmark = pytest.mark.skipif(os.name != "posix", reason="closes pipes as a shell does")
TINY = "name: tiny\nsuits: 2\nranks: 3\nhand: 2\nstock: 2\n"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    write_records(tmp_path / "hands.jsonl", [random_hand()])
    (tmp_path / "tiny.yaml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("sys.stdin", io.StringIO("hint\nquit\n"))
    return tmp_path


def told_to_nobody(*words: str) -> int:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as unread, redirect_stdout(unread), redirect_stderr(unread):
        return main(words)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("replay hands.jsonl", ""),
        ("replay hands.jsonl --html hand.html", "hand.html"),
        ("export champion -o half.safetensors", "half.safetensors"),
        ("export champion", "champion.onnx"),
        ("endgame AS_KS_2H QS_JS_3H --trump H", ""),
        ("analyse hands.jsonl --search flat-mc:2 --json costs.json", "costs.json"),
        ("exploitability random --rules tiny.yaml", ""),
        ("play random --plain --seed 1", "data/table.sqlite3"),
        ("evaluate random --against random --hands 4 --json run.json", "run.json"),
        ("ladder random threshold --hands 4 --html run.html", "run.html"),
    ],
)
def test_nobody_has_to_read_what_is_told(words: str, left: str, place: Path) -> None:
    assert told_to_nobody(*(word.replace("_", " ") for word in words.split())) == 0
    assert (place / left).exists()


COMMANDS_TOLD = (
    "replay hands.jsonl",
    "replay hands.jsonl --list",
    "exploitability random --rules tiny.yaml",
    "play random --plain --seed 1",
    "analyse hands.jsonl --search flat-mc:2",
    "ladder random-exact threshold counting --hands 20",
)


# Whatever another encoding lacks, this one lacks too.
@pytest.mark.parametrize(
    ("words", "encoding"),
    [*((words, "ascii") for words in COMMANDS_TOLD), (COMMANDS_TOLD[0], "cp1252")],
)
def test_every_encoding_tells_all_of_it(words: str, encoding: str, place: Path) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        assert main(words.split()) == 0
    told, errors = (stream.buffer.getvalue() for stream in (out, err))
    assert b"Error" not in errors
    assert told.decode(encoding).strip()
    assert b"?" * 2 not in told
