# pyright: strict
"""The web server: the page, and its JSON interface.

Handlers validate their request, and respond with JSON; refusals are sentences with a status.
docs/guide.md describes the interface.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ..game.lessons import FIRST
from ..game.opponents import Opponents, rules_named, rules_text
from ..game.store import RevisionConflict, Store
from ..text.labels import label
from .bundle import LATER, embed_json, labels_in, later_script_of, policy_hash, script_of, style_of
from .finished_hands import FinishedHands
from .live_table import LiveTable, log
from .live_tables import LiveTables
from .messages import Menu, Refusal, Refused
from .requests import (
    ClaimRequest,
    PlayRequest,
    Services,
    SpeedRequest,
    json_response,
)
from .security import POLICY, TOKEN_COOKIE, Access, AccessMiddleware
from .serve_hands import HandHandlers
from .serve_learning import LearningHandlers
from .serve_tables import TableHandlers

STATIC = Path(__file__).parent / "static"
_ACTS: dict[str, tuple[Callable[..., None], type[Struct] | None]] = {
    "play": (LiveTable.play, PlayRequest),
    "take-back": (LiveTable.take_back, None),
    "claim": (LiveTable.claim, ClaimRequest),
    "next": (LiveTable.next_hand, None),
    "leave": (LiveTable.leave, None),
    "speed": (LiveTable.set_speed, SpeedRequest),
}
"""What a table does by its address, and the body that says how."""
_FIRST_MODULE = "app.js"
_STYLES, _LATER_STYLES = ("base.css", "pages.css", "table_view.css"), ("replay.css",)
_SECONDS_TO_END = 3
_YEAR = 365 * 24 * 3600


def make_app(store: Store, opponents: Opponents, access: Access) -> Starlette:
    """The application; it does not close the store."""
    services = Services(store, opponents, LiveTables(store, opponents), FinishedHands(store))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        services.finished.close()

    pages = _PageHandlers(services, access)
    tables, hands, learning = (
        TableHandlers(services),
        HandHandlers(services),
        LearningHandlers(services),
    )
    at_table, at_hand = "/api/tables/{id}", "/api/replays/{id}/{hand:int}"
    routes = [
        Route("/", pages.index),
        Route(LATER, pages.later),
        Route("/api/menu", pages.menu),
        Route("/api/rules/{name}", pages.rules),
        Route("/api/tables", tables.open, methods=["POST"]),
        Route("/api/tables", tables.list),
        Route(at_table, tables.look),
        Route(at_table, tables.forget, methods=["DELETE"]),
        Route(f"{at_table}/events", tables.events),
        Route(f"{at_table}/help", tables.help),
        Route(f"{at_table}/hint", tables.hint, methods=["POST"]),
        Route("/api/statistics", hands.statistics),
        Route("/api/statistics/export", hands.export),
        Route("/api/replays", hands.list),
        Route(at_hand, hands.replay),
        Route(f"{at_hand}/analysis", hands.analysis),
        Route(f"{at_hand}/networks", hands.networks),
        Route(f"{at_hand}/file", hands.file),
        Route("/api/puzzles", learning.stats),
        Route("/api/puzzles/next", learning.next),
        Route("/api/lessons", learning.lessons),
        Route("/api/exercises", learning.exercises),
        Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
    ]
    for act, (method, body) in _ACTS.items():
        handler = tables.change(method, body)
        routes.append(Route(f"{at_table}/{act}", handler, methods=["POST"]))
    for problem in ("/api/puzzles/{id}", "/api/exercises/{id}/{hand:int}/{decision:int}"):
        routes += [
            Route(problem, learning.problem),
            Route(f"{problem}/answer", learning.answer, methods=["POST"]),
            Route(f"{problem}/line", learning.line, methods=["POST"]),
        ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(AccessMiddleware, access=access)],
        exception_handlers=_REFUSALS,
    )
    app.state.services = services
    return app


class Server(uvicorn.Server):
    """Serves an application of `make_app`; ends at once although pages listen to tables."""

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )
        self._services: Services = app.state.services

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Release the listeners first, then close the connections."""
        self._services.live.close()
        await super().shutdown(sockets)


# Some systems register JavaScript as plain text, which browsers refuse to run.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("image/svg+xml", ".svg")
mimetypes.add_type("application/manifest+json", ".webmanifest")


# -- refusals


async def _refuse(request: Request, error: Exception) -> Response:
    """The sentence, with the present state if the request was for a table."""
    status = error.status if isinstance(error, Refused) else 422
    table = getattr(request.state, "table", None)
    state = None
    if isinstance(table, LiveTable):
        state = await run_in_threadpool(lambda: table.message(None).state)
    return json_response(Refusal(str(error), state), status)


async def _conflict(request: Request, error: Exception) -> Response:
    return await _refuse(request, Refused(str(error), 409))


async def _not_found(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = label("refused.nothing_here") if status == 404 else str(error)
    return json_response(Refusal(sentence), status)


async def _broken(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return json_response(Refusal(label("refused.broken")), 500)


_REFUSALS: dict[Any, Any] = {
    HTTPException: _not_found,
    RevisionConflict: _conflict,
    ValueError: _refuse,
    Exception: _broken,
}


# -- the page


class _Document(NamedTuple):
    """A text as it is sent."""

    text: bytes
    gzipped: bytes
    media_type: str
    headers: dict[str, str]

    def response(self, request: Request) -> Response:
        if request.headers.get("if-none-match") == self.headers["ETag"]:
            return Response(status_code=304, headers=self.headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = {**self.headers, "Content-Encoding": "gzip"}
            return Response(self.gzipped, headers=headers, media_type=self.media_type)
        return Response(self.text, headers=self.headers, media_type=self.media_type)


def _document(text: str, media_type: str, headers: dict[str, str]) -> _Document:
    data = text.encode()
    headers |= {
        "Cache-Control": "private, no-cache",
        "ETag": f'"{sha256(data).hexdigest()[:24]}"',
        "Vary": "Accept-Encoding",
    }
    return _Document(data, gzip.compress(data, mtime=0), media_type, headers)


def _page(menu: Menu) -> _Document:
    """The page with all that a first visit needs, and what a browser may do with it."""
    script, style = script_of(_FIRST_MODULE), style_of(*_STYLES)
    html = (STATIC.parent / "page.html").read_text(encoding="utf-8")
    html = re.sub(r"{{(\w+)}}", lambda match: escape(label(f"site.{match[1]}")), html)
    data = embed_json("labels", labels_in(script)) + embed_json("menu", menu)
    for name, part in {"data": data, "style": style, "script": script}.items():
        html = html.replace(f"<!-- {name} -->", part)
    policy = POLICY.replace("script-src", f"script-src {policy_hash(script)}")
    policy = policy.replace("style-src", f"style-src {policy_hash(style)}")
    return _document(html, "text/html", {"Content-Security-Policy": policy})


class _PageHandlers:
    """The page, the menu, and rule sets."""

    def __init__(self, services: Services, access: Access) -> None:
        self._services = services
        self._access = access

    @cached_property
    def _page(self) -> _Document:
        return _page(self._menu())

    @cached_property
    def _later(self) -> _Document:
        return _document(later_script_of(_FIRST_MODULE, *_LATER_STYLES), "text/javascript", {})

    def _menu(self) -> Menu:
        return Menu(*self._services.opponents.menu(), self._services.store.notice)

    def index(self, request: Request) -> Response:
        """The page; a token in the address moves into a cookie."""
        if self._access.token is None or "token" not in request.query_params:
            return self._page.response(request)
        response = RedirectResponse("/", 303)
        # The middleware has compared the token. Scripts cannot read the cookie, and pages of other
        # origins do not send it.
        response.set_cookie(
            TOKEN_COOKIE, self._access.token, max_age=_YEAR, httponly=True, samesite="strict"
        )
        return response

    def later(self, request: Request) -> Response:
        """The script of the pages that a first visit does not need."""
        return self._later.response(request)

    def menu(self, _: Request) -> Response:
        return json_response(self._menu())

    def rules(self, request: Request) -> Response:
        name = request.path_params["name"]
        return json_response(rules_text(FIRST if name == FIRST.name else rules_named(name)))
