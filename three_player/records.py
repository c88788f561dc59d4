"""Records of hands for three: one JSON line each, read back only if it replays to its result.

They are written, and added to a file, by the same functions as records of two players.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Struct

from ..common.schema import convert
from ..engine.cards import cards, text_of
from ..engine.records import BrokenLine, RecordError, check_deal_number, parse_record, read_lines
from .game import ThreeGame


class ThreeResult(Struct, frozen=True, forbid_unknown_fields=True):
    """How a hand for three ended: counting tricks, the dummy's last, and what they paid."""

    tricks: tuple[int, int, int, int]
    pays: tuple[int, int, int]

    def __str__(self) -> str:
        return f"tricks {list(self.tricks)}, pays {list(self.pays)}"


class ThreeRecord(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """A finished hand for three, with all that is needed to play it again."""

    record: Literal[1]
    game: Literal["three"]
    seed: int | None = None
    number: int = 0
    """Deal `number` of `seed`; without a seed the cards are in `deal`."""
    deal: str = ""
    dealer: Literal[0, 1, 2]
    tricks: tuple[str, ...]
    """Who led, and the cards in the order played, as in `0: AS 3S 4S`."""
    result: ThreeResult
    meta: dict[str, Any] = {}

    def start(self) -> ThreeGame:
        """The game as it was dealt, before the first card."""
        if (self.seed is None) == (not self.deal):
            raise RecordError("needs either seed (and number) or deal, and not both")
        check_deal_number(self.number, self.seed)
        game = ThreeGame(self.seed or 0, self.number)
        game.deal_cards(self.deal or game.cards_dealt, self.dealer)
        return game

    def replay(self) -> ThreeGame:
        """The game played to its end; refused unless it ends as the record says."""
        game = self.start()
        for number, told in enumerate(self.tricks, 1):
            for card in cards(told.partition(":")[2]):
                game.play(card)
            played = [*map(str, game.tricks[number - 1 :])] or ["no trick"]
            if played != [" ".join(told.split())]:
                raise RecordError(
                    f"trick {number} is told as {told}, but was played as {', '.join(played)}"
                )
        if not game.over:
            raise RecordError(f"the hand is not over after {len(game.actions)} cards")
        result = _result(game)
        if result != self.result:
            raise RecordError(f"the result is told as {self.result}, but the cards give {result}")
        return game

    def to_line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(msgspec.to_builtins(self), ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_line(line: str) -> ThreeRecord:
        """The record in a line of JSON, played again to be sure of it."""
        return parse_record(
            line, lambda told: convert(told, ThreeRecord, "the record", error=RecordError)
        )


def record_of_three(game: ThreeGame, meta: Mapping[str, Any] | None = None) -> ThreeRecord:
    """The record of a finished hand for three."""
    if not game.over:
        raise RecordError("the hand is not over: a record is made of finished hands")
    dealt = game.cards_dealt
    by_number = ThreeGame(game.seed, game.number).cards_dealt == dealt
    return ThreeRecord(
        record=1,
        game="three",
        seed=game.seed if by_number else None,
        number=game.number if by_number else 0,
        deal="" if by_number else text_of(dealt),
        dealer=cast("Literal[0, 1, 2]", game.dealer),
        tricks=tuple(map(str, game.tricks)),
        result=_result(game),
        meta=dict(meta or {}),
    )


def _result(game: ThreeGame) -> ThreeResult:
    return ThreeResult(game.counting_tricks, game.pays)


class ThreeRecordsRead(NamedTuple):
    """What a file of records for three holds: the good ones, and the lines that are broken."""

    records: list[ThreeRecord]
    problems: list[BrokenLine]


def read_three_records(path: str | Path) -> ThreeRecordsRead:
    """Read a file of records for three, every hand played again; empty lines are passed over."""
    return ThreeRecordsRead(*read_lines(Path(path), ThreeRecord.from_line))
