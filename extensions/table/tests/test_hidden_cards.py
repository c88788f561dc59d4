"""The browser never receives a card that the player may not see, in any message of a hand.

The plain implementation of the rules says, move by move, which cards may be known.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from typing import Any

import pytest
from serving import Client, RunningServer, TableClient

from german_whist import Game, load_rules
from german_whist.engine.reference import RULE_SETS, ReferenceGame

CARD = re.compile(r"\b([2-9TJQKA][CDHS])\b|(10|[2-9JQKA])([♣♦♥♠])")
SUITS = "CDHS"


def cards_in(text: str) -> set[str]:
    """Every card that a text names, in either form."""
    return {
        plain or ("T" if rank == "10" else rank) + SUITS["♣♦♥♠".index(symbol)]
        for plain, rank, symbol in CARD.findall(text)
    }


def name(card: int) -> str:
    return "23456789TJQKA"[card % 13] + SUITS[card // 13]


def names(cards: Iterable[int]) -> set[str]:
    return set(map(name, cards))


def actions_in(value: Any) -> set[int]:
    """Every number under the keys that hold actions."""
    if isinstance(value, list):
        return set().union(*map(actions_in, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    actions: set[int] = set()
    for key, item in value.items():
        if key in ("legal", "action", "actions", "best"):
            actions |= {item} if isinstance(item, int) else set(item)
        actions |= actions_in(item)
    return actions


def without(message: str, secrets: Iterable[str]) -> str:
    """The message without random ids, which may look like cards."""
    for secret in secrets:
        message = message.replace(secret, "")
    return message


class Watcher:
    """Follows a hand in the plain game, and checks each message against what may be known."""

    def __init__(
        self, client: Client, rules: str, server: RunningServer, table: TableClient
    ) -> None:
        self.client, self.server, self.table = client, server, table.id
        self.secrets = (table.id, *client.cookies.values())
        deal = [int(card) for card in self.game.cards_dealt]
        self.plain = ReferenceGame(RULE_SETS[rules], deal, self.game.dealer)
        self.n_played = self.n_read = self.n_checked = 0

    @property
    def game(self) -> Game:
        return self.server.session(self.table).game

    @property
    def is_open(self) -> bool:
        return self.plain.view(0)["stock_left"] == 0 and not self.plain.aside

    def visible(self) -> set[str]:
        """The cards whose place seat 0 may know now: all but those that it never saw."""
        unseen = set() if self.is_open else names(self.plain.view(0)["unseen"])
        return names(self.plain.rules.deck) - unseen

    def check(self) -> None:
        """Every message since the last check names what was visible then, and no more."""
        for message in self.client.received[self.n_read :]:
            message = without(message, self.secrets)
            body = json.loads(message.rpartition("\n")[2])
            if "state" in body:
                for action in self.game.actions[self.n_played : body["state"]["move"]]:
                    self.plain.play(int(action))
                    self.n_played += 1
            if self.plain.phase == "over":
                break
            if '"suits"' not in message:
                assert cards_in(message) <= self.visible()
            assert names(action for action in actions_in(body) if action < 52) <= self.visible()
            if "state" in body:
                self.check_state(body["state"])
            self.n_checked += 1
        self.n_read = len(self.client.received)

    def check_state(self, state: dict[str, Any]) -> None:
        view = self.plain.view(0)
        assert set(state["hand"]) == names(view["hand"])
        assert set(state["known_other"]) == names(view["opponent_known"])
        assert state["upcards"] == [name(card) for card in view["upcards"]]
        assert state["open"] == (state["other_hand"] is not None) == self.is_open
        assert "seed" not in json.dumps(state)

    def check_help(self, seen: dict[str, Any]) -> None:
        """The help says `unseen` of exactly the cards whose place is not known."""
        view = self.plain.view(0)
        unseen, other = names(view["unseen"]), names(view["opponent_known"])
        if self.is_open:
            unseen, other = set(), other | unseen
        places = {card: place for suit in seen["suits"].values() for card, place in suit.items()}
        assert {card for card, place in places.items() if place == "unseen"} == unseen
        assert {card for card, place in places.items() if place == "other"} == other
        assert set(seen["known"]) == other


@pytest.mark.parametrize("rules", ["classic", "humbug"])
def test_state_from_memory_names_cards_on_the_table_alone(rules: str, client: Client) -> None:
    table = TableClient(client, rules=rules, opponent="medium", memory=True)
    n_before = 0  # the last event before the latest action of the person
    while table.state["phase"] != "over":
        state = table.state | {"move": 0, "id": "", "names": [], "legal": []}
        trick = {each["card"] for each in state["trick"]}
        turned = {state["turned"]} - {None} if state["phase"] == "exchange" else set()
        assert cards_in(json.dumps(state)) <= {*state["hand"], *state["upcards"], *trick, *turned}
        assert client.request("GET", f"{table.path}/help")[0] == 409
        claim = {"tricks": 0, "move": table.state["move"]}
        assert client.request("POST", f"{table.path}/claim", claim)[0] == 422
        events = next(client.listen(f"{table.path}/events?after=0"))["events"]
        assert all(event["n"] > n_before for event in events)
        if state["turn"] == 0:
            n_before = state["n"]
        table.play_on(max, 1)
    assert len(table.state["last_trick"]) == 2
    classic = rules == "classic"
    assert table.state["rated"] == classic
    assert len(client.get("/api/statistics")["play"]) == classic
    assert len(table.state["result"]["notes"]) == classic


@pytest.mark.parametrize(
    ("rules", "opponent"),
    [
        ("classic", "medium"),
        ("no-trump", "threshold"),
        ("draft", "counting"),
        ("open-stock", "easy"),
        ("race-7", "easy"),
    ],
)
def test_messages_of_a_hand_name_no_hidden_card(
    rules: str, opponent: str, server: RunningServer, client: Client
) -> None:
    rng = random.Random(rules + opponent)
    table = TableClient(client, rules=rules, opponent=opponent, seed=5)
    watcher = Watcher(client, rules, server, table)
    client.get("/api/tables")
    n_hints = 0
    while True:
        watcher.check()
        if table.state["phase"] == "over":
            break
        if table.state["turn"] != 0:
            table.wait()
            continue
        client.get(table.path)
        table.take(next(client.listen(f"{table.path}/events?after=0")))
        watcher.check()
        watcher.check_help(client.get(f"{table.path}/help"))
        if n_hints < 2 or rng.random() < 0.05:
            n_hints += 1
            client.post(f"{table.path}/hint")
        other_hand = [int(card) for card in watcher.game.hands[1]]
        if other_hand:
            body = {"action": rng.choice(other_hand), "move": table.state["move"]}
            assert client.request("POST", f"{table.path}/play", body)[0] == 422
            # The refusal names the card that was asked for, and no other hidden one.
            assert len(cards_in(client.received.pop()) - watcher.visible()) <= 1
        client.request("POST", f"{table.path}/play", {"action": 0, "move": 9999})
        watcher.check()
        table.play(rng.choice(table.state["legal"]))
    assert watcher.n_checked > 40
    kinds = [event["kind"] for event in table.events]
    assert load_rules(rules).choice == ("chose" in kinds)
    hidden = [
        event["who"] for event in table.events if event["kind"] == "drew" and event["card"] is None
    ]
    assert set(hidden) <= {1}
    if rules == "classic":
        winners = [event["who"] for event in table.events if event["kind"] == "won"]
        assert (kinds.count("drew"), len(hidden)) == (26, winners[:13].count(0))


@pytest.mark.parametrize("rules", ["classic", "draft", "open-stock"])
def test_watched_agents_show_both_hands_and_no_hidden_stock(
    rules: str, server: RunningServer, client: Client
) -> None:
    table = TableClient(client, rules=rules, player="random", opponent="threshold", seed=5)
    assert len(table.state["hand"]) == len(table.state["other_hand"]) == 13
    assert table.state["legal"] == []
    deal = [int(card) for card in server.session(table.id).game.cards_dealt]
    client.received.clear()
    state = client.post(f"{table.path}/speed", {"pause": True})["state"]
    n_checked = 0
    while state["phase"] != "over":
        for path in ("", "/help"):
            client.request("GET", table.path + path)
        hidden = names(deal[len(deal) - state["stock_left"] :]) - set(state["upcards"])
        for message in client.received:
            if '"suits"' not in message:
                assert not cards_in(without(message, (table.id, *client.cookies.values()))) & hidden
            n_checked += bool(hidden)
        client.received.clear()
        state = client.post(f"{table.path}/speed", {"step": True})["state"]
    assert n_checked > 40


def test_no_message_contains_the_seed_of_a_match(client: Client) -> None:
    match = {"kind": "best", "n": 3}
    table = TableClient(client, rules="quick", opponent="easy", match=match, seed=987_654_321)
    table.finish_hand()
    client.get("/api/replays")
    client.get(f"/api/replays/{table.id}/1")
    client.raw("GET", "/api/statistics/export?form=jsonl")
    client.raw("GET", f"/api/replays/{table.id}/1/file")
    assert not any("987654321" in message for message in client.received)
    assert client.request("GET", f"/api/replays/{table.id}/2")[0] == 404
