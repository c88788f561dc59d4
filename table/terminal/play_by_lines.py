# pyright: strict
"""An evening in plain lines, for pipes and for terminals without keys.

What happens is told line by line and what to play is typed: a card such as `TD` or `10♦`,
or a word such as `hint`. A file of lines plays as well as a person does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from ...engine.cards import CARDS_IN_ALL, CHOICE_WORDS, SUIT_SYMBOLS, Card, card
from ...engine.game import IllegalAction
from ...engine.view import View
from ...engine.words import meant
from ..labels import capital, labels, say
from ..session import PERSON, Session
from ..words import (
    did,
    last_trick,
    listed,
    prompt,
    score,
    stage,
    stock_is_gone,
    symbols,
    title_of,
    trumps,
)
from .drawing import in_order
from .keeping import Keeper, Left, decided, short_names
from .pages import (
    cards_in_lines,
    rules_page,
    score_page,
    seen_page,
    statistics_page,
    tricks_page,
)
from .scrolling import Page
from .styled_text import Ink, Line, text_of_line, told_in_lines

_WIDTH = 78


class Asker:
    """Writes lines and reads answers; the end of the input is a person who leaves."""

    def __init__(self, ink: Ink) -> None:
        self.ink = ink

    def say(self, *lines: Line | str) -> None:
        """Write lines without styles."""
        for line in lines:
            text = line if isinstance(line, str) else text_of_line(line)
            print(self.ink.spelled(text), flush=True)

    def show(self, page: Page) -> None:
        """Write a whole page."""
        self.say("", page.title, *([("  ", ""), *line] for line in page.lines), "")

    def ask(self, question: str) -> str:
        """One line of input, without the blanks around it."""
        print(self.ink.spelled(question), end=" ", flush=True)
        try:
            answer = sys.stdin.readline()
        except UnicodeDecodeError:
            return "?"
        except KeyboardInterrupt:
            print()
            raise Left from None
        if not sys.stdin.isatty():
            print(self.ink.spelled(answer.strip()))
        elif not answer:
            print()
        if not answer:
            raise Left
        return answer.strip()


class LinesEvening:
    """A person at a table of plain lines, until the match is over or the person leaves."""

    def __init__(self, asker: Asker, session: Session, keeper: Keeper) -> None:
        self.session = session
        self._asker = asker
        self._keeper = keeper
        self._names = short_names(session.settings)

    def run(self) -> None:
        """Play until nothing is left to play; `Left` when the person leaves before."""
        session, asker = self.session, self._asker
        if not session.game.over:
            self._tell_deal()
        while True:
            if session.game.over:
                asker.show(self._score())
                if session.over:
                    return
                if not session.settings.watched:
                    self._ask_next()
                session.next_hand()
                self._keeper.keep(session)
                self._tell_deal()
            elif session.agent_to_move:
                self._tell(session.turn or 0, self._answer)
            else:
                self._ask()

    def _tell(self, seat: int, act: Callable[[], None]) -> None:
        """Let a seat act, and tell what it did and what came of it."""
        before = self.session.view(PERSON)
        act()
        self._keeper.keep(self.session)
        after = self.session.view(PERSON)
        name = self._names[seat]
        action = int(self.session.game.actions[-1])
        self._asker.say(capital(f"{did(name, before.phase, action)}."))
        if after.trick > before.trick or after.phase == "over":
            self._asker.say(f"{last_trick(after, self._names)}.")
            if before.stock_left and not after.stock_left and after.phase != "over":
                self._asker.say(stock_is_gone(after, self._names))

    def _answer(self) -> None:
        self.session.play_decided(decided(self.session))

    def _tell_deal(self) -> None:
        """What a hand begins with."""
        view = self.session.view(PERSON)
        game = self.session.game
        dealer = self._names[PERSON if view.i_deal else 1]
        rules = title_of(view.rules.name)
        now = score(self.session.settings.match, game.points, game.hands_won)
        self._asker.say(
            "",
            say("terminal.deal", rules=rules, score=now, name=dealer, trumps=trumps(view)),
        )
        if view.low:
            self._asker.say(say("terminal.low"))

    def _tell_table(self, view: View) -> None:
        """What a person sees before a card is asked for."""
        if view.stock_left:
            faced = symbols(view.upcards) or say("terminal.face_down")
            where = say("terminal.with_stock", stage=stage(view), n=view.stock_left, cards=faced)
        else:
            mine, others = view.counting_tricks
            where = say("terminal.with_tricks", stage=stage(view), mine=mine, others=others)
        told = {"trumps": trumps(view), "name": self._names[1], "n": view.other_cards}
        self._asker.say(say("terminal.around", where=where, **told))
        if view.turned is not None:
            self._asker.say(say("terminal.turned", card=view.turned.symbol))
        cards = _by_suit(in_order(view.hand, view.trump))
        self._asker.say(say("terminal.your_hand", cards=cards))

    def _ask(self) -> None:
        """Ask until something is played."""
        view = self.session.view(PERSON)
        self._asker.say("")
        self._tell_table(view)
        self._asker.say(f"{prompt(view, self._names)}.")
        while True:
            answer = self._asker.ask(_question(view)).lower()
            if (action := _action(answer)) is None:
                self._answer_word(answer, view)
                continue
            try:
                self._tell(PERSON, lambda action=action: self.session.play(action))
            except IllegalAction as error:
                self._asker.say(*told_in_lines(say("terminal.not_allowed"), "", str(error), _WIDTH))
                continue
            return

    def _ask_next(self) -> None:
        if self._asker.ask(say("terminal.next_hand")).lower() in ("q", "quit"):
            _leave()

    def _answer_word(self, answer: str, view: View) -> None:
        asker = self._asker
        known_words: dict[str, str] = labels()["terminal"]["words"]
        word = next((each for each in known_words if answer and each.startswith(answer)), answer)
        if word in ("quit", "exit"):
            _leave()
        elif word == "hint":
            asker.say(*told_in_lines("", "", self._keeper.hint(view)[1], 10_000))
        elif word == "hand":
            self._tell_table(view)
        elif word == "known":
            known = in_order(view.theirs, view.trump)
            asker.say(*(cards_in_lines(known, _WIDTH) if known else [say("terminal.none_yet")]))
        elif word in ("?", "help", "keys"):
            asker.say(say("terminal.how_to_type"))
            asker.say(*(f"{name:<11} {about}" for name, about in known_words.items()))
        else:
            pages: dict[str, Callable[[], Page]] = {
                "seen": lambda: seen_page(view, self._names, _WIDTH),
                "tricks": lambda: tricks_page(view, self._names),
                "score": self._score,
                "rules": lambda: rules_page(view.rules, _WIDTH),
                "statistics": lambda: statistics_page(self._keeper.statistics()),
            }
            if word in pages:
                asker.show(pages[word]())
            else:
                asker.say(_not_understood(answer, known_words))

    def _score(self) -> Page:
        return score_page(self.session)


def _leave() -> None:
    raise Left


def _question(view: View) -> str:
    if view.phase not in ("choose", "exchange"):
        return say("terminal.your_card")
    cards = [each.symbol for each in view.upcards]
    cards += [_short(action) for action in view.legal() if action >= CARDS_IN_ALL]
    return say(
        "terminal.exchange" if view.phase == "exchange" else "terminal.take",
        cards=listed(cards, "or"),
    )


def _short(action: int) -> str:
    """What is typed for an action that is no card."""
    return say(f"cards.{CHOICE_WORDS[action]}_short")


def _by_suit(cards: Sequence[Card]) -> str:
    suits = dict.fromkeys(each.suit for each in cards)
    ranks = {suit: [each.symbol[:-1] for each in cards if each.suit == suit] for suit in suits}
    return "   ".join(f"{SUIT_SYMBOLS[suit]} {' '.join(held)}" for suit, held in ranks.items())


def _action(answer: str) -> int | None:
    for action, word in CHOICE_WORDS.items():
        if answer in (_short(action), say(f"cards.{word}")):
            return action
    try:
        return int(card(answer))
    except ValueError:
        return None


def _not_understood(answer: str, known: Iterable[str]) -> str:
    if not answer:
        return say("terminal.type")
    near = meant(answer, list(known), listed=False) or say("terminal.type_or")
    return say("terminal.no_card", answer=repr(answer[:30]), near=near)
