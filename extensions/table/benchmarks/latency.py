"""Latency of the browser table from a click to the response, opponent's move included.

`python -m extensions.table.benchmarks.latency` in the root of a checkout measures it.
"""

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

from benchmarks.measure import Row, machine, table

OPPONENTS = ("easy", "medium", "threshold", "counting", "champion")
TABLES = 50
THINK_SECONDS = 1.0
"""Mean time of a simulated user for a card."""


@contextmanager
def _server() -> Iterator[int]:
    with tempfile.TemporaryDirectory() as folder:
        words = ["table", "--no-browser", "--port", "0", "--data", folder]
        command = [sys.executable, "-m", "german_whist", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                match = re.search(r"http://[^/]*:([0-9]+)", line)
                if match:
                    break
            else:
                raise RuntimeError("the table did not open")
            try:
                yield int(match[1])
            finally:
                process.terminate()


class _User:
    """A simulated user at a table."""

    def __init__(self, port: int, opponent: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._connection.connect()
        # As in browsers: head and body of a request do not wait for each other.
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._cookie = ""
        self.opponent = opponent
        self.latencies: list[float] = []
        self.hint_latencies: list[float] = []
        answer = self._request("POST", "/api/tables", {"opponent": opponent})
        self._path, self._state = f"/api/tables/{answer['state']['id']}", answer["state"]

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json", "Cookie": self._cookie}
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        assert response.status in (200, 201), answer
        if cookie := response.getheader("Set-Cookie"):
            self._cookie = cookie.partition(";")[0]
        return answer

    def play_hand(
        self, rng: random.Random, think_seconds: float = 0.0, hints: bool = False
    ) -> None:
        """Play a hand, and record the latencies of moves and of hints by search."""
        while self._state["phase"] != "over":
            if self._state["turn"] != 0:
                time.sleep(0.001)
                self._state = self._request("GET", self._path)["state"]
                continue
            time.sleep(rng.random() * 2 * think_seconds)
            if hints:
                start = time.perf_counter()
                if not self._request("POST", f"{self._path}/hint", {})["exact"]:
                    self.hint_latencies.append(1e3 * (time.perf_counter() - start))
            move = {"action": rng.choice(self._state["legal"]), "move": self._state["move"]}
            start = time.perf_counter()
            self._state = self._request("POST", f"{self._path}/play", move)["state"]
            self.latencies.append(1e3 * (time.perf_counter() - start))


def _percentile_95(latencies: list[float]) -> float:
    return sorted(latencies)[int(0.95 * len(latencies))]


def run() -> list[Row]:
    rows = []
    with _server() as port:
        for opponent in (*OPPONENTS, "hard"):  # compiles what these players need
            _User(port, opponent).play_hand(random.Random(0))
        for opponent in OPPONENTS:
            users = [_User(port, opponent) for _ in range(5)]
            for number, user in enumerate(users):
                user.play_hand(random.Random(number))
            latencies = [latency for user in users for latency in user.latencies]
            name = f"a move of {opponent} in the browser, 95 % within"
            rows.append(Row(name, _percentile_95(latencies), "ms"))
        users = [_User(port, "easy") for _ in range(6)]
        for number, user in enumerate(users):
            user.play_hand(random.Random(number), hints=True)
        # The first user's hints include compilation.
        latencies = [latency for user in users[1:] for latency in user.hint_latencies]
        rows.append(Row("a hint, 95 % within", _percentile_95(latencies), "ms"))
        rows.append(Row("a hint, slowest", max(latencies), "ms"))
        opponents = (*OPPONENTS[1:], "hard")
        users = [_User(port, opponents[k % len(opponents)]) for k in range(TABLES)]
        with ThreadPoolExecutor(TABLES) as pool:
            list(pool.map(lambda user: user.play_hand(random.Random(1), THINK_SECONDS), users))
        latencies = [
            latency for user in users if user.opponent != "hard" for latency in user.latencies
        ]
        note = (
            f"a fifth of them against hard, whose moves are not counted; {len(latencies)} answers"
        )
        name = f"{TABLES} tables at once, 95 % within"
        rows.append(Row(name, _percentile_95(latencies), "ms", note=note))
        rows.append(Row(f"{TABLES} tables at once, slowest", max(latencies), "ms", note=note))
    return rows


if __name__ == "__main__":
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    print(f"\n{table(run())}")
