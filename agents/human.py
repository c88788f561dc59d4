"""You at the terminal: shows what you may know and asks for a card."""

from __future__ import annotations

import numpy as np

from ..engine.cards import CHOICE_WORDS, SUIT_SYMBOLS, action_word, card
from ..engine.view import View
from .base import Agent, Array


class HumanAgent(Agent):
    """Asks the person at the terminal, one view after the other."""

    name = "human"

    def act(self, views: Array, rng: Array) -> Array:
        """What the person answers for each view."""
        return np.array([self._asked(View(self.rules, one.copy())) for one in _each(views)])

    def _asked(self, view: View) -> int:
        print(seen(view))
        legal = view.legal()
        while True:
            try:
                answer = input(f"your choice ({' '.join(map(action_word, legal))})? ")
            except EOFError:
                raise ValueError("the human has left: there is no terminal to ask") from None
            action = _action(answer)
            if action in legal:
                return action
            print(f"{answer.strip() or 'nothing'} can not be played now")


def _each(views: Array) -> list[Array]:
    return [views[index : index + 1] for index in range(len(views))]


def _action(answer: str) -> int | None:
    for action, word in CHOICE_WORDS.items():
        if answer.strip().lower() == word:
            return action
    try:
        return int(card(answer))
    except ValueError:
        return None


def seen(view: View) -> str:
    """A view in a few lines."""
    trumps = "no trumps" if view.trump is None else f"trumps {SUIT_SYMBOLS[view.trump]}"
    mine, others = view.counting_tricks
    lines = [
        "",
        f"trick {view.trick + 1}, {trumps}{', played low' if view.low else ''}, "
        f"counting tricks {mine}:{others}, {view.stock_left} cards in the stock",
        "your hand   " + " ".join(each.symbol for each in view.hand),
    ]
    if view.turned is not None:
        lines.append(f"turned up   {view.turned.symbol}")
    if view.exchanged[1] is not None:
        did = "took a blind hand" if view.exchanged[1] else "kept the hand dealt"
        lines.append(f"they        {did}")
    if view.laid_away:
        lines.append("laid away   " + " ".join(each.symbol for each in view.laid_away))
    if view.known:
        lines.append("theirs      " + " ".join(each.symbol for each in view.known))
    if view.upcards:
        lines.append("to be won   " + " ".join(each.symbol for each in view.upcards))
    if view.led is not None:
        lines.append(f"led         {view.led.symbol}")
    return "\n".join(lines)


__all__ = ["HumanAgent", "seen"]
