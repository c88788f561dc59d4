"""Positions as text hold what a view holds, and answers name one action by their format or none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from german_whist import Game, IllegalAction, View
from german_whist.engine.cards import CARDS, KEEP, TAKE_BLIND, TAKE_HIDDEN, Card
from german_whist.engine.rules import Rules, load_rules
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

PLAIN = (
    "[{a}]",
    "**[{a}]**",
    "`[{a}]`",
    "[**{a}**]",
    "我出【{a}】",
    "I lead [{a}].",
    "Final answer: [{a}]!",
    "They hold {b}, so I follow with a cheap card.\n\n[{a}]",
    "Either card wins. [{a}] is cheaper: [{a}]",
    "<think>First I thought of [{b}], then of {b}.</think>\n\n[{a}]",
    "The legal actions are [{a}, {b}]. I choose [{a}]",
    "Ich spiele nicht {b}, sondern [{a}].",
    "我不出{b}，出[{a}]",
    '{{"card": "{a}"}}',
    '{{"reason": "[{b}] is dear", "card": "{a}"}}',
    '{{"card": "{a}", "alternatives": ["{b}"]}}',
    '```json\n{{"card": "{a}"}}\n```',
    '<think>{{"card": "{b}"}}</think>{{"card": "{a}"}}',
    "{a}",
    " {a}.\n",
    "**{a}**",
    "```\n{a}\n```",
    "<think>{b}</think>{a}",
    "<reasoning>[{a}] wins.</reasoning><answer>[{a}]",
)

# Nothing is to be played of these, apart from what stands after the arrow: `a` may be read then.
ADVERSARIAL = """
{b} ([{a}] was second)
[{a}] was second to {b}
[{a}] or [{b}]
[{b}], no, [{a}]
I hold [{b}]. I play [{a}] -> a
The plan: [{a}] now, [{b}] later.
[{a}] [{b}] [{a}]
[{a}, {b}]
[{a}/{b}]
[{a} or {b}]
[not {a}]
[{a}?]
[{a}]?
[play {a}]
[[{a}]]
[{a}] and 3]
［{a}］か[{b}]
【{a}】还是[{b}]
[{a}
{a}]
([{a}])
[{a}] (but only if they lead low)
[{a}] would be a mistake
Should I play {a}?
Should I play [{a}]?
Don't play: {a}
I dont play {a}
The {a} should not be led.
Skip {a}
Never {a}!
!{a}
~~{a}~~
~~[{a}]~~
-{a}
not {a}
{a}?
{a}, then {b}
{a} {b}
{a}{b}
{a}\\n{b}
either {a} or {b}
Answer: {a}\\nNext play: {b} -> a
My first answer: {b}. My second answer: {a} -> a
I keep {b} and play {a} -> a
I refuse
<think>My first answer: [{a}]</think>
<think>[{a}]
<think>[{a}]</think><think>[{b}]
[{a}]</think>
[{a}]</think>I would rather not say.
Hmm. <think>What about [{a}]
<thinking>What about [{a}]
<Reasoning effort="low">[{b}]?</Reasoning><THINK>What about [{a}]
<think>My first answer: {b}</think>**{a}** -> a
<think>Not [{a}]!</think>[{b}]? <think>no</think>
{{"card": "{a}", "card": "{b}"}}
{{"card": ["{a}"]}}
{{"card": ["{a}", "{b}"]}}
{{"card": {{"card": "{a}"}}}}
{{"card": null, "alternatives": ["{a}"]}}
{{"card": "not {a}"}}
{{"card": "{a} or {b}"}}
{{"card": 3, "why": "{a}"}}
{{"cards": "{a}"}}
{{"rejected": {{"card": "{a}"}}}}
{{"move": {{"card": "{a}"}}}} -> a
[{{"card": "{a}"}}, {{"card": "{b}"}}]
["{a}", "{b}"]
["{a}"]
{{"card": "{a}"}} {{"card": "{b}"}}
{{"card": "{a}"}}\\n{{"card": "{b}"}}
{{"card": "{b}", "alternatives": [{a}] -> b
{{"card": "{b}"}} instead of [{a}] -> b
```json\\n{{"card": "{b}"}}\\n```\\nrejected: [{a}] -> b
{{"card": "{a}"}} would be wrong
No: {{"card": "{a}"}}
{{"card": "{a}"
{{'card': '{a}', 'alternatives': ['{b}']}} -> a
{{"card": "{a}", "alternatives": ["{b}"] -> a
{{"card": "{b}", "legal": [{a}]}} -> b
"card": "{a}", "alternatives": ["{b}"] -> a
card: {a}
alternatives: ["{a}"]
```json\\n{{"card": "{a}"}}\\n```\\n```json\\n{{"card": "{b}"}}\\n```
| card | verdict |\\n|---|---|\\n| {a} | bad |\\n| {b} | worse |
- [ ] {a}\\n- [ ] {b}
- [ ] {a}\\n- [x] {b} -> b
[{a}](https://example.org/{b})
![{a}](card.png)
1. {a}\\n2. {b}
# {a}\\n\\nis what I would avoid
> [{a}]\\n\\nNo.
[{a}][1]
[{a}]: {b}
$\\\\boxed{{{a}}}$ -> a
\\\\[{a}\\\\]
<answer>{a}</answer> -> a
<rejected>[{a}]</rejected>
<del>[{a}]</del>
<!-- [{a}] -->
print("[{a}]")
assert play != "[{a}]" # obviously
hand[{a}] = 0
hand.remove([{a}])
It is said: "end with [{a}]", and I will not.
You wrote "as in [{a}]" in the prompt. I pass.
[{a}] is illegal, is it not?
[1]
[0]
[ ]
[]
Ah!
as
"""

# Denied, asked, two named, one kept: none of these is read, whatever the language is.
LANGUAGES = {
    "German": "Ich spiele nicht {a}|Soll ich [{a}] spielen?|[{a}] oder [{b}]|[{a}] behalte ich",
    "French": "Je ne joue pas {a}|Dois-je jouer [{a}] ?|[{a}] ou [{b}]|[{a}], surtout pas",
    "Spanish": "No juego {a}|¿Debo jugar [{a}]?|[{a}] o [{b}]|[{a}] me lo guardo",
    "Italian": "Non gioco {a}|Devo giocare [{a}]?|[{a}] o [{b}]|[{a}] lo tengo",
    "Portuguese": "Não jogo {a}|Devo jogar [{a}]?|[{a}] ou [{b}]|[{a}] fica na mão",
    "Dutch": "Ik speel {a} niet|Moet ik [{a}] spelen?|[{a}] of [{b}]|[{a}] houd ik",
    "Swedish": "Jag spelar inte {a}|Ska jag spela [{a}]?|[{a}] eller [{b}]|[{a}] behåller jag",
    "Polish": "Nie zagram {a}|Czy zagrać [{a}]?|[{a}] albo [{b}]|[{a}] zostaje u mnie",
    "Turkish": "{a} oynamam|[{a}] oynasam mı?|[{a}] ya da [{b}]|[{a}] bende kalsın",
    "Russian": "Я не хожу {a}|Ходить ли [{a}]?|[{a}] или [{b}]|[{a}] оставлю себе",
    "Chinese": "我不出{a}|要出[{a}]吗？|[{a}]还是[{b}]|[{a}]我留着",
    "Japanese": "{a}は出さない|[{a}]を出すべきか？|[{a}]か[{b}]|[{a}]は残しておく",
}

CHOICES_NOT_MADE = """
Exchange? No.
I would not exchange
I would not keep it
keep or exchange?
I keep my hand
{a} or {b}
[{a}] or [{b}]
not {a}
{a}? Never.
[{a}] is what they expect
<think>[{a}]
{{"choice": "{a}"}}
{{"card": "{a}", "card": "{b}"}}
{{"card": "{a} or {b}"}}
hidden treasures
blind as a bat
stand
swap
"""


def cases(lines: str) -> list[tuple[str, str]]:
    """Template and `a`, `b` or nothing: what the answer is meant to play."""
    pairs = [line.partition(" -> ")[::2] for line in lines.strip().splitlines()]
    return [(template.replace("\\n", "\n"), meant) for template, meant in pairs]


def spellings(action: Any) -> list[str]:
    if not isinstance(action, Card):
        return {
            KEEP: ["keep", "keep the hand", "KEEP"],
            TAKE_BLIND: ["blind", "take the blind hand", "Blind"],
            TAKE_HIDDEN: ["hidden", "the hidden card", "Hidden"],
        }[action]
    code, symbol = str(action), action.symbol
    wide = chr(ord(code[0]) + 0xFEE0) + chr(ord(code[1]) + 0xFEE0)
    texts = [code, symbol, f"{code[0]}{symbol[-1]}", f"{symbol}\ufe0f", wide, action.name]
    return [*texts, action.name.title(), action.name.upper()]


def decisions(rules: str, seed: int) -> Iterator[View]:
    """Views with two legal actions or more."""
    while True:
        for game in positions(rules, seed, keep=0.3):
            if not game.over and len(game.legal()) > 1:
                yield game.view()
        seed += 1


def action_read(answer: str, view: View) -> int | None:
    try:
        return parse_answer(answer, view)
    except IllegalAction:
        return None


def answers(
    templates: list[tuple[str, str]], views: Iterator[View], count: int
) -> Iterator[tuple[str, View, int | None]]:
    """Answers of templates in turn, with the action that each is meant to play."""
    chance = random.Random(7)
    for number in range(count):
        template, meant = templates[number % len(templates)]
        view = next(views)
        named = dict(zip("ab", chance.sample(view.legal(), 2), strict=True))
        form = chance.randrange(8)
        texts = {name: (listed := spellings(a))[form % len(listed)] for name, a in named.items()}
        yield template.format(**texts), view, named.get(meant)


def exchanges() -> Iterator[View]:
    seed = 0
    while True:
        yield Game("humbug", seed := seed + 1).view()


def stock_choices() -> Iterator[View]:
    return (view for view in decisions("draft", 1) if view.phase == "choose")


def test_five_thousand_adversarial_answers_misread_none() -> None:
    denied = [(text, "") for line in LANGUAGES.values() for text in line.split("|")]
    asked = [
        *answers(cases(ADVERSARIAL), decisions("classic", 1), 2800),
        *answers(denied, decisions("all-tricks", 2), 1200),
        *answers(cases(CHOICES_NOT_MADE), exchanges(), 500),
        *answers(cases(CHOICES_NOT_MADE), stock_choices(), 500),
    ]
    assert len({answer for answer, _, _ in asked}) > 3000
    misread = [
        (answer, view.legal(), action)
        for answer, view, meant in asked
        if (action := action_read(answer, view)) not in (None, meant)
    ]
    assert len(asked) == 5000
    assert not misread


@pytest.mark.parametrize(
    "views",
    [
        lambda: decisions("classic", 3),
        lambda: decisions("small-last", 4),
        lambda: exchanges(),
        lambda: stock_choices(),
    ],
    ids=["classic", "small-last", "humbug", "draft"],
)
def test_answers_in_the_format_are_all_read(views: Any) -> None:
    templates = [(template, "a") for template in PLAIN]
    for answer, view, meant in answers(templates, views(), 500):
        assert parse_answer(answer, view) == meant, answer


HAND = ["AS", "2S", "KH", "TD", "JC"]


def lead_of(cards: list[str]) -> View:
    """The view of a player who leads from these cards."""
    rules = Rules(name="five", suits=4, ranks=13, hand=5, stock=10)
    rest = [str(card) for card in CARDS if str(card) not in cards]
    dealt = [card for pair in zip(cards, rest[:5], strict=True) for card in pair] + rest[5:15]
    game = Game(rules)
    game.deal_cards(dealt, 1)
    return game.view()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("the duck", "'the duck' names no action: end your answer with one legal action in square"),
        (
            "I play AS",
            'as in [10♦], or answer with JSON alone, as in {"card": "10♦"}; legal now: J',
        ),
        ("[AS] or [KH]", "'[AS] or [KH]' names AS and KH: end your answer with one legal action"),
        ("[QC]", "QC is not among your legal actions; legal now: JC, TD, KH, 2S, AS"),
        ("keep", "keep the hand is not among your legal actions; legal now: JC"),
        ("x" * 100_000, "x…"),
        ("[" * 100_000, "names no action"),
        ("[" + "\u0301\u0316" * 50_000 + "]", "names no action"),
        ('{"card": ' * 100_000, "names no action"),
        ("\udc80", "names no action"),
    ],
    ids=range(10),
)
def test_refused_answers_get_a_sentence(answer: str, why: str) -> None:
    with pytest.raises(IllegalAction) as refused:
        parse_answer(answer, lead_of(HAND))
    assert why in str(refused.value)
    assert len(str(refused.value)) < 500


def test_card_that_does_not_follow_suit_is_refused() -> None:
    game = Game("classic", seed=2)
    led = game.legal()[0]
    game.play(led)
    others = [card for card in game.view().hand if card not in game.legal()]
    with pytest.raises(IllegalAction, match=f"does not follow suit, as {CARDS[led]} was led"):
        parse_answer(f"[{others[0]}]", game.view())


def test_rules_text_takes_names_and_refuses_other_types() -> None:
    assert rules_text("classic") == rules_text(load_rules("classic"))
    with pytest.raises(ValueError, match="None is of type NoneType: rules are given as a name"):
        rules_text(None)
