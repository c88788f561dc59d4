# pyright: strict
"""Help for who wants it: what has been seen, what the other is known to hold, and a hint.

All of it is made from the player's own view, so it tells nothing that a player who
remembers everything does not know.
"""

from __future__ import annotations

import threading

from msgspec import Struct

from ...agents.search.thinker import ThinkerAgent
from ...common.threads import usable_threads
from ...engine.cards import SUITS, Card
from ...engine.rules import Rules
from ...engine.view import View
from ..text.labels import say
from ..text.words import action_symbol, join_words, percent
from .analysis import WIN, ActionValue, AnalysisSettings, Analyst, PositionValues

HINT_SEARCH, OTHER_HINT_SEARCH = "thinker:256", "flat-mc:256,voids,playout=counting"
"""What estimates hints, and what does for the rule sets that the first does not play."""


class SeenVoid(Struct):
    """A suit that the other had no card of, and the cards that it drew unseen since."""

    suit: str
    draws_since: int


class SeenCards(Struct):
    """Where every card is, as far as the player can know, suit by suit from the highest."""

    suits: dict[str, dict[str, str]]
    known: list[str]
    hidden: int
    voids: list[SeenVoid]
    away: bool
    """Whether cards are known to be out of play since an exchange."""


class Hint(Struct):
    """The best action, with a reason and what the others are worth."""

    action: int
    why: str
    exact: bool
    unit: str
    estimates: list[ActionValue]


def seen_cards(view: View) -> SeenCards:
    """Where every card is, as far as the player can know."""
    places, known = card_places(view), view.theirs
    deck = list(reversed(view.rules.deck))
    return SeenCards(
        suits={
            SUITS[suit]: {str(card): places[card] for card in deck if card.suit == suit}
            for suit in range(view.rules.suits)
        },
        known=[str(card) for card in known],
        hidden=view.other_cards - len(known),
        voids=[SeenVoid(SUITS[suit], draws) for suit, draws in view.void_draws.items()],
        away=bool(view.laid_away),
    )


def card_places(view: View) -> dict[Card, str]:
    """Of each card: `hand`, `other`, `up` (in the stock), `trick`, `played`, `away` or `unseen`."""
    places = dict.fromkeys(view.rules.deck, "unseen")
    places |= dict.fromkeys([*view.played_by_me, *view.played_by_other], "played")
    places |= dict.fromkeys(view.laid_away, "away")
    if view.phase in ("follow", "choose"):
        last = list(view.tricks())[-1]
        places |= {card: "trick" for card in (last.led, last.followed) if card is not None}
    places |= dict.fromkeys(view.upcards, "up")
    places |= dict.fromkeys(view.theirs, "other")
    return places | dict.fromkeys(view.hand, "hand")


class HintService:
    """Hints for views of any rule set; no more are made at once than there are processors."""

    def __init__(self) -> None:
        self._analysts: dict[Rules, Analyst] = {}
        self._room = threading.BoundedSemaphore(usable_threads())

    def hint(self, view: View) -> Hint:
        """A hint for the player to move: an endgame's exact values, or a search's estimates."""
        with self._room:
            told = self.analyst(view.rules).values(view)
        return Hint(
            action=told.best[0],
            why=hint_reason(view, told),
            exact=told.exact,
            unit=told.unit,
            estimates=sorted(
                [each for each in told.cards if each.value is not None],
                key=lambda each: -(each.value or 0.0),
            ),
        )

    def analyst(self, rules: Rules) -> Analyst:
        """Who values decisions under these rules."""
        if rules not in self._analysts:
            search = HINT_SEARCH if ThinkerAgent.plays(rules) else OTHER_HINT_SEARCH
            self._analysts[rules] = Analyst(rules, AnalysisSettings(search=search))
        return self._analysts[rules]


def hint_reason(view: View, told: PositionValues) -> str:
    """The reason in a sentence or two."""
    best, *equals = told.best
    values = {card.action: card.value or 0.0 for card in told.cards}
    card, value = action_symbol(best), _worth(told, values[best])
    if len(values) == 1:
        return say("hints.only", card=card)
    if told.exact:
        if len(equals) == len(values) - 1:
            return say("hints.same", value=value)
        if not equals:
            return say("hints.exact", card=card, value=value)
        others = join_words(list(map(action_symbol, equals)))
        return say("hints.exact_too", card=card, value=value, others=others, n=len(equals))
    noise = {each.action: each.cost_half_width for each in told.cards}
    # What would be told by the same figure is no difference that helps anybody.
    alike = [
        each
        for each in values
        if values[best] - values[each] <= noise[each] or _worth(told, values[each]) == value
    ]
    idea = _idea(view)
    if len(alike) > 1:
        names = list(map(action_symbol, sorted(alike, key=lambda each: each != best)[:4]))
        return say("hints.unclear", cards=join_words(names), card=card, value=value, idea=idea)
    other = max((each for each in values if each != best), key=values.__getitem__)
    less = _worth(told, values[other])
    return say(
        "hints.clear", card=card, value=value, other=action_symbol(other), less=less, idea=idea
    )


def _worth(told: PositionValues, value: float) -> str:
    """What a card does, by what it is worth."""
    about = "" if told.exact else "_about"
    if told.unit == WIN and told.exact:
        return say(f"hints.{('loses', 'ties', 'wins')[round(value / 50)]}")
    if told.unit == WIN:
        return say("hints.wins_share", share=percent(value))
    if value == 0:
        return say(f"hints.brings{about}_nothing")
    return say(f"hints.{'gains' if value > 0 else 'costs'}{about}", pay=f"{abs(value):.3g}")


def _idea(view: View) -> str:
    """What lies on the stock for the winner of the trick, whether or not it is worth winning."""
    if view.phase in ("choose", "exchange"):
        return say("hints.choosing" if view.phase == "choose" else "hints.exchange")
    if not view.upcards:
        return say("hints.no_stock" if view.endgame else "hints.unseen")
    shown = [card.symbol for card in view.upcards]
    if len(shown) > 1:
        return say("hints.two_up", cards=join_words(shown))
    return say(
        "hints.trump_up" if view.upcards[0].suit == view.trump else "hints.up", card=shown[0]
    )
