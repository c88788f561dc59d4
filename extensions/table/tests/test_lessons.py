"""Lessons say what is true of their cards, and count nowhere."""

from __future__ import annotations

import random

import pytest
from serving import Client, TableClient

from german_whist.engine.endgame import moves_of
from german_whist.table.game.lessons import lesson_settings
from german_whist.table.game.session import Session
from german_whist.table.text.lessons import guide


@pytest.mark.parametrize(
    ("lesson", "parts"),
    [
        (1, ("upcard", "trumps", "Lose this trick on purpose", "The stock is gone")),
        (2, ("better than", "So lose this trick", "So try to win")),
        (3, ("of 7 in your hand", "known with Easy")),
        (4, ("has followed every suit so far", "has no")),
        (5, ("both hands lie open", "One card does it", "That cost a trick")),
    ],
)
def test_a_lesson_explains_its_topic_and_does_not_count(
    client: Client, lesson: int, parts: tuple[str, ...]
) -> None:
    table = TableClient(client, lesson=lesson)
    guide = []
    while table.state["phase"] != "over":
        now, legal = table.state["texts"]["guide"], table.state["legal"]
        assert ("only card" in " ".join(now)) == (len(legal) == 1), now
        guide += now
        table.play(legal[0])
    assert table.state["texts"]["guide"][-1] == "That was the hand."
    text = " ".join(guide)
    for part in parts:
        assert part in text
    assert client.get("/api/statistics")["total"]["hands"] == 0
    assert client.get("/api/replays") == []


def test_a_lesson_is_no_hand_played_again(client: Client) -> None:
    table = TableClient(client, opponent="random", seed=3)
    table.finish_hand()
    again = {"id": table.id, "hand": 1, "decision": 20}
    status, reply = client.request("POST", "/api/tables", {"lesson": 5, "replayed_from": again})
    assert status == 400
    assert "leave replayed_from out" in reply["error"]
    assert len(client.get("/api/tables")) == 1


def test_a_lesson_counts_cards_as_plain_rules_do() -> None:
    for lesson in (2, 3, 4):
        session, rng = Session(lesson_settings(lesson)), random.Random(lesson)
        while not session.over:
            view = session.view(0)
            if not view.to_move:
                session.answer()
                continue
            text = " ".join(guide(view, ("you", "easy"), lesson, session.game))
            trump, hands = view.trump, session.game.hands
            hidden = [*hands[1], *session.game.stock]
            known = {*view.opponent_known, *view.upcards}
            unseen = [card for card in hidden if card not in known]
            if lesson == 2 and view.upcards:
                up = view.upcards[0]
                n = sum(
                    card.rank > up.rank
                    if card.suit == up.suit or trump not in (card.suit, up.suit)
                    else card.suit == trump
                    for card in unseen
                )
                assert f"Of the {len(unseen)} cards that you have not seen, {n} " in text
            elif lesson == 3:
                own = sum(card.suit == trump for card in hands[0])
                n = 0 if view.open else sum(card.suit == trump for card in unseen)
                assert f"Trumps: {own} of 7 in your hand" in text
                assert f"{n} not seen" in text
            elif lesson == 4 and view.open:
                voids = {card.suit for card in hands[1]}
                for suit, name in enumerate(("clubs", "diamonds", "hearts", "spades")):
                    assert (f"Easy has no {name}." in text) == (suit not in voids)
            session.play(rng.choice(view.legal()))


def test_the_last_lesson_knows_what_each_card_costs() -> None:
    for seed in range(6):
        session, rng = Session(lesson_settings(5)), random.Random(seed)
        costs = []
        while not session.over:
            view = session.view(0)
            if not view.to_move:
                session.answer()
                continue
            values = moves_of(view)
            card = rng.choice(list(values))
            costs.append((max(values.values()) - values[card], len(values)))
            session.play(card)
            while session.agent_to_move:
                session.answer()
            comment = guide(session.view(0), ("you", "champion"), 5, session.game)[0]
            cost, choices = costs[-1]
            expected = "That cost" if cost else "Right." if choices > 1 else ""
            assert comment.startswith(expected)
            assert ("That cost" in comment) == (cost > 0)
        assert session.game.counting_tricks[0] == 4 - sum(cost for cost, _ in costs)
