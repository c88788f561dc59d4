# pyright: strict
"""Help for a player: where the cards are, and a hint.

Everything is computed from the player's own view, so it reveals nothing that a player with a
perfect memory does not know.
"""

from __future__ import annotations

import threading
from functools import lru_cache

from msgspec import Struct

from german_whist.common.threads import usable_threads
from german_whist.engine.cards import SUITS, Card
from german_whist.engine.rules import Rules
from german_whist.engine.view import View

from ..text.labels import label
from ..text.lessons import beaten_by, beats, better_cards
from ..text.words import action_symbol, join_words, percent
from .analysis import WIN, ActionValue, Analyst, PositionValues


class SeenCards(Struct):
    """The place of every card, as far as the player can know, by suit from the highest."""

    suits: dict[str, dict[str, str]]
    known: list[str]
    hidden: int
    voids: dict[str, int]
    """Suits that the opponent could not follow, and the unseen cards drawn since."""
    away: bool
    """Whether cards are known to be out of play since an exchange."""


class Hint(Struct):
    """The best action, a reason, and the values of all actions."""

    action: int
    why: str
    exact: bool
    unit: str
    estimates: list[ActionValue]


def seen_cards(view: View) -> SeenCards:
    """The place of every card, as far as the player can know."""
    places, deck = card_places(view), list(reversed(view.rules.deck))
    return SeenCards(
        suits={
            SUITS[suit]: {str(card): places[card] for card in deck if card.suit == suit}
            for suit in range(view.rules.suits)
        },
        known=[str(card) for card in view.known_opponent_cards],
        hidden=view.opponent_hand_size - len(view.known_opponent_cards),
        voids={SUITS[suit]: draws for suit, draws in view.void_draws.items()},
        away=bool(view.laid_away),
    )


def card_places(view: View) -> dict[Card, str]:
    """Each card's place: `hand`, `other`, `up` (stock), `trick`, `played`, `away` or `unseen`."""
    places = dict.fromkeys(view.rules.deck, "unseen")
    places |= dict.fromkeys([*view.played_by_me, *view.played_by_opponent], "played")
    places |= dict.fromkeys(view.laid_away, "away")
    if view.phase in ("follow", "choose"):
        trick = list(view.tricks())[-1]
        places |= {card: "trick" for card in (trick.led, trick.followed) if card is not None}
    places |= dict.fromkeys(view.upcards, "up")
    places |= dict.fromkeys(view.known_opponent_cards, "other")
    return places | dict.fromkeys(view.hand, "hand")


_slots = threading.BoundedSemaphore(usable_threads())
"""At most one hint per processor is computed at a time."""


def find_hint(view: View) -> Hint:
    """A hint for the player to move, in any rule set."""
    values = position_values(view)
    return Hint(
        action=values.best[0],
        why=hint_reason(view, values),
        exact=values.exact,
        unit=values.unit,
        estimates=sorted(
            [card for card in values.cards if card.value is not None],
            key=lambda card: -(card.value or 0.0),
        ),
    )


def position_values(view: View) -> PositionValues:
    """The values of all legal actions, by an analyst that is kept; it waits for a free core."""
    with _slots:
        return _analyst(view.rules).values(view)


@lru_cache(maxsize=4)  # each holds networks
def _analyst(rules: Rules) -> Analyst:
    return Analyst(rules)


def hint_reason(view: View, position: PositionValues) -> str:
    """Why the best action is the best, in a sentence or two."""
    best, *equals = position.best
    values = {card.action: card.value or 0.0 for card in position.cards}
    card, value = action_symbol(best), _value_text(position, values[best])
    if len(values) == 1:
        return label("hints.only", card=card)
    if position.exact:
        if len(equals) == len(values) - 1:
            return label("hints.same", value=value)
        if not equals:
            return label("hints.exact", card=card, value=value)
        cards = join_words(list(map(action_symbol, equals)))
        return label("hints.exact_too", card=card, value=value, cards=cards, n=len(equals))
    noise = {card.action: card.cost_margin_of_error for card in position.cards}
    # Actions whose value is printed as the same figure count as equal too.
    similar = [
        action
        for action, action_value in values.items()
        if values[best] - action_value <= noise[action]
        or _value_text(position, action_value) == value
    ]
    prize = _prize_text(view, best)
    if len(similar) > 1:
        symbols = list(map(action_symbol, sorted(similar, key=lambda action: action != best)[:4]))
        return label("hints.unclear", cards=join_words(symbols), card=card, value=value, idea=prize)
    second = max((action for action in values if action != best), key=values.__getitem__)
    less = _value_text(position, values[second])
    return label(
        "hints.clear", card=card, value=value, other=action_symbol(second), less=less, idea=prize
    )


def _value_text(position: PositionValues, value: float) -> str:
    about = "" if position.exact else "_about"
    if position.unit == WIN and position.exact:
        return label(f"hints.{('loses', 'ties', 'wins')[round(value / 50)]}")
    if position.unit == WIN:
        return label("hints.wins_rate", rate=percent(value))
    if value == 0:
        return label(f"hints.brings{about}_nothing")
    return label(f"hints.{'gains' if value > 0 else 'costs'}{about}", pay=f"{abs(value):.3g}")


def _prize_text(view: View, action: int) -> str:
    """What is at stake, and what the card does for it."""
    if view.phase in ("choose", "exchange"):
        return label("hints.choosing" if view.phase == "choose" else "hints.exchange")
    if not view.upcards:
        return label("hints.no_stock" if view.endgame else "hints.unseen")
    symbols = [card.symbol for card in view.upcards]
    if len(symbols) > 1:
        return label("hints.two_up", cards=join_words(symbols))
    n, unseen, card = len(better_cards(view)), len(view.unseen), Card(action)
    stake = label("hints.up", card=symbols[0], n=n, all=unseen)
    if view.led is not None:
        does = "hints.takes" if beats(view, view.led, action) else "hints.lets_go"
        return f"{stake} {label(does, card=card.symbol, upcard=symbols[0])}"
    return f"{stake} {label('hints.beaten', card=card.symbol, n=beaten_by(view, card))}"
