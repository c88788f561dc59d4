"""Whoever may not ask is refused with a sentence, and nothing breaks."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from typing import Any

import pytest
from serving import Client, RunningServer, TableClient, running_server

from german_whist.table.browser.bundle import policy_hash
from german_whist.table.browser.security import POLICY, Access, AccessMiddleware
from german_whist.table.game.opponents import Opponents

FOREIGN = ("evil.example", "evil.example:5252", "127.0.0.1.evil.example", "localhost@evil.example")
OWN = ("localhost", "127.0.0.1", "[::1]", "localhost:9000")
NOWHERE = (
    "/static/../server.py",
    "/static/%2e%2e/server.py",
    "/static/..%2fserver.py",
    "/static//etc/passwd",
    "/etc/passwd",
    "/api",
    "/api/tables/../menu",
    "/api/replays/x/-1",
    f"/api/replays/x/{2**64}",
)


def refused(status: int, answer: tuple[int, Any]) -> str:
    assert answer[0] == status, answer
    assert "Traceback" not in json.dumps(answer[1])
    return answer[1]["error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "not valid JSON"),
        ("[1]", "a mapping"),
        ("[" * 60_000, "nested too deeply"),
        ('{"opponent": ' + "9" * 5000 + "}", "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        ({"rules": 7}, "rules is 7: it has to be a text"),
        ({"rules": "../../etc/passwd"}, "not a rule set"),
        ({"rules": "own.yaml"}, "not a rule set"),
        ({"opponent": ["easy"]}, "opponent is a list of 1: it has to be a text"),
        ({"player": {"a": 1}}, "player is a mapping: it has to be a text"),
        ({"match": 3}, "match is 3: it has to be a mapping or null"),
        ({"match": {"kind": "war"}}, "single, points or best"),
        ({"match": {"kind": "points"}}, "match.n is left out"),
        ({"match": {"kind": "points", "n": 0}}, "n is 0"),
        ({"match": {"kind": "points", "n": True}}, "n is True"),
        ({"match": {"kind": "points", "n": 1e3}}, "n is 1000.0"),
        ({"match": {"kind": "best", "n": 4}}, "odd"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"name": 4}, "name is 4"),
        ({"oponent": "easy"}, "'oponent' is not known"),
        ({"x" * 9999: 1}, "the body: 'xxxx"),
        ({"name": "x" * 70_000}, "65,536"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_malformed_wish_for_a_table_is_refused(client: Client, body: Any, words: str) -> None:
    status, reply = client.request("POST", "/api/tables", body)
    assert status in (400, 413, 422)
    assert words in reply["error"]
    assert len(reply["error"]) < 600


NAMES = (
    "human",
    "network",
    "onnx",
    "sb3",
    "os:system",
    "builtins:eval",
    "",
    "easy ",
    "german_whist.agents.heuristic.random:RandomAgent",
    "network:/etc/passwd",
    "/etc/passwd",
    "../checkpoint.safetensors",
    "runs/quick-1",
    "flat-mc:10000000",
    "ismcts:1s",
    "value:13",
    "__import__('os')",
)


@pytest.mark.parametrize("part", ["opponent", "player"])
def test_names_from_the_page_load_no_files_and_no_code(
    client: Client, part: str, monkeypatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(
        "german_whist.table.game.opponents.make_agent", lambda *n, **_: made.append(n)
    )
    for name in NAMES[part == "player" :]:  # a person is a player
        sentence = refused(422, client.request("POST", "/api/tables", {part: name}))
        assert "does not sit at this table" in sentence
    assert made == []


def test_agents_of_the_command_line_join_the_list(tmp_path) -> None:
    with running_server(tmp_path, ("value:3",)) as server:
        client = server.client()
        menu = client.get("/api/menu")["agents"]
        agents = {each["name"]: each for each in menu}
        assert menu[0] == agents["value:3"]
        usual = [each["name"] for each in menu if each["usual"]]
        assert usual == ["value:3", "easy", "medium", "counting", "champion", "hard"]
        assert agents["hard"]["plays"] is None
        assert "human" not in agents
        named = Opponents(("value:3", "thinker:16", "counting"))
        assert (named["value:3"].quick, named["hard"].quick) == (True, False)
        assert [agent.name for agent in named.menu()[1]][:3] == [
            "value:3",
            "thinker:16",
            "counting",
        ]
        TableClient(client, rules="quick", opponent="value:3").play_on(min)


def test_a_malformed_move_is_refused(client: Client) -> None:
    table = TableClient(client, opponent="random")
    for body, words in (
        ({}, "has no 'action'"),
        ({"action": "AS", "move": 0}, "action is 'AS'"),
        ({"action": 55, "move": 0}, "action is 55"),
        ({"action": -1, "move": 0}, "action is -1"),
        ({"action": 1.0, "move": 0}, "action is 1.0"),
        ({"action": True, "move": 0}, "action is True"),
        ({"action": 1}, "has no 'move'"),
        ({"action": 1, "move": 10**30}, "move is 1000"),
    ):
        assert words in refused(400, client.request("POST", f"{table.path}/play", body))


def test_a_body_without_an_end_is_refused_while_it_is_sent(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        for _ in range(20):
            try:
                connection.sendall(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
            except OSError:
                break
        connection.settimeout(10)
        assert b" 413 " in connection.recv(4096)


@pytest.mark.parametrize(
    ("status", "method", "path", "headers"),
    [
        (415, "POST", "/api/tables", {"Content-Type": "text/plain"}),
        *((403, "GET", "/api/menu", {"Host": host}) for host in (*FOREIGN, "")),
        *((200, "GET", "/api/menu", {"Host": host}) for host in OWN),
        (403, "POST", "/api/tables", {"Origin": "http://evil.example"}),
        (403, "POST", "/api/tables", {"Origin": "null"}),
        (403, "POST", "/api/tables", {"Origin": "http://127.0.0.1:1"}),
        (403, "POST", "/api/tables", {"Origin": "https://127.0.0.1:{port}"}),
        (403, "POST", "/api/tables", {"Sec-Fetch-Site": "cross-site"}),
        (403, "POST", "/api/tables", {"Sec-Fetch-Site": "same-site"}),
        (201, "POST", "/api/tables", {"Origin": "http://127.0.0.1:{port}"}),
        (201, "POST", "/api/tables", {"Sec-Fetch-Site": "same-origin"}),
        (405, "PUT", "/api/tables", {}),
        (405, "DELETE", "/api/menu", {}),
        (405, "POST", "/", {}),
        *((404, "GET", path, {}) for path in NOWHERE),
    ],
    ids=str,
)
def test_foreign_origins_and_strange_requests_change_nothing(
    status: int, method: str, path: str, headers: dict[str, str], client: Client
) -> None:
    headers = {name: value.replace("{port}", str(client.port)) for name, value in headers.items()}
    before = len(client.get("/api/tables"))
    answer = client.request(method, path, None if method == "GET" else {}, headers)
    assert answer[0] == status
    assert status in (200, 201) or refused(status, answer)
    assert len(client.get("/api/tables")) == before + (status == 201)


def test_a_proxy_that_is_named_may_speak_tls(tmp_path) -> None:
    with running_server(tmp_path, access=Access.at("127.0.0.1", names=["table.example"])) as server:
        for name, status in (("table.example", 201), ("localhost", 403)):
            headers = {"Host": name, "Origin": f"https://{name}"}
            reply = server.client().request("POST", "/api/tables", {"opponent": "easy"}, headers)
            assert reply[0] == status


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_connections_that_ask_for_nothing_are_closed(begun: bytes, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("german_whist.table.browser.server._SECONDS_TO_ASK", 0.2)
    with running_server(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as idle:
            idle.sendall(begun)
            assert idle.recv(100) == b""
        assert server.client().get("/api/tables") == []


def test_a_body_that_stops_is_refused(server: RunningServer, monkeypatch) -> None:
    monkeypatch.setattr("german_whist.table.browser.requests._SECONDS_TO_SEND", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as slow:
        slow.sendall(b"POST /api/tables HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


def test_page_runs_its_own_script_and_is_sent_once(client: Client) -> None:
    _, headers, page = client.raw("GET", "/")
    script = page.rpartition('<script type="module">')[2].partition("</script>")[0]
    policy = headers["content-security-policy"]
    assert policy_hash(script) in policy
    assert re.sub(r" 'sha256-[^']+'", "", policy) == POLICY
    assert client.raw("GET", "/", headers={"If-None-Match": headers["etag"]})[0] == 304


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_cookies_are_out_of_reach(server: RunningServer, scheme: str) -> None:
    headers = {"X-Forwarded-Proto": scheme}
    cookie = server.client().raw("GET", "/", headers=headers)[1]["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert ("secure" in cookie) == (scheme == "https")


def test_every_answer_forbids_what_is_foreign(client: Client) -> None:
    for path in (
        "static/js/app.js",
        "api/menu",
        "nothing",
        "api/tables/x",
        "static/table.webmanifest",
    ):
        _, headers, _ = client.raw("GET", f"/{path}")
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert not {"access-control-allow-origin", "server"} & set(headers)


def test_link_signs_in_the_owner_alone(server: RunningServer) -> None:
    stranger = server.client()
    assert stranger.raw("GET", "/?person=" + "B" * 24)[0] == 303
    assert "B" * 24 not in stranger.cookies.values()
    owner = server.client()
    assert owner.raw("GET", f"/?person={server.store.owner()}")[0] == 303
    assert server.store.owner() in owner.cookies.values()


def test_open_tables_are_limited(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("german_whist.table.browser.live_tables.OPEN_TABLES_PER_PERSON", 3)
    monkeypatch.setattr("german_whist.table.browser.live_tables.OPEN_TABLES_IN_ALL", 4)
    with running_server(tmp_path) as server:
        client = server.client()
        tables = [TableClient(client, opponent="easy") for _ in range(3)]
        assert "3 tables" in refused(429, client.request("POST", "/api/tables", {}))
        client.post(f"{tables[0].path}/leave")
        TableClient(client, opponent="easy")
        TableClient(server.client(), opponent="easy")
        assert "too many" in refused(429, server.client().request("POST", "/api/tables", {}))


def test_strangers_who_fill_the_server_do_not_keep_its_owner_out(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("german_whist.table.browser.live_tables.OPEN_TABLES_IN_ALL", 2)
    with running_server(tmp_path) as server:
        owner = server.client(server.store.owner())
        tables = [
            TableClient(server.client(), opponent="easy"),
            TableClient(owner, opponent="easy"),
        ]
        assert "too many" in refused(429, server.client().request("POST", "/api/tables", {}))
        TableClient(owner, opponent="easy")
        # What nobody has used for a day makes room.
        monkeypatch.setattr("german_whist.table.browser.live_tables._IDLE_SECONDS", -1)
        TableClient(server.client(), opponent="easy")
        assert tables[0].client.request("GET", tables[0].path)[0] == 404
        assert len(owner.get("/api/tables")) == 2


def test_a_network_asks_for_its_token(tmp_path) -> None:
    with pytest.raises(ValueError, match="at least 8"):
        Access.at("0.0.0.0", "short")
    assert Access.at("127.0.0.1").token is None
    assert Access.at("127.0.0.1", "long-enough").token == "long-enough"
    access = Access.at("0.0.0.0")
    assert access.token is not None
    with running_server(tmp_path, access=access) as server:
        client = server.client()
        for path in ("/api/menu", "/static/js/app.js", "/api/tables/x", "/api/tables"):
            method = "POST" if path == "/api/tables" else "GET"
            assert "token" in refused(401, client.request(method, path))
        status, _, page = client.raw("GET", "/")
        assert (status, "<form" in page) == (401, True)
        for wrong in ("/?token=", f"/?token={access.token}x", f"/api/menu?token={access.token}"):
            assert client.raw("GET", wrong)[0] == 401
        bearer = {"Authorization": f"Bearer {access.token}"}
        assert client.request("GET", "/api/menu", headers=bearer)[0] == 200
        assert client.request("GET", "/api/menu")[0] == 401
        status, headers, _ = client.raw("GET", f"/?token={access.token}")
        assert (status, headers["location"]) == (303, "/")
        assert client.raw("GET", "/")[0] == 200
        TableClient(client, rules="quick", opponent="easy").play_on(min)
        assert client.request("GET", "/api/menu", headers={"Host": "192.168.1.9:5252"})[0] == 200
        refused(403, client.request("GET", "/api/menu", headers={"Host": "evil.example"}))


def test_request_cut_short_by_shutdown_is_answered() -> None:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    async def ended() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/menu",
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
        }
        task = asyncio.ensure_future(
            AccessMiddleware(app, Access.at("127.0.0.1"))(scope, None, send)
        )
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(ended())
    assert sent[0]["status"] == 503
    assert b"The table is closed" in sent[1]["body"]
