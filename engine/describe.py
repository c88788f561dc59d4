# pyright: strict
"""Description of a rule set in English, from a table of sentences.

`chapters` follows the order of play, `describe` formats it as plain text, and `as_yaml` writes the
parameters as a template for a custom rule set.
"""

from __future__ import annotations

import json
import textwrap
from typing import NamedTuple

from .cards import RANK_NAMES, SUIT_NAMES
from .rules import Rules

_WIDTH = 88


class Chapter(NamedTuple):
    """Title and paragraphs of one part of the description."""

    title: str
    paragraphs: list[str]


_Sentence = dict[str, str]
"""Texts by their conditions: the first text counts of which all conditions are facts."""

_PLAY: list[_Sentence] = [
    {
        "": "The non-dealer leads to the first trick, any card. The other player must follow suit "
        "if able, and may play anything if not."
    },
    {
        "trumps": "The higher card of the suit that was led takes the trick, unless the second "
        "card is a trump on another suit, which takes it.",
        "": "The higher card of the suit that was led takes the trick.",
    },
    {"": "The winner leads to the next trick."},
]

_CHAPTERS: list[tuple[str, str, list[list[_Sentence]]]] = [
    (
        "",
        "Cards and deal",
        [
            [
                {
                    "": "Two players, {deck}, ace high. The first dealer is drawn at random, and "
                    "the deal alternates from hand to hand."
                }
            ],
            [
                {
                    "exchange": "Cards go out one at a time to four hands of {hand}, in turn: a "
                    "first blind hand, the non-dealer's, a second blind hand, the dealer's.",
                    "": "Cards go out one at a time, the non-dealer's first, until both players "
                    "hold {hand}.",
                },
                {"stock": "The next {stock} are the stock and lie face down."},
                {
                    "one left over": "{left_over} is left over and set aside, unseen by both.",
                    "left over": "{left_over} are left over and set aside, unseen by both.",
                },
                {
                    "exchange, every, trumps": "The last card, the dealer's, is turned up for both "
                    "to see, and its suit is trumps for the whole hand.",
                    "exchange, every": "The last card, the dealer's, is turned up for both to see, "
                    "and makes no trumps: there are none.",
                    "trumps, two faced": "The top two cards of the stock are turned up, and the "
                    "suit of the upper one is trumps for the whole hand.",
                    "trumps": "The top card of the stock is turned up, and its suit is trumps for "
                    "the whole hand.",
                    "": "There are no trumps.",
                },
            ],
        ],
    ),
    (
        "exchange",
        "The exchange",
        [
            [
                {
                    "": "First the non-dealer, then the dealer, keeps the hand dealt, or lays it "
                    "away unseen and takes a blind hand: the non-dealer the first, the dealer the "
                    "second. Both see whether the other exchanged, and no card of it."
                }
            ],
            [
                {
                    "every": "If the dealer keeps, both know that the turned card is there; if the "
                    "dealer exchanges, both know that it is out of play."
                }
            ],
            [
                {
                    "": "{set_aside} stay out of play, and neither player ever sees them all, so "
                    "that even a player who remembers everything cannot be sure of the other's "
                    "hand."
                }
            ],
        ],
    ),
    (
        "stock",
        "Stage one: {foreplay_tricks} for the stock",
        [
            _PLAY,
            [
                {
                    "never": "After each trick both players draw from the stock, which stays face "
                    "down throughout: the winner takes the top card and the loser the next, each "
                    "unseen by the other.",
                    "after-first": "At the first trick the whole stock lies face down: the winner "
                    "takes the top card and the loser the next, each unseen by the other.",
                }
            ],
            [
                {
                    "never": "",
                    "after-first": "From the second trick on,",
                    "": "At each trick,",
                },
                {
                    "never": "",
                    "two faced, choice": "the top two cards of the stock lie face up. The winner "
                    "of the trick chooses one of them and the loser takes the other, both openly.",
                    "two faced": "the top two cards of the stock lie face up. The winner of the "
                    "trick takes the upper one and the loser the other, both openly.",
                    "choice": "the top card of the stock lies face up. The winner of the trick "
                    "chooses: the upcard, or the hidden one below it. The loser takes the other. "
                    "Both see which of the two was taken, but only its owner sees the hidden card.",
                    "": "the top card of the stock lies face up. The winner of the trick takes it "
                    "into hand, openly, and the loser takes the next card without showing it.",
                },
            ],
        ],
    ),
    (
        "stock",
        "Stage two: the last {hand_tricks}",
        [
            [
                {
                    "unreached": "It is never reached: the race ends before the stock is gone.",
                    "": "When the stock is gone, the winner of the last trick leads, and the hands "
                    "are played out by the same rules, with nothing more to draw.",
                }
            ],
            [
                {
                    "unreached": "",
                    "open": "A player who remembers every card that was played and taken knows the "
                    "other's hand.",
                    "": "The {set_aside} set aside stay unseen, so that even a player who "
                    "remembers everything cannot be sure of the other's hand.",
                }
            ],
        ],
    ),
    ("no stock", "Play: {hand_tricks}", [_PLAY]),
    (
        "",
        "Scoring",
        [
            [
                {
                    "all count": "All {counting_tricks} count.",
                    "": "Only the {counting_tricks} of stage two count; stage one decides who goes "
                    "into it with which cards.",
                }
            ],
            [
                {"race": "The hand is a race: it ends when a player has taken {race_tricks},"},
                {
                    "race, high": "and that player wins.",
                    "race, low": "and that player loses.",
                    "race": "and that player wins if the {first_turned} was red (play high), and "
                    "loses if it was black (play low).",
                    "high": "Play high: the player with more counting tricks wins the hand.",
                    "low": "Play low: the player with fewer counting tricks wins the hand.",
                    "": "The colour of the {first_turned} decides. Red (diamonds or hearts): play "
                    "high, the player with more counting tricks wins the hand. Black (clubs or "
                    "spades): play low, the player with fewer counting tricks wins the hand.",
                },
                {
                    "drawn race": "If no player gets there, the hand is drawn and pays nothing.",
                },
            ],
            [
                {
                    "win": "Winning pays 1, for {closest} as for {clearest}.",
                    "margin": "The winner is paid the difference between the two numbers of "
                    "counting tricks: {examples}.",
                    "slam, high": "The winner is paid 1 for each counting trick above {book}, but "
                    "{slam_pay} for a slam, which is taking all of them: {examples}.",
                    "slam": "The winner is paid 1 for each counting trick above {book} of the "
                    "player with more, but {slam_pay} for a slam, which is taking all of them: "
                    "{examples}.",
                    "high": "The winner is paid 1 for each counting trick above {book}: "
                    "{examples}.",
                    "": "The winner is paid 1 for each counting trick above {book} of the player "
                    "with more: {examples}.",
                },
                {
                    "win": "",
                    "race": "",
                    "low": "The {middle} go to the player with {middle_least}.",
                    "colour": "When playing low, the {middle} go to the player with "
                    "{middle_least}.",
                },
            ],
            [{"tie": "{half}–{half} is a tie, which pays nothing."}],
            [
                {
                    "exchange": "In a match, the winner of a hand adds what it pays to a total: to "
                    "a target, 5 points as a rule, or 10, or as the best of 3 or 5 hands.",
                    "": "In a match, the winner of a hand adds what it pays to a total: to a "
                    "target, such as 10, 25 or 50 points, or as the best of 3 or 5 hands.",
                }
            ],
        ],
    ),
]


def describe(rules: Rules) -> str:
    """Description of a rule set as plain text."""
    parts = [textwrap.fill(f"{rules.name}: {rules.about}" if rules.about else rules.name, _WIDTH)]
    for chapter in chapters(rules):
        paragraphs = [textwrap.fill(text, _WIDTH - 2) for text in chapter.paragraphs]
        text = textwrap.indent("\n".join(paragraphs), "  ")
        parts.append(f"{chapter.title}\n{text}")
    return "\n\n".join(parts)


def chapters(rules: Rules) -> list[Chapter]:
    """Description of a rule set in chapters, in the order of play."""
    facts, values = _facts(rules), _values(rules)

    def holds(conditions: str) -> bool:
        return not conditions or facts.issuperset(conditions.split(", "))

    def text_of(paragraph: list[_Sentence]) -> str:
        chosen = [
            next((text for conditions, text in sentence.items() if holds(conditions)), "")
            for sentence in paragraph
        ]
        return " ".join(text for text in chosen if text).format(**values)

    return [
        Chapter(title.format(**values), [text for text in map(text_of, paragraphs) if text])
        for conditions, title, paragraphs in _CHAPTERS
        if holds(conditions)
    ]


def _facts(rules: Rules) -> set[str]:
    """The conditions that a rule set meets."""
    left_over, race = len(rules.deck) - rules.dealt_cards, rules.race
    facts = {
        "exchange": rules.exchange,
        "stock": rules.stock_cards > 0,
        "no stock": rules.stock_cards == 0,
        "left over": left_over > 0,
        "one left over": left_over == 1,
        "trumps": rules.trumps == "upcard",
        "two faced": rules.face_up == 2,
        "choice": rules.choice,
        "open": rules.open_endgame,
        "all count": rules.stock_cards == 0 or rules.counts == "all",
        "slam": rules.slam_pay is not None and race in (None, rules.counting_tricks),
        "race": race is not None,
        "tie": race is None and rules.counting_tricks % 2 == 0,
    }
    if race is not None:
        facts["unreached"] = rules.counts == "all" and 2 * (race - 1) < rules.foreplay_tricks
        facts["drawn race"] = 2 * (race - 1) >= rules.counting_tricks
    names = {name for name, holds in facts.items() if holds}
    return names | {rules.faced, rules.contract, rules.pay}


def _values(rules: Rules) -> dict[str, object]:
    """What the texts name."""
    examples = _examples(rules)
    most, least, payoff = examples[len(examples) // 2]
    return {
        "deck": _deck(rules),
        "hand": rules.hand,
        "stock": _counted(rules.stock_cards, "card"),
        "left_over": _counted(len(rules.deck) - rules.dealt_cards, "card"),
        "set_aside": _counted(rules.set_aside, "card"),
        "foreplay_tricks": _counted(rules.foreplay_tricks, "trick"),
        "hand_tricks": _counted(rules.hand, "trick"),
        "counting_tricks": _counted(rules.counting_tricks, "trick"),
        "race_tricks": _counted(rules.race or 0, "trick"),
        "first_turned": "turned card" if rules.exchange else "first upcard",
        "closest": "{}–{}".format(*examples[0]),
        "clearest": "{}–{}".format(*examples[-1]),
        "book": rules.effective_book,
        "slam_pay": rules.slam_pay,
        "examples": ", ".join("{}–{} pays {}".format(*example) for example in examples),
        "middle": f"{payoff} for {most}–{least}",
        "middle_least": least,
        "half": rules.counting_tricks // 2,
    }


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _deck(rules: Rules) -> str:
    if rules.suits == 4 and rules.ranks == 13:
        return "a full pack of 52 cards"
    *suits, last = SUIT_NAMES[: rules.suits]
    listed = f"{', '.join(suits)} and {last}" if suits else last
    span = f"{RANK_NAMES[13 - rules.ranks]} to ace" if rules.ranks > 1 else "the ace"
    cards = _counted(len(rules.deck), "card")
    return f"a short pack of {cards}, {span} of {'all four suits' if rules.suits == 4 else listed}"


def _examples(rules: Rules) -> list[tuple[int, int, str]]:
    """Results of a hand, in tricks, and what each pays."""
    count = rules.counting_tricks
    if rules.race is not None:
        race = rules.race
        lost = min(race - 1, count - race)
        results = [(race, lost), (race, lost // 2), (race, 0)]
    else:
        close, clear = count // 2 + 1, (13 * count + 10) // 20
        results = [(close, count - close), (clear, count - clear), (count, 0)]
    different = dict.fromkeys(result for result in results if result[0] > result[1])
    return [(most, least, _paid(rules, most, least)) for most, least in different]


def _paid(rules: Rules, most: int, least: int) -> str:
    if rules.pay == "margin":
        payoff = most - least
    elif rules.slam_pay is not None and most == rules.counting_tricks:
        payoff = rules.slam_pay
    else:
        payoff = max(0, most - rules.effective_book)
    return str(payoff) if payoff else "nothing"


# -- the parameters

_PARAMETERS = {
    "name": "what the set is called",
    "about": "one line for the list of sets",
    "suits": "1 to 4",
    "ranks": "1 to 13, the highest ones",
    "hand": "cards dealt to each player",
    "stock": "cards in the stock; null for all that are left, or none with an exchange",
    "trumps": "upcard or none",
    "contract": "high, low, or colour: high after a red first upcard, low after a black one",
    "counts": "last: the tricks of stage two; all: every trick",
    "pay": "win, margin or over_book",
    "book": "with over_book: tricks that pay nothing; null for half of those that count",
    "slam_pay": "with over_book: what taking every counting trick pays instead; null for none",
    "face_up": "stock cards that lie face up together, 1 or 2",
    "faced": "which upcards are turned: every, after-first or never",
    "choice": "whether the winner of a trick chooses which stock card to take",
    "race": "counting tricks that end the hand; null for none",
    "exchange": "whether four hands are dealt, and a player may take a blind one; then no stock",
}


def as_yaml(rules: Rules) -> str:
    """All parameters with comments, as a YAML template for a custom rule set."""
    lines = ["# A rule set: change what you like, and give the file's path where a name goes."]
    for name, about in _PARAMETERS.items():
        value = getattr(rules, name)
        if name == "name":
            value = f"my-{value}"
        elif name == "stock" and name not in rules.as_mapping():
            value = None
        # A JSON scalar is valid YAML.
        lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}  # {about}")
    return "\n".join(lines)
