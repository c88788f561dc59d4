# pyright: strict, reportPrivateUsage=false
"""Game records: one JSON line per hand, readable by people and replayable to the same result.

A line holds the rules, the deal (by seed and number, or card by card), who
dealt, who exchanged a hand, the tricks as they were played and the result. Reading plays every hand
again; a line that cannot be right is reported with its number, and the other
lines stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

from ..common.files import CanNotWrite, locked, written_whole
from ..common.schema import converted, shown
from .cards import CHOICE_WORDS, KEEP, TAKE_BLIND, TAKE_HIDDEN, action_word, card, text_of
from .dtypes import SEATS
from .game import Game, checked_deal, exchanges_in, tricks_in
from .play import pay_for, row
from .rules import Match, Rules, load_rules, named_rules
from .validation import score_is_possible

Record = TypeVar("Record")
_Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
_Pay = Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]
_Hands = Annotated[int, Meta(ge=0, le=60_000)]


class RecordError(ValueError):
    """A game record that cannot be read, or does not replay to its result."""


class _Replays(Protocol):
    def replay(self) -> object: ...


Replayed = TypeVar("Replayed", bound=_Replays)


class TrickRecord(NamedTuple):
    """One trick: the seat that led, and the actions in order, a choice last."""

    leader: int
    actions: tuple[int, ...]

    def __str__(self) -> str:
        words = [action_word(each) for each in self.actions]
        return f"{self.leader}: {' '.join(words)}"


class MatchScore(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The match that a hand belongs to, and its score before the hand: as JSON holds it."""

    target: int | None = None
    best_of: int | None = None
    points: tuple[_Count, _Count]
    hands_won: tuple[_Hands, _Hands]
    hands: _Hands
    """Hands of the match that were over, drawn ones included."""

    @property
    def match(self) -> Match:
        """How many hands make the match."""
        return Match(target=self.target, best_of=self.best_of)

    @staticmethod
    def of(
        match: Match, points: tuple[int, int], hands_won: tuple[int, int], hands: int
    ) -> MatchScore:
        """The score of a match."""
        return MatchScore(
            target=match.target,
            best_of=match.best_of,
            points=points,
            hands_won=hands_won,
            hands=hands,
        )


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
    exchange: tuple[int, ...] = ()
    """With an exchange: what the non-dealer did, and the dealer."""
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else is to be kept, such as players and a date: anything that JSON holds."""

    @property
    def actions(self) -> tuple[int, ...]:
        """Every action of the hand in order."""
        played = (action for trick in self.tricks for action in trick.actions)
        return (*self.exchange, *played)

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
            if game.match_over:
                raise RecordError(f"the match {self.match.match} was over before this hand")
            if not score_is_possible(
                self.rules,
                self.match.match,
                self.match.points,
                self.match.hands_won,
                self.match.hands,
            ):
                raise RecordError(
                    f"no match stands at points {list(self.match.points)} after "
                    f"{self.match.hands} hands, of which {list(self.match.hands_won)} were won"
                )
        game.deal_cards(self.deal if self.seed is None else game.cards_dealt, self.dealer)
        return game

    def replay(self) -> Game:
        """The game played to its end; refused unless it ends as the record says."""
        game = self.start()
        tricks = _played_out(game, self.actions)
        if not game.over:
            raise RecordError(f"the hand is not over after {len(self.actions)} actions")
        for trick, (told, played) in enumerate(zip(self.tricks, tricks, strict=False), 1):
            if told != played:
                raise RecordError(f"trick {trick} is told as {told}, but was played as {played}")
        said, result = _Result.of(self), _Result.of(game)
        if said != result:
            raise RecordError(f"the result is told as {said}, but the cards give {result}")
        return game

    # -- as a line of text

    def to_line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(msgspec.to_builtins(_told(self)), ensure_ascii=False, allow_nan=False)

    def as_mapping(self) -> dict[str, Any]:
        """The record as JSON holds it."""
        mapping: dict[str, Any] = json.loads(self.to_line())
        return mapping

    @staticmethod
    def from_line(line: str) -> GameRecord:
        """The record in a line of JSON, played again to be sure of it."""
        return record_in(line, _record)


def record_in(line: str, made: Callable[[object], Replayed]) -> Replayed:
    """The record that is made of what a line of JSON holds, played again to be sure of it."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"is not a line of JSON: {error}") from None
    try:
        record = made(told)
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
    record = record_of_finished(game.rules, game.match, game.seed, game.record[0], meta)
    if Game(game.rules, game.seed, game.number).cards_dealt != game.cards_dealt:
        record = replace(record, seed=None, number=0, deal=tuple(game.cards_dealt))
    return record


def record_of_finished(
    rules: Rules, match: Match | None, seed: int, game: Any, meta: Mapping[str, Any] | None = None
) -> GameRecord:
    """The record of a finished hand that is given as a `GAME` record, of a numbered deal."""
    mine, others = (int(each) for each in game["tricks"])
    pays = [int(pay_for(row(rules.record(), 0), int(game["low"]), mine, others))]
    pays.append(-pays[0])
    score = match and MatchScore.of(
        match,
        _pair([int(now) - max(paid, 0) for now, paid in zip(game["points"], pays, strict=True)]),
        _pair([int(now) - (paid > 0) for now, paid in zip(game["hands_won"], pays, strict=True)]),
        int(game["hands"]) - 1,
    )
    return GameRecord(
        rules=rules,
        dealer=int(game["dealer"]),
        tricks=tuple(
            TrickRecord(leader, tuple(actions)) for leader, actions in tricks_in(rules, game)
        ),
        counting_tricks=(mine, others),
        pays=tuple(pays),
        seed=seed,
        number=int(game["number"]),
        match=score,
        exchange=tuple(exchanges_in(game)),
        meta=dict(meta or {}),
    )


def _played_out(game: Game, actions: Iterable[int]) -> list[TrickRecord]:
    """Play the actions; returns them as tricks."""
    tricks: list[TrickRecord] = []
    for action in actions:
        if game.phase == "exchange":
            game.play(action)
            continue
        if game.phase == "lead":
            tricks.append(TrickRecord(game.turn or 0, ()))
        game.play(action)
        leader, before = tricks[-1]
        tricks[-1] = TrickRecord(leader, (*before, action))
    return tricks


# -- as JSON holds it: cards and tricks are words, and a named rule set is its name

_Word = Literal["keep", "blind"]
_ACTIONS: dict[_Word, int] = {"keep": KEEP, "blind": TAKE_BLIND}
_EXCHANGES: dict[int, _Word] = {action: word for word, action in _ACTIONS.items()}


class _Result(Struct, frozen=True, forbid_unknown_fields=True):
    tricks: tuple[_Count, _Count]
    pays: tuple[_Pay, _Pay]

    @staticmethod
    def of(ended: GameRecord | Game) -> _Result:
        """How a hand ended."""
        return _Result(_pair(ended.counting_tricks), _pair(ended.pays))

    def __str__(self) -> str:
        return f"tricks {list(self.tricks)}, pays {list(self.pays)}"


class _Told(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    record: Literal[1]
    rules: str | dict[str, Any]
    match: MatchScore | None = None
    deal: str | None = None
    seed: int | None = None
    number: int | None = None
    dealer: Literal[0, 1]
    exchange: tuple[_Word, ...] = ()
    tricks: tuple[str, ...]
    result: _Result
    meta: dict[str, Any] = {}


def _told(record: GameRecord) -> _Told:
    rules, by_number = record.rules, record.seed is not None
    named = named_rules().get(rules.name) == rules
    return _Told(
        record=1,
        rules=rules.name if named else rules.as_mapping(),
        match=record.match,
        deal=None if by_number else text_of(record.deal),
        seed=record.seed,
        number=record.number if by_number else None,
        dealer=cast("Literal[0, 1]", record.dealer),
        exchange=tuple(_EXCHANGES[each] for each in record.exchange),
        tricks=tuple(map(str, record.tricks)),
        result=_Result.of(record),
        meta=dict(record.meta),
    )


def _pair(each: Sequence[int]) -> tuple[int, int]:
    first, second = each
    return first, second


def check_number(number: int | None, seed: int | None) -> None:
    """Refuse the number of a deal that is not one of a seed."""
    if number and seed is None:
        raise RecordError(
            f"number is {number} beside a deal: it counts deals of a seed, leave it out"
        )


def _record(told: object) -> GameRecord:
    """The record that JSON holds, every value checked."""
    found = converted(told, _Told, "the record", error=RecordError)
    if isinstance(found.rules, str) and found.rules not in named_rules():
        raise RecordError(f"rules are {found.rules!r}: no rule set has this name")
    rules = load_rules(found.rules)
    if (found.seed is None) == (found.deal is None):
        raise RecordError("needs either seed (and number) or deal, and not both")
    check_number(found.number, found.seed)
    if len(found.exchange) != (SEATS if rules.exchange else 0):
        raise RecordError(
            f"exchange is {list(found.exchange)}: what the non-dealer and the dealer did is "
            'needed, as in ["keep", "blind"], by rules with an exchange, and nothing by others'
        )
    return GameRecord(
        rules=rules,
        dealer=found.dealer,
        tricks=tuple(map(_trick, found.tricks)),
        counting_tricks=found.result.tricks,
        pays=found.result.pays,
        seed=found.seed,
        number=found.number or 0,
        deal=() if found.deal is None else tuple(checked_deal(rules, found.deal)),
        match=found.match,
        exchange=tuple(_ACTIONS[each] for each in found.exchange),
        meta=found.meta,
    )


def _trick(told: str) -> TrickRecord:
    leader, colon, words = told.partition(":")
    if not colon or leader.strip() not in ("0", "1"):
        raise RecordError(
            f"{shown(told)} is not a trick: write who led and the cards, as in '0: AS 3S'"
        )
    return TrickRecord(int(leader), tuple(map(_action, words.split())))


def _action(word: str) -> int:
    return TAKE_HIDDEN if word == CHOICE_WORDS[TAKE_HIDDEN] else int(card(word))


# -- files of records


class BrokenLine(NamedTuple):
    """A line of a file that holds no good record."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}"


class Line(Protocol):
    """Whatever can be told as one line of text: a record of any game."""

    def to_line(self) -> str:
        """The record as one line of JSON."""
        ...


class RecordsRead(NamedTuple):
    """What a file of records holds: the good records, and the lines that are broken."""

    records: list[GameRecord]
    problems: list[BrokenLine]


def read_records(path: str | Path) -> RecordsRead:
    """Read a file of records, every hand played again; empty lines are passed over."""
    return RecordsRead(*read_lines(Path(path), GameRecord.from_line))


def read_lines(
    path: Path, from_line: Callable[[str], Record]
) -> tuple[list[Record], list[BrokenLine]]:
    """The good records of a file, each made by `from_line`, and the lines that are broken."""
    records: list[Record] = []
    problems: list[BrokenLine] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                records.append(from_line(line.decode("utf-8")))
            except UnicodeDecodeError as error:
                problems.append(BrokenLine(path, number, f"is not UTF-8 text: {error}"))
            except RecordError as error:
                problems.append(BrokenLine(path, number, str(error)))
    return records, problems


def write_records(path: str | Path, records: Iterable[Line]) -> None:
    """Write a file of records whole: a reader finds the old file or the new one."""
    with written_whole(Path(path), "w") as file:
        file.writelines(record.to_line() + "\n" for record in records)


def append_records(path: str | Path, records: Iterable[Line]) -> None:
    """Add records to a file; several programs may do so, and a torn last line stays alone."""
    path = Path(path)
    text = "".join(record.to_line() + "\n" for record in records)
    with locked(path.with_name(f".{path.name}.lock")):
        try:
            _append(path, text)
        except OSError as error:
            raise CanNotWrite.at(path, error) from error


def _append(path: Path, text: str) -> None:
    with path.open("a+b") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                text = "\n" + text
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
