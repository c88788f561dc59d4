# pyright: strict
"""Where an evening at the terminal begins: which kept session goes on, or what is played anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...engine.rules import Match, Rules, named_rules
from ..labels import say
from ..opponents import who_may_sit
from ..session import Settings, state_in
from ..store import Kept
from ..words import match_words, score
from .keeping import Left, short_names
from .pages import rules_page
from .play_by_lines import Asker
from .screen import Screen
from .scrolling import scrolled
from .styled_text import Line, key_line, spread, tidy, wrapped

_MOST_OFFERED = 6
_KEYS = (("↑↓", "choose"), ("←→", "change"), ("Enter", "sit_down"), ("r", "rules"), ("q", "leave"))
_LEVELS = ("easy", "medium", "hard", "champion")
_MATCHES = (
    *(None, Match(target=10), Match(target=25), Match(target=50)),
    *(Match(best_of=3), Match(best_of=5)),
)


def told(kept: Kept) -> str:
    """A kept session in a line: what is played, how it stands, and since when it waits."""
    state = state_in(kept.state)
    settings = Settings.of(state.settings)
    words = score(settings.match, state.score.points, state.score.hands_won)
    when = time.strftime("%d %b %H:%M", time.localtime(kept.updated)).lstrip("0")
    rules, opponent = tidy(settings.rules.name, 12), short_names(settings)[1]
    return say("terminal.kept", rules=rules, opponent=opponent, score=words, when=when)


def ask_in_lines(asker: Asker, waiting: Sequence[Kept]) -> Kept | None:
    """Which kept session goes on; None for a new one."""
    offered = waiting[:_MOST_OFFERED]
    asker.say(say("terminal.kept_before"))
    for number, kept in enumerate(offered, 1):
        asker.say(f"  {number}  {told(kept)}")
    others = "" if len(offered) == 1 else say("terminal.others", n=len(offered))
    while True:
        answer = asker.ask(say("terminal.which", others=others)).lower()
        if answer in ("q", "quit"):
            raise Left
        if answer in ("n", "new"):
            return None
        if answer in ("", "y", "yes"):
            return offered[0]
        if answer.isdecimal() and 1 <= int(answer) <= len(offered):
            return offered[int(answer) - 1]
        asker.say(say("terminal.none_of_these", answer=repr(answer[:30])))


@dataclass
class _Choice:
    """One setting that the arrow keys change."""

    name: str
    values: Sequence[Any]
    at: int

    @property
    def value(self) -> Any:
        return self.values[self.at]


class Lobby:
    """The page on which an evening begins."""

    def __init__(
        self,
        screen: Screen,
        waiting: Sequence[Kept],
        settings: Settings,
        forget: Callable[[str], None],
    ) -> None:
        """`forget` is told the name of a kept session that is cleared away."""
        self._screen = screen
        self._waiting = list(waiting[:_MOST_OFFERED])
        self._forget = forget
        self._settings = settings
        agents = who_may_sit()
        names = [name for name in _LEVELS if name in agents]
        names += [name for name in agents if name not in _LEVELS]
        self._about = {name: agents[name].about for name in names}
        self._choices = [
            _choice("opponent", names, settings.opponent),
            _choice("rules", list(named_rules().values()), settings.rules),
            _choice("match", list(_MATCHES), settings.match),
        ]
        self._row = 0

    def ask(self) -> Kept | Settings:
        """The kept session to go on with, or the settings of a new one."""
        while True:
            self._screen.show(self._page())
            key = self._screen.key()
            rows = len(self._waiting) + len(self._choices)
            if key in ("q", "quit", "escape"):
                raise Left
            if key in ("enter", "space"):
                return self._answer()
            if key in ("up", "down"):
                self._row = (self._row + (1 if key == "down" else -1)) % rows
            elif key in ("left", "right") and (choice := self._chosen()) is not None:
                step = 1 if key == "right" else -1
                choice.at = (choice.at + step) % len(choice.values)
            elif key == "x" and self._row < len(self._waiting):
                self._forget(self._waiting.pop(self._row).id)
            elif key == "n":
                self._row = len(self._waiting)
            elif key == "r":
                rules: Rules = self._choices[1].value
                scrolled(self._screen, rules_page(rules, self._screen.columns))

    def _chosen(self) -> _Choice | None:
        place = self._row - len(self._waiting)
        return self._choices[place] if place >= 0 else None

    def _answer(self) -> Kept | Settings:
        if self._row < len(self._waiting):
            return self._waiting[self._row]
        opponent, rules, match = (choice.value for choice in self._choices)
        return replace(self._settings, opponent=opponent, rules=rules, match=match)

    def _page(self) -> list[Line]:
        columns = min(self._screen.columns, 78)
        title: Line = [(" " + say("site.title"), "title")]
        lines = [spread(title, [(" ", "title")], columns, "title")]
        if self._waiting:
            lines += [[], [("   " + say("terminal.go_on_with"), "faint")]]
            lines += [self._line(row, told(kept)) for row, kept in enumerate(self._waiting)]
        begin = say("terminal.begin_new" if self._waiting else "terminal.new")
        lines += [[], [(f"   {begin}", "faint")]]
        for place, choice in enumerate(self._choices, len(self._waiting)):
            name, value = say(f"terminal.choices.{choice.name}"), _named(choice.value)
            shown = f"◂ {value} ▸" if place == self._row else f"  {value}"
            lines.append(self._line(place, f"{name:<10}{shown}"))
        lines += [[], *wrapped(self._words(), columns - 6, "", indent=3)]
        keys = key_line(_KEYS, columns)
        room = self._screen.rows - 2 - len(lines)
        return [*lines, *([[]] * min(max(room, 0), 2)), keys]

    def _line(self, row: int, words: str) -> Line:
        chosen = row == self._row
        return [(" ▸ " if chosen else "   ", "gold"), (words, "bold" if chosen else "")]

    def _words(self) -> str:
        """What is to be known about the row under the marker."""
        choice = self._chosen()
        if choice is None:
            return say("terminal.as_left")
        if choice.name == "opponent":
            return f"{choice.value}: {self._about.get(choice.value, say('agents.named'))}."
        if choice.name == "rules":
            return f"{choice.value.name}: {choice.value.about}"
        if choice.value is None:
            return say("terminal.one_hand")
        return say("terminal.hands_played", match=_named(choice.value))


def _choice(name: str, values: list[Any], now: Any) -> _Choice:
    if now not in values:
        values.insert(0, now)
    return _Choice(name, values, values.index(now))


def _named(value: object) -> str:
    if isinstance(value, Match) or value is None:
        return match_words(value)
    return value.name if isinstance(value, Rules) else str(value)
