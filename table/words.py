# pyright: strict
"""What is said at a table, for the page and the terminal alike: every sentence about a hand.

Cards stand in them as `10♦`; `spoken` tells the same for screen readers. A person is called
`you`, and sentences begin with a capital letter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from ..engine.cards import CARDS, RANKS, SUIT_NAMES, SUIT_SYMBOLS, TAKE_HIDDEN, Card, card
from ..engine.rules import Match
from ..engine.view import Trick, View
from .labels import RANK_NAMES, say

YOU = "you"
VERBS = {"lead": "lead", "follow": "play", "choose": "take"}
"""What is done in each phase."""
_LONGEST = 40
_SYMBOL = re.compile(f"(10|[2-9JQKA])([{''.join(SUIT_SYMBOLS)}])")
_TEXT = re.compile(r"\b([2-9TJQKA][CDHS])\b")

# -- names, verbs and numbers


def plain_text(text: str, longest: int = _LONGEST) -> str:
    """One short line of a text from elsewhere: nothing that moves a cursor or turns writing."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def without_folders(name: str) -> str:
    """A player's name as people say it: a checkpoint by its file."""
    return PurePath(name.partition(",")[0]).stem if "/" in name or "\\" in name else name


def title_of(name: str) -> str:
    """A name as a heading: `open-stock` is `Open stock`."""
    return name.replace("-", " ").capitalize()


def against(rules: str, opponent: str) -> str:
    """A hand by its rule set and opponent, in a list."""
    return say("records.against", rules=title_of(rules), opponent=opponent)


def does(name: str, verb: str) -> str:
    """A name with its verb: `you win`, `medium wins`, `you are`, `medium is`."""
    mine = name.lower() == YOU
    if verb == "be":
        return f"{name} are" if mine else f"{name} is"
    return f"{name} {verb}" if mine else f"{name} {verb}s"


def capital(text: str) -> str:
    """A sentence with its first letter."""
    return text[:1].upper() + text[1:]


def plural(count: int, noun: str) -> str:
    """`1 trick`, `3 tricks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(value: float) -> str:
    """A share in whole per cents, rounded as the page rounds the same number."""
    return f"{math.floor(value + 0.5)} %"


def listed(words: Sequence[str], last: str = "and") -> str:
    """`A, B and C`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


# -- cards


def action_symbol(action: int) -> str:
    """An action as people read it."""
    return say("cards.hidden") if action == TAKE_HIDDEN else CARDS[action].symbol


def name_of(each: Card) -> str:
    """`ten of diamonds`."""
    return f"{RANK_NAMES[each.rank]} of {SUIT_NAMES[each.suit]}"


def with_symbols(text: str) -> str:
    """A sentence of the engine, its cards as people read them."""
    return _TEXT.sub(lambda found: card(found[1]).symbol, text)


def spoken(text: str) -> str:
    """A sentence for screen readers: `10♦` is `ten of diamonds`."""

    def name(found: re.Match[str]) -> str:
        rank = RANKS.index("T" if found[1] == "10" else found[1])
        return f"{RANK_NAMES[rank]} of {SUIT_NAMES[SUIT_SYMBOLS.index(found[2])]}"

    return _SYMBOL.sub(name, text)


def symbols(cards: Iterable[Card]) -> str:
    """Cards one after the other."""
    return " ".join(each.symbol for each in cards)


def trumps(view: View) -> str:
    """`♦ are trumps`."""
    return "no trumps" if view.trump is None else f"{SUIT_SYMBOLS[view.trump]} are trumps"


# -- what is to be done


def stage(view: View) -> str:
    """Which trick it is, and what is won by it."""
    rules = view.rules
    if view.phase == "over":
        return "The hand is over"
    if view.stock_left or view.phase == "choose":
        counts = "" if rules.counts == "last" else ", and it counts"
        return f"Trick {view.trick + 1} of {rules.foreplay_tricks}, for the stock{counts}"
    return f"Trick {view.trick + 1 - rules.foreplay_tricks} of {rules.hand}, and it counts"


def goal(view: View) -> str:
    """What the hand is played for."""
    race = view.rules.race
    if race is not None:
        return f"first to {race} {'loses' if view.low else 'wins'}"
    return "fewer tricks win" if view.low else "more tricks win"


def prize(view: View) -> str:
    """What the trick under way is played for: `, for K♠`; nothing once the stock is gone."""
    if not view.stock_left:
        return ""
    if not view.upcards:
        return ", for a hidden card"
    return ", for the choice" if view.rules.choice else f", for {view.upcards[0].symbol}"


def prompt(view: View, names: tuple[str, str], thinking: bool = False) -> str:
    """What is to be done now, and by whom."""
    if view.phase == "over":
        return "The hand is over"
    if not view.to_move:
        if thinking:
            return capital(f"{does(names[1], 'be')} thinking")
        return to_do(names[1], view.phase) + prize(view)
    if names[0] != YOU:
        return to_do(names[0], view.phase) + prize(view)
    if view.phase == "choose":
        return "You won the trick: choose a card of the stock"
    if view.led is None:
        return f"Your lead{prize(view)}"
    suit = SUIT_NAMES[view.led.suit]
    held = {each.suit for each in view.hand}
    if view.led.suit in held:
        what = f"follow with {suit}"
    else:
        trump = ", and a trump wins" if view.trump in held else ""
        what = f"you have no {suit}, so any card may go{trump}"
    return capital(f"{names[1]} led {view.led.symbol}: {what}{prize(view)}")


def to_do(name: str, phase: str) -> str:
    """Whose turn it is, and to do what."""
    return capital(f"{does(name, 'be')} to {phase}")


# -- what happened


def won_by_me(view: View, tricks: Sequence[Trick], index: int) -> bool:
    """Whether this seat won a trick that both cards were played to."""
    if index + 1 < len(tricks):
        return tricks[index + 1].i_led
    return view.to_move if view.phase == "choose" else view.i_lead


def last_trick(view: View, names: tuple[str, str], theirs: View | None = None) -> str:
    """What came of the last trick that is over; nothing before the first.

    `theirs` is the other's view where both hands lie open, and tells what it drew.
    """
    tricks = list(view.tricks())
    done = [place for place, trick in enumerate(tricks) if trick.followed is not None]
    if not done or view.phase == "choose":
        return ""
    trick, mine = tricks[done[-1]], won_by_me(view, tricks, done[-1])
    winner, loser = names if mine else names[::-1]
    told = f"{winner} won"
    if trick.my_draw is not None:
        other = trick.other_draw
        if theirs is not None:
            other = list(theirs.tricks())[done[-1]].my_draw
        first, second = (trick.my_draw, other) if mine else (other, trick.my_draw)
        told += f" and drew {drawn(first)}, {loser} {drawn(second)}"
    if tricks[-1].followed is None and trick.followed is not None:
        told = f"{trick.led.symbol} {trick.followed.symbol}: {told}"
    return capital(told)


def drawn(each: Card | None) -> str:
    """A card that was drawn; None was drawn face down."""
    return "a hidden card" if each is None else each.symbol


def stock_is_gone(view: View, names: tuple[str, str]) -> str:
    """What changes when the last stock card is drawn."""
    lead = capital(does(names[0] if view.i_lead else names[1], "lead"))
    opened = " Both hands lie open now." if view.rules.open_endgame else ""
    count = "Now every trick counts." if view.rules.counts == "last" else ""
    return " ".join(f"The stock is gone.{opened} {count} {lead}.".split())


# -- scores and results


def match_words(match: Match | None) -> str:
    """`a single hand`, `to 25 points`, `best of 3`."""
    if match is None:
        return "a single hand"
    return f"to {plural(match.target, 'point')}" if match.target else f"best of {match.best_of}"


def score(match: Match | None, points: Sequence[int], hands_won: Sequence[int]) -> str:
    """The match so far in a few words."""
    if match is None:
        return match_words(match)
    now = hands_won if match.best_of else points
    kind = f"to {match.target}" if match.target else f"best of {match.best_of}"
    return f"{kind}: {now[0]} - {now[1]}"


def headline(names: tuple[str, str], pays: Sequence[int], what: str = "hand") -> str:
    """Who won a hand or a match, by what each is paid."""
    if pays[0] == pays[1]:
        return f"A drawn {what}"
    return capital(f"{does(names[0 if pays[0] > pays[1] else 1], 'win')} the {what}")


def result(
    tricks: Sequence[int], pays: Sequence[int], names: Sequence[str], low: bool = False
) -> str:
    """How a hand ended: `8–5: you win, paid 1`."""
    if pays[0] == pays[1]:
        return f"{tricks[0]}–{tricks[1]}: a tie, nobody is paid"
    winner = names[0 if pays[0] > pays[1] else 1]
    how = ", played low" if low else ""
    return f"{tricks[0]}–{tricks[1]}{how}: {does(winner, 'win')}, paid {abs(pays[0])}"


# -- the table in sentences


def table(view: View, names: tuple[str, str], known: Sequence[Card], score: str) -> list[str]:
    """All that lies on a table, for screen readers."""
    tricks = list(view.tricks())
    going = tricks[-1:] if view.phase in ("follow", "choose") else []
    led = [_trick_spoken(each, names) for each in going]
    up = listed([name_of(each) for each in view.upcards]) if view.upcards else "none"
    mine, others = view.counting_tricks
    trump = "There are no trumps"
    if view.trump is not None:
        trump = f"Trumps are {SUIT_NAMES[view.trump]}"
    held = ", ".join(map(name_of, known)) or "none"
    told = [
        stage(view),
        trump,
        "Play low: fewer tricks win" if view.low else "",
        f"On the table, {led[0]}" if led else "No card has been led",
        f"{plural(view.stock_left, 'card')} in the stock; face up: {up}"
        if view.stock_left
        else "The stock is gone",
        spoken(last_trick(view, names)),
        capital(f"{does(names[1], 'hold')} {plural(view.other_cards, 'card')}, known: {held}"),
        capital(f"Tricks: {names[0]} {mine}, {names[1]} {others}"),
        capital(score),
    ]
    return [f"{each}." for each in told if each]


def _trick_spoken(trick: Trick, names: tuple[str, str]) -> str:
    leader, follower = names if trick.i_led else names[::-1]
    told = f"{leader}: {name_of(trick.led)}"
    return told if trick.followed is None else f"{told}; {follower}: {name_of(trick.followed)}"


# -- hands played again


def compared(
    tricks: Sequence[int], before: Sequence[int], names: tuple[str, str], swapped: bool
) -> str:
    """A hand beside the same cards before; `swapped` where the seats were exchanged."""
    mine, then = tricks[0], before[0]
    if not swapped:
        more = mine - then
        told = "as many tricks as" if not more else f"{plural(abs(more), 'trick')} "
        told += "" if not more else "more than" if more > 0 else "fewer than"
        return f"The same cards again: {mine}, which is {told} the {then} of before."
    other = before[1]
    total = mine + then - tricks[1] - other
    sum_up = (
        f"{names[1]} and you come out even"
        if not total
        else (
            f"{does(names[0 if total > 0 else 1], 'come')} out {plural(abs(total), 'trick')} ahead"
        )
    )
    return (
        f"With these cards {does(names[1], 'take')} {other} before, and you {mine} now; over both "
        f"seats {sum_up}."
    )


# -- the guided first hand


def guide(view: View, names: tuple[str, str]) -> list[str]:
    """What a beginner is told now, by what lies on the table."""
    rules, number = view.rules, view.trick
    if view.phase == "over":
        return [
            "That was the hand. Look at it again with the button below, solve a puzzle, or play "
            "against Easy with all thirteen cards."
        ]
    if view.endgame:
        return _guide_endgame(view, names, number - rules.foreplay_tricks)
    told: list[str] = []
    if number == 0:
        suit = "" if view.trump is None else SUIT_NAMES[view.trump]
        told.append(
            f"This is a small hand of {rules.hand} cards each. The card turned up beside the "
            f"stock is the upcard. Its suit, {suit}, is trumps: a trump beats every other suit."
        )
        told.append(
            f"These {rules.foreplay_tricks} tricks do not count. Whoever wins one takes the "
            "upcard, for all to see; the other draws the next card of the stock, unseen."
        )
    if view.led is not None:
        told.append(
            f"{capital(names[1])} led {view.led.symbol}. If you have {SUIT_NAMES[view.led.suit]} "
            "you have to follow suit; the higher card wins."
        )
    return [*told, _worth_winning(view)]


def _worth_winning(view: View) -> str:
    """Whether to win the trick for its upcard."""
    if not view.to_move or not view.upcards:
        return "Wait for the other card."
    (up, *_) = view.upcards
    if view.led is not None and not any(_beats(view, card) for card in view.legal()):
        return f"No card of yours beats {view.led.symbol}: throw away your worst one."
    low, high = view.rules.deck[0].rank, view.rules.deck[-1].rank
    if up.suit == view.trump or up.rank * 2 > low + high:
        return (
            f"{up.symbol} is a good card{', a trump' if up.suit == view.trump else ''}: try to win "
            "this trick, with the lowest card that does it."
        )
    return (
        f"{up.symbol} is a weak card. Lose this trick on purpose, with your worst card: the card "
        "that you then draw unseen is better on average."
    )


def _beats(view: View, action: int) -> bool:
    """Whether a card beats the one that was led."""
    each, led = Card(action), view.led
    if led is None:
        return False
    return each > led if each.suit == led.suit else each.suit == view.trump


def _guide_endgame(view: View, names: tuple[str, str], number: int) -> list[str]:
    told: list[str] = []
    if number == 0:
        need = view.rules.hand // 2 + 1
        told.append(
            f"The stock is gone, and everything changes: now each of the {view.rules.hand} tricks "
            f"counts, and {need} of them win the hand."
        )
        told.append(
            "Nothing is drawn any more. A player who has remembered every card knows the other "
            "hand, so it lies open here: you can work out what will happen."
        )
    if view.to_move and view.led is None:
        told.append("Lead a card that the other can not beat, or force out a high one first.")
    elif view.to_move:
        told.append("Win cheaply if you can; if you can not, throw away your worst card.")
    return told or [f"{capital(does(names[1], 'be'))} to play."]


# -- puzzles and exercises


def question(view: View, names: tuple[str, str]) -> str:
    """What is asked of whoever looks at a puzzle."""
    if view.phase == "choose":
        return "You won the trick. Which card of the stock do you take?"
    task = "Your lead" if view.led is None else f"{capital(names[1])} led {view.led.symbol}"
    if view.endgame:
        mine, others = view.counting_tricks
        return f"{task}, at {mine}–{others}. Which card saves the most?"
    return f"{task}{prize(view)}. Which card is best?"


def verdict(unit: str, cost: float, solved: bool, exact: bool) -> str:
    """What came of an answer."""
    if solved:
        return "Right: nothing is better." if exact else "Right: no card is clearly better."
    about = "" if exact else "about "
    if unit == "pay":
        return f"That costs {about}{cost:.3g}."
    if exact:
        return "That gives the hand away." if cost > 50 else "That gives half of the hand away."
    return f"That costs {about}{percent(cost)} of hands."
