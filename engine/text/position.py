"""Positions as text, for language models: all that a player may know, and nothing else.

The text is a function of the `View`, and different views have different texts.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby

from ...common.schema import short_repr
from ..cards import CARDS, CHOICES, RANKS, SUIT_NAMES, SUIT_SYMBOLS, Card, text_of
from ..describe import describe
from ..dtypes import NO_CARD, UNSEEN_CARD
from ..rules import Rules, RulesLike, load_rules
from ..view import View, checked_view

CHARACTERS = frozenset(string.printable) | frozenset(f"{SUIT_SYMBOLS}–")
"""The characters of all texts here."""
MAX_CHARACTERS = 12_000

ANSWER_FORMAT = (
    "end your answer with one legal action in square brackets, as in [10♦], or answer with JSON "
    'alone, as in {"card": "10♦"}'
)
"""What an answer has to look like, as prompts and refusals say it."""
_NOTATION = (
    "Cards are written as rank and suit: TD, or 10♦, is the ten of diamonds. "
    f"When it is your turn, {ANSWER_FORMAT}."
)


def rules_text(rules: RulesLike) -> str:
    """The rules of a set, and how to answer."""
    return _rules_text(load_rules(rules))


@cache
def _rules_text(rules: Rules) -> str:
    return in_characters(f"German Whist. {describe(rules)}\n\n{_NOTATION}")


def in_characters(text: str) -> str:
    """A text with `?` for what is not in `CHARACTERS`, as in a name or a quoted answer."""
    return "".join(each if each in CHARACTERS else "?" for each in text)


def prompt(view: View) -> str:
    """The rules and the position as one text, for a language model that remembers nothing.

    Use `position_text` for the position without the rules.
    """
    return f"{rules_text(checked_view(view).rules)}\n\n{position_text(view)}"


def observation_text(view: View) -> str:
    """The rules before a player's first action of an episode, and the position alone after it."""
    acted = (
        checked_view(view).played_by_me or view.exchanged[0] is not None or view.array["hands"][0]
    )
    return position_text(view) if acted else prompt(view)


def position_text(view: View) -> str:
    """All that the player of a view knows, in words: a sentence or a trick in each line.

    If the player is to move, the last line names the legal actions.
    """
    return "\n".join(_lines(checked_view(view)))


def _lines(view: View) -> Iterator[str]:
    dealer = "you dealt" if view.i_deal else "the opponent dealt"
    yield f"You are player {view.seat}; {dealer}."
    if view.array["hands"][0] or any(view.points):
        own, other = view.points
        won = view.array["hands_won"][0].tolist()
        yield (
            f"Match: {own} points to the opponent's {other}, after {view.array['hands'][0]} hands "
            f"of which you won {won[0]} and the opponent {won[1]}."
        )
    goal = "Play low: fewer counting tricks win." if view.low else "Play high."
    trumps = "There are no trumps" if view.trump is None else f"Trumps: {SUIT_NAMES[view.trump]}"
    yield f"{trumps}. {goal}"
    yield from _exchange_lines(view)
    yield from _trick_lines(view)
    own, other = view.counting_tricks
    yield f"Counting tricks: you {own}, the opponent {other}."
    if view.stock_left:
        upcards = text_of(view.upcards) or "none"
        yield f"Stock: {view.stock_left} cards; face up: {upcards}."
    yield f"Your hand: {by_suit(view.hand)}."
    yield from _opponent_lines(view)
    yield from _decision_lines(view)


def by_suit(cards: Iterable[Card]) -> str:
    """`clubs A K 3; hearts 7`."""
    suits = (
        f"{SUIT_NAMES[suit]} {' '.join(RANKS[card.rank] for card in reversed([*group]))}"
        for suit, group in groupby(cards, lambda card: card.suit)
    )
    return "; ".join(suits) or "none"


def _exchange_lines(view: View) -> Iterator[str]:
    if not view.rules.exchange:
        return
    if view.turned is not None:
        yield f"The dealer's card turned up: {view.turned}."
    for who, took in zip(("You", "The opponent"), view.exchanged, strict=True):
        if took is not None:
            yield f"{who} {'took the blind hand' if took else 'kept the hand dealt'}."
    if view.laid_away:
        yield f"Known to be out of play: {by_suit(view.laid_away)}."


def _trick_lines(view: View) -> Iterator[str]:
    record = view.array[0]
    led, followed = record["led_cards"].tolist(), record["followed_cards"].tolist()
    drew, other_drew = record["my_draws"].tolist(), record["opponent_draws"].tolist()
    i_led, seconds = record["i_led"].tolist(), record["took_second"].tolist()
    winners = [*i_led[1 : view.trick], view.i_lead][: view.trick]
    if view.phase == "choose":
        winners.append(view.to_move)
    for trick, card in enumerate(led):
        if card == NO_CARD:
            return
        first, second = ("you", "opponent") if i_led[trick] else ("opponent", "you")
        line = f"{trick + 1}. {first} {CARDS[card]}"
        if followed[trick] != NO_CARD:
            line += f", {second} {CARDS[followed[trick]]}"
        if trick < len(winners):
            line += f"; {'you' if winners[trick] else 'opponent'} won"
        if drew[trick] != NO_CARD:
            unseen = other_drew[trick] == UNSEEN_CARD
            other = "an unseen card" if unseen else str(CARDS[other_drew[trick]])
            line += f"; you drew {CARDS[drew[trick]]}, opponent {other}"
        if seconds[trick]:
            line += "; the winner took the second card of the stock"
        yield line


def _opponent_lines(view: View) -> Iterator[str]:
    size = view.opponent_hand_size
    if view.open:
        yield f"The opponent's hand: {by_suit(view.known_opponent_cards)}."
        return
    known = text_of(view.opponent_known) or "none"
    yield f"The opponent holds {size} cards; known of them: {known}."
    for suit, drawn in view.void_draws.items():
        yield f"The opponent had no {SUIT_NAMES[suit]}; unseen cards drawn since then: {drawn}."
    yield f"Unseen, with the opponent, in the stock or out of play: {by_suit(view.unseen)}."


def _decision_lines(view: View) -> Iterator[str]:
    phase = view.phase
    if phase == "over":
        yield "The hand is over."
    elif not view.to_move:
        yield f"The opponent is to {phase}."
    else:
        led = f", to {view.led}" if view.led is not None else ""
        yield f"You are to {phase}{led}. Legal: {legal_text(view.legal())}."


def legal_text(actions: Iterable[int]) -> str:
    """Actions in words, such as `TD, AS`, as `parse_answer` reads them."""
    if not isinstance(actions, Iterable):
        raise TypeError(f"{short_repr(actions)} lists no actions: give those of view.legal()")
    return ", ".join(CHOICES.get(action) or text_of([action]) for action in actions)
