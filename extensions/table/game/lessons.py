# pyright: strict
"""The lessons: small hands, each of one deal that shows its topic."""

from __future__ import annotations

from german_whist.engine.rules import Rules, load_rules

from ..text.labels import label
from .session import SessionSettings

N_LESSONS = 3
FIRST = Rules(name="lesson", about=label("learn.small"), suits=4, ranks=5, hand=5, stock=10)
_SEEDS = {1: 3, 2: 10, 3: 1080}
"""Strong and weak upcards in the first two lessons, an ending in the last."""
_FOREPLAY = (37, 38, 12, 45, 19, 20, 21, 24, 25, 23, 22, 8, 47, 46)
"""The tricks for the stock of the last lesson, which begins with an ending."""


def lesson_settings(number: int) -> SessionSettings:
    """A lesson by its number, from 1."""
    return SessionSettings(
        rules=FIRST if number == 1 else load_rules("small-last"),
        opponent="champion" if number == N_LESSONS else "easy",
        seed=_SEEDS[number],
        prior_actions=_FOREPLAY if number == N_LESSONS else (),
        lesson=number,
    )


def can_coach(settings: SessionSettings) -> bool:
    """Whether the coach can speak in a person's hand: one upcard is played for, and high wins."""
    rules = settings.rules
    plain = rules.contract == "high" and rules.counts == "last" and rules.race is None
    shown = rules.foreplay_tricks > 0 and rules.face_up > 0 and rules.faced == "every"
    own = not (settings.watched or settings.memory or settings.deal)
    return own and plain and shown and not (rules.choice or rules.exchange)
