"""The server plays whole matches, many tables at a time, and survives its own end."""

from __future__ import annotations

import http.client
import random
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from serving import PATIENCE, Client, RunningServer, TableClient, running_server

from german_whist import GameRecord, load_rules, named_rules
from german_whist.agents import load_agent, register_agent
from german_whist.agents.base import CannotPlay
from german_whist.agents.registry import AGENTS, agent_names
from german_whist.common import plugins
from german_whist.engine.view import View
from german_whist.table.browser import live_table, serve_tables
from german_whist.table.browser.server import STATIC
from german_whist.table.game import opponents
from german_whist.table.game.database import new_id
from german_whist.table.game.session import Session, SessionSettings
from german_whist.table.game.store import Store
from german_whist.table.review.hints import Hint, find_hint
from german_whist.table.review.puzzles import bundled_puzzles


@pytest.mark.parametrize("rules", ["draft", "humbug", "race-7"])
def test_every_kind_of_rule_set_is_played_to_its_end(rules: str, client: Client) -> None:
    rng = random.Random(rules)
    table = TableClient(client, rules=rules, opponent="threshold")
    table.play_on(rng.choice)
    assert table.state["result"]["text"]
    assert [each["n"] for each in table.events] == sorted({each["n"] for each in table.events})
    assert table.events[-1]["kind"] == "hand_over"
    (record,) = client.get("/api/replays")
    assert record["replay"] == {"id": table.id, "hand": 1} == table.state["replay"]
    replay = client.get(f"/api/replays/{table.id}/1")
    assert len(replay["steps"]) == table.state["move"]
    assert client.get("/api/statistics")["total"]["hands"] == 1


@pytest.mark.parametrize("match", [{"kind": "points", "n": 3}, {"kind": "best", "n": 5}], ids=str)
def test_a_match_goes_to_its_trophy(match: dict, client: Client) -> None:
    rng = random.Random(5)
    table = TableClient(client, rules="quick", opponent="random", match=match)
    dealers = [table.state["dealer"]]
    while not table.state["match"]["over"]:
        table.play_on(rng.choice, 1)
        if table.state["match"]["hand"] > len(dealers):
            dealers.append(table.state["dealer"])
    reply = table.state["match"]
    assert dealers == [(dealers[0] + k) % 2 for k in range(len(dealers))]
    assert len(reply["hands"]) == reply["hand"] == len(dealers) > 2
    won = [sum(payoffs[seat] > 0 for _, payoffs, _ in reply["hands"]) for seat in (0, 1)]
    assert reply["hands_won"] == won == reply["points"]
    assert reply["winner"] == (won[1] > won[0])
    assert table.events[-1]["kind"] == "match_over"
    total = client.get("/api/statistics")["total"]
    assert (total["matches"], total["hands"]) == (1, len(dealers))
    assert client.request("POST", f"{table.path}/next")[0] == 422


def test_card_sent_twice_is_played_once_and_old_page_refused(
    client: Client,
) -> None:
    table = TableClient(client, opponent="threshold", seed=5)
    body = {"action": table.state["legal"][0], "move": table.state["move"]}
    statuses = []
    with ThreadPoolExecutor(8) as pool:
        asks = [pool.submit(client.request, "POST", f"{table.path}/play", body) for _ in range(8)]
        statuses = [ask.result()[0] for ask in asks]
    assert statuses == [200] * 8
    events = next(client.listen(f"{table.path}/events?after=0"))["events"]
    assert [event["who"] for event in events if event["kind"] in ("led", "followed")].count(0) == 1
    body["action"] = table.state["legal"][1]
    status, reply = client.request("POST", f"{table.path}/play", body)
    assert status == 409
    assert reply["state"]["move"] > body["move"]
    assert "decision" in reply["error"]


def test_illegal_card_is_explained_and_changes_nothing(
    client: Client,
) -> None:
    table = TableClient(client, rules="draft", opponent="threshold")
    elsewhere = next(card for card in range(52) if card not in table.state["legal"])
    for action, why in ((elsewhere, "not in your hand|follow suit"), (52, "^The hidden card cann")):
        body = {"action": action, "move": table.state["move"]}
        status, reply = client.request("POST", f"{table.path}/play", body)
        assert status == 422
        assert re.search(why, reply["error"])
        assert reply["state"] == table.state


def test_an_agent_whose_turn_it_was_plays_on_after_a_restart(tmp_path) -> None:
    store = Store(tmp_path)
    session = Session(SessionSettings(load_rules("classic"), "hard", seed=4))
    while not session.agent_to_move:
        session.play(session.view(0).legal()[0])
    name, moves = new_id(), session.moves
    store.save(name, session)
    store.close()
    with running_server(tmp_path) as server:
        for reply in server.client().listen(f"/api/tables/{name}/events?after=0"):
            if reply["state"]["turn"] == 0:
                break
        assert reply["state"]["move"] > moves


def test_leaving_and_forgetting_keep_finished_hands(client: Client) -> None:
    table = TableClient(client, rules="quick", opponent="easy", match={"kind": "best", "n": 5})
    table.finish_hand()
    table.next()
    assert client.post(f"{table.path}/leave")["state"]["left"]
    assert client.get("/api/tables")[0]["over"]
    body = {"action": 0, "move": table.state["move"]}
    assert client.request("POST", f"{table.path}/play", body)[0] == 409
    assert client.request("DELETE", table.path)[0] == 200
    assert client.get("/api/tables") == []
    assert client.request("GET", table.path)[0] == 404
    total = client.get("/api/statistics")["total"]
    assert (total["hands"], total["matches"]) == (2, 1)  # what is given up is lost
    assert (total["won"] + total["lost"] + total["drawn"], total["matches_won"]) == (2, 0)
    assert client.get(f"/api/replays/{table.id}/1")["steps"]


def test_agents_are_watched_at_the_pace_that_is_set(client: Client) -> None:
    settings = {"rules": "quick", "player": "easy", "opponent": "threshold"}
    table = TableClient(client, **settings, match={"kind": "best", "n": 3})
    speed = f"{table.path}/speed"
    table.take(client.post(speed, {"pause": True}))
    table.take(next(client.listen(f"{table.path}/events?after=0")))
    assert table.state["move"] == 0
    for moves in (1, 2, 3):
        table.take(client.post(speed, {"step": True}))
        assert table.state["move"] == moves
    assert table.state["speed"] == {"delay_ms": 1000, "paused": True}
    table.take(client.post(speed, {"pause": False, "delay_ms": 0}))
    table.play_on(None)
    assert table.state["match"]["over"]
    assert client.get("/api/statistics")["total"]["hands"] == 0
    assert client.request("POST", f"{table.path}/hint")[0] == 409
    mine = TableClient(client, opponent="easy")
    assert client.request("POST", f"{mine.path}/speed", {"pause": True})[0] == 422


def test_finished_hands_are_exported_as_records(client: Client) -> None:
    TableClient(client, rules="quick", opponent="easy").play_on(min)
    _, _, line = client.raw("GET", "/api/statistics/export?form=jsonl")
    assert GameRecord.from_line(line).meta["players"] == ["you", "easy"]
    assert client.request("GET", "/api/statistics/export?form=xml")[0] == 400


def test_hand_given_up_has_no_replay(client: Client) -> None:
    table = TableClient(client, rules="quick", opponent="easy")
    client.post(f"{table.path}/leave")
    assert client.get("/api/replays") == []
    assert client.request("GET", f"/api/replays/{table.id}/1")[0] == 404


def test_server_has_every_path_that_the_page_names(client: Client) -> None:
    sources = [STATIC.parent / "page.html", *STATIC.rglob("*.js")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    paths = set(re.findall(r'"(/[\w.-]+(?:/[\w.-]+)*)"', text))
    assert {"/api/tables", "/static/table.webmanifest"} <= paths
    for path in paths:
        assert client.raw("GET", path)[0] != 404, path


def test_phone_and_computer_play_one_table(server: RunningServer) -> None:
    computer, phone = server.client(), server.client()
    table = TableClient(computer, rules="quick", opponent="easy")
    (summary,) = phone.get("/api/tables")
    assert summary["id"] == table.id
    while phone.get(table.path)["state"]["turn"] != 0:
        time.sleep(0.01)
    state = phone.get(table.path)["state"]
    body = {"action": state["legal"][0], "move": state["move"]}
    phone.post(f"{table.path}/play", body)
    for reply in computer.listen(f"{table.path}/events?after={table.state['n']}"):
        assert reply["state"]["move"] > state["move"]
        break


def test_many_tables_at_once_make_no_error(server: RunningServer) -> None:
    opponents = ["easy", "medium", "threshold", "counting", "hard"]
    ready = threading.Barrier(12)

    for name in opponents:  # what is compiled once is compiled here
        TableClient(server.client(), rules="quick", opponent=name).play_on(min, 4)

    def sit(number: int) -> list[int]:
        rng = random.Random(number)
        client = server.client()
        table = TableClient(client, rules="quick", opponent=opponents[number % len(opponents)])
        ready.wait(PATIENCE)

        def choose(legal: list[int]) -> int:
            time.sleep(rng.random() * 0.1)
            return rng.choice(legal)

        table.play_on(choose)
        return table.state["tricks"]

    with ThreadPoolExecutor(12) as pool:
        assert all(sum(tricks) == 10 for tricks in pool.map(sit, range(12)))
    assert server.client().get("/api/statistics")["total"]["hands"] == 12


def test_simultaneous_requests_open_one_table_each(server: RunningServer, client: Client) -> None:
    ready = threading.Barrier(20)

    def sit(_: int) -> list[str]:
        own = server.client()
        ready.wait(PATIENCE)
        return [TableClient(own, rules="quick", opponent="random").id for _ in range(10)]

    with ThreadPoolExecutor(20) as pool:
        opened = [name for names in pool.map(sit, range(20)) for name in names]
    assert len(set(opened)) == 200
    assert sorted(each["id"] for each in client.get("/api/tables")) == sorted(opened)


def test_a_busy_table_does_not_hold_up_the_server(server: RunningServer) -> None:
    table = TableClient(server.client(), rules="quick", opponent="easy")
    listening = table.client.listen(f"{table.path}/events")
    next(listening)
    live = server.server._services.live.get(table.id)
    with live._lock:
        live.events.notify()
        other = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        other.request("GET", "/static/table.webmanifest")
        assert other.getresponse().status == 200
        other.close()
    listening.close()


def test_a_hint_counts_for_the_hand_that_it_was_asked_in(
    server: RunningServer, monkeypatch
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def slow_hint(view: View) -> Hint:
        asked.set()
        answer.wait(PATIENCE)
        return find_hint(view)

    monkeypatch.setattr(serve_tables, "find_hint", slow_hint)
    match = {"kind": "points", "n": 50}
    table = TableClient(server.client(), rules="classic", opponent="easy", match=match)
    with ThreadPoolExecutor(1) as pool:
        hint = pool.submit(table.client.post, f"{table.path}/hint")
        asked.wait(PATIENCE)
        table.finish_hand()
        rated = table.state["rated"]
        table.next()
        answer.set()
        assert hint.result()["why"]
    assert not rated
    assert table.client.get(table.path)["state"]["rated"]


def test_menu_knows_what_the_champion_plays_without_making_it(monkeypatch) -> None:
    made = []
    monkeypatch.setattr(opponents, "load_agent", lambda name, *_, **__: made.append(name))
    offered = opponents.Opponents()
    (champion,) = (each for each in offered.menu()[1] if each.name == "champion")
    # Agents of others cannot be known without making them.
    assert not any(offered[name].bundled for name in made)
    assert offered["champion"].is_network
    for name in named_rules():
        if champion.plays is None or name in champion.plays:
            load_agent("champion", name)
        else:
            with pytest.raises(CannotPlay):
                load_agent("champion", name)


def test_installed_agent_that_cannot_be_imported_is_left_out_of_the_menu(
    monkeypatch, capsys
) -> None:
    point = EntryPoint("broken", "none_such_of_this_name:Agent", AGENTS.group)
    monkeypatch.setattr(plugins, "installed", lambda group: (point,) * (group == AGENTS.group))
    names = [each.name for each in opponents.Opponents().menu()[1]]
    assert "champion" in names
    assert "broken" not in names
    assert "the agent 'broken' (entry point none_such_of_this_name:Agent) cannot be loaded" in (
        capsys.readouterr().err
    )


def test_an_agent_that_fails_stops_its_table_and_no_other(tmp_path) -> None:
    if "failing" not in agent_names():
        register_agent("failing", lambda rules, match=None: load_agent(_FAILING, rules))
    with running_server(tmp_path) as server:
        client = server.client()
        table = TableClient(client, rules="quick", opponent="failing")
        if table.state["turn"] == 0:
            table.play(table.state["legal"][0])
        while not table.state["trouble"]:
            table.wait()
        assert "Failing cannot go on (ZeroDivisionError)" in table.state["trouble"]
        assert table.state["texts"]["prompt"] == "Failing cannot go on"
        TableClient(client, rules="quick", opponent="easy").play_on(min)
        before = client.get("/api/statistics")["total"]["hands"]
        assert client.post(f"{table.path}/leave")["state"]["left"]
        # Whoever leaves an agent that cannot go on has lost nothing.
        assert client.get("/api/statistics")["total"]["hands"] == before
        assert all(each["over"] for each in client.get("/api/tables"))


def test_agent_that_thinks_too_long_is_left_without_a_loss(tmp_path, monkeypatch) -> None:
    played = threading.Event()
    monkeypatch.setattr(Session, "decide", lambda _: played.wait(PATIENCE) and 0)
    with running_server(tmp_path) as server:
        client, lost = server.client(), []
        for seconds in (1e9, -1.0):
            monkeypatch.setattr(live_table, "PATIENCE_SECONDS", seconds)
            table = TableClient(client, rules="classic", opponent="hard")
            if table.state["turn"] == 0:
                table.play(table.state["legal"][0])
            assert table.state["thinking"]
            client.post(f"{table.path}/leave")
            lost.append(client.get("/api/statistics")["total"]["lost"])
        assert lost == [1, 1]
        played.set()


_FAILING = f"{Path(__file__).stem}:failing"


def failing(views, rng):
    return views if not len(views) else 1 // 0


def test_named_agent_of_others_is_tried_on_every_rule_set() -> None:
    if "quick-only" not in agent_names():
        register_agent("quick-only", f"{Path(__file__).stem}:quick_only")
    named = opponents.Opponents(("quick-only",))["quick-only"]
    assert (named.quick, named.plays) == (False, ["quick"])


def quick_only(rules, match=None):
    if rules != load_rules("quick"):
        raise CannotPlay("quick-only plays quick")
    return load_agent("random", rules)


def test_menu_has_strengths_and_no_research_agents(client: Client) -> None:
    agents = {each["name"]: each for each in client.get("/api/menu")["agents"]}
    assert not {"thinker", "champion-1", "champion-2", "random-exact"} & set(agents)
    assert all(each["about"] for each in agents.values())
    strengths = {name: each["strength"] for name, each in agents.items()}
    for weaker, stronger in (("easy", "medium"), ("medium", "champion"), ("medium", "hard")):
        assert strengths[weaker] < strengths[stronger]


def test_hands_of_other_rule_sets_change_no_rating(client: Client) -> None:
    for number, (rules, rated) in enumerate((("no-trump", False), ("classic", True)) * 6):
        table = TableClient(client, rules=rules, opponent="medium")
        assert table.state["rated"] == rated
        table.finish_hand()
        notes = table.state["result"]["notes"]
        assert len(notes) == rated
        if rated:
            hands = f"{number // 2 + 1} hand"
            assert ("provisional" in notes[0]) == (number // 2 + 1 < 10)
            assert hands in notes[0]
    assert len(client.get("/api/statistics")["play"]) == 6


def test_menu_has_five_usual_rule_sets_before_all_others(client: Client) -> None:
    rules = client.get("/api/menu")["rules"]
    usual = [each["name"] for each in rules if each["usual"]]
    assert usual == ["classic", "open-stock", "draft", "race-7", "no-trump"]
    assert usual == [each["name"] for each in rules][:5]
    assert {each["name"] for each in rules} == set(named_rules())


def test_themes_of_few_puzzles_are_not_offered(client: Client) -> None:
    themes = client.get("/api/puzzles")["themes"]
    assert min(themes.values()) >= 10
    # One puzzle alone lets a trick go; it is drawn among all others.
    assert "duck" not in themes
    assert any(puzzle.theme == "duck" for puzzle in bundled_puzzles())


def test_restart_in_the_middle_of_a_hand_changes_nothing(tmp_path) -> None:
    match = {"kind": "best", "n": 3}
    with running_server(tmp_path) as server:
        client = server.client()
        tables = [
            TableClient(client, rules="draft", opponent=each, match=match)
            for each in ("easy", "medium")
        ]
        for table in tables:
            table.play_on(min, 20)
            while table.state["turn"] != 0:
                table.wait()
    with running_server(tmp_path) as server:
        client.port = server.port
        assert {each["id"] for each in client.get("/api/tables")} == {table.id for table in tables}
        for table in tables:
            state = client.get(table.path)["state"]
            for name in ("hand", "move", "n", "trick", "tricks", "legal", "upcards", "known_other"):
                assert state[name] == table.state[name], name
            table.take({"state": state})
            table.play_on(min)
        assert client.get("/api/statistics")["total"]["matches"] == 2
