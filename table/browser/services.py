# pyright: strict
"""The services behind the server's handlers, and their common responses."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ..game.opponents import Opponents
from ..game.store import Store
from ..review.hints import HintService
from .finished_hands import FinishedHands
from .live_tables import LiveTables

_YEAR = 365 * 24 * 3600


class Services(NamedTuple):
    """The objects that handlers use."""

    store: Store
    opponents: Opponents
    live: LiveTables
    finished: FinishedHands
    hints: HintService


def json_response(value: Any, status: int = 200) -> Response:
    """A JSON response."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read, other sites do not send, and TLS alone carries.

    The last where a proxy before this server says that the browser speaks TLS with it: whoever
    says so without one loses only their own cookie.
    """
    scheme = request.headers.get("x-forwarded-proto", request.url.scheme)
    response.set_cookie(
        name, value, max_age=_YEAR, httponly=True, samesite="strict", secure=scheme == "https"
    )
