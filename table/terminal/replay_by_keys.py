# pyright: strict
"""A finished hand in the terminal: stepped through by keys, forwards and backwards.

It is drawn as the table is while one plays, from one seat's view, with the other hand open
or not; where the hand was analysed, what a decision was worth stands below.
"""

from __future__ import annotations

from ...engine.game import Game
from ...engine.records import GameRecord
from .. import words
from ..analysis import Analysis
from ..labels import say
from ..replay import names_of, result_of
from .drawing import MOST_COLUMNS, Table, in_order, page
from .keeping import Left
from .pages import rules_page, seen_page, tricks_page
from .screen import Screen, Stopped
from .scrolling import Page, scrolled
from .styled_text import Line, flowed, key_line, sentence, tidy

_KEYS = (
    *(("←→", "card"), ("↑↓", "trick"), ("o", "other_hand"), ("f", "other_seat")),
    *(("s", "seen"), ("t", "tricks"), ("r", "rules"), ("q", "leave")),
)


def step_through(
    record: GameRecord, analysis: Analysis | None = None, seat: int | None = None
) -> int:
    """Show a hand until the person leaves; with a `seat` the other's cards stay down at first."""
    try:
        with Screen() as screen:
            _Stepping(screen, record, analysis, seat).run()
    except Left:
        return 0
    except Stopped as stopped:
        return 128 + (stopped.number or 1)
    return 0


class _Stepping:
    """Where in the hand the person is, and how it is looked at."""

    def __init__(
        self,
        screen: Screen,
        record: GameRecord,
        analysis: Analysis | None,
        seat: int | None,
    ) -> None:
        self._screen, self._record = screen, record
        self._actions = record.actions
        self._games = _every_position(record)
        self._at = 0
        self._seat = seat or 0
        self._open = seat is None
        self._worth = {each.n: each for each in analysis.decisions} if analysis else {}
        self._tricks = [place for place, game in enumerate(self._games) if game.phase == "lead"]
        self._tricks.append(len(self._games) - 1)

    def run(self) -> None:
        """Show, and follow the keys; `Left` at the end."""
        while True:
            columns, rows = self._screen.columns, self._screen.rows
            self._screen.show(page(self._table(), self._screen.ink, columns, rows))
            self._follow(self._screen.key() or "")

    def _follow(self, key: str) -> None:
        last = len(self._games) - 1
        moved = {
            "right": self._at + 1,
            "enter": self._at + 1,
            "space": self._at + 1,
            "left": self._at - 1,
            "home": 0,
            "end": last,
            "down": next((each for each in self._tricks if each > self._at), last),
            "up": max((each for each in self._tricks if each < self._at), default=0),
        }
        self._at = min(max(moved.get(key, self._at), 0), last)
        view, names = self._games[self._at].view(self._seat), self._names
        pages: dict[str, Page] = {
            "s": seen_page(view, names, self._screen.columns),
            "t": tricks_page(view, names),
            "r": rules_page(view.rules, self._screen.columns),
        }
        if key in ("q", "quit", "escape"):
            raise Left
        if key == "o":
            self._open = not self._open
        elif key == "f":
            self._seat = 1 - self._seat
        elif key in pages:
            scrolled(self._screen, pages[key])

    @property
    def _names(self) -> tuple[str, str]:
        first, second = (tidy(name, 13) for name in names_of(self._record))
        return (first, second) if self._seat == 0 else (second, first)

    def _table(self) -> Table:
        game = self._games[self._at]
        view = game.view(self._seat)
        other = game.hands[1 - self._seat] if self._open else view.theirs
        hand = in_order(view.hand, view.trump)
        return Table(
            view=view,
            names=self._names,
            score=say("terminal.card_of", n=self._at, all=len(self._actions)),
            hand=hand,
            chosen=self._next_action(game) if game.turn == self._seat else None,
            other_hand=in_order(other, view.trump),
            messages=flowed(self._words(game), min(self._screen.columns, MOST_COLUMNS) - 4)[:3],
            keys=key_line(_KEYS, self._screen.columns),
        )

    def _next_action(self, game: Game) -> int | None:
        return None if game.over else self._actions[self._at]

    def _words(self, game: Game) -> Line:
        """What is played next, and what it was worth."""
        action = self._next_action(game)
        if action is None:
            return [(result_of(self._record).text, "bold")]
        name = self._names[0 if game.turn == self._seat else 1]
        if game.turn != self._seat and not self._open:
            return sentence(f"{words.to_do(name, game.phase)}.")
        line = sentence(say("terminal.next", what=words.did(name, game.phase, action)))
        worth = self._worth.get(self._at)
        if worth is None or len(worth.cards) < 2:
            return line
        if action in worth.best:
            return [*line, (say("terminal.nothing_better"), "good")]
        cost = f"{worth.cost:.3g}"
        cost = cost if worth.exact else say("terminal.about", cost=cost)
        best = words.action_symbol(worth.best[0])
        better = say("terminal.better", cost=cost, unit=worth.unit, card=best)
        return [*line, *sentence(better, "bad")]


def _every_position(record: GameRecord) -> list[Game]:
    """The game before each action, and after the last."""
    game = record.start()
    positions = [game.clone()]
    for action in record.actions:
        game.play(action)
        positions.append(game.clone())
    return positions
