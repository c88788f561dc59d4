"""Game records: one JSON line per hand, readable by people and replayable to the same result.

A line holds the rules, the deal (by seed and number, or card by card), who
dealt, the tricks as they were played and the result. Reading plays every hand
again; a line that can not be right is reported with its number, and the other
lines stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock

from .cards import CARDS, TAKE_HIDDEN, card, text_of
from .files import written_whole
from .game import Game, checked_deal
from .rules import Match, Rules, load_rules, named_rules

RECORD_VERSION = 1
_HIDDEN_WORD = "hidden"
_FIELDS = (
    *("record", "rules", "match", "seed", "number", "deal"),
    *("dealer", "tricks", "result", "meta"),
)
_NEEDED = ("record", "rules", "dealer", "tricks", "result")


class RecordError(ValueError):
    """A game record that can not be read, or does not replay to its result."""


class TrickRecord(NamedTuple):
    """One trick: the seat that led, and the actions in order, a choice last."""

    leader: int
    actions: tuple[int, ...]

    def __str__(self) -> str:
        words = [_HIDDEN_WORD if each == TAKE_HIDDEN else str(CARDS[each]) for each in self.actions]
        return f"{self.leader}: {' '.join(words)}"


@dataclass(frozen=True)
class MatchScore:
    """The match that a hand belongs to, and its score before the hand."""

    match: Match
    points: tuple[int, int] = (0, 0)
    hands_won: tuple[int, int] = (0, 0)
    hands: int = 0
    """Hands of the match that were over, drawn ones included."""


@dataclass(frozen=True)
class GameRecord:
    """A finished hand, with all that is needed to play it again."""

    rules: Rules
    dealer: int
    tricks: tuple[TrickRecord, ...]
    counting_tricks: tuple[int, ...]
    pays: tuple[int, ...]
    seed: int | None = None
    number: int = 0
    """Deal `number` of `seed`; without a seed the cards are in `deal`."""
    deal: tuple[int, ...] = ()
    match: MatchScore | None = None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else is to be kept, such as players and a date: anything that JSON holds."""

    @property
    def actions(self) -> tuple[int, ...]:
        """Every action of the hand in order."""
        return tuple(action for trick in self.tricks for action in trick.actions)

    def start(self) -> Game:
        """The game as it was dealt, before the first card."""
        game = Game(
            self.rules,
            self.seed or 0,
            self.number,
            match=self.match.match if self.match else None,
        )
        if self.match is not None:
            game.record["points"][0] = self.match.points
            game.record["hands_won"][0] = self.match.hands_won
            game.record["hands"][0] = self.match.hands
        game.deal_cards(self.deal if self.seed is None else game.cards_dealt, self.dealer)
        return game

    def replay(self) -> Game:
        """The game played to its end; refused unless it ends as the record says."""
        game = self.start()
        tricks = _play_out(game, self.actions)
        if not game.over:
            raise RecordError(f"the hand is not over after {len(self.actions)} actions")
        for trick, (told, played) in enumerate(zip(self.tricks, tricks, strict=False), 1):
            if told != played:
                raise RecordError(f"trick {trick} is told as {told}, but was played as {played}")
        if game.counting_tricks != self.counting_tricks or game.pays != self.pays:
            raise RecordError(
                f"the result is told as tricks {list(self.counting_tricks)}, pays "
                f"{list(self.pays)}, but the cards give tricks {list(game.counting_tricks)}, "
                f"pays {list(game.pays)}"
            )
        return game

    # -- as a line of text

    def to_line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(self.as_mapping(), ensure_ascii=False, allow_nan=False)

    def as_mapping(self) -> dict[str, Any]:
        """The record as JSON holds it."""
        named = named_rules().get(self.rules.name) == self.rules
        told: dict[str, Any] = {
            "record": RECORD_VERSION,
            "rules": self.rules.name if named else self.rules.as_mapping(),
        }
        if self.match is not None:
            told["match"] = _match_as_mapping(self.match)
        if self.seed is None:
            told["deal"] = text_of(self.deal)
        else:
            told |= {"seed": self.seed, "number": self.number}
        told |= {
            "dealer": self.dealer,
            "tricks": [str(trick) for trick in self.tricks],
            "result": {"tricks": list(self.counting_tricks), "pays": list(self.pays)},
        }
        if self.meta:
            told["meta"] = dict(self.meta)
        return told

    @staticmethod
    def from_line(line: str) -> GameRecord:
        """The record in a line of JSON, played again to be sure of it."""
        try:
            told = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"is not a line of JSON: {error}") from None
        try:
            record = _from_mapping(_mapping(told, "a record"))
            record.replay()
        except RecordError:
            raise
        except ValueError as error:
            raise RecordError(str(error)) from None
        return record


def record_of(game: Game, meta: Mapping[str, Any] | None = None) -> GameRecord:
    """The record of a finished hand."""
    if not game.over:
        raise RecordError("the hand is not over: a record is made of finished hands")
    again = game.clone()
    while again.actions:
        again.undo()
    dealt = again.cards_dealt
    numbered = Game(game.rules, game.seed, game.number)
    by_number = numbered.cards_dealt == dealt
    return GameRecord(
        rules=game.rules,
        dealer=game.dealer,
        tricks=tuple(_play_out(again, game.actions)),
        counting_tricks=game.counting_tricks,
        pays=game.pays,
        seed=game.seed if by_number else None,
        number=game.number if by_number else 0,
        deal=() if by_number else tuple(dealt),
        meta=dict(meta or {}),
    )
