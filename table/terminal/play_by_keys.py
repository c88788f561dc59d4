# pyright: strict
"""An evening at the terminal by keys: cards are chosen with a marker, pages lie over the table.

The agent to move thinks in a thread of its own, so that keys, a new size of the window and
the signal to stop are answered meanwhile. After every card the session is kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ...engine.cards import RANKS, TAKE_HIDDEN, Card
from ...engine.game import IllegalAction
from ...engine.view import View
from ..labels import say
from ..session import PERSON, Session
from ..words import prompt, score
from .drawing import MOST_COLUMNS, Table, in_order, page
from .keeping import Keeper, Left, decided, short_names
from .pages import keys_page, rules_page, score_page, seen_page, statistics_page, tricks_page
from .screen import Screen
from .scrolling import Page, scrolled
from .styled_text import Line, flowed, key_line, sentence

_RANK_KEYS = {**{rank: rank for rank in RANKS}, "0": "T", "1": "T"}
_SPINNER = "|/-\\"
_ENTER = ("enter", "space")
_SAME_PRESS = 0.4
"""Seconds within which Enter was meant for what was shown before."""


class Evening:
    """A person at a table, until the match is over or the person leaves."""

    def __init__(
        self, screen: Screen, session: Session, keeper: Keeper, pause: float = 1.0
    ) -> None:
        """`pause` is how long a trick lies, in seconds, before the other leads the next."""
        self.screen, self.session = screen, session
        self._keeper = keeper
        self._pause = pause
        self._names = short_names(session.settings)
        self._chosen: int | None = None
        self._message: Line = []
        self._entered = 0.0
        self._shows_known = False
        self._classic = False
        self._at_work = False
        self._held = False

    # -- the course of an evening

    def run(self) -> None:
        """Play until nothing is left to play; `Left` when the person leaves before."""
        while True:
            if self.session.game.over:
                self._after_hand()
                if self.session.over:
                    return
                self.session.next_hand()
                self._keeper.keep(self.session)
            elif self.session.agent_to_move:
                self._think()
            else:
                self._ask()

    def _think(self) -> None:
        """Let the agent decide and play, and the cards lie for a while."""
        self._chosen, self._message = None, []
        session = self.session
        name = self._names[session.turn or 0]
        begun = time.monotonic()
        action = self._in_thread(lambda: decided(session), say("hand.thinking", name=name))
        lies = self._pause if self._trick_lies() else self._pause * 0.3
        while self._held or begun + lies > time.monotonic():
            self._show([])
            left = None if self._held else max(0.0, begun + lies - time.monotonic())
            key = self.screen.key(left)
            self._command(key)
            if self._entered_now(key):
                break
        session.play_decided(action)
        self._keeper.keep(session)

    def _trick_lies(self) -> bool:
        """Whether a whole trick is on the table, to be looked at before the next card."""
        phase, trick = self.session.game.phase, self.session.game.trick
        return trick > 0 and phase == "lead"

    def _in_thread(self, work: Callable[[], Any], words: str) -> Any:
        """What `work` gives; keys that only look are answered while it is at it."""
        found: list[Any] = []
        failed: list[BaseException] = []

        def at_work() -> None:
            try:
                found.append(work())
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=at_work, daemon=True)
        self._at_work = True
        turn, said, begun = 0, self.screen.said, time.monotonic()
        thread.start()
        thread.join(0.03)
        while thread.is_alive():
            seconds = time.monotonic() - begun
            if self.screen.said != said:
                words = self.screen.said
            told = f"{words} {_SPINNER[turn % 4]}" + (f" {seconds:.0f} s" if seconds >= 2 else "")
            self._show([(told, "faint")] if seconds > 0.15 else [])
            self._command(self.screen.key(0.12))
            turn += 1
        self._at_work = False
        if failed:
            raise failed[0]
        return found[0]

    def _ask(self) -> None:
        """Ask the person for an action, and play it."""
        view = self.session.view(PERSON)
        choices = self._choices(view)
        if self._chosen not in choices:
            self._chosen = _first(view, choices)
        said = self._message or sentence(prompt(view, self._names) + ".")
        self._show(said, _table_keys(view, self.screen.columns))
        key = self.screen.key()
        if self._entered_now(key):
            self._play()
        elif key is None or key in _ENTER or self._command(key):
            return
        elif (moved := _moved(key, self._chosen, choices, view)) is not None:
            self._chosen, self._message = moved, []

    def _entered_now(self, key: str | None) -> bool:
        """Whether Enter is pressed for what is shown: not again at once, and not held down."""
        if key is None:
            return False
        before, now = self._entered, time.monotonic()
        self._entered = now if key in _ENTER else 0.0
        return key in _ENTER and now - before > _SAME_PRESS

    def _play(self) -> None:
        assert self._chosen is not None
        try:
            self.session.play(self._chosen)
        except IllegalAction as error:
            self._message = [(say("terminal.not_allowed"), "bad"), *sentence(str(error))]
            return
        self._chosen, self._message = None, []
        self._keeper.keep(self.session)

    def _choices(self, view: View) -> list[int]:
        """What the marker goes through: the hand, or the stock cards to choose from."""
        if view.phase == "choose":
            hidden = [TAKE_HIDDEN] if TAKE_HIDDEN in view.legal() else []
            return [*map(int, view.upcards), *hidden]
        if view.phase == "exchange":
            return view.legal()
        return [int(card) for card in in_order(view.hand, view.trump, self._classic)]

    def _after_hand(self) -> None:
        """The last trick, then the scoreboard."""
        self._chosen, self._message = None, []
        until = time.monotonic() + 1.5 * self._pause
        while (left := until - time.monotonic()) > 0:
            self._show([])
            if self._entered_now(self.screen.key(left)):
                break
        closes = say("bar.go_on" if self.session.over else "bar.next_hand")
        self._open(self._score(), closes, leaves=True)

    # -- looking

    def _command(self, key: str | None) -> bool:
        """Answer a key that only looks or leaves; whether it was one."""
        if key is None or key == "resize":
            return key is not None
        view = self.session.view(PERSON)
        columns = self.screen.columns
        if key in ("q", "quit", "escape"):
            raise Left
        pages: dict[str, Callable[[], Page]] = {
            "?": lambda: keys_page(columns),
            "r": lambda: rules_page(self.session.settings.rules, columns),
            "s": lambda: seen_page(view, self._names, columns),
            "t": lambda: tricks_page(view, self._names),
            "m": self._score,
            "i": lambda: statistics_page(self._keeper.statistics()),
        }
        if key in pages:
            self._open(pages[key]())
        elif key == "p" and self.session.settings.watched:
            self._held = not self._held
        elif key == "k":
            self._shows_known = not self._shows_known
        elif key == "o":
            self._classic = not self._classic
        elif key == "h" and view.to_move and not self._at_work:
            self._advise(view)
        else:
            return key == "redraw"
        return True

    def _advise(self, view: View) -> None:
        """A hint in words, the marker on the card that it names."""
        words = say("terminal.thinking_of_hint")
        self._chosen, why = self._in_thread(lambda: self._keeper.hint(view), words)
        self._message = [(say("terminal.hint"), "good"), *sentence(why)]

    def _open(self, opened: Page, closes: str = "", leaves: bool = False) -> None:
        scrolled(self.screen, opened, closes, leaves)

    @property
    def _room(self) -> int:
        """The columns that messages have."""
        return min(self.screen.columns, MOST_COLUMNS) - 4

    def _score(self) -> Page:
        return score_page(self.session)

    def _waiting_keys(self) -> Line:
        """What the keys do while an agent is to play."""
        keys = [("Enter", "no_pause"), ("?", "keys"), ("q", "leave")]
        if self.session.settings.watched:
            keys[:1] = [("Enter", "next_card"), ("p", "go_on" if self._held else "pause")]
        return key_line(keys, self.screen.columns)

    def _show(self, message: Line, keys: Line | None = None) -> None:
        session, screen = self.session, self.screen
        view = session.view(PERSON)
        other: Sequence[Card] = view.theirs if self._shows_known else ()
        if session.settings.watched or session.game.over:
            other = session.game.hands[1 - PERSON]
        table = Table(
            view=view,
            names=self._names,
            score=score(session.settings.match, session.game.points, session.game.hands_won),
            hand=in_order(view.hand, view.trump, self._classic),
            chosen=self._chosen,
            other_hand=in_order(other, view.trump, self._classic),
            messages=flowed(message, self._room) if message else [],
            keys=keys or self._waiting_keys(),
        )
        screen.show(page(table, screen.ink, screen.columns, screen.rows))


def _table_keys(view: View, columns: int) -> Line:
    does = {"choose": "take", "exchange": "choose"}.get(view.phase, "play")
    keys = [("←→", "move"), ("Enter", does), ("h", "hint"), ("s", "seen"), ("r", "rules")]
    return key_line([*keys, ("?", "all_keys"), ("q", "leave")], columns)


def _first(view: View, choices: Sequence[int]) -> int:
    """Where the marker begins: the lowest card of those that may be played, far right."""
    legal = set(view.legal())
    playable = [each for each in choices if each in legal]
    return playable[0 if view.phase in ("choose", "exchange") else -1]


def _moved(key: str, chosen: int | None, choices: Sequence[int], view: View) -> int | None:
    """Where the marker goes by a key; None when the key does not move it."""
    at = choices.index(chosen) if chosen in choices else 0
    if key in ("left", "right"):
        return choices[(at + (1 if key == "right" else -1)) % len(choices)]
    if key in ("home", "end"):
        return choices[0 if key == "home" else -1]
    if view.phase == "exchange" and key in ("up", "down"):
        return choices[1 - at]
    if view.phase in ("choose", "exchange"):
        return None
    if key in ("up", "down"):
        return _next_suit(choices, at, 1 if key == "down" else -1)
    if (rank := _RANK_KEYS.get(key)) is not None:
        legal = set(view.legal())
        circle = [*choices[at + 1 :], *choices[: at + 1]]
        found = [each for each in circle if RANKS[Card(each).rank] == rank]
        return next((each for each in found if each in legal), found[0] if found else None)
    return None


def _next_suit(choices: Sequence[int], at: int, step: int) -> int:
    suits = list(dict.fromkeys(Card(each).suit for each in choices))
    suit = suits[(suits.index(Card(choices[at]).suit) + step) % len(suits)]
    return next(each for each in choices if Card(each).suit == suit)
