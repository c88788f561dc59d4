# pyright: strict
"""What handlers share: services, validated bodies, responses."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from german_whist.common.schema import convert, read_json
from german_whist.engine.cards import N_ACTIONS
from german_whist.engine.rules import Match

from ..game.lessons import N_LESSONS, lesson_settings
from ..game.opponents import Opponents, rules_named
from ..game.session import HUMAN, SessionSettings, new_seed
from ..game.store import Store
from .finished_hands import FinishedHands
from .live_tables import LiveTables
from .messages import Refused

# What a number in JavaScript holds exactly.
_MOST_SEED = 2**53 - 1
_MOST_MOVES = 10**9


class Services(NamedTuple):
    """The objects that handlers use."""

    store: Store
    opponents: Opponents
    live: LiveTables
    finished: FinishedHands


Body = TypeVar("Body", bound=Struct)
Seed = Annotated[int, Meta(ge=0, le=_MOST_SEED)]
Action = Annotated[int, Meta(ge=0, lt=N_ACTIONS)]
Move = Annotated[int, Meta(ge=0, le=_MOST_MOVES)]


# -- bodies


class MatchRequest(Struct, forbid_unknown_fields=True):
    """A match: `single`, to `n` points, or best of `n` hands."""

    kind: str
    n: Annotated[int, Meta(ge=1, le=10_000)] | None = None


class SameDealRequest(Struct, forbid_unknown_fields=True):
    """The deal of a finished hand; `swapped`: from the other seat, `decision`: from there on."""

    id: str
    hand: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    swapped: bool = False
    decision: Move = 0


class TableRequest(Struct, forbid_unknown_fields=True):
    """A new table."""

    rules: str = "classic"
    opponent: str = "medium"
    player: str = HUMAN
    match: MatchRequest | None = None
    seed: Seed | None = None
    number: Seed = 0
    replayed_from: SameDealRequest | None = None
    memory: bool = False
    lesson: Annotated[int, Meta(ge=0, le=N_LESSONS)] = 0
    coached: bool = False


class PlayRequest(Struct, forbid_unknown_fields=True):
    """An action, and the number of the decision."""

    action: Action
    move: Move


class ClaimRequest(Struct, forbid_unknown_fields=True):
    """A claim of remaining tricks, and the number of the decision."""

    tricks: Annotated[int, Meta(ge=0, le=26)]
    move: Move


class AnswerRequest(Struct, forbid_unknown_fields=True):
    """The answer to a puzzle or an exercise, after the right cards `before` it."""

    action: Action
    before: Annotated[list[Action], Meta(max_length=26)] = []


class SpeedRequest(Struct, forbid_unknown_fields=True):
    """The speed of watched agents."""

    delay_ms: Annotated[int, Meta(ge=0, le=600_000)] | None = None
    pause: bool | None = None
    step: bool = False


# -- reading


async def read_request(request: Request, kind: type[Body]) -> Body:
    """The JSON object in the body; an empty body is an empty object.

    Only `application/json` is read: pages of another origin cannot send it without being asked for
    leave first, as they can send forms, empty ones too, and plain text.
    """
    media_type = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    try:
        body = await request.body()
    except ClientDisconnect:
        raise Refused("the body ended too early") from None
    if media_type != "application/json":
        raise Refused(f"the body is {media_type[:80]!r}: application/json is read here", 415)
    values = read_json(body or b"{}", "the body", error=Refused)
    return convert(values, kind, "the body", error=Refused)


def table_settings(body: TableRequest, opponents: Opponents) -> SessionSettings:
    """The settings of a new table."""
    if body.lesson:
        if body.replayed_from is not None:
            raise Refused(
                f"lesson is {body.lesson}: it has its own deal, so leave replayed_from out"
            )
        return lesson_settings(body.lesson)
    rules = rules_named(body.rules)
    if body.number and (body.seed is None or body.match is not None):
        raise Refused(f"number is {body.number}: it counts the deals of a seed, hand by hand")
    for name in (body.player, body.opponent):
        if name != HUMAN or name == body.opponent:
            plays = opponents[name].plays
            if plays is not None and rules.name not in plays:
                raise ValueError(f"{name} does not play {rules.name}; it plays {', '.join(plays)}")
    return SessionSettings(
        rules=rules,
        player=body.player,
        opponent=body.opponent,
        match=_match(body.match),
        seed=new_seed() if body.seed is None else body.seed,
        number=body.number,
        seed_chosen=body.seed is not None,
        memory=body.memory and body.player == HUMAN,
    )


def _match(body: MatchRequest | None) -> Match | None:
    if body is None or body.kind == "single":
        return None
    if body.kind not in ("points", "best"):
        raise Refused(f"kind is {body.kind[:60]!r}: a match is single, points or best")
    if body.n is None:
        raise Refused("match.n is left out: a match needs a number of points or hands")
    return Match(target=body.n) if body.kind == "points" else Match(best_of=body.n)


# -- responses


def json_response(value: object, status: int = 200) -> Response:
    """A JSON response."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")
