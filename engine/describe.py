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
        "": "The non-dealer leads any card to the first trick. The other player must follow "
        "suit if possible. A player who cannot follow suit may play any card."
    },
    {
        "trumps": "The higher card of the suit that was led takes the trick. If the second "
        "player trumps a card of another suit, the trump takes the trick.",
        "": "The higher card of the suit that was led takes the trick.",
    },
    {"": "The winner of a trick leads to the next one."},
]

_CHAPTERS: list[tuple[str, str, list[list[_Sentence]]]] = [
    (
        "",
        "Cards and deal",
        [
            [
                {
                    "": "Two players use {deck}, ace high. The first dealer is drawn at "
                    "random. After that, the players deal in turn."
                }
            ],
            [
                {
                    "exchange": "The cards are dealt one at a time to four hands of {hand}: a "
                    "first blind hand, the non-dealer's hand, a second blind hand, "
                    "and the dealer's hand. Nobody sees the blind hands.",
                    "": "The cards are dealt one at a time, the first one to the non-dealer, "
                    "until both players hold {hand}.",
                },
                {"stock": "The next {stock} are the stock, which lies face down."},
                {
                    "one left over": "{left_over} is left over and set aside. Neither player "
                    "sees it.",
                    "left over": "{left_over} are left over and set aside. Neither player sees "
                    "them.",
                },
                {
                    "exchange, every, trumps": "The last card, the dealer's, is turned up for "
                    "both players to see, and its suit is trumps "
                    "for the whole hand.",
                    "exchange, every": "The last card, the dealer's, is turned up for both "
                    "players to see. There are no trumps.",
                    "trumps, two faced": "The top two cards of the stock are turned up. The "
                    "suit of the upper one is trumps for the whole hand.",
                    "trumps": "The top card of the stock is turned up and is called the "
                    "upcard. Its suit is trumps for the whole hand.",
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
                    "": "Before play, each player may exchange hands. The non-dealer decides "
                    "first: keep the hand, or put it aside face down and take the first "
                    "blind hand. Then the dealer decides in the same way about the second "
                    "blind hand. Each player sees whether the other exchanged hands, but "
                    "not the cards."
                }
            ],
            [
                {
                    "every": "The turned card stays part of the dealer's first hand. If the "
                    "dealer keeps that hand, both players know that the dealer holds "
                    "the card. If the dealer exchanges it, both know that the card is "
                    "out of play."
                }
            ],
            [
                {
                    "": "{set_aside} stay out of play, and neither player ever sees all of "
                    "them. So even a player who remembers every card cannot be sure of the "
                    "other's hand."
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
                    "never": "After each trick both players draw a card. The whole stock stays "
                    "face down. The winner takes the top card and the loser takes the "
                    "next one, each unseen by the other.",
                    "after-first": "At the first trick the whole stock lies face down. The "
                    "winner takes the top card and the loser takes the next "
                    "one, each unseen by the other.",
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
                    "two faced, choice": "the top two cards of the stock lie face up. The "
                    "winner of the trick chooses one of them, and the "
                    "loser takes the other. Both players see both cards.",
                    "two faced": "the top two cards of the stock lie face up. The winner of "
                    "the trick takes the upper one, and the loser takes the "
                    "other. Both players see both cards.",
                    "choice": "the top card of the stock lies face up. The winner of the trick "
                    "chooses between the upcard and the hidden card below it. The "
                    "loser takes the other one. Both players see which of the two "
                    "was chosen, but only the player who gets the hidden card sees "
                    "it.",
                    "": "the top card of the stock lies face up. The winner of the trick takes "
                    "this upcard. The loser takes the next card of the stock and does not "
                    "show it. Then a new card is turned up.",
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
                    "unreached": "This stage is never reached, because the race ends before "
                    "the stock is gone.",
                    "": "When the stock is gone, the winner of the last trick leads. The "
                    "players play out their hands by the same rules and draw no more cards.",
                }
            ],
            [
                {
                    "unreached": "",
                    "open": "A player who remembers every card that was played and every "
                    "upcard that was taken knows the other's hand.",
                    "": "The {set_aside} set aside stay unseen. So even a player who remembers "
                    "every card cannot be sure of the other's hand.",
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
                    "race, all count": "Every trick counts.",
                    "all count": "All {counting_tricks} count.",
                    "": "Only the {counting_tricks} of stage two count. The tricks of stage "
                    "one decide who gets which cards for stage two.",
                }
            ],
            [
                {"race": "The hand is a race. It ends when a player has taken {race_tricks},"},
                {
                    "race, high": "and that player wins.",
                    "race, low": "and that player loses.",
                    "race": "and the color of the {first_turned} decides who wins. If it was "
                    "red (play high), that player wins. If it was black (play low), "
                    "that player loses.",
                    "high": "The player with more counting tricks wins the hand (play high).",
                    "low": "The player with fewer counting tricks wins the hand (play low).",
                    "": "The color of the {first_turned} decides who wins the hand. If it is "
                    "red (diamonds or hearts), the player with more counting tricks wins "
                    "(play high). If it is black (clubs or spades), the player with fewer "
                    "counting tricks wins (play low).",
                },
                {
                    "drawn race": "If no player takes that many, the hand is drawn and pays "
                    "nothing.",
                },
            ],
            [
                {
                    "win": "Every win pays 1 point: {closest} pays as much as {clearest}.",
                    "margin": "The winner gets 1 point for each counting trick more than the "
                    "loser has: {examples}.",
                    "slam, high": "The winner gets 1 point for each counting trick above "
                    "{book}. A slam, which means all counting tricks, pays "
                    "{slam_pay} points instead: {examples}.",
                    "slam": "The winner gets 1 point for each counting trick above {book} that "
                    "the player with more tricks took. A slam, which means all "
                    "counting tricks, pays {slam_pay} points instead: {examples}.",
                    "high": "The winner gets 1 point for each counting trick above {book}: "
                    "{examples}.",
                    "": "The winner gets 1 point for each counting trick above {book} that the "
                    "player with more tricks took: {examples}.",
                },
                {
                    "win": "",
                    "race": "",
                    "low": "For example, after {middle} the player with {middle_least} tricks "
                    "gets {middle_pay}.",
                    "colour": "In play low, after {middle} the player with {middle_least} tricks "
                    "gets {middle_pay}.",
                },
            ],
            [{"tie": "{half}–{half} is a tie and pays nothing."}],
            [
                {
                    "exchange": "In a match, the points of several hands are added up. A match "
                    "goes to a target, usually 5 or 10 points, or is the best of "
                    "3 or 5 hands.",
                    "": "In a match, the points of several hands are added up. A match goes to "
                    "a target, such as 10, 25 or 50 points, or is the best of 3 or 5 hands.",
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
        "middle": f"{most}–{least}",
        "middle_pay": f"the {_counted(int(payoff), 'point')}" if payoff.isdecimal() else payoff,
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
    "name": "name of the rule set",
    "about": "one line for the list of rule sets",
    "suits": "number of suits, 1 to 4",
    "ranks": "number of ranks, 1 to 13; the highest ranks are kept",
    "hand": "cards dealt to each player",
    "stock": "cards in the stock; null: all cards that are left (none with an exchange)",
    "trumps": "upcard: the first upcard makes trumps; none: no trumps",
    "contract": "who wins: high, more tricks; low, fewer; colour, high after a red first "
    "upcard and low after a black one",
    "counts": "which tricks count: last, those of stage two; all, every trick",
    "pay": "what a win pays: win, 1; margin, the difference of tricks; over_book, the tricks "
    "above book",
    "book": "with over_book, the number of tricks that pay nothing; null: half of the counting "
    "tricks",
    "slam_pay": "with over_book, what all counting tricks pay instead; null: no such bonus",
    "face_up": "number of stock cards that lie face up together, 1 or 2",
    "faced": "when stock cards lie face up: every, at each trick; after-first, from the second "
    "trick on; never",
    "choice": "true: the winner of a trick chooses which stock card to take",
    "race": "number of counting tricks that ends the hand; null: no race",
    "exchange": "true: four hands are dealt, each player may take a blind one, and there is no "
    "stock",
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
