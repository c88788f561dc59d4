# pyright: strict
"""What the terminal says: what to do, what came of a trick, a hand, a match, and why not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Protocol

from ..agents.registry import raised_at, told_error
from ..engine.cards import SUIT_NAMES, Card, card
from ..engine.rules import Match
from ..engine.view import Trick, View
from .sitting import HandResult, Settings, Sitting
from .terminal_ink import Line, card_piece, line_width, sentence, tidy, width_of
from .terminal_page import Page

_CARD = re.compile(r"\b([2-9TJQKA][CDHS])\b")


class Keeping(Protocol):
    """What an evening asks of the house."""

    def keep(self, sitting: Sitting) -> None:
        """Keep the sitting as it is now."""
        ...

    def hint(self, view: View) -> tuple[int, str]:
        """What to play, and why."""
        ...

    def statistics(self) -> Page:
        """The person's results so far."""
        ...


def wrapped(text: str, columns: int, style: str = "", indent: int = 0) -> list[Line]:
    """A text as lines of so many columns."""
    lines: list[Line] = []
    now = ""
    for word in text.split():
        if now and width_of(now) + 1 + width_of(word) > columns - indent:
            lines.append([(" " * indent + now, style)])
            now = word
        else:
            now = f"{now} {word}" if now else word
    return [*lines, [(" " * indent + now, style)]] if now else lines


def short_names(settings: Settings) -> tuple[str, str]:
    """What the two are called at the table: a checkpoint by its file, nobody at length."""
    first, second = (tidy(_without_folders(name), 13) for name in settings.names)
    return first, second


def _without_folders(name: str) -> str:
    return PurePath(name.partition(",")[0]).stem if "/" in name or "\\" in name else name


def verb(name: str, word: str) -> str:
    """A verb as it goes with a name: you win, medium wins."""
    return word if name == "you" else word + "s"


def capital(line: Line) -> Line:
    """A line that begins with a capital letter."""
    (text, style), *rest = line
    return [(text[:1].upper() + text[1:], style), *rest]


def with_cards(text: str) -> Line:
    """A sentence of the engine, its cards as people read them."""
    parts = _CARD.split(text)
    return sentence(*(card(part) if place % 2 else part for place, part in enumerate(parts)))


def flowed(line: Line, columns: int) -> list[Line]:
    """A line as lines of at most so many columns, broken between words."""
    lines: list[Line] = [[]]
    for text, style in line:
        for place, word in enumerate(text.split(" ")):
            blank = " " if place else ""
            if line_width(lines[-1]) + width_of(blank + word) > columns:
                lines.append([])
                blank = ""
            lines[-1].append((blank + word, style))
    return lines


def told_in_lines(head: str, style: str, text: str, columns: int) -> list[Line]:
    """A sentence with a styled beginning, its cards as people read them, in lines that fit."""
    return flowed([(head, style), *with_cards(text)], columns)


def decided(sitting: Sitting) -> int:
    """What the agent to move plays; one that fails is told about in a sentence."""
    try:
        return sitting.decide()
    except ValueError:
        raise
    except Exception as error:
        name = sitting.settings.names[sitting.turn or 0]
        where = raised_at(error)
        raise ValueError(f"{name} can not play on: {told_error(error)} ({where})") from error


# -- what to do


def prompt(view: View, names: tuple[str, str]) -> Line:
    """What the person is to do now."""
    if view.phase == "choose":
        return sentence("You won the trick: choose a card of the stock.")
    prize = _prize(view) if view.stock_left else sentence(".")
    if view.led is None:
        return [*sentence("You lead"), *prize]
    suit = SUIT_NAMES[view.led.suit]
    if any(each.suit == view.led.suit for each in view.hand):
        does = f"follow with {suit}"
    elif view.trump is not None and any(each.suit == view.trump for each in view.hand):
        does = f"you have no {suit}, so any card may go, and a trump wins"
    else:
        does = f"you have no {suit}, so any card may go"
    return [*capital(sentence(f"{names[1]} led ", view.led, f": {does}")), *prize]


def _prize(view: View) -> Line:
    """What the trick under way is played for."""
    if not view.upcards:
        return sentence(", for a hidden card.")
    if view.rules.choice:
        return sentence(", for the choice.")
    return [*sentence(", for "), card_piece(view.upcards[0]), (".", "")]


def known_cards(view: View) -> list[Card]:
    """The cards of the other that this seat can know: all, once the hands are open."""
    if view.stock_left == 0 and view.rules.open_endgame:
        return [*view.known, *view.unseen]
    return view.known


# -- what came of it


def won_by_me(view: View, tricks: Sequence[Trick], index: int) -> bool:
    """Whether this seat won a trick that both cards were played to."""
    if index + 1 < len(tricks):
        return tricks[index + 1].i_led
    if view.phase == "choose":
        return view.to_move
    return view.i_lead


def last_trick(view: View, names: tuple[str, str]) -> Line:
    """What came of the last trick that is over, in a sentence; nothing before the first."""
    tricks = list(view.tricks())
    done = [place for place, trick in enumerate(tricks) if trick.followed is not None]
    if not done or view.phase == "choose":
        return []
    trick = tricks[done[-1]]
    winner, loser = names if won_by_me(view, tricks, done[-1]) else names[::-1]
    line = sentence(f"{winner} won")
    if trick.my_draw is not None:
        draws = (trick.my_draw, trick.other_draw)[:: 1 if winner == names[0] else -1]
        line += sentence(" and drew ") + _drawn(draws[0])
        line += sentence(f", {loser} ") + _drawn(draws[1])
    if tricks[-1].followed is None and trick.followed is not None:
        line = sentence(trick.led, " ", trick.followed, ": ") + line
    return capital(line)


def _drawn(drawn: Card | None) -> Line:
    return sentence("a hidden card") if drawn is None else [card_piece(drawn)]


def score_words(match: Match | None, points: Sequence[int], hands_won: Sequence[int]) -> str:
    """The match so far in a few words, for the title."""
    if match is None:
        return "a single hand"
    now = hands_won if match.best_of else points
    kind = f"to {match.target}" if match.target else f"best of {match.best_of}"
    return f"{kind}: {now[0]} - {now[1]}"


def result_words(result: HandResult, names: tuple[str, str], match: Match | None) -> Line:
    """How a hand ended."""
    mine, others = result.tricks
    paid = result.pays[0]
    if paid == 0:
        return [(f"{mine} to {others}: nobody wins the hand", "bold")]
    winner = names[0] if paid > 0 else names[1]
    line: Line = [(f"{winner} {verb(winner, 'win')} the hand, ", "good" if paid > 0 else "bad")]
    counts = (mine, others) if paid > 0 else (others, mine)
    line.append((f"{counts[0]} to {counts[1]}", "bold"))
    if match is None or match.target:
        points = abs(paid)
        line.append((f", worth {points} point" + ("" if points == 1 else "s"), ""))
    return capital(line)
