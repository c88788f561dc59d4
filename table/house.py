# pyright: strict
"""What the handlers of the server share: the rooms behind them, and who asks."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from .advice import Advisers
from .hall import Hall
from .library import Library
from .offer import Offer
from .requests import person_in
from .store import Store

_YEAR = 365 * 24 * 3600


class House(NamedTuple):
    """What the handlers share."""

    store: Store
    offer: Offer
    hall: Hall
    library: Library
    advisers: Advisers


def remember(response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts can not read and other sites do not send."""
    response.set_cookie(name, value, max_age=_YEAR, httponly=True, samesite="strict")


def person_of(request: Request) -> str:
    """Who asks; a browser without a cookie is nobody, who has nothing here."""
    return person_in(request) or ""
