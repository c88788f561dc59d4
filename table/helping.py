# pyright: strict
"""Help for who wants it: what has been seen, what the other is known to hold, and a hint.

All of it is made from the player's own view, so it tells nothing that a player who
remembers everything does not know.
"""

from __future__ import annotations

from typing import Any

from ..engine.cards import CARDS, SUITS, TAKE_HIDDEN, Card
from ..engine.rules import Rules
from ..engine.view import View
from .analysis import WIN, AnalysisSettings, Analyst
from .messages import texts

HINT_SEARCH = "flat-mc:256,voids,playout=counting"


def seen_of(view: View) -> dict[str, Any]:
    """Where every card is, as far as the player can know, suit by suit from the highest."""
    places = _places(view)
    suits = [
        {
            "suit": SUITS[suit],
            "cards": [
                {"card": str(card), "where": places[card]}
                for card in reversed(view.rules.deck)
                if card.suit == suit
            ],
        }
        for suit in range(view.rules.suits)
    ]
    open_now = view.endgame and view.rules.open_endgame
    known = sorted([*view.known, *view.unseen]) if open_now else view.known
    return {
        "seen": {"suits": suits},
        "known": texts(known),
        "hidden": view.other_cards - len(known),
        "voids": [
            {"suit": SUITS[suit], "draws_since": draws} for suit, draws in view.void_draws.items()
        ],
        "counts": {
            "unseen": 0 if open_now else len(view.unseen),
            "other_cards": view.other_cards,
            "stock_face_down": view.stock_left - len(view.upcards),
            "set_aside": view.rules.set_aside,
        },
    }


def _places(view: View) -> dict[Card, str]:
    """`hand`, `other`, `up` (in the stock), `trick`, `played` or `unseen`."""
    places = dict.fromkeys(view.rules.deck, "unseen")
    if view.endgame and view.rules.open_endgame:
        places |= dict.fromkeys(view.unseen, "other")
    places |= dict.fromkeys([*view.played_by_me, *view.played_by_other], "played")
    if view.phase in ("follow", "choose"):
        last = list(view.tricks())[-1]
        places |= {card: "trick" for card in (last.led, last.followed) if card is not None}
    places |= dict.fromkeys(view.upcards, "up")
    places |= dict.fromkeys(view.known, "other")
    return places | dict.fromkeys(view.hand, "hand")


class Adviser:
    """Hints for one rule set: the endgame's exact values, before it a search's estimates."""

    def __init__(self, rules: Rules) -> None:
        self._analyst = Analyst(rules, AnalysisSettings(search=HINT_SEARCH))

    def hint(self, view: View) -> dict[str, Any]:
        """The best action for the player to move, with a reason and what the others are worth."""
        legal = view.legal()
        told = self._analyst.decision(view, legal[0])
        best: int = told["best"][0]
        estimates = [
            {**each, "name": _named(each["action"])}
            for each in sorted(told["cards"], key=lambda card: -(card["value"] or 0.0))
        ]
        return {
            "action": best,
            "card": None if best == TAKE_HIDDEN else str(CARDS[best]),
            "why": _why(view, told, best),
            "exact": told["exact"],
            "unit": told["unit"],
            "estimates": [each for each in estimates if each["value"] is not None],
        }


def _named(action: int) -> str:
    return "the hidden card" if action == TAKE_HIDDEN else CARDS[action].symbol


def _why(view: View, told: dict[str, Any], best: int) -> str:
    """The reason in a sentence or two."""
    name = _named(best)
    if len(told["cards"]) == 1:
        return f"{name} is all that you may play."
    values: dict[int, float] = {card["action"]: card["value"] for card in told["cards"]}
    told_value = _value_text(told["unit"], values[best], told["exact"])
    equals = [each for each in told["best"] if each != best]
    if told["exact"]:
        if len(equals) == len(values) - 1:
            return f"Every card comes to the same: {told_value}."
        rest = f" So {_does(equals)} {_names(equals)}." if equals else ""
        return f"All cards are known, and {name} {told_value}.{rest}"
    next_best = max((each for each in values if each != best), key=values.__getitem__)
    gap = _value_text(told["unit"], values[next_best], False)
    return f"A search finds that {name} {told_value}; {_named(next_best)} {gap}. {_idea(view)}"


def _does(actions: list[int]) -> str:
    return "does" if len(actions) == 1 else "do"


def _names(actions: list[int]) -> str:
    shown = [_named(each) for each in actions]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


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
    """What is at stake in the trick."""
    if view.phase == "choose":
        return "The loser of the trick gets the other card."
    if not view.upcards:
        return "The stock is gone." if view.endgame else "Nobody sees the card that is played for."
    if len(view.upcards) > 1:
        return f"{' and '.join(card.symbol for card in view.upcards)} are to be won."
    (card,) = view.upcards
    return f"{card.symbol} is to be won{', a trump' if card.suit == view.trump else ''}."
