"""Whoever may not ask is refused with a sentence, and nothing breaks."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from serving import Client, TableClient, running_server
from starlette.applications import Starlette
from starlette.routing import Mount, Route

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
        ({"opponent": 4}, "opponent is 4"),
        ({"oponent": "easy"}, "'oponent' is not known"),
        ({"x" * 9999: 1}, "the body: 'xxxx"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_malformed_wish_for_a_table_is_refused(client: Client, body: Any, words: str) -> None:
    status, reply = client.request("POST", "/api/tables", body)
    assert status in (400, 422)
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
    "upcard-value:9",
    "__import__('os')",
)


@pytest.mark.parametrize("part", ["opponent", "player"])
def test_names_from_the_page_load_no_files_and_no_code(
    client: Client, part: str, monkeypatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(
        "german_whist.table.game.opponents.load_agent", lambda *n, **_: made.append(n)
    )
    for name in NAMES[part == "player" :]:  # a person is a player
        sentence = refused(422, client.request("POST", "/api/tables", {part: name}))
        assert "does not sit at this table" in sentence
    assert made == []


def test_agents_of_the_command_line_join_the_list(tmp_path) -> None:
    with running_server(tmp_path, ("upcard-value:3",)) as server:
        client = server.client()
        menu = client.get("/api/menu")["agents"]
        agents = {each["name"]: each for each in menu}
        assert menu[0] == agents["upcard-value:3"]
        usual = [each["name"] for each in menu if each["usual"]]
        assert usual == ["upcard-value:3", "easy", "medium", "counting", "champion", "hard"]
        assert agents["hard"]["plays"] is None
        assert "human" not in agents
        named = Opponents(("upcard-value:3", "thinker:16", "counting"))
        assert (named["upcard-value:3"].quick, named["hard"].quick) == (True, False)
        assert [agent.name for agent in named.menu()[1]][:3] == [
            "upcard-value:3",
            "thinker:16",
            "counting",
        ]
        TableClient(client, rules="quick", opponent="upcard-value:3").play_on(min)


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


@pytest.mark.parametrize(
    ("status", "method", "path", "headers"),
    [
        (415, "POST", "/api/tables", {"Content-Type": "text/plain"}),
        (415, "POST", "/api/tables", {"Content-Type": "application/x-www-form-urlencoded"}),
        *((403, "GET", "/api/menu", {"Host": host}) for host in (*FOREIGN, "")),
        *((200, "GET", "/api/menu", {"Host": host}) for host in OWN),
        (403, "POST", "/api/tables", {"Origin": "http://evil.example"}),
        (403, "POST", "/api/tables", {"Origin": "null"}),
        (403, "POST", "/api/tables", {"Origin": "http://127.0.0.1:1"}),
        (403, "POST", "/api/tables", {"Origin": "https://127.0.0.1:{port}"}),
        # Only a proxy in front of the table could say that truthfully, and there is none.
        *(
            (403, "POST", "/api/tables", {"Origin": "https://127.0.0.1:{port}", **forwarded})
            for forwarded in ({"X-Forwarded-Proto": "https"}, {"Forwarded": "proto=https"})
        ),
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


def test_page_runs_its_own_script_and_is_sent_once(client: Client) -> None:
    _, headers, page = client.raw("GET", "/")
    script = page.rpartition('<script type="module">')[2].partition("</script>")[0]
    policy = headers["content-security-policy"]
    assert policy_hash(script) in policy
    assert re.sub(r" 'sha256-[^']+'", "", policy) == POLICY
    assert client.raw("GET", "/", headers={"If-None-Match": headers["etag"]})[0] == 304


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


def requests_of(app: Starlette) -> Iterator[tuple[str, str]]:
    """A request for each route but the page's, and one for a file."""
    for route in app.routes:
        if isinstance(route, Mount):
            yield "GET", f"{route.path}/js/app.js"
        elif isinstance(route, Route) and route.path != "/":
            for method in (route.methods or set()) - {"HEAD"}:
                yield method, re.sub(r"{\w+(:int)?}", "1", route.path)


def test_a_network_asks_for_its_token(tmp_path) -> None:
    with pytest.raises(ValueError, match="at least 8"):
        Access.at("0.0.0.0", "short")
    assert Access.at("127.0.0.1").token is None
    assert Access.at("127.0.0.1", "long-enough").token == "long-enough"
    access = Access.at("0.0.0.0")
    assert access.token is not None
    with running_server(tmp_path, access=access) as server:
        client = server.client()
        for method, path in requests_of(server.app):
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
        # Out of reach of scripts, and of pages of another origin.
        cookie = headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
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
