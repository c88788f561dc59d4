"""Lessons say what is true of their cards, react to wrong ones, and count nowhere."""

from __future__ import annotations

import random
from typing import Any

import pytest
from serving import Client, TableClient

from german_whist.engine.cards import card as card_of
from german_whist.engine.endgame import moves_of
from german_whist.engine.view import View
from german_whist.table.game.lessons import lesson_settings
from german_whist.table.game.session import Session, SessionSettings
from german_whist.table.text.lessons import Guide, guide, mistake_of

NAMES = ("you", "Easy")


@pytest.mark.parametrize(
    ("lesson", "parts"),
    [
        (1, ("upcard", "trumps", "lose this trick on purpose", "The stock is gone")),
        (2, ("better than", "lose this trick on purpose", "is a good card: lead")),
        (3, ("both hands lie open", "One card does it", "cost a trick")),
    ],
)
def test_lesson_explains_its_topic_and_does_not_count(
    client: Client, lesson: int, parts: tuple[str, ...]
) -> None:
    table = TableClient(client, lesson=lesson)
    texts: list[str] = []
    while table.state["phase"] != "over":
        now, legal = table.state["texts"]["guide"]["text"], table.state["legal"]
        assert ("only card" in " ".join(now)) == (len(legal) == 1 and not table.state["open"]) or (
            table.state["open"]
        ), now
        texts += now
        table.play(legal[0])
    own, other = table.state["tricks"]
    last = table.state["texts"]["guide"]["text"][-1]
    won = "You win it" if own > other else "wins it"
    assert won in last
    assert f"{max(own, other)} tricks to {min(own, other)}" in last
    text = " ".join(texts)
    for part in parts:
        assert part in text
    assert client.get("/api/statistics")["total"]["hands"] == 0
    assert client.get("/api/replays") == []
    assert client.get("/api/lessons") == {"done": [lesson], "played": False}


def test_lesson_that_is_left_is_not_done(client: Client) -> None:
    table = TableClient(client, lesson=1)
    client.post(f"{table.path}/leave")
    assert client.get("/api/lessons") == {"done": [], "played": False}


def test_a_lesson_is_no_hand_played_again(client: Client) -> None:
    table = TableClient(client, opponent="random", seed=3)
    table.finish_hand()
    again = {"id": table.id, "hand": 1, "decision": 20}
    status, reply = client.request("POST", "/api/tables", {"lesson": 3, "replayed_from": again})
    assert status == 400
    assert "leave replayed_from out" in reply["error"]
    assert len(client.get("/api/tables")) == 1


def test_wrong_card_is_told_at_once_and_taken_back(client: Client) -> None:
    """The ace of trumps in place of the queen, with which the trick is won as well."""
    table = TableClient(client, lesson=1)
    table.play(table.state["legal"][0])
    assert {"QS", "AS"} <= set(table.state["hand"])
    assert table.state["upcards"] == ["AD"]
    before = table.state
    table.play(int(card_of("AS")))
    said = table.state["texts"]["guide"]
    assert said["wrong"]
    assert said["text"][0] == "Q♠ wins this trick as well: keep A♠ for a trick that needs it."
    table.take(client.post(f"{table.path}/take-back"))
    assert table.state["hand"] == before["hand"]
    table.play(int(card_of("QS")))
    said = table.state["texts"]["guide"]
    assert (said["wrong"], said["text"][0]) == (False, "Right.")


def decisions(session: Session, rng: random.Random) -> Any:
    """Each decision of the person with the card that is played in it."""
    while not session.over:
        view = session.view(0)
        if view.to_move:
            card = int(rng.choice(view.legal()))
            yield view, card
            session.play(card)
        else:
            session.answer()


def test_mistakes_in_tricks_for_the_stock_name_a_better_card() -> None:
    kinds = set[str]()
    for seed in range(20):
        session = Session(SessionSettings(opponent="easy", seed=seed))
        for view, played in decisions(session, random.Random(seed)):
            if view.endgame:
                continue
            text = mistake_of(view, played)
            if not text:
                continue
            legal = view.legal()
            named = [card for card in legal if card != played and card.symbol in text]
            assert named, (text, legal)
            # Who follows the advice is not corrected again.
            assert not mistake_of(view, int(named[0])), (text, named)
            kinds.add(" ".join(text.split()[1:3]))
    assert kinds >= {"wins this", "trick is", "other may", "will probably"}
    assert any(kind.startswith("lets ") for kind in kinds)
    assert any(kind.startswith("wins ") and kind != "wins this" for kind in kinds)


def test_lead_is_never_told_to_be_the_lowest_winner() -> None:
    for seed in range(20):
        session = Session(lesson_settings(1 + seed % 2))
        lesson = 1 + seed % 2
        for view, _ in decisions(session, random.Random(seed)):
            text = " ".join(guide(view, NAMES, lesson, session.game).text)
            if view.led is None and not view.endgame:
                assert "lowest card" not in text


def test_second_lesson_counts_the_better_cards() -> None:
    session = Session(lesson_settings(2))
    for view, _ in decisions(session, random.Random(2)):
        if not view.upcards:
            continue
        up, trump = view.upcards[0], view.trump
        hidden = [*session.game.hands[1], *session.game.stock]
        unseen = [card for card in hidden if card not in {*view.opponent_known, *view.upcards}]
        n = sum(
            card.rank > up.rank
            if card.suit == up.suit or trump not in (card.suit, up.suit)
            else card.suit == trump
            for card in unseen
        )
        text = " ".join(guide(view, NAMES, 2, session.game).text)
        assert f"{n} of the {len(unseen)} unseen cards " in text


def after(session: Session, card: int) -> Guide:
    """What the coach says once a card has been answered."""
    session.play(card)
    while session.agent_to_move:
        session.answer()
    return guide(session.view(0), ("you", "Champion"), 3, session.game)


def test_last_lesson_knows_what_each_card_costs() -> None:
    for seed in range(6):
        session, rng, costs = Session(lesson_settings(3)), random.Random(seed), list[int]()
        while not session.over:
            view: View = session.view(0)
            if not view.to_move:
                session.answer()
                continue
            values = moves_of(view)
            card = rng.choice(list(values))
            costs.append(max(values.values()) - values[card])
            said = after(session, int(card))
            assert said.wrong == (costs[-1] > 0)
            assert ("cost" in said.text[0]) == said.wrong
            assert said.text[0] == "Right." or said.wrong or len(values) == 1
        assert session.game.counting_tricks[0] == 4 - sum(costs)


def test_first_hand_is_coached_for_three_tricks(client: Client) -> None:
    table = TableClient(client, coached=True, seed=3, rules="small-last", opponent="easy")
    alone = "From here on you are on your own."
    while table.state["phase"] != "over":
        trick = int(table.state["texts"]["stage"].split()[1])
        text = " ".join(table.state["texts"]["guide"]["text"])
        assert (alone in text) == (3 < trick <= 7)
        assert ("now each of the 7 tricks counts" in text) == (trick == 8)
        table.play(table.state["legal"][0])
    assert client.get("/api/lessons") == {"done": [], "played": True}
    for rules in ("draft", "race-7", "humbug", "colour"):
        assert TableClient(client, coached=True, rules=rules).state["texts"]["guide"] is None
    assert TableClient(client, seed=3).state["texts"]["guide"] is None
