"""`german-whist table` prints its address, saves sessions, and ends on Ctrl-C."""

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
from serving import Client, TableClient

from german_whist.table.game.database import FILE

AGENT = """\
from german_whist.agents import Agent
from german_whist.agents.base import CannotPlay


class Small(Agent):
    def __init__(self, rules="classic", *words, match=None):
        raise CannotPlay("Small plays decks of its own")

    def act(self, views, rng):
        raise NotImplementedError
"""
SLOW_AGENT = """\
import time
from german_whist.agents.heuristic.random import RandomAgent


class Slow(RandomAgent):
    def act(self, views, rng):
        time.sleep(1000 if len(views) else 0)
        return super().act(views, rng)
"""
COMMAND = [sys.executable, "-m", "german_whist", "table", "--no-browser", "--port", "0"]


@contextmanager
def opened(
    folder: Path | None, *more: str, before: list[str] | None = None
) -> Iterator[tuple[subprocess.Popen, str]]:
    """The running command, and the address that it prints; lines before that go to `before`."""
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
            if line and before is not None:
                before.append(line.strip())
            line = process.stdout.readline()
            assert line, process.communicate()
        yield process, line.removeprefix("German Whist: ").strip()
    finally:
        process.kill()
        process.communicate()


def client_at(address: str) -> Client:
    """A client who has opened the printed address."""
    match = re.search(r":(\d+)(/.*)", address)
    assert match
    client = Client(int(match[1]))
    assert client.raw("GET", match[2])[0] == (303 if "token" in match[2] else 200)
    return client


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as Ctrl-C does")
def test_ctrl_c_ends_it_at_once_and_the_hand_goes_on_later(tmp_path) -> None:
    (tmp_path / FILE).write_bytes(b"nothing of the kind" * 100)
    with opened(tmp_path) as (process, address):
        client = client_at(address)
        table = TableClient(client, opponent="easy")
        table.play(table.state["legal"][0])
        assert process.stdout is not None
        assert process.stdout.readline() == "Ctrl-C ends it; what is under way is kept.\n"
        events = f"{table.path}/events?after={table.state['n']}"
        threading.Thread(target=lambda: list(client.listen(events))).start()
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
        assert time.monotonic() - start < 10
        assert process.returncode == 0
        assert output.endswith("The table is closed.\n")
        (warning,) = [line for line in errors.splitlines() if "compiling" not in line]
        assert "is damaged" in warning
    with opened(tmp_path) as (_, address):
        client = client_at(address)
        (summary,) = client.get("/api/tables")
        assert summary["id"] == table.id
        assert client.get(table.path)["state"]["move"] == table.state["move"]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as a server does")
def test_one_signal_ends_it_although_an_agent_thinks_for_ever(tmp_path, monkeypatch) -> None:
    (tmp_path / "slow.py").write_text(SLOW_AGENT, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with opened(tmp_path / "data", "slow:Slow") as (process, address):
        table = TableClient(client_at(address), rules="quick", opponent="slow:Slow")
        if table.state["turn"] == 0:
            table.play(table.state["legal"][0])
        assert table.state["thinking"]
        process.terminate()
        output, _ = process.communicate(timeout=30)
        assert output.endswith("The table is closed.\n")
        assert process.returncode == 0


def test_network_address_has_token_and_unsaved_moves_warn(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(tmp_path / "file"))
    before: list[str] = []
    network = ("--host", "0.0.0.0", "--token", "open-sesame")
    with opened(None, *network, before=before) as (process, address):
        assert process.stdout is not None
        assert process.stdout.readline() == "Ctrl-C ends it.\n"
        phone, warning = before
        assert re.fullmatch(r"On your phone: http://\S+:\d+/\?token=open-sesame", phone)
        assert "//127." not in phone
        assert "//0.0.0.0" not in phone
        assert "not encrypted" in warning
        assert "//127.0.0.1" in address
        assert address.endswith("/?token=open-sesame")
        client = client_at(address)
        assert client.request("GET", "/api/menu")[0] == 200
        assert Client(client.port).request("GET", "/api/menu")[0] == 401


def test_mistakes_are_answered_in_sentences(tmp_path, whist, monkeypatch) -> None:
    def error(*words: str) -> str:
        return whist("table", "--no-browser", *words, status=2).err

    data = ("--data", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        assert f"port {taken} of 127.0.0.1 is taken" in error("--port", taken, *data)
    assert "cannot listen on 203.0.113.7" in error("--host", "203.0.113.7", *data)
    (tmp_path / "small_decks.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    message = error("small_decks:Small", *data)
    assert "Small plays decks of its own" in message
    assert "play it in the terminal, german-whist play small_decks:Small" in message


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_server_of_many_tables_holds_less_than_260_megabytes(tmp_path) -> None:
    # A child of the first server compiles what nobody has compiled yet; the second one loads it.
    for moves in (1, 12):
        with opened(tmp_path) as (process, address):
            menu = client_at(address).get("/api/menu")
            for rules in [each["name"] for each in menu["rules"]]:
                client = client_at(address)
                for agent in menu["agents"]:
                    if agent["plays"] is None or rules in agent["plays"]:
                        table = TableClient(client, rules=rules, opponent=agent["name"])
                        table.play_on(min, moves)
                        client.post(f"{table.path}/leave")
                table = TableClient(client, rules=rules, opponent="easy")
                while table.state["turn"] != 0:
                    table.wait()
                client.post(f"{table.path}/hint")
            table = TableClient(client, rules="classic", opponent="easy")
            table.play_on(min)
            analysis = f"/api/replays/{table.id}/1/analysis"
            while not client.get(analysis).get("story"):
                time.sleep(0.2)
            status = Path(f"/proc/{process.pid}/status").read_text()
            megabytes = int(status.partition("RssAnon:")[2].split()[0]) / 1024
        # Libraries and tablebases, 170 MB or more, are files that other processes share.
        assert megabytes < 260
