# pyright: strict, reportPrivateUsage=false
"""Game records: one JSON line per hand, readable by people and replayable to the same result.

A line holds the rules, the deal (by seed and number, or card by card), who
dealt, who exchanged a hand, the tricks as they were played and the result. Reading plays every hand
again; a line that can not be right is reported with its number, and the other
lines stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from .cards import CARDS, CHOICE_WORDS, KEEP, TAKE_BLIND, TAKE_HIDDEN, card, text_of
from .files import CanNotWrite, locked, written_whole
from .game import Game, checked_deal
from .rules import Match, Rules, load_rules, named_rules
from .state import SEATS

Record = TypeVar("Record")

RECORD_VERSION = 1
_EXCHANGES = {CHOICE_WORDS[each]: each for each in (KEEP, TAKE_BLIND)}
_FIELDS = (
    *("record", "rules", "match", "seed", "number", "deal"),
    *("dealer", "exchange", "tricks", "result", "meta"),
)
_MOST_HANDS = 60_000
_MOST_POINTS = 1_000_000_000
_NEEDED = ("record", "rules", "dealer", "tricks", "result")


class RecordError(ValueError):
    """A game record that can not be read, or does not replay to its result."""


class TrickRecord(NamedTuple):
    """One trick: the seat that led, and the actions in order, a choice last."""

    leader: int
    actions: tuple[int, ...]

    def __str__(self) -> str:
        words = [CHOICE_WORDS.get(each) or str(CARDS[each]) for each in self.actions]
        return f"{self.leader}: {' '.join(words)}"


@dataclass(frozen=True)
class MatchScore:
    """The match that a hand belongs to, and its score before the hand."""

    match: Match
    points: tuple[int, ...] = (0,) * SEATS
    hands_won: tuple[int, ...] = (0,) * SEATS
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
        told["dealer"] = self.dealer
        if self.exchange:
            told["exchange"] = [CHOICE_WORDS[each] for each in self.exchange]
        told |= {
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
    dealt = game.cards_dealt
    by_number = Game(game.rules, game.seed, game.number).cards_dealt == dealt
    again = game.clone()
    again.deal_cards(dealt, game.dealer)
    return GameRecord(
        rules=game.rules,
        dealer=game.dealer,
        tricks=tuple(_played_out(again, game.actions)),
        counting_tricks=game.counting_tricks,
        pays=game.pays,
        seed=game.seed if by_number else None,
        number=game.number if by_number else 0,
        deal=() if by_number else tuple(dealt),
        match=_score_before(game),
        exchange=tuple(each for each in game.actions if each in _EXCHANGES.values()),
        meta=dict(meta or {}),
    )


def _score_before(game: Game) -> MatchScore | None:
    if game.match is None:
        return None
    return MatchScore(
        match=game.match,
        points=tuple(now - max(pay, 0) for now, pay in zip(game.points, game.pays, strict=True)),
        hands_won=tuple(
            now - (pay > 0) for now, pay in zip(game.hands_won, game.pays, strict=True)
        ),
        hands=int(game.record["hands"][0]) - 1,
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


# -- from what JSON holds; every value is checked before it is used


def _from_mapping(told: Mapping[str, Any]) -> GameRecord:
    _check_names(told, _FIELDS, _NEEDED, "a record")
    if told["record"] != RECORD_VERSION:
        raise RecordError(
            f"record is {told['record']!r}: this program reads version {RECORD_VERSION}"
        )
    rules = load_rules(_rules_told(told["rules"]))
    if ("seed" in told) == ("deal" in told):
        raise RecordError("needs either seed (and number) or deal, and not both")
    result = _mapping(told["result"], "result")
    _check_names(result, ("tricks", "pays"), ("tricks", "pays"), "result")
    return GameRecord(
        rules=rules,
        dealer=_whole(told["dealer"], "dealer"),
        tricks=tuple(_trick(each) for each in _list(told["tricks"], "tricks")),
        counting_tricks=_wholes(result["tricks"], "tricks of the result"),
        pays=_wholes(result["pays"], "pays of the result", least=-_MOST_POINTS),
        seed=_whole(told["seed"], "seed") if "seed" in told else None,
        number=_whole(told.get("number", 0), "number"),
        deal=_deal(rules, told["deal"]) if "deal" in told else (),
        match=_match(_mapping(told["match"], "match")) if "match" in told else None,
        exchange=_exchange(rules, told),
        meta=_mapping(told.get("meta", {}), "meta"),
    )


def _rules_told(told: object) -> str | Mapping[str, Any]:
    if isinstance(told, str):
        if told not in named_rules():
            raise RecordError(f"rules are {told!r}: no rule set has this name")
        return told
    return _mapping(told, "rules")


def _deal(rules: Rules, told: object) -> tuple[int, ...]:
    if not isinstance(told, str):
        raise RecordError(f"deal is {_short(told)}: cards are written as in 'AS KD 2C'")
    return tuple(checked_deal(rules, told))


def _trick(told: object) -> TrickRecord:
    leader, colon, words = told.partition(":") if isinstance(told, str) else ("", "", "")
    if not colon or leader.strip() not in ("0", "1"):
        raise RecordError(
            f"{_short(told)} is not a trick: write who led and the cards, as in '0: AS 3S'"
        )
    return TrickRecord(int(leader), tuple(map(_action, words.split())))


def _action(word: str) -> int:
    return TAKE_HIDDEN if word == CHOICE_WORDS[TAKE_HIDDEN] else int(card(word))


def _exchange(rules: Rules, told: Mapping[str, Any]) -> tuple[int, ...]:
    """What the two did before the first lead, in rules with an exchange and no others."""
    if not rules.exchange:
        if "exchange" in told:
            raise RecordError(f"exchange is told, and the rules {rules.name} have none")
        return ()
    words = _list(told.get("exchange", []), "exchange")
    if len(words) != SEATS or not all(isinstance(each, str) for each in words):
        raise RecordError(
            f"exchange is {_short(words)}: what the non-dealer and the dealer did is needed, as in "
            '["keep", "blind"]'
        )
    for word in words:
        if word not in _EXCHANGES:
            raise RecordError(f"exchange has {_short(word)}: it has to be keep or blind")
    return tuple(_EXCHANGES[word] for word in words)


def _match(told: Mapping[str, Any]) -> MatchScore:
    names = ("target", "best_of", "points", "hands_won", "hands")
    _check_names(told, names, ("points", "hands_won", "hands"), "match")
    return MatchScore(
        match=Match(target=told.get("target"), best_of=told.get("best_of")),
        points=_wholes(told["points"], "points"),
        hands_won=_wholes(told["hands_won"], "hands_won", most=_MOST_HANDS),
        hands=_whole(told["hands"], "hands", most=_MOST_HANDS),
    )


def _match_as_mapping(score: MatchScore) -> dict[str, Any]:
    match = score.match
    kind = {"target": match.target} if match.target else {"best_of": match.best_of}
    return {
        **kind,
        "points": list(score.points),
        "hands_won": list(score.hands_won),
        "hands": score.hands,
    }


def _check_names(
    told: Mapping[str, Any], known: Iterable[str], needed: Iterable[str], what: str
) -> None:
    for name in told:
        if name not in known:
            raise RecordError(f"{name!r} is not a part of {what}; there are {', '.join(known)}")
    for name in needed:
        if name not in told:
            raise RecordError(f"{what} needs {name!r}, which is missing")


def _mapping(told: object, what: str) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise RecordError(f"{what} is {_short(told)}: names with values are needed")
    return cast("dict[str, Any]", told)


def _list(told: object, what: str) -> list[Any]:
    if not isinstance(told, list):
        raise RecordError(f"{what} is {_short(told)}: a list is needed")
    return cast("list[Any]", told)


def _whole(told: object, what: str, least: int = 0, most: int = 2**64 - 1) -> int:
    if isinstance(told, bool) or not isinstance(told, int) or not least <= told <= most:
        raise RecordError(
            f"{what} is {_short(told)}: a whole number from {least} to {most} is needed"
        )
    return told


def _wholes(told: object, what: str, least: int = 0, most: int = _MOST_POINTS) -> tuple[int, ...]:
    """One number for each seat."""
    values = tuple(_whole(each, what, least, most) for each in _list(told, what))
    if len(values) != SEATS:
        raise RecordError(f"{what} are {_short(told)}: one number for each seat is needed")
    return values


def _short(told: object) -> str:
    words = repr(told)
    return words if len(words) <= 60 else words[:57] + "..."


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
