"""`german-whist table` says where it is, keeps what is under way, and ends when it is asked to."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from serving import Seat, Visitor

from german_whist.cli import main
from german_whist.table.game.database import FILE

MINE = """\
from german_whist.agents import Agent
from german_whist.agents.base import CannotPlay


class Small(Agent):
    def __init__(self, rules="classic", *words, match=None):
        raise CannotPlay("Small plays decks of its own")

    def act(self, views, rng):
        raise NotImplementedError
"""
COMMAND = [sys.executable, "-m", "german_whist", "table", "--no-browser", "--port", "0"]


@contextmanager
def opened(folder: Path | None, *more: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """The command under way, and the address that it tells."""
    process = subprocess.Popen(
        [*COMMAND, *(() if folder is None else ("--data", str(folder))), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        line = ""
        while not line.startswith("German Whist: "):
            line = process.stdout.readline()
            assert line, process.communicate()
        yield process, line.removeprefix("German Whist: ").strip()
    finally:
        process.kill()
        process.communicate()


def port_of(address: str) -> int:
    found = re.search(r":(\d+)/", address)
    assert found
    return int(found[1])


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as Ctrl-C does")
def test_ctrl_c_ends_it_at_once_and_the_hand_goes_on_later(tmp_path: Path) -> None:
    with opened(tmp_path) as (process, address):
        visitor = Visitor(port_of(address))
        visitor.raw("GET", address.partition("/?")[2].join(["/?", ""]))
        seat = Seat(visitor, opponent="easy")
        seat.play(seat.state["legal"][0])
        threading.Thread(
            target=lambda: list(visitor.listen(f"{seat.path}/events?after={seat.state['n']}"))
        ).start()
        time.sleep(0.3)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        told, errors = process.communicate(timeout=20)
        assert time.monotonic() - begun < 10
        assert process.returncode == 0
        assert told.endswith("The table is closed.\n")
        assert not [line for line in errors.splitlines() if "compiling" not in line]
    with opened(tmp_path) as (_, address):
        visitor = Visitor(port_of(address))
        visitor.raw("GET", address.partition("/?")[2].join(["/?", ""]))
        (told_table,) = visitor.get("/api/tables")
        assert told_table["id"] == seat.id
        assert visitor.get(seat.path)["state"]["move"] == seat.state["move"]


@pytest.mark.parametrize("kept", [True, False])
def test_it_says_that_moves_are_kept_where_they_are(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(tmp_path / ("data" if kept else "file")))
    with opened(None) as (process, _):
        assert process.stdout is not None
        said = process.stdout.readline()
    assert said == ("Ctrl-C ends it; what is under way is kept.\n" if kept else "Ctrl-C ends it.\n")


def test_a_network_address_tells_its_token(tmp_path: Path) -> None:
    options = ("--host", "0.0.0.0", "--token", "open-sesame")
    with opened(tmp_path, *options) as (_, address):
        assert address.endswith("&token=open-sesame")
        visitor = Visitor(port_of(address))
        assert visitor.ask("GET", "/api/menu")[0] == 401
        assert visitor.raw("GET", "/" + address.rpartition("/")[2])[0] == 303
        assert visitor.ask("GET", "/api/menu")[0] == 200


def told_by(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["table", "--no-browser", *words]) == 2
    return capsys.readouterr().err


def test_mistakes_are_answered_in_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ("--data", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        assert f"port {taken} of 127.0.0.1 is taken" in told_by(capsys, "--port", taken, *data)
    assert "port is 70000" in told_by(capsys, "--port", "70000", *data)
    assert "cannot listen on 203.0.113.7" in told_by(capsys, "--host", "203.0.113.7", *data)
    assert "at least 8" in told_by(capsys, "--token", "short", *data)
    assert "'medum' is not an agent" in told_by(capsys, "medum", *data)
    assert "no such file" in told_by(capsys, "runs/none", *data)
    (tmp_path / "file").write_text("")
    assert "--data" in told_by(capsys, "--data", str(tmp_path / "file"))
    (tmp_path / "small_decks.py").write_text(MINE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    told = told_by(capsys, "small_decks:Small", *data)
    assert "Small plays decks of its own" in told
    assert "play it in the terminal, german-whist play small_decks:Small" in told


def test_a_damaged_file_is_told_where_the_table_opens(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"nothing of the kind" * 100)
    with opened(tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert "is damaged" in errors
