"""The browser never receives a card that the player may not see, in any message of a hand.

What may be known is told by the plain implementation of the rules, move by move.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from serving import Running, Seat, Visitor, running

from german_whist import Game, load_rules
from plain_whist import NAMED, PlainGame

CARD = re.compile(r"\b([2-9TJQKA][CDHS])\b|(10|[2-9JQKA])([♣♦♥♠])")
SUITS = "CDHS"


def cards_in(text: str) -> set[str]:
    """Every card that a text names, in either form."""
    found: set[str] = set()
    for plain, rank, symbol in CARD.findall(text):
        found.add(plain or ("T" if rank == "10" else rank) + SUITS["♣♦♥♠".index(symbol)])
    return found


def name(card: int) -> str:
    return "23456789TJQKA"[card % 13] + SUITS[card // 13]


def numbers_in(value: Any) -> set[int]:
    """Every number under the names that hold actions."""
    if isinstance(value, dict):
        found: set[int] = set()
        for key, each in value.items():
            if key in ("legal", "action", "actions", "best"):
                found |= {each} if isinstance(each, int) else set(each)
            found |= numbers_in(each)
        return found
    if isinstance(value, list):
        return set().union(*map(numbers_in, value)) if value else set()
    return set()


def visible(game: PlainGame) -> set[str]:
    """The cards whose place seat 0 may know now: everything but those that it never saw."""
    view = game.view(0)
    if view["stock_left"] == 0 and not game.aside:
        return {name(card) for card in game.rules.deck}
    return {name(card) for card in game.rules.deck if card not in view["unseen"]}


def said_with_places(help_told: dict[str, Any]) -> dict[str, str]:
    return {card: where for suit in help_told["suits"].values() for card, where in suit.items()}


class Watcher:
    """Follows a hand in the plain game, and checks each message against what may be known."""

    def __init__(self, visitor: Visitor, rules: str, server: Running, table: str) -> None:
        self.visitor, self.server, self.table = visitor, server, table
        deal = [int(card) for card in self.game.cards_dealt]
        self.plain = PlainGame(NAMED[rules], deal, self.game.dealer)
        self.played = 0
        self.read = 0
        self.checked = 0

    @property
    def game(self) -> Game:
        """All cards, as the server keeps them."""
        return self.server.session(self.table).game

    def check(self, *secrets: str) -> None:
        """All that was heard since the last check names what was visible then, and no more."""
        for message in self.visitor.heard[self.read :]:
            for each in secrets:  # which look like anything
                message = message.replace(each, "")
            told = json.loads(message.rpartition("\n")[2])
            if "state" in told:
                self.follow(told["state"]["move"])
            if self.plain.phase == "over":
                break
            if '"suits"' not in message:
                assert cards_in(message) <= visible(self.plain)
            numbers = {name(each) for each in numbers_in(told) if each < 52}
            assert numbers <= visible(self.plain)
            if "state" in told:
                self.check_state(told["state"])
            self.checked += 1
        self.read = len(self.visitor.heard)

    def follow(self, moves: int) -> None:
        for action in self.game.actions[self.played : moves]:
            self.plain.play(int(action))
            self.played += 1

    def check_state(self, state: dict[str, Any]) -> None:
        view = self.plain.view(0)
        assert set(state["hand"]) == {name(card) for card in view["hand"]}
        assert set(state["known_other"]) == {name(card) for card in view["opponent_known"]}
        assert state["upcards"] == [name(card) for card in view["face_up"]]
        opened = view["stock_left"] == 0 and not self.plain.aside
        assert state["open"] == opened
        assert (state["other_hand"] is not None) == opened
        assert "seed" not in json.dumps(state)

    def check_help(self, told: dict[str, Any]) -> None:
        """The help says `unseen` of exactly the cards whose place is not known."""
        view = self.plain.view(0)
        opened = view["stock_left"] == 0 and not self.plain.aside
        unseen = set() if opened else {name(card) for card in view["unseen"]}
        places = said_with_places(told)
        assert {card for card, where in places.items() if where == "unseen"} == unseen
        others = {name(card) for card in view["opponent_known"]}
        if opened:
            others |= {name(card) for card in view["unseen"]}
        assert (
            {card for card, where in places.items() if where == "other"}
            == others
            == set(told["known"])
        )


@pytest.mark.parametrize(
    ("rules", "opponent"),
    [
        ("classic", "medium"),
        ("classic", "hard"),
        ("no-trump", "threshold"),
        ("draft", "counting"),
        ("open-stock", "easy"),
        ("colour", "medium"),
        ("race-7", "threshold"),
        ("small-all", "random"),
    ],
)
def test_no_message_of_a_hand_tells_a_card_that_may_not_be_known(
    rules: str, opponent: str, tmp_path: Path
) -> None:
    rng = random.Random(rules + opponent)
    with running(tmp_path) as server:
        visitor = server.visitor()
        seat = Seat(visitor, rules=rules, opponent=opponent, seed=5)
        watcher = Watcher(visitor, rules, server, seat.id)
        visitor.get("/api/tables")
        asked = 0
        secrets = (seat.id, *visitor.cookies.values())
        while True:
            watcher.check(*secrets)
            if seat.state["phase"] == "over":
                break
            if seat.state["turn"] != 0:
                seat.wait()
                continue
            visitor.get(seat.path)
            seat.take(next(visitor.listen(f"{seat.path}/events?after=0")))
            watcher.check(*secrets)
            watcher.check_help(visitor.get(f"{seat.path}/help"))
            if asked < 6 or rng.random() < 0.1:
                asked += 1
                visitor.post(f"{seat.path}/hint")
            theirs = [int(card) for card in watcher.game.hands[1]]
            if theirs:
                body = {"action": rng.choice(theirs), "move": seat.state["move"]}
                assert visitor.ask("POST", f"{seat.path}/play", body)[0] == 422
                told = visitor.heard.pop()  # the card that was asked for is named, and no other
                assert len(cards_in(told) - visible(watcher.plain)) <= 1
            visitor.ask("POST", f"{seat.path}/play", {"action": 0, "move": 9999})
            watcher.check(*secrets)
            seat.play(rng.choice(seat.state["legal"]))
        assert watcher.checked > 50
        if load_rules(rules).choice:
            assert any(event["kind"] == "chose" for event in seat.events)


def test_a_card_that_the_opponent_drew_unseen_is_told_to_nobody(service: Running) -> None:
    seat = Seat(service.visitor(), rules="classic", opponent="threshold")
    seat.play_on(min)
    drawn = [each for each in seat.events if each["kind"] == "drew"]
    assert len(drawn) == 26
    hidden = [each for each in drawn if each["card"] is None]
    won = [each for each in seat.events if each["kind"] == "won"][:13]
    assert len(hidden) == sum(each["who"] == 0 for each in won)
    assert all(each["who"] == 1 for each in hidden)


def test_watched_agents_show_both_hands(service: Running) -> None:
    seat = Seat(service.visitor(), rules="quick", player="easy", opponent="threshold")
    assert len(seat.state["hand"]) == len(seat.state["other_hand"]) == 10
    assert seat.state["legal"] == []


@pytest.mark.parametrize("rules", ["classic", "draft", "open-stock", "no-trump"])
def test_no_message_of_a_watched_hand_tells_a_card_of_the_stock_that_lies_face_down(
    rules: str, service: Running, visitor: Visitor
) -> None:
    seat = Seat(visitor, rules=rules, player="random", opponent="threshold", seed=5)
    dealt = [int(card) for card in service.session(seat.id).game.cards_dealt]
    visitor.heard.clear()
    told = visitor.post(f"{seat.path}/speed", {"pause": True})
    checked = 0
    while told["state"]["phase"] != "over":
        state = told["state"]
        for path in ("", "/help"):
            visitor.ask("GET", seat.path + path)
        left = dealt[len(dealt) - state["stock_left"] :]
        hidden = {name(card) for card in left} - set(state["upcards"])
        for message in visitor.heard:
            for each in (seat.id, *visitor.cookies.values()):
                message = message.replace(each, "")
            if '"suits"' not in message:
                assert not cards_in(message) & hidden
            checked += bool(hidden)
        visitor.heard.clear()
        told = visitor.post(f"{seat.path}/speed", {"step": True})
    assert checked > 40


def test_the_next_hands_of_a_match_are_told_by_nothing(visitor: Visitor) -> None:
    match = {"kind": "best", "n": 3}
    seat = Seat(visitor, rules="quick", opponent="easy", match=match, seed=987_654_321)
    while seat.state["phase"] != "over":
        seat.play(min(seat.state["legal"]))
    visitor.get("/api/records")
    visitor.get(f"/api/replays/{seat.id}/1")
    visitor.raw("GET", "/api/statistics/export?form=jsonl")
    visitor.raw("GET", f"/api/replays/{seat.id}/1/file")
    assert not any("987654321" in message for message in visitor.heard)
    status, _ = visitor.ask("GET", f"/api/replays/{seat.id}/2")
    assert status == 404
