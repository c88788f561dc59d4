# pyright: strict
"""Help for who wants it: what has been seen, what the other is known to hold, and a hint.

All of it is made from the player's own view, so it tells nothing that a player who
remembers everything does not know.
"""

from __future__ import annotations

import threading

from msgspec import Struct

from ..agents.thinker import ThinkerAgent
from ..engine.cards import SUITS, Card
from ..engine.endgame.build import usable_threads
from ..engine.rules import Rules
from ..engine.view import View
from .analysis import WIN, AnalysisSettings, Analyst, Values, Worth
from .words import action_symbol, listed

HINT_SEARCH, OTHER_HINT_SEARCH = "thinker:256", "flat-mc:256,voids,playout=counting"
"""What estimates hints, and what does for the rule sets that the first does not play."""


class Void(Struct):
    """A suit that the other had no card of, and the cards that it drew unseen since."""

    suit: str
    draws_since: int


class Seen(Struct):
    """Where every card is, as far as the player can know, suit by suit from the highest."""

    suits: dict[str, dict[str, str]]
    known: list[str]
    hidden: int
    voids: list[Void]


class Hint(Struct):
    """The best action, with a reason and what the others are worth."""

    action: int
    why: str
    exact: bool
    unit: str
    estimates: list[Worth]


def known_cards(view: View) -> list[Card]:
    """The cards of the other that this seat can know: all, once the hands are open."""
    if view.stock_left == 0 and view.rules.open_endgame:
        return sorted([*view.known, *view.unseen])
    return view.known


def seen_of(view: View) -> Seen:
    """Where every card is, as far as the player can know."""
    places, known = _places(view), known_cards(view)
    deck = list(reversed(view.rules.deck))
    return Seen(
        suits={
            SUITS[suit]: {str(card): places[card] for card in deck if card.suit == suit}
            for suit in range(view.rules.suits)
        },
        known=[str(card) for card in known],
        hidden=view.other_cards - len(known),
        voids=[Void(SUITS[suit], draws) for suit, draws in view.void_draws.items()],
    )


def _places(view: View) -> dict[Card, str]:
    """`hand`, `other`, `up` (in the stock), `trick`, `played` or `unseen`."""
    places = dict.fromkeys(view.rules.deck, "unseen")
    places |= dict.fromkeys([*view.played_by_me, *view.played_by_other], "played")
    if view.phase in ("follow", "choose"):
        last = list(view.tricks())[-1]
        places |= {card: "trick" for card in (last.led, last.followed) if card is not None}
    places |= dict.fromkeys(view.upcards, "up")
    places |= dict.fromkeys(known_cards(view), "other")
    return places | dict.fromkeys(view.hand, "hand")


class Advisers:
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
            why=why(view, told),
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


def why(view: View, told: Values) -> str:
    """The reason in a sentence or two."""
    best = told.best[0]
    name = action_symbol(best)
    if len(told.cards) == 1:
        return f"{name} is all that you may play."
    values = {card.action: card.value or 0.0 for card in told.cards}
    value = _value_text(told.unit, values[best], told.exact)
    if told.exact:
        equals = [each for each in told.best if each != best]
        if len(equals) == len(values) - 1:
            return f"Every card comes to the same: {value}."
        verb = "does" if len(equals) == 1 else "do"
        rest = f" So {verb} {listed(list(map(action_symbol, equals)))}." if equals else ""
        return f"All cards are known, and {name} {value}.{rest}"
    next_best = max((each for each in values if each != best), key=values.__getitem__)
    if values[best] - values[next_best] <= _noise(told, next_best):
        others = [each for each in values if values[best] - values[each] <= _noise(told, each)]
        named = listed([action_symbol(each) for each in others[:4]])
        return f"A search sees no clear difference between {named}: each {value}. {_idea(view)}"
    gap = _value_text(told.unit, values[next_best], False)
    return f"A search finds that {name} {value}; {action_symbol(next_best)} {gap}. {_idea(view)}"


def _noise(told: Values, action: int) -> float:
    return next(card.cost_half_width for card in told.cards if card.action == action)


def _value_text(unit: str, value: float, exact: bool) -> str:
    if unit == WIN:
        if not exact:
            return f"wins about {value:.0f} % of hands"
        return {0: "loses the hand", 50: "ties it", 100: "wins it"}[round(value)]
    about = "" if exact else "about "
    if value == 0:
        return f"brings {about}nothing either way"
    return f"{'wins' if value > 0 else 'loses'} {about}{abs(value):.3g}"


def _idea(view: View) -> str:
    """What lies on the stock for the winner of the trick, whether or not it is worth winning."""
    if view.phase == "choose":
        return "The loser of the trick gets the other card."
    if not view.upcards:
        return "The stock is gone." if view.endgame else "Nobody sees the card that is played for."
    shown = [card.symbol for card in view.upcards]
    if len(shown) > 1:
        return f"{listed(shown)} lie on the stock."
    trump = ", a trump" if view.upcards[0].suit == view.trump else ""
    return f"The winner draws {shown[0]}{trump}, the loser a card unseen."
