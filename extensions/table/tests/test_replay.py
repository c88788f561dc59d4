"""A replay has every card of a hand where a second implementation of the rules has it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from msgspec import to_builtins

from german_whist import Game, Match
from german_whist.engine.cards import SUITS, cards
from german_whist.engine.records import GameRecord, record_of
from german_whist.engine.reference import ReferenceGame
from german_whist.table.review.replay import Replay, make_replay
from german_whist.table.terminal.printed_replay import replay_lines
from support import EVERY_SET, chosen_action, engine_rules, plain_twin, played_out


def replay_json(record: GameRecord) -> Any:
    return json.loads(json.dumps(to_builtins(make_replay(record))))


def played(rules: Any, seed: int = 1, style: str = "any") -> GameRecord:
    game, rng = Game(rules, seed=seed), random.Random(f"{style} {seed}")
    while not game.over:
        hand = game.hands[game.turn or 0]
        game.play(chosen_action(style, game.legal(), hand, not game.stock, rng))
    return record_of(game)


def ids(texts: list[str]) -> list[int]:
    return sorted(map(int, cards(texts)))


def check_board(board: dict[str, Any], plain: ReferenceGame) -> None:
    assert [ids(hand) for hand in board["hands"]] == [sorted(hand) for hand in plain.hands]
    assert list(map(int, cards(board["upcards"]))) == plain.upcards
    assert board["stock_left"] == len(plain.stock)
    assert board["trump"] == (None if plain.trump is None else SUITS[plain.trump])
    assert (board["low"], board["turn"]) == (plain.low, plain.turn)
    assert board["tricks"] == plain.counting
    for seat in (0, 1):
        view = plain.view(seat)
        assert ids(board["known"][1 - seat]) == view["opponent_known"]
        if board["open"]:
            assert ids(board["hands"][1 - seat]) == sorted(view["unseen"] + view["opponent_known"])
    plays = [play for play in plain.view(0)["tricks"] if play["lead"] is not None]
    under_way = plain.phase in ("follow", "choose")
    tricks = [[], *map(trick_cards, plays)] if under_way else [*map(trick_cards, plays), []]
    # The last is the trick under way, if any; before it stands the last completed one.
    assert board["trick"] == tricks[-1]
    assert board["last_trick"] == ([[], *tricks][-2])


def trick_cards(play: dict[str, Any]) -> list[dict[str, Any]]:
    who = play["leader"]
    both = [(who, play["lead"]), (1 - who, play["follow"])]
    return [{"who": seat, "card": str(cards([card])[0])} for seat, card in both if card is not None]


@pytest.mark.parametrize("name", EVERY_SET)
def test_a_replay_agrees_with_plain_play(name: str) -> None:
    for seed, style in enumerate(("any", "hoard", "shorten")):
        record = played(engine_rules(name), seed, style)
        replay, plain = replay_json(record), plain_twin(record.start())
        assert [step["action"] for step in replay["steps"]] == list(record.actions)
        for number, step in enumerate(replay["steps"]):
            check_board(step["before"], plain)
            assert (step["n"], step["who"]) == (number, plain.turn)
            n_before = [len(plain.view(seat)["events"]) for seat in (0, 1)]
            plain.play(step["action"])
            events = [plain.view(seat)["events"][n_before[seat] :] for seat in (0, 1)]
            check_outcome(step, events)
        check_board(replay["final"], plain)
        assert replay["result"]["payoffs"] == plain.payoffs()
        assert replay["result"]["tricks"] == plain.counting
        check_printed(record, make_replay(record))


def check_outcome(step: dict[str, Any], events: list[list[tuple[Any, ...]]]) -> None:
    """The winner and the draws; a draw is open if the opponent saw the card."""
    winners = [event[1] for event in events[0] if event[0] == "won"]
    assert step["won"] == (winners[0] if winners else None)
    draws = []
    for k, event in enumerate(events[0]):
        if event[0] == "draw":
            who = event[1]
            own, other = events[who][k][3], events[1 - who][k][3]
            draws.append({"who": who, "card": str(cards([own])[0]), "open": other is not None})
    assert step["drew"] == draws
    hidden = [draw["card"] for draw in step["drew"] if not draw["open"]]
    assert not any(cards(card)[0].symbol in step["text"] for card in hidden)


def check_printed(record: GameRecord, replay: Replay) -> None:
    """A seat is shown no card that it never saw."""
    final = record.replay()
    for seat in (None, 0, 1):
        text = "\n".join(replay_lines(replay, seat=seat))
        assert final.rules.name in text
        if record.exchange:
            assert "turned up" in text or record.rules.faced == "never"
            assert "keeps the hand dealt" in text or "takes the blind hand" in text
        if seat is not None and not replay.final.open:
            assert not [card for card in final.view(seat).unseen if card.symbol in text]


def test_hand_of_a_match_has_its_score() -> None:
    game = Game("classic", seed=4, match=Match(best_of=5))
    for _ in range(2):
        played_out(game).deal_next()
    match = replay_json(record_of(played_out(game)))["match"]
    assert (match["kind"], match["n"], match["hand"]) == ("best", 5, 3)
    assert sum(match["hands_won"]) == 2


def test_names_are_one_short_line_each() -> None:
    record = played("small-last")
    for meta, players in (
        ({}, ["seat 0", "seat 1"]),
        ({"players": "ab"}, ["seat 0", "seat 1"]),
        ({"players": ["ann", 3]}, ["ann", "seat 1"]),
        ({"players": ["hard", "hard"]}, ["Hard (0)", "Hard (1)"]),
        ({"players": ["a\x1b[2J\n b\u202e", "x" * 500]}, ["a [2J b", "x" * 39 + "…"]),
    ):
        assert replay_json(replace(record, meta=meta))["players"] == players
