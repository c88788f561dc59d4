"""The three-player game: agreement with a second implementation, hidden cards, records."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain_three import DUMMY, PlainThree, shown

from german_whist.engine.cards import CARDS, cards_of
from german_whist.engine.game import Game, IllegalAction
from german_whist.engine.records import RecordError, append_records, write_records
from german_whist.three_player.game import ThreeGame
from german_whist.three_player.observation import (
    THREE_SPEC,
    mask_for_three,
    observation_for_three,
)
from german_whist.three_player.records import ThreeRecord, read_three_records, record_of_three

HANDS = 300
CARDS_TEXT = [str(card) for card in CARDS]
SEEDS = st.integers(0, 2**32)
SEATS = st.sampled_from((0, 1, 2))


def plain_of(game: ThreeGame) -> PlainThree:
    return PlainThree([str(card) for card in game.cards_dealt], game.dealer)


def chosen(game: ThreeGame, style: str, rng: random.Random) -> int:
    legal = game.legal()
    if style == "random":
        return rng.choice(legal)
    return (max if style == "high" else min)(legal, key=lambda card: card % 13)


def played(seed: int, cards: int) -> tuple[ThreeGame, PlainThree]:
    """A game in both implementations after `cards` cards."""
    rng = random.Random(seed)
    styles = [rng.choice(("random", "high", "low")) for _ in range(4)]
    game = ThreeGame(seed)
    plain = plain_of(game)
    for _ in range(cards):
        card = chosen(game, styles[game.turn or 0], rng)
        game.play(card)
        plain.play(CARDS_TEXT[card])
    return game, plain


def texts(cards: int) -> set[str]:
    return {CARDS_TEXT[card] for card in cards_of(cards)}


def check_shown(game: ThreeGame, plain: PlainThree, seat: int) -> None:
    """Compare every group of an observation with the seat's notes."""
    observation = observation_for_three(game.view(seat))
    expected = shown(plain.notes[seat], seat)
    assert [*expected] == [group.name for group in THREE_SPEC.groups]
    for name, value in expected.items():
        if isinstance(value, set):
            value = [int(card in value) for card in CARDS_TEXT]
        assert observation[THREE_SPEC.slice(name)].tolist() == value, name
    legal = plain.legal() if plain.mover() == seat else []
    mask = [int(card in legal) for card in CARDS_TEXT]
    assert mask_for_three(game.view(seat)).tolist() == mask
    view = game.view(seat)
    assert view.over == game.over == (plain.to_play is None)
    assert [str(trick) for trick in view.tricks] == [str(trick) for trick in game.tricks]
    assert view.draws_left == max(0, 8 - len(game.tricks))
    assert [set(map(str, hand)) for hand in game.hands] == [set(hand) for hand in plain.hands]


# -- the second implementation


def test_both_implementations_agree_move_by_move() -> None:
    rng = random.Random(1)
    deciders, winners = set(), set()
    for number in range(HANDS):
        game = ThreeGame(5, number)
        plain = plain_of(game)
        styles = [rng.choice(("random", "random", "high", "low")) for _ in range(4)]
        while not game.over:
            assert (game.turn, game.mover) == (plain.to_play, plain.mover())
            assert [CARDS_TEXT[card] for card in game.legal()] == sorted(
                plain.legal(), key=lambda card: ("CDHS".index(card[1]), CARDS_TEXT.index(card))
            )
            card = chosen(game, styles[game.turn or 0], rng)
            if rng.random() < 0.1:
                check_shown(game, plain, rng.randrange(3))
            game.play(card)
            plain.play(CARDS_TEXT[card])
        check_shown(game, plain, rng.randrange(3))
        assert plain.to_play is None
        assert [*game.counting_tricks] == plain.tricks_taken
        assert [*game.payoffs] == plain.payoffs()
        assert sum(game.payoffs) == 0
        deciders.add(game.declarer)
        winners.add(game.leader)
    assert deciders == {0, 1, 2}
    assert winners == {0, 1, 2, DUMMY}


def test_deals_are_the_same_for_good() -> None:
    assert [ThreeGame(1, number).dealer for number in range(12)] == GOLDEN_DEALERS
    for seed, number in ((0, 0), (2**64 - 1, 7)):  # as for two players, whose deals are golden
        assert ThreeGame(seed, number).cards_dealt == Game("classic", seed, number).cards_dealt
    counts = np.bincount([ThreeGame(3, number).dealer for number in range(3000)], minlength=3)
    assert (abs(counts - 1000) < 130).all()


GOLDEN_DEALERS = [0, 0, 1, 2, 0, 2, 2, 2, 0, 1, 2, 0]

# -- what is hidden


@settings(max_examples=150)
@given(seed=SEEDS, seat=SEATS, cards=st.integers(0, 51))
def test_deals_that_look_the_same_give_equal_views(seed: int, seat: int, cards: int) -> None:
    game, plain = played(seed, cards)
    unseen = [CARDS_TEXT.index(card) for card in sorted(shown(plain.notes[seat], seat)["unseen"])]
    assume(len(unseen) > 1)
    one, other = random.Random(seed).sample(unseen, 2)
    exchange = {one: other, other: one}
    determinization = ThreeGame()
    determinization.deal_cards(
        [exchange.get(int(card), int(card)) for card in game.cards_dealt], game.dealer
    )
    for card in game.actions:
        try:
            determinization.play(card)
        except IllegalAction:
            assume(False)
    assert game.view(seat) == determinization.view(seat)
    assert repr(game.view(seat)) == repr(determinization.view(seat))
    for made in (observation_for_three, mask_for_three):
        assert made(game.view(seat)).tobytes() == made(determinization.view(seat)).tobytes()


# -- mistakes


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (52, "actions run from 0 to 51"),
        (-1, "actions run from 0 to 51"),
        (True, "True is a bool: an action is a card id"),
        (1.5, "1.5 is a float"),
        ("XX", "'XX' is not a card"),
    ],
)
def test_unplayable_action_gets_a_sentence(action: Any, message: str) -> None:
    game = ThreeGame(1)
    before = game.view()
    with pytest.raises(ValueError, match=message):
        game.play(action)
    assert game.view() == before


def test_a_card_that_is_not_there_gets_a_sentence() -> None:
    game = ThreeGame(1)
    elsewhere = game.hands[((game.turn or 0) + 1) % 3][0]
    with pytest.raises(IllegalAction, match=f"{elsewhere} is not in the hand of seat {game.turn},"):
        game.play(elsewhere)
    game, _ = played(1, 24)
    while game.turn != DUMMY:
        game.play(game.legal()[0])
    with pytest.raises(IllegalAction, match="is not in the hand of the dummy, which holds"):
        game.play(game.cards_dealt[0])
    game, _ = played(1, 52)
    assert "over" in repr(game)
    with pytest.raises(IllegalAction, match="AS cannot be played: the hand is over"):
        game.play("AS")
    with pytest.raises(IllegalAction, match="the hand is over, so no seat is to move"):
        game.view()
    for seat in (3, True, 1.0):
        with pytest.raises(ValueError, match=f"seat is {seat}: it has to be 0, 1 or 2"):
            game.view(seat)
    with pytest.raises(ValueError, match="dealer is 3"):
        game.deal_cards(game.cards_dealt, 3)
    with pytest.raises(ValueError, match="AS is dealt twice"):
        game.deal_cards("AS AS", 0)


# -- records


def test_records_are_written_read_and_replayed(tmp_path) -> None:
    games = [played(seed, 52)[0] for seed in range(20)]
    dealt = ThreeGame(1)
    dealt.deal_cards(games[0].cards_dealt, (games[0].dealer + 1) % 3)
    given_deal = ThreeGame()
    given_deal.deal_cards(CARDS, 2)
    for game in (dealt, given_deal):
        while not game.over:
            game.play(game.legal()[-1])
    games += [dealt, given_deal]
    records = [record_of_three(game, {"players": ["a", "♠"]}) for game in games]
    path = tmp_path / "three.jsonl"
    write_records(path, records[:5])
    append_records(path, records[5:])
    with path.open("a", encoding="utf-8") as file:
        file.write('\n{"record": 1}\n')
    read, problems = read_three_records(path)
    assert read == records
    assert [str(problem) for problem in problems] == [f"{path}, line 24: the record: has no 'game'"]
    for game, record in zip(games, read, strict=True):
        again = record.replay()
        assert (again.actions, again.payoffs, again.dealer) == (
            game.actions,
            game.payoffs,
            game.dealer,
        )
    assert records[3].seed == 3
    assert records[-1].deal.startswith("2C 3C")
    assert records[-1].seed is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"record": 2}, "record is 2: it has to be one of 1"),
        ({"game": "two"}, "game is 'two': it has to be one of three"),
        ({"dealer": 3}, "dealer is 3: it has to be one of 0, 1, 2"),
        ({"dealer": 1}, "trick 1 is recorded as|is not in the hand|the result is recorded"),
        ({"seed": None}, "needs either seed"),
        ({"seed": -1}, "seed is -1"),
        ({"deal": "AS"}, "needs either seed"),
        ({"seed": None, "deal": "AS", "number": 3}, "number is 3 beside a deal: .* leave it out"),
        ({"tricks": []}, "the hand is not over after 0 cards"),
        ({"tricks": ["0: "]}, "trick 1 is recorded as 0: , but was played as no trick"),
        ({"tricks": ["0: XX"]}, "'XX' is not a card"),
        ({"tricks": [3]}, r"tricks\[0\] is 3: it has to be a text"),
        ({"result": {"tricks": [7, 0, 0, 0], "pays": [14, -7, -7]}}, "but the cards give tricks"),
        ({"result": {"tricks": [7, 0, 0, 0]}}, "result: has no 'pays'"),
        ({"sede": 1}, "'sede' is not known here; did you mean 'seed'"),
    ],
)
def test_impossible_record_gets_a_sentence(changes: dict[str, Any], message: str) -> None:
    game, _ = played(4, 52)
    fields = json.loads(record_of_three(game).to_line())
    assert ThreeRecord.from_line(json.dumps(fields)).replay().payoffs == game.payoffs
    with pytest.raises(RecordError, match=message):
        ThreeRecord.from_line(json.dumps({**fields, **changes}))


def test_record_with_other_tricks_is_refused() -> None:
    fields = json.loads(record_of_three(played(4, 52)[0]).to_line())
    first = fields["tricks"][0]
    fields["tricks"][0] = f"{(int(first[0]) + 1) % 3}{first[1:]}"
    with pytest.raises(RecordError, match=f"trick 1 is recorded as .* was played as {first}"):
        ThreeRecord.from_line(json.dumps(fields))
    with pytest.raises(RecordError, match="is not a line of JSON"):
        ThreeRecord.from_line("{")
    with pytest.raises(RecordError, match="the hand is not over"):
        record_of_three(ThreeGame(4))


def test_arguments_of_a_wrong_type_are_refused_in_a_sentence() -> None:
    nothing: Any = None
    with pytest.raises((ValueError, TypeError), match="None is no game: give a ThreeGame"):
        record_of_three(nothing)
    with pytest.raises((ValueError, TypeError), match="the path is None, a NoneType"):
        read_three_records(nothing)
