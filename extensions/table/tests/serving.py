"""A server in a thread, and clients that talk to it as browsers do."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from german_whist.engine.records import GameRecord
from german_whist.table.browser.security import Access
from german_whist.table.browser.server import Server, make_app
from german_whist.table.game.database import StoredHand, insert_hand, new_id
from german_whist.table.game.opponents import Opponents
from german_whist.table.game.session import HUMAN, Session
from german_whist.table.game.store import Store
from german_whist.table.review import analysis

PATIENCE = 900.0
"""The first of all compiles the players, which takes long under load; browsers wait too."""


class Client:
    """A browser with its cookies; everything that it is sent is kept in `heard`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}
        self.received: list[str] = []

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        status, _, text = self.raw(method, path, body, headers)
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def raw(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        given = {} if body is None else {"Content-Type": "application/json"}
        if self.cookies:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, data, {**given, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        found = {name.lower(): value for name, value in answer.getheaders()}
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                self.cookies |= {each.key: each.value for each in SimpleCookie(value).values()}
        connection.close()
        self.received.append("\n".join([*(f"{n}: {v}" for n, v in found.items()), text]))
        return answer.status, found, text

    def get(self, path: str) -> Any:
        status, reply = self.request("GET", path)
        assert status == 200, reply
        return reply

    def post(self, path: str, body: Any = None) -> Any:
        status, reply = self.request("POST", path, {} if body is None else body)
        assert status in (200, 201), reply
        return reply

    def analysis(self, path: str) -> Any:
        """The analysis of a hand whose replay is there, once it is ready."""
        while not (found := self.get(f"{path}/analysis"))["ready"]:
            time.sleep(0.02)
        return found

    def listen(self, path: str) -> Iterator[dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        try:
            assert answer.status == 200, answer.read()
            for line in answer:
                name, _, text = line.decode().strip().partition(": ")
                if name == "data":
                    self.received.append(f"\n{text}")
                    yield json.loads(text)
        finally:
            connection.close()


class RunningServer:
    def __init__(self, server: Server, app: Starlette, port: int, store: Store) -> None:
        self.server = server
        self.app = app
        self.port = port
        self.url = f"http://127.0.0.1:{port}/"
        self.store = store

    def session(self, name: str) -> Session:
        """A table as it is kept, with every card of it."""
        kept = self.store.load(name)
        assert kept is not None
        return Session.from_state(kept.state)

    def client(self) -> Client:
        return Client(self.port)

    def add_hand(self, record: GameRecord) -> str:
        """Store a finished hand as if it had been played here; returns its id."""
        hand = StoredHand(
            session=new_id(),
            hand=1,
            finished=time.time(),
            rules=record.rules.name,
            opponent="easy",
            player=HUMAN,
            tricks=record.counting_tricks[0],
            tricks_other=record.counting_tricks[1],
            pay=record.payoffs[0],
            margin=record.counting_tricks[0] - record.counting_tricks[1],
            record=record.to_line(),
        )
        with self.store.transaction() as connection:
            assert insert_hand(connection, hand)
        return hand.session


@contextmanager
def running_server(
    folder: Path, more: tuple[str, ...] = (), access: Access | None = None, port: int = 0
) -> Iterator[RunningServer]:
    """A server on a port of this machine (0: a free one), with its store in a folder.

    Its analyses and hints search little: the usual searches take seconds of a hand.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "THINKER", "thinker:32")
        patch.setattr(analysis, "FLAT_MC", "flat-mc:100,voids,playout=counting")
        store = Store(folder)
        app = make_app(store, Opponents(more), access or Access.at("127.0.0.1"))
        listening = socket.create_server(("127.0.0.1", port))
        server = Server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            yield RunningServer(server, app, listening.getsockname()[1], store)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            store.close()
        assert not thread.is_alive()


class TableClient:
    """A client at one table, who knows the state that was sent last."""

    def __init__(self, client: Client, **settings: Any) -> None:
        self.client = client
        reply = client.post("/api/tables", settings)
        self.id = reply["state"]["id"]
        self.path = f"/api/tables/{self.id}"
        self.state: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self.take(reply)

    def take(self, reply: dict[str, Any]) -> None:
        self.state = reply["state"]
        last = self.events[-1]["n"] if self.events else 0
        self.events += [each for each in reply.get("events", ()) if each["n"] > last]

    def play(self, action: int) -> None:
        body = {"action": action, "move": self.state["move"]}
        self.take(self.client.post(f"{self.path}/play", body))

    def wait(self) -> None:
        n = self.state["n"]
        for reply in self.client.listen(f"{self.path}/events?after={n}"):
            self.take(reply)
            if self.state["n"] > n:
                return

    def finish_hand(self, choose: Any = min) -> None:
        """Play on to the end of this hand."""
        while self.state["phase"] != "over":
            self.play_on(choose, 1)

    def next(self) -> None:
        self.take(self.client.post(f"{self.path}/next"))

    def play_on(self, choose: Any, moves: int = 10_000) -> None:
        """Play so many moves, or until the match is over; `choose` takes the legal actions."""
        for _ in range(moves):
            if self.state["match"]["over"]:
                return
            if self.state["watched"]:  # deals and plays by itself
                self.wait()
            elif self.state["phase"] == "over":
                self.next()
            elif self.state["turn"] == 0:
                self.play(choose(self.state["legal"]))
            else:
                self.wait()
