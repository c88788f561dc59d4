"""The table in the browser: how long an answer to a click takes, opponent's move included."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from .measure import Row

OPPONENTS = ("easy", "medium", "threshold", "counting", "champion")
TABLES = 50
THINKS = 1.0
"""Seconds that a person of the fifty thinks about a card, on average."""
LIMIT, HINT_LIMIT = 100.0, 50.0


@contextmanager
def _server() -> Iterator[int]:
    """A server in a process of its own; its port."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["table", "--no-browser", "--port", "0", "--data", folder]
        command = [sys.executable, "-m", "german_whist", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = re.search(r"http://[^/]*:([0-9]+)", line)
                if found:
                    break
            else:
                raise RuntimeError("the table did not open")
            try:
                yield int(found[1])
            finally:
                process.terminate()


class _Person:
    """Somebody at a table of their own."""

    def __init__(self, port: int, opponent: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._connection.connect()
        # As browsers do: head and body of a request go out without waiting for each other.
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._cookie = ""
        self.opponent = opponent
        self.taken: list[float] = []
        self.hints_taken: list[float] = []
        told = self._ask("POST", "/api/tables", {"opponent": opponent})
        self._path, self._state = f"/api/tables/{told['state']['id']}", told["state"]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json", "Cookie": self._cookie}
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        told = json.loads(answer.read())
        assert answer.status in (200, 201), told
        if cookie := answer.getheader("Set-Cookie"):
            self._cookie = cookie.partition(";")[0]
        return told

    def play_out(self, chance: random.Random, thinks: float = 0.0, hints: bool = False) -> None:
        """One hand; how long each answer took is kept, and each hint that is not exact."""
        while self._state["phase"] != "over":
            if self._state["turn"] != 0:
                time.sleep(0.001)
                self._state = self._ask("GET", self._path)["state"]
                continue
            time.sleep(chance.random() * 2 * thinks)
            if hints:
                begun = time.perf_counter()
                if not self._ask("POST", f"{self._path}/hint", {})["exact"]:
                    self.hints_taken.append(1e3 * (time.perf_counter() - begun))
            told = {"action": chance.choice(self._state["legal"]), "move": self._state["move"]}
            begun = time.perf_counter()
            self._state = self._ask("POST", f"{self._path}/play", told)["state"]
            self.taken.append(1e3 * (time.perf_counter() - begun))


def _late(taken: list[float]) -> float:
    """What 95 % of the answers keep."""
    return sorted(taken)[int(0.95 * len(taken))]


def run() -> list[Row]:
    """All rows of this file."""
    rows = []
    with _server() as port:
        for opponent in (*OPPONENTS, "hard"):  # what is compiled once is compiled here
            _Person(port, opponent).play_out(random.Random(0))
        for opponent in OPPONENTS:
            people = [_Person(port, opponent) for _ in range(5)]
            for number, person in enumerate(people):
                person.play_out(random.Random(number))
            taken = [each for person in people for each in person.taken]
            name = f"an answer of {opponent} in the browser, 95 % within"
            rows.append(Row(name, _late(taken), "ms", LIMIT, at_most=True))
        people = [_Person(port, "easy") for _ in range(6)]
        for number, person in enumerate(people):
            person.play_out(random.Random(number), hints=True)
        taken = [each for person in people[1:] for each in person.hints_taken]  # the first compiles
        rows.append(Row("a hint, 95 % within", _late(taken), "ms", HINT_LIMIT, at_most=True))
        rows.append(Row("a hint, slowest", max(taken), "ms"))
        opponents = (*OPPONENTS[1:], "hard")
        people = [_Person(port, opponents[k % len(opponents)]) for k in range(TABLES)]
        with ThreadPoolExecutor(TABLES) as pool:
            list(pool.map(lambda each: each.play_out(random.Random(1), THINKS), people))
        taken = [each for person in people if person.opponent != "hard" for each in person.taken]
        note = f"a fifth of them against hard, whose thinking is not counted; {len(taken)} answers"
        name = f"{TABLES} tables at once, 95 % within"
        rows.append(Row(name, _late(taken), "ms", LIMIT, at_most=True, note=note))
        rows.append(Row(f"{TABLES} tables at once, slowest", max(taken), "ms", note=note))
    return rows
