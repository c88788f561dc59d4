"""A replay tells every card of a hand as a second implementation deals and plays it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from msgspec import to_builtins

from german_whist import Game, Match
from german_whist.engine.cards import SUITS, cards
from german_whist.engine.records import GameRecord, RecordError, record_of
from german_whist.evaluation import evaluate
from german_whist.table.review.replay import make_replay
from german_whist.table.terminal.printed_replay import replay_lines
from plain_whist import PlainGame
from support import EVERY_SET, KEY, STYLES, chosen_action, engine_rules, plain_twin


def builtins(replay: Any) -> Any:
    """A replay as JSON holds it."""
    return json.loads(json.dumps(to_builtins(replay)))


def played(rules: Any, seed: int = 1, style: str = "any", **more: Any) -> GameRecord:
    """A hand played in some style, as a record."""
    game, chance = Game(rules, seed=seed, **more), random.Random(f"{style} {seed}")
    while not game.over:
        hand = game.hands[game.turn or 0]
        game.play(chosen_action(style, game.legal(), hand, not game.stock, chance))
    return record_of(game)


def ids(texts: list[str]) -> list[int]:
    return sorted(int(each) for each in cards(texts))


def check_position(told: dict[str, Any], plain: PlainGame) -> None:
    assert [ids(hand) for hand in told["hands"]] == [sorted(hand) for hand in plain.hands]
    assert [int(each) for each in cards(told["upcards"])] == plain.face_up
    assert told["stock_left"] == len(plain.stock)
    assert told["trump"] == (None if plain.trump is None else SUITS[plain.trump])
    assert (told["low"], told["turn"]) == (plain.low, plain.turn)
    assert told["tricks"] == plain.counting
    for seat in (0, 1):
        view = plain.view(seat)
        assert ids(told["known"][1 - seat]) == view["opponent_known"]
        if told["open"]:
            assert ids(told["hands"][1 - seat]) == sorted(view["unseen"] + view["opponent_known"])
    plays = [play for play in plain.view(0)["plays"] if play["lead"] is not None]
    under_way = plain.phase in ("follow", "choose")
    shown = [[], *map(trick_cards, plays)] if under_way else [*map(trick_cards, plays), []]
    # A trick under way comes last, else nothing does; before it the one that is over.
    assert told["trick"] == shown[-1]
    assert told["last_trick"] == ([[], *shown][-2])


def trick_cards(play: dict[str, Any]) -> list[dict[str, Any]]:
    who = play["leader"]
    both = [(who, play["lead"]), (1 - who, play["follow"])]
    return [{"who": seat, "card": str(cards([card])[0])} for seat, card in both if card is not None]


@pytest.mark.parametrize("name", EVERY_SET)
def test_a_replay_agrees_with_plain_play(name: str) -> None:
    for seed, style in enumerate(STYLES):
        record = played(engine_rules(name), seed, style)
        told = builtins(make_replay(record))
        plain = plain_twin(record.start())
        assert [step["action"] for step in told["steps"]] == list(record.actions)
        for number, step in enumerate(told["steps"]):
            check_position(step["before"], plain)
            assert (step["n"], step["who"]) == (number, plain.turn)
            seen = len(plain.view(0)["events"]), len(plain.view(1)["events"])
            plain.play(step["action"])
            events = [plain.view(seat)["events"][seen[seat] :] for seat in (0, 1)]
            check_outcome(step, events)
        check_position(told["final"], plain)
        assert told["result"]["pays"] == plain.pay()
        assert told["result"]["tricks"] == plain.counting


@pytest.mark.parametrize("name", EVERY_SET)
def test_a_printed_hand_shows_a_seat_no_card_that_it_never_saw(name: str) -> None:
    record = played(engine_rules(name), 5)
    for seat in (None, 0, 1):
        text = "\n".join(replay_lines(make_replay(record), seat=seat))
        assert record.replay().rules.name in text
        if record.exchange:
            assert "turned up" in text or record.rules.faced == "never"
            assert "keeps the hand dealt" in text or "takes the blind hand" in text
        if seat is not None and not make_replay(record).final.open:
            unseen = record.replay().view(seat).unseen
            assert not [card for card in unseen if card.symbol in text]


def check_outcome(step: dict[str, Any], events: list[list[tuple[Any, ...]]]) -> None:
    """Who won, and who drew what; a card is open when the other saw it drawn."""
    won = [event[1] for event in events[0] if event[0] == "won"]
    assert step["won"] == (won[0] if won else None)
    expected = []
    for at, event in enumerate(events[0]):
        if event[0] == "draw":
            who = event[1]
            own, other = events[who][at][3], events[1 - who][at][3]
            expected.append({"who": who, "card": str(cards([own])[0]), "open": other is not None})
    assert step["drew"] == expected
    hidden = [draw["card"] for draw in step["drew"] if not draw["open"]]
    assert not any(cards(card)[0].symbol in step["text"] for card in hidden)


def test_a_hand_of_a_match_tells_its_score() -> None:
    game = Game("classic", seed=4, match=Match(best_of=5))
    for _ in range(2):
        while not game.over:
            game.play(game.legal()[-1])
        game.deal_next()
    while not game.over:
        game.play(game.legal()[0])
    told = builtins(make_replay(record_of(game)))["match"]
    assert (told["kind"], told["n"], told["hand"]) == ("best", 5, 3)
    assert sum(told["hands_won"]) == 2


def test_records_of_the_arena_open() -> None:
    lines: list[str] = []
    evaluate("threshold", "random", hands=4, rules="draft", key=KEY, records=lines.append)
    assert len(lines) == 4
    for line in lines:
        assert sorted(make_replay(GameRecord.from_line(line)).players) == ["random", "threshold"]


def test_names_are_one_short_line_each() -> None:
    record = played("small-last")
    for meta, expected in (
        ({}, ["seat 0", "seat 1"]),
        ({"players": "ab"}, ["seat 0", "seat 1"]),
        ({"players": ["ann", 3]}, ["ann", "seat 1"]),
        ({"players": ["hard", "hard"]}, ["hard (0)", "hard (1)"]),
        ({"players": ["a\x1b[2J\n b\u202e", "x" * 500]}, ["a [2J b", "x" * 39 + "…"]),
    ):
        told = builtins(make_replay(GameRecord(**{**vars(record), "meta": meta})))
        assert told["players"] == expected


def test_a_record_that_tells_another_result_is_refused() -> None:
    record = played("classic")
    with pytest.raises(RecordError, match="result"):
        make_replay(GameRecord(**{**vars(record), "pays": (0, 0)}))
