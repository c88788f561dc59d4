# pyright: strict
"""Description of a rule set in English, generated from its parameters.

`chapters` follows the order of play, `describe` formats it as plain text, and `as_yaml` writes the
parameters as a template for a custom rule set.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from .cards import RANK_NAMES, SUIT_NAMES
from .rules import Rules

_WIDTH = 88


class Chapter(NamedTuple):
    """Title and paragraphs of one part of the description."""

    title: str
    paragraphs: list[str]


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
    sections = [Chapter("Cards and deal", list(_deal(rules)))]
    if rules.exchange:
        sections.append(Chapter("The exchange", list(_exchange(rules))))
    if rules.stock_cards:
        title = f"Stage one: {_tricks(rules.foreplay_tricks)} for the stock"
        sections.append(Chapter(title, [_play(rules), *_draw(rules)]))
        title = f"Stage two: the last {_tricks(rules.hand)}"
        sections.append(Chapter(title, list(_endgame(rules))))
    else:
        sections.append(Chapter(f"Play: {_tricks(rules.hand)}", [_play(rules)]))
    sections.append(Chapter("Scoring", list(_scoring(rules))))
    return sections


def _tricks(count: int) -> str:
    return f"{count} trick" if count == 1 else f"{count} tricks"


def _cards(count: int) -> str:
    return f"{count} card" if count == 1 else f"{count} cards"


def _list(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# -- the deal


def _deal(rules: Rules) -> Iterator[str]:
    yield (
        f"Two players, {_deck(rules)}, ace high. The first dealer is drawn at random, and the "
        "deal alternates from hand to hand."
    )
    text = (
        f"Cards go out one at a time, the non-dealer's first, until both players hold {rules.hand}."
    )
    if rules.exchange:
        text = (
            f"Cards go out one at a time to four hands of {rules.hand}, in turn: a first blind "
            "hand, the non-dealer's, a second blind hand, the dealer's."
        )
    if rules.stock_cards:
        text += f" The next {_cards(rules.stock_cards)} are the stock and lie face down."
    if left_over := len(rules.deck) - rules.dealt_cards:
        verb = "is" if left_over == 1 else "are"
        text += f" {_cards(left_over)} {verb} left over and set aside, unseen by both."
    yield f"{text} {_trumps(rules)}"


def _deck(rules: Rules) -> str:
    if rules.suits == 4 and rules.ranks == 13:
        return "a full pack of 52 cards"
    lowest = RANK_NAMES[13 - rules.ranks]
    suits = "all four suits" if rules.suits == 4 else _list(SUIT_NAMES[: rules.suits])
    span = f"{lowest} to ace" if rules.ranks > 1 else "the ace"
    return f"a short pack of {_cards(len(rules.deck))}, {span} of {suits}"


def _trumps(rules: Rules) -> str:
    if rules.exchange and rules.faced == "every":
        turned = "The last card, the dealer's, is turned up for both to see, and "
        if rules.trumps == "upcard":
            return f"{turned}its suit is trumps for the whole hand."
        return f"{turned}makes no trumps: there are none."
    if rules.trumps == "none":
        return "There are no trumps."
    if rules.face_up == 2:
        return (
            "The top two cards of the stock are turned up, and the suit of the upper one is "
            "trumps for the whole hand."
        )
    return "The top card of the stock is turned up, and its suit is trumps for the whole hand."


def _exchange(rules: Rules) -> Iterator[str]:
    yield (
        "First the non-dealer, then the dealer, keeps the hand dealt, or lays it away unseen and "
        "takes a blind hand: the non-dealer the first, the dealer the second. Both see whether the "
        "other exchanged, and no card of it."
    )
    if rules.faced == "every":
        yield (
            "If the dealer keeps, both know that the turned card is there; if the dealer "
            "exchanges, both know that it is out of play."
        )
    yield (
        f"{_cards(rules.set_aside)} stay out of play, and neither player ever sees them all, so "
        "that even a player who remembers everything cannot be sure of the other's hand."
    )


# -- playing


def _play(rules: Rules) -> str:
    rule = "The higher card of the suit that was led takes the trick"
    if rules.trumps == "upcard":
        rule += ", unless the second card is a trump on another suit, which takes it"
    return (
        "The non-dealer leads to the first trick, any card. The other player must follow suit if "
        f"able, and may play anything if not. {rule}. The winner leads to the next trick."
    )


def _draw(rules: Rules) -> Iterator[str]:
    if rules.faced == "never":
        yield (
            "After each trick both players draw from the stock, which stays face down throughout: "
            "the winner takes the top card and the loser the next, each unseen by the other."
        )
        return
    if rules.faced == "after-first":
        yield (
            "At the first trick the whole stock lies face down: the winner takes the top card and "
            "the loser the next, each unseen by the other."
        )
    before = "From the second trick on" if rules.faced == "after-first" else "At each trick"
    yield f"{before}, {_faced_draw(rules)}"


def _faced_draw(rules: Rules) -> str:
    if rules.face_up == 2 and rules.choice:
        return (
            "the top two cards of the stock lie face up. The winner of the trick chooses one of "
            "them and the loser takes the other, both openly."
        )
    if rules.face_up == 2:
        return (
            "the top two cards of the stock lie face up. The winner of the trick takes the upper "
            "one and the loser the other, both openly."
        )
    if rules.choice:
        return (
            "the top card of the stock lies face up. The winner of the trick chooses: the upcard, "
            "or the hidden one below it. The loser takes the other. Both see which of the two was "
            "taken, but only its owner sees the hidden card."
        )
    return (
        "the top card of the stock lies face up. The winner of the trick takes it into hand, "
        "openly, and the loser takes the next card without showing it."
    )


def _endgame(rules: Rules) -> Iterator[str]:
    race = rules.race if rules.counts == "all" else None
    if race is not None and 2 * (race - 1) < rules.foreplay_tricks:
        yield "It is never reached: the race ends before the stock is gone."
        return
    yield (
        "When the stock is gone, the winner of the last trick leads, and the hands are played out "
        "by the same rules, with nothing more to draw."
    )
    if rules.open_endgame:
        yield (
            "A player who remembers every card that was played and taken knows the other's hand."
        )
    else:
        yield (
            f"The {_cards(rules.set_aside)} set aside stay unseen, so that even a player who "
            "remembers everything cannot be sure of the other's hand."
        )


# -- what counts, and what it pays


def _scoring(rules: Rules) -> Iterator[str]:
    if rules.stock_cards == 0 or rules.counts == "all":
        yield f"All {_tricks(rules.counting_tricks)} count."
    else:
        yield (
            f"Only the {_tricks(rules.counting_tricks)} of stage two count; stage one decides who "
            "goes into it with which cards."
        )
    yield _race(rules) if rules.race is not None else _aim(rules)
    yield _pay(rules)
    if rules.race is None and rules.counting_tricks % 2 == 0:
        half = rules.counting_tricks // 2
        yield f"{half}–{half} is a tie, which pays nothing."
    target = "5 points as a rule, or 10" if rules.exchange else "such as 10, 25 or 50 points"
    yield (
        f"In a match, the winner of a hand adds what it pays to a total: to a target, {target}, or "
        "as the best of 3 or 5 hands."
    )


def _aim(rules: Rules) -> str:
    most = "the player with more counting tricks wins the hand"
    fewest = "the player with fewer counting tricks wins the hand"
    if rules.contract == "high":
        return f"Play high: {most}."
    if rules.contract == "low":
        return f"Play low: {fewest}."
    return (
        f"The colour of the {_first_turned(rules)} decides. Red (diamonds or hearts): play high, "
        f"{most}. Black (clubs or spades): play low, {fewest}."
    )


def _first_turned(rules: Rules) -> str:
    return "turned card" if rules.exchange else "first upcard"


def _race(rules: Rules) -> str:
    race = rules.race or 0
    first = f"The hand is a race: it ends when a player has taken {_tricks(race)}"
    ends = {
        "high": "and that player wins.",
        "low": "and that player loses.",
        "colour": (
            f"and that player wins if the {_first_turned(rules)} was red (play high), and loses "
            "if it was black (play low)."
        ),
    }
    text = f"{first}, {ends[rules.contract]}"
    if 2 * (race - 1) >= rules.counting_tricks:
        text += " If no player gets there, the hand is drawn and pays nothing."
    return text


def _pay(rules: Rules) -> str:
    if rules.pay == "win":
        results = [f"{most}–{least}" for most, least, _ in _examples(rules)]
        return f"Winning pays 1, for {results[0]} as for {results[-1]}."
    if rules.pay == "margin":
        text = "The winner is paid the difference between the two numbers of counting tricks"
    else:
        text = f"The winner is paid 1 for each counting trick above {rules.effective_book}"
        if rules.contract != "high":
            text += " of the player with more"
    if rules.slam_pay is not None and rules.race in (None, rules.counting_tricks):
        text += f", but {rules.slam_pay} for a slam, which is taking all of them"
    examples = _examples(rules)
    text += ": " + ", ".join(f"{most}–{least} pays {pay}" for most, least, pay in examples) + "."
    if rules.contract != "high" and rules.race is None:
        most, least, pay = examples[len(examples) // 2]
        when = "When playing low, the" if rules.contract == "colour" else "The"
        text += f" {when} {pay} for {most}–{least} go to the player with {least}."
    return text


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
        pay = most - least
    elif rules.slam_pay is not None and most == rules.counting_tricks:
        pay = rules.slam_pay
    else:
        pay = max(0, most - rules.effective_book)
    return str(pay) if pay else "nothing"


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
