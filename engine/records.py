# pyright: strict, reportPrivateUsage=false, reportUnnecessaryIsInstance=false
"""Game records: one JSON line per hand, readable by people and verified by replay.

A line holds the rules, the deal (by seed and number, or card by card), the dealer, exchanges,
tricks and the result. Reading replays every hand; an invalid line is reported with its number, and
the other lines are kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Protocol, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

from ..common.files import CannotWrite, atomic_write, checked_path, file_lock
from ..common.schema import convert, short_repr
from ..common.typing import JsonObject
from .cards import CHOICE_WORDS, KEEP, TAKE_BLIND, TAKE_HIDDEN, action_word, card, text_of
from .checks import checked_deal, score_is_possible
from .dtypes import SEATS
from .game import Game, exchanges_in, tricks_in
from .play import Record, payoff_of_tricks, row
from .rules import Match, Rules, load_rules, named_rules

_Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
_Pay = Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]
_Hands = Annotated[int, Meta(ge=0, le=60_000)]


class RecordError(ValueError):
    """Raised for a game record that cannot be read, or whose replay has another result."""


class LineRecord(Protocol):
    """A record of any game that is written as one line."""

    def to_line(self) -> str: ...
    def replay(self) -> object: ...


AnyRecord = TypeVar("AnyRecord", bound=LineRecord)


class TrickRecord(NamedTuple):
    """One trick: the leader, and the actions in order, a choice last."""

    leader: int
    actions: tuple[int, ...]

    def __str__(self) -> str:
        words = [action_word(action) for action in self.actions]
        return f"{self.leader}: {' '.join(words)}"


class MatchScore(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Match of a hand and its score before the hand, as JSON holds it."""

    target: int | None = None
    best_of: int | None = None
    points: tuple[_Count, _Count]
    hands_won: tuple[_Hands, _Hands]
    hands: _Hands
    """Completed hands of the match, drawn ones included."""

    @property
    def match(self) -> Match:
        return Match(target=self.target, best_of=self.best_of)


@dataclass(frozen=True)
class GameRecord:
    """A finished hand, with everything needed to replay it.

    `record_of(game)` makes a record. `write_records` and `read_records` store records in a file
    with one JSON object per line. `start()` returns the `Game` as it was dealt.
    """

    rules: Rules
    dealer: int
    tricks: tuple[TrickRecord, ...]
    counting_tricks: tuple[int, ...]
    payoffs: tuple[int, ...]
    seed: int | None = None
    number: int = 0
    """Deal `number` of `seed`; without a seed the cards are in `deal`."""
    deal: tuple[int, ...] = ()
    match: MatchScore | None = None
    exchange: tuple[int, ...] = ()
    """With an exchange: the actions of non-dealer and dealer."""
    meta: JsonObject = field(default_factory=JsonObject)
    """Further JSON data, such as players and a date."""

    @property
    def actions(self) -> tuple[int, ...]:
        played = (action for trick in self.tricks for action in trick.actions)
        return (*self.exchange, *played)

    def start(self) -> Game:
        """The game as dealt, before the first action."""
        score, match = self.match, self.match and self.match.match
        game = Game(self.rules, self.seed or 0, self.number, match=match)
        if score is not None:
            points, won, hands = score.points, score.hands_won, score.hands
            for name, value in (("points", points), ("hands_won", won), ("hands", hands)):
                game.array[name][0] = value
            if game.match_over:
                raise RecordError(f"the match {match} was over before this hand")
            if not score_is_possible(self.rules, match, points, won, hands):
                raise RecordError(
                    f"no match stands at points {list(points)} after {hands} hands, of which "
                    f"{list(won)} were won"
                )
        game.deal_cards(self.deal if self.seed is None else game.cards_dealt, self.dealer)
        return game

    def replay(self) -> Game:
        """Replay the hand. Another result than the recorded one raises `RecordError`."""
        game = self.start()
        tricks = _play_actions(game, self.actions)
        if not game.over:
            raise RecordError(f"the hand is not over after {len(self.actions)} actions")
        for trick, (recorded, played) in enumerate(zip(self.tricks, tricks, strict=False), 1):
            if recorded != played:
                raise RecordError(
                    f"trick {trick} is recorded as {recorded}, but was played as {played}"
                )
        recorded_result, result = _Result.from_hand(self), _Result.from_hand(game)
        if recorded_result != result:
            raise RecordError(
                f"the result is recorded as {recorded_result}, but the cards give {result}"
            )
        return game

    # -- JSON

    def to_line(self) -> str:
        return json_line(msgspec.to_builtins(_to_json(self)))

    def as_mapping(self) -> JsonObject:
        return json.loads(self.to_line())

    @staticmethod
    def from_line(line: str) -> GameRecord:
        """Parse one line of JSON, verified by replay."""
        return parse_record(line, _from_json)


def json_line(data: object) -> str:
    """One line of JSON that UTF-8 can hold and that can be read back."""
    try:
        line = json.dumps(data, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise RecordError(f"cannot be written as JSON: {error}") from error
    # Half of a surrogate pair, as in a damaged name, has no place in UTF-8.
    return line if line.isascii() or _is_utf8(line) else json.dumps(data, allow_nan=False)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> None:
    raise RecordError(f"holds {name}, which is no number of JSON: write null or a text")


def parse_record(line: str, from_json: Callable[[object], AnyRecord]) -> AnyRecord:
    """Parse one line of JSON with `from_json`, verified by replay."""
    try:
        data = json.loads(line, parse_constant=_refuse_constant)
    except RecordError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise RecordError(f"is not a line of JSON: {error}") from None
    try:
        record = from_json(data)
        record.replay()
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(str(error)) from None
    return record


def record_of(game: Game, meta: Mapping[str, object] | None = None) -> GameRecord:
    """The record of a finished hand of `game`; `meta` is further data, such as the players.

    Raises `RecordError` if the hand is not over.
    """
    if not isinstance(game, Game):
        raise TypeError(f"{short_repr(game)} is no game: give a Game whose hand is over")
    if not game.over:
        raise RecordError("the hand is not over: a record is made of finished hands")
    record = record_of_finished(game.rules, game.match, game.seed, game.array[0], meta)
    if Game(game.rules, game.seed, game.number).cards_dealt != game.cards_dealt:
        record = replace(record, seed=None, number=0, deal=tuple(game.cards_dealt))
    return record


def record_of_finished(
    rules: Rules,
    match: Match | None,
    seed: int,
    game: Record,
    meta: Mapping[str, object] | None = None,
) -> GameRecord:
    """Record of a finished hand of a numbered deal, from its `GAME` record."""
    own_tricks, other_tricks = game["tricks"].tolist()
    payoff = int(
        payoff_of_tricks(row(rules.array(), 0), int(game["low"]), own_tricks, other_tricks)
    )
    (own_points, other_points), (own_won, other_won) = (
        game[name].tolist() for name in ("points", "hands_won")
    )
    return GameRecord(
        rules=rules,
        dealer=int(game["dealer"]),
        tricks=tuple(
            TrickRecord(leader, tuple(actions)) for leader, actions in tricks_in(rules, game)
        ),
        counting_tricks=(own_tricks, other_tricks),
        payoffs=(payoff, -payoff),
        seed=seed,
        number=int(game["number"]),
        match=match
        and MatchScore(
            target=match.target,
            best_of=match.best_of,
            points=(own_points - max(payoff, 0), other_points - max(-payoff, 0)),
            hands_won=(own_won - (payoff > 0), other_won - (payoff < 0)),
            hands=int(game["hands"]) - 1,
        ),
        exchange=tuple(exchanges_in(game)),
        meta=dict(meta or {}),
    )


def _play_actions(game: Game, actions: Iterable[int]) -> list[TrickRecord]:
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


# -- JSON format: cards and tricks are texts, and a bundled rule set is its name

_Word = Literal["keep", "blind"]
_EXCHANGES: dict[_Word, int] = {"keep": KEEP, "blind": TAKE_BLIND}


class _Result(Struct, frozen=True, forbid_unknown_fields=True):
    tricks: tuple[_Count, _Count]
    payoffs: tuple[_Pay, _Pay] = msgspec.field(name="pays")

    @staticmethod
    def from_hand(ended: GameRecord | Game) -> _Result:
        return _Result(_pair(ended.counting_tricks), _pair(ended.payoffs))

    def __str__(self) -> str:
        return f"tricks {list(self.tricks)}, pays {list(self.payoffs)}"


class _JsonRecord(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    record: Literal[1]
    rules: str | JsonObject
    match: MatchScore | None = None
    deal: str | None = None
    seed: int | None = None
    number: int | None = None
    dealer: Literal[0, 1]
    exchange: tuple[_Word, ...] = ()
    tricks: tuple[str, ...]
    result: _Result
    meta: JsonObject = {}


def _to_json(record: GameRecord) -> _JsonRecord:
    rules, by_number = record.rules, record.seed is not None
    named = named_rules().get(rules.name) == rules
    return _JsonRecord(
        record=1,
        rules=rules.name if named else rules.as_mapping(),
        match=record.match,
        deal=None if by_number else text_of(record.deal),
        seed=record.seed,
        number=record.number if by_number else None,
        dealer=cast("Literal[0, 1]", record.dealer),
        exchange=tuple("keep" if action == KEEP else "blind" for action in record.exchange),
        tricks=tuple(map(str, record.tricks)),
        result=_Result.from_hand(record),
        meta=dict(record.meta),
    )


def _pair(values: Sequence[int]) -> tuple[int, int]:
    first, second = values
    return first, second


def check_deal_number(number: int | None, seed: int | None) -> None:
    if number and seed is None:
        raise RecordError(
            f"number is {number} beside a deal: it counts deals of a seed, leave it out"
        )


def _from_json(data: object) -> GameRecord:
    parsed = convert(data, _JsonRecord, "the record", error=RecordError)
    if isinstance(parsed.rules, str) and parsed.rules not in named_rules():
        raise RecordError(f"rules are {parsed.rules!r}: no rule set has this name")
    rules = load_rules(parsed.rules)
    if (parsed.seed is None) == (parsed.deal is None):
        raise RecordError("needs either seed (and number) or deal, and not both")
    check_deal_number(parsed.number, parsed.seed)
    if len(parsed.exchange) != (SEATS if rules.exchange else 0):
        raise RecordError(
            f"exchange is {list(parsed.exchange)}: what the non-dealer and the dealer did is "
            'needed, as in ["keep", "blind"], by rules with an exchange, and nothing by others'
        )
    return GameRecord(
        rules=rules,
        dealer=parsed.dealer,
        tricks=tuple(map(_parse_trick, parsed.tricks)),
        counting_tricks=parsed.result.tricks,
        payoffs=parsed.result.payoffs,
        seed=parsed.seed,
        number=parsed.number or 0,
        deal=() if parsed.deal is None else tuple(checked_deal(rules, parsed.deal)),
        match=parsed.match,
        exchange=tuple(_EXCHANGES[word] for word in parsed.exchange),
        meta=parsed.meta,
    )


def _parse_trick(text: str) -> TrickRecord:
    leader, colon, words = text.partition(":")
    if not colon or leader.strip() not in ("0", "1"):
        raise RecordError(
            f"{short_repr(text)} is not a trick: write who led and the cards, as in '0: AS 3S'"
        )
    hidden = CHOICE_WORDS[TAKE_HIDDEN]
    actions = (TAKE_HIDDEN if word == hidden else int(card(word)) for word in words.split())
    return TrickRecord(int(leader), tuple(actions))


# -- files of records


class BrokenLine(NamedTuple):
    """An invalid line of a record file."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}"


def read_records(path: str | Path) -> tuple[list[GameRecord], list[BrokenLine]]:
    """Read a file of game records, one JSON object per line.

    Returns two lists: the records, each checked by replaying it, and the lines that could not be
    read. Empty lines are skipped.
    """
    return read_lines(checked_path(path), GameRecord.from_line)


def read_lines(
    path: Path, from_line: Callable[[str], AnyRecord]
) -> tuple[list[AnyRecord], list[BrokenLine]]:
    """Records of a file, each parsed by `from_line`, and the invalid lines."""
    records: list[AnyRecord] = []
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


def write_records(path: str | Path, records: Iterable[LineRecord]) -> None:
    """Write `records` of hands to a new file `path`, one JSON object per line."""
    with atomic_write(checked_path(path), "w") as file:
        file.writelines(_lines_of(records))


def append_records(path: str | Path, records: Iterable[LineRecord]) -> None:
    """Append `records` of hands to the file `path`, one JSON object per line.

    Several processes may append to one file at the same time. If a crash has cut off the last line,
    the file is repaired first.
    """
    path, text = checked_path(path), "".join(_lines_of(records))
    with file_lock(path.with_name(f".{path.name}.lock")):
        try:
            _append(path, text)
        except OSError as error:
            raise CannotWrite.for_path(path, error) from error


def _lines_of(records: Iterable[LineRecord]) -> Iterator[str]:
    for record in records if isinstance(records, Iterable) else [records]:
        if not hasattr(record, "to_line"):
            raise TypeError(
                f"{short_repr(record)} is no record: give a list of them, as of record_of"
            )
        yield record.to_line() + "\n"


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
