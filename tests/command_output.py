"""What every command keeps to: output that nobody reads, encodings, one sentence for an error."""

from __future__ import annotations

import io
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from german_whist.cli import main


def run_unread(*words: str) -> int:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as unread, redirect_stdout(unread), redirect_stderr(unread):
        return main(words)


def finishes_without_a_reader(words: str, left: Path) -> None:
    assert run_unread(*(word.replace("_", " ") for word in words.split())) == 0
    assert left.exists()


def prints_everything(words: str, encoding: str) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        assert main(words.split()) == 0
    printed, errors = (stream.buffer.getvalue() for stream in (out, err))
    assert b"Error" not in errors
    assert printed.decode(encoding).strip()
    assert b"?" * 2 not in printed


def lines_of(arguments: Mapping[str, Sequence[str]]) -> list[str]:
    """Every command line of a command and what stands behind it."""
    return [f"{command} {words}".strip() for command in arguments for words in arguments[command]]


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Files that wrong arguments name, and folders where a file is expected."""
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    for name in ("folder", "folder.yaml", "data"):
        (folder / name).mkdir()


def gets_one_sentence(line: str, folder: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(folder / "data"))
    before = sorted(folder.iterdir())
    words = shlex.split(line)
    status = main(words)
    found = capsys.readouterr()
    *others, message = found.err.splitlines()
    assert status == 2, found
    assert message.startswith(f"german-whist {words[0]}: "), found
    assert all("is left out" in each or "compiling" in each for each in others), found
    assert "[Errno" not in message
    assert "fault of the program" not in message
    assert found.out == ""
    assert sorted(folder.iterdir()) == before
