"""Records of three-player hands: one JSON line each, verified by replay when read.

The functions for records of two players write and append them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import Struct

from german_whist.common.files import checked_path
from german_whist.common.schema import convert, short_repr
from german_whist.common.typing import JsonObject
from german_whist.engine.cards import cards, text_of
from german_whist.engine.records import (
    BrokenLine,
    RecordError,
    check_deal_number,
    json_line,
    parse_record,
    read_lines,
)

from .game import ThreeGame


class ThreeResult(Struct, frozen=True, forbid_unknown_fields=True):
    """Counting tricks, the dummy's last, and pays."""

    tricks: tuple[int, int, int, int]
    payoffs: tuple[int, int, int] = msgspec.field(name="pays")

    def __str__(self) -> str:
        return f"tricks {list(self.tricks)}, pays {list(self.payoffs)}"


class ThreeRecord(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """A finished hand, with all that is needed to replay it."""

    record: Literal[1]
    game: Literal["three"]
    seed: int | None = None
    number: int = 0
    """Deal `number` of `seed`; without a seed the cards are in `deal`."""
    deal: str = ""
    dealer: Literal[0, 1, 2]
    tricks: tuple[str, ...]
    """Leader and cards of each trick in the order played, such as `0: AS 3S 4S`."""
    result: ThreeResult
    meta: JsonObject = {}

    def start(self) -> ThreeGame:
        """The game before the first card."""
        if (self.seed is None) == (not self.deal):
            raise RecordError("needs either seed (and number) or deal, and not both")
        check_deal_number(self.number, self.seed)
        game = ThreeGame(self.seed or 0, self.number)
        game.deal_cards(self.deal or game.cards_dealt, self.dealer)
        return game

    def replay(self) -> ThreeGame:
        """Replay the game to its end; refused unless the result is that of the record."""
        game = self.start()
        for number, stated in enumerate(self.tricks, 1):
            for card in cards(stated.partition(":")[2]):
                game.play(card)
            played = [*map(str, game.tricks[number - 1 :])] or ["no trick"]
            if played != [" ".join(stated.split())]:
                raise RecordError(
                    f"trick {number} is recorded as {stated}, but was played as {', '.join(played)}"
                )
        if not game.over:
            raise RecordError(f"the hand is not over after {len(game.actions)} cards")
        result = _result(game)
        if result != self.result:
            raise RecordError(
                f"the result is recorded as {self.result}, but the cards give {result}"
            )
        return game

    def to_line(self) -> str:
        return json_line(msgspec.to_builtins(self))

    @staticmethod
    def from_line(line: str) -> ThreeRecord:
        """Parse a line of JSON, verified by replay."""
        return parse_record(
            line, lambda fields: convert(fields, ThreeRecord, "the record", error=RecordError)
        )


def record_of_three(game: ThreeGame, meta: Mapping[str, object] | None = None) -> ThreeRecord:
    """Record of a finished hand."""
    if not isinstance(game, ThreeGame):
        raise TypeError(f"{short_repr(game)} is no game: give a ThreeGame whose hand is over")
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
    return ThreeResult(game.counting_tricks, game.payoffs)


def read_three_records(path: str | Path) -> tuple[list[ThreeRecord], list[BrokenLine]]:
    """Records of a file, each verified by replay, and its broken lines; empty lines are skipped."""
    return read_lines(checked_path(path), ThreeRecord.from_line)
