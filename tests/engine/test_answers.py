"""Positions as text hold what a view holds, and answers in words name one action or none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from german_whist import Game, IllegalAction, View
from german_whist.engine.cards import CARDS, KEEP, RANK_NAMES, SUIT_NAMES, TAKE_BLIND, TAKE_HIDDEN
from german_whist.engine.rules import Rules
from german_whist.engine.text.answers import parse_answer
from german_whist.engine.text.position import (
    CHARACTERS,
    MAX_CHARACTERS,
    observation_text,
    position_text,
    prompt,
    rules_text,
)
from support import EVERY_SET, engine_rules, with_other_hidden_cards

# -- positions


def positions(rules: Any, seed: int, keep: float = 0.2, **options: Any) -> Iterator[Game]:
    chance, game = random.Random(seed), Game(rules, seed, **options)
    while not game.over:
        if chance.random() < keep:
            yield game
        game.play(chance.choice(game.legal()))
    yield game


@pytest.mark.parametrize("name", EVERY_SET)
def test_texts_fit_their_space_and_hide_what_views_hide(name: str) -> None:
    import numpy as np

    chance, rules = np.random.default_rng(1), engine_rules(name)
    for game in positions(rules, 3):
        for seat in (0, 1):
            view = game.view(seat)
            text = prompt(view)
            assert len(text) <= MAX_CHARACTERS
            assert set(text) <= CHARACTERS
            assert text.startswith(rules_text(rules))
            other = with_other_hidden_cards(game, seat, chance).view(seat)
            assert (prompt(other), observation_text(other)) == (text, observation_text(view))
            for card in view.hand:
                assert "AKQJT98765432"["AKQJT98765432".index(str(card)[0])] in text


TINY: dict[str, dict[str, Any]] = {
    "one hidden": {"suits": 2, "ranks": 3, "hand": 1, "stock": 4, "trumps": "none"},
    "blind": {"suits": 1, "ranks": 6, "hand": 1, "stock": 4, "trumps": "none", "faced": "never"},
    "a draft": {"suits": 3, "ranks": 2, "hand": 1, "stock": 4, "choice": True},
    "two to choose": {"suits": 3, "ranks": 2, "hand": 1, "stock": 4, "face_up": 2, "choice": True},
    "an exchange": {"suits": 2, "ranks": 4, "hand": 2, "exchange": True},
    "two each": {"suits": 1, "ranks": 6, "hand": 2, "stock": 2},
}


@pytest.mark.parametrize("name", TINY)
def test_texts_are_equal_exactly_for_equal_views(name: str) -> None:
    rules = Rules(name=name, **TINY[name])
    by_view: dict[View, str] = {}
    by_text: dict[str, View] = {}
    for seed in range(150):
        for game in positions(rules, seed, keep=1):
            for seat in (0, 1):
                view = game.view(seat)
                text = position_text(view)
                assert by_view.setdefault(view, text) == text
                assert by_text.setdefault(text, view) == view
    assert len(by_view) > 50


def test_text_of_a_match_holds_its_score() -> None:
    game = Game("small-last", 1, match=10)
    while not game.over:
        game.play(game.legal()[0])
    game.deal_next()
    assert "Match: " in position_text(game.view(0))
    assert position_text(game.view(0)) != position_text(Game("small-last", 1).view(0))
    assert rules_text(game.rules) not in observation_text(game.view(0))


def test_rules_stand_before_the_first_action_alone() -> None:
    game = Game("classic", 1)
    seat = game.turn or 0
    assert observation_text(game.view()) == prompt(game.view())
    game.play(game.legal()[0])
    assert observation_text(game.view(seat)) == position_text(game.view(seat))
    assert observation_text(game.view(1 - seat)) == prompt(game.view(1 - seat))


# -- answers

TEMPLATES = (
    "{name}",
    "{code}",
    "[{code}]",
    "{symbol}",
    "I lead the {code}.",
    "I play the {name}.",
    "The {name}!",
    "My card is the {NAME}, since it is cheap.",
    "**{name}**",
    "Answer: {code}",
    "Final answer: the {name}.",
    '{{"card": "{code}"}}',
    "<answer>{symbol}</answer>",
    "$\\boxed{{{code}}}$",
    "`{code}`",
    "{lower}",
    "[{lower}]",
    "I'll go with {symbol} here",
    "Let me think.\nThe upcard is poor.\n\n{name}",
    "Play {name}; hold the others.",
    "{word_symbol}",
    "- {code}\n",
    "I cannot win this trick so I throw away the {name}",
    "I would rather not lead the {other_name}, so [{code}]",
    "Not the {other}, but the {code}.",
    "I keep the {other_name} and play the {name}.",
    "Either {other} or {code}. Answer: {code}",
    "{title_name}.",
    "I choose {hyphens}",
    "play: {code}",
)
# What people and models write besides: the answer and the card, or None where it names none.
ODD_ANSWERS: list[tuple[str, str | None]] = [
    ("as", "AS"),
    ("the AS", "AS"),
    ("Ace of Spades please, as it wins", "AS"),
    ("♠A", "AS"),
    ("A♠️", "AS"),
    ("A ♠ was led, I follow with 2♠", "2S"),
    ("spade ace", "AS"),
    ("k of hearts", "KH"),
    ("KING   OF\tHEARTS", "KH"),
    ("I PLAY THE KING OF HEARTS AS IT IS HIGH", "KH"),
    ("deuce of spades", "2S"),
    ("２Ｓ", "2S"),
    ("10 of diamonds", "TD"),
    ("10 ♦", "TD"),
    ("10d", "TD"),
    ("I play 10d", "TD"),
    ("ten♢", "TD"),
    ("knave of clubs", "JC"),
    ("Jc", "JC"),
    ("jack clubs", "JC"),
    ("[TD] [TD] [TD]", "TD"),
    ("TD\nTD", "TD"),
    ("The opponent holds the QC. I play JC.", "JC"),
    ("If they have the KH I lose, but TD is safe.", "TD"),
    ("I don't want to part with the AS, so JC", "JC"),
    ("Thought: AS, KH, TD are all legal.\nAction: 2S", "2S"),
    ("Action: [2S]", "2S"),
    ("answer = JC", "JC"),
    ("I'd play JC instead of TD.", "JC"),
    ("I have 3 diamonds and 2 spades, hm: the jack of clubs", "JC"),
    ("", None),
    ("   ", None),
    ("I pass", None),
    ("a spade", None),
    ("the highest heart", None),
    ("I hold three clubs and two spades", None),
    ("as you like it", None),
    ("Ad hoc, ah well", None),
    ("7", None),
    ("card 12", None),
    ("AS or KH", None),
    ("AS, KH", None),
    ("[AS] or [KH]", None),
    ("I keep the AS", None),
    ("not the KH", None),
    ("1S", None),
    ("11 of hearts", None),
    ("KHAS", None),
    ("2SS", None),
    ("https://example.org/AS", "AS"),
]
HAND = ["AS", "2S", "KH", "TD", "JC"]


def lead_of(cards: list[str]) -> View:
    """The view of a player who leads from these cards."""
    rules = Rules(name="five", suits=4, ranks=13, hand=5, stock=10)
    rest = [str(card) for card in CARDS if str(card) not in cards]
    dealt = [card for pair in zip(cards, rest[:5], strict=True) for card in pair] + rest[5:15]
    game = Game(rules)
    game.deal_cards(dealt, 1)
    return game.view()


def spellings(card: Any, other: Any) -> dict[str, str]:
    rank, suit = RANK_NAMES[card.rank], SUIT_NAMES[card.suit]
    return {
        "name": card.name,
        "NAME": card.name.upper(),
        "title_name": card.name.title(),
        "hyphens": card.name.replace(" ", "-"),
        "code": str(card),
        "lower": str(card).lower(),
        "symbol": card.symbol,
        "word_symbol": f"{rank} of {card.symbol[-1]}",
        "other": str(other),
        "other_name": other.name,
        "suit": suit,
    }


def test_five_hundred_paraphrased_answers_name_their_card() -> None:
    chance, read, asked = random.Random(5), 0, 0
    for number in range(450):
        game = next(positions("classic", number, keep=0.1))
        if game.over:
            game = Game("classic", number)
        view = game.view()
        legal = [CARDS[action] for action in view.legal()]
        card = chance.choice(legal)
        other = chance.choice([each for each in view.hand if each != card] or [CARDS[0]])
        answer = TEMPLATES[number % len(TEMPLATES)].format(**spellings(card, other))
        asked += 1
        try:
            assert parse_answer(answer, view) == card, answer
            read += 1
        except IllegalAction:
            pass
    view = lead_of(HAND)
    for answer, expected in ODD_ANSWERS:
        asked += 1
        try:
            assert str(CARDS[parse_answer(answer, view)]) == expected, answer
            read += 1
        except IllegalAction:
            assert expected is None, answer
            read += 1
    assert asked == 500
    assert read == 500


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("the duck", "'the duck' names no card to play; legal now: JC, TD, KH, 2S, AS"),
        ("QC", "QC is not in your hand; legal now: JC"),
        ("AS or KH", "the answer names AS and KH: name one card alone, or put it in brackets"),
        ("I can't decide between AS and KH", "names no card to play"),
        ("Any card except AS", "names no card to play"),
        ("Everything other than the AS", "names no card to play"),
        ("All but AS", "names no card to play"),
        ("Anything but the ace of spades!", "names no card to play"),
        ("I refuse to play AS", "names no card to play"),
        ("x" * 10_000, "x…"),
    ],
)
def test_refused_answers_get_a_sentence(answer: str, why: str) -> None:
    with pytest.raises(IllegalAction) as refused:
        parse_answer(answer, lead_of(HAND))
    assert why in str(refused.value)
    assert len(str(refused.value)) < 300


def test_card_that_does_not_follow_suit_is_refused() -> None:
    game = Game("classic", seed=2)
    led = game.legal()[0]
    game.play(led)
    others = [card for card in game.view().hand if card not in game.legal()]
    with pytest.raises(IllegalAction, match=f"does not follow suit, as {CARDS[led]} was led"):
        parse_answer(str(others[0]), game.view())


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("I keep my hand", KEEP),
        ("keep", KEEP),
        ("I take the blind hand", TAKE_BLIND),
        ("Exchange!", TAKE_BLIND),
        ("I would not exchange", None),
        ("I would not keep it", None),
        ("keep or exchange?", None),
    ],
)
def test_exchange_is_answered_in_words(answer: str, action: int | None) -> None:
    view = Game("humbug", seed=1).view()
    if action is None:
        with pytest.raises(IllegalAction, match="legal now: keep the hand, take the blind hand"):
            parse_answer(answer, view)
    else:
        assert parse_answer(answer, view) == action


def test_choice_of_stock_cards_is_answered_in_words() -> None:
    game = Game("draft", seed=1)
    while game.phase != "choose":
        game.play(game.legal()[0])
    view = game.view()
    assert parse_answer("the hidden card", view) == TAKE_HIDDEN
    assert parse_answer(f"I take the {view.upcards[0].name}", view) == view.upcards[0]
    with pytest.raises(IllegalAction, match="names no card to play"):
        parse_answer("hmm", view)
