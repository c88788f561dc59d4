# pyright: strict
"""What a browser sends, read with care: bodies of bounded size, and values of the right kind."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request

from ..engine.rules import Match
from .offer import NotOffered, Offer, rules_named
from .sitting import HUMAN, Settings, new_seed

BODY_LIMIT = 64 * 1024
PERSON_COOKIE = "german_whist_person"
_PERSON = re.compile(r"[A-Za-z0-9_-]{24}")
_LONGEST_NAME = 40
# What a number in JavaScript holds exactly.
_MOST_SEED = 2**53 - 1


class Refused(Exception):
    """A request that is answered with an error and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


async def body_of(request: Request, limit: int) -> bytes:
    """The body, refused as soon as it grows too large."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise Refused(413, f"the body is too large: at most {limit:,} bytes are read")
            parts.append(part)
    except ClientDisconnect:
        raise Refused(400, "the body ended too early") from None
    return b"".join(parts)


async def told_in(request: Request) -> dict[str, Any]:
    """The JSON object in the body; an empty body is an empty object."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    body = await body_of(request, BODY_LIMIT)
    if not body:
        return {}
    if kind != "application/json":
        raise Refused(415, f"the body is {kind[:80]!r}: application/json is read here")
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {str(error)[:200]}") from None
    if not isinstance(told, dict):
        raise Refused(400, "the body has to be an object: names with values, in braces")
    return cast("dict[str, Any]", told)


async def text_in(request: Request, limit: int) -> str:
    """The text in the body."""
    try:
        return (await body_of(request, limit)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(400, f"the file is not UTF-8 text: {error}") from None


def person_in(request: Request) -> str | None:
    """The person whom the browser's cookie names."""
    return checked_person(request.cookies.get(PERSON_COOKIE))


def checked_person(name: str | None) -> str | None:
    """A person's key, if it looks like one."""
    return name if name is not None and _PERSON.fullmatch(name) else None


# -- values


def whole(told: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """A whole number that has to be there."""
    value = told.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refused(
            400, f"{name} is {_short(value)}: a whole number from {least} to {most} is needed"
        )
    return value


def whole_or_none(told: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    """A whole number that may be left out."""
    return None if told.get(name) is None else whole(told, name, least, most)


def yes_or_no(told: Mapping[str, Any], name: str) -> bool | None:
    """True or false, or None where it is left out."""
    value = told.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refused(400, f"{name} is {_short(value)}: true or false is needed")
    return value


def number_in_query(request: Request, name: str, least: float, most: float) -> float | None:
    """A number of the address; what is out of bounds is brought within them."""
    value = request.query_params.get(name)
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if number != number:
        raise Refused(400, f"{name} is {_short(value)}: a number is needed")
    return min(max(number, least), most)


def known_only(told: Mapping[str, Any], *names: str) -> None:
    """Refuse names that nobody reads, which are mistakes."""
    for name in told:
        if name not in names:
            raise Refused(400, f"{_short(name)} is not known here; there are {', '.join(names)}")


def settings_in(told: Mapping[str, Any], offer: Offer) -> Settings:
    """The settings of a new table."""
    known_only(told, "rules", "opponent", "player", "match", "seed", "name")
    rules = rules_named(told.get("rules", "classic"))
    players: list[str] = []
    for part, usual in (("player", HUMAN), ("opponent", "medium")):
        name = told.get(part, usual)
        if not isinstance(name, str):
            raise Refused(400, f"{part} is {_short(name)}: the name of an agent is needed")
        if part == "opponent" or name != HUMAN:
            plays = offer[name].plays
            if plays is not None and rules.name not in plays:
                raise NotOffered(f"{name} does not play {rules.name}; it plays {', '.join(plays)}")
        players.append(name)
    seed = whole_or_none(told, "seed", 0, _MOST_SEED)
    return Settings(
        rules=rules,
        player=players[0],
        opponent=players[1],
        match=_match_in(told.get("match")),
        seed=new_seed() if seed is None else seed,
        name=_name_in(told.get("name")),
    )


def _match_in(told: object) -> Match | None:
    if told is None:
        return None
    if not isinstance(told, dict):
        raise Refused(400, f"match is {_short(told)}: an object with kind and n is needed")
    match = cast("dict[str, Any]", told)
    known_only(match, "kind", "n")
    kind = match.get("kind")
    if kind == "single":
        return None
    if kind not in ("points", "best"):
        raise Refused(400, f"kind is {_short(kind)}: a match is single, points or best")
    n = whole(match, "n", 1, 10_000)
    return Match(target=n) if kind == "points" else Match(best_of=n)


def _name_in(told: object) -> str:
    if told is None:
        return "you"
    if not isinstance(told, str):
        raise Refused(400, f"name is {_short(told)}: a text is needed")
    name = " ".join("".join(each if each.isprintable() else " " for each in told).split())
    return name[:_LONGEST_NAME] or "you"


def _short(value: object) -> str:
    words = repr(value)
    return words if len(words) <= 60 else words[:57] + "..."
