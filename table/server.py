# pyright: strict
"""The web server: the page, and JSON for all that it shows.

Every handler reads its request with care, asks a table or the store in a thread, and answers
with JSON; whatever is refused is refused with a sentence. docs/table.md describes the interface.
"""

from __future__ import annotations

import asyncio
import hmac
import mimetypes
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ..engine.game import IllegalAction
from .advice import Advisers
from .helping import seen_of
from .library import UPLOAD_LIMIT, Library, NoSuchHand
from .offer import Offer, rules_named, rules_text
from .replay import replay_of
from .requests import (
    PERSON_COOKIE,
    Refused,
    known_only,
    number_in_query,
    person_in,
    settings_in,
    text_in,
    told_in,
    whole,
    whole_or_none,
    yes_or_no,
)
from .security import TOKEN_COOKIE, Door, Guard
from .statistics import as_csv, as_records, statistics_of
from .store import PlayedElsewhere, Store, new_id
from .tables import Hall, NoSuchTable, OldMove, Table, TooMany, log

STATIC = Path(__file__).parent / "static"
LONGEST_WAIT = 25.0
_MOST_WAITING = 20
"""Pages that may wait at one table."""
_YEAR = 365 * 24 * 3600
_MOST_MOVES = 10**9

Handler = Callable[[Request], Awaitable[Response]]


class House(NamedTuple):
    """What the handlers share."""

    store: Store
    offer: Offer
    hall: Hall
    library: Library
    advisers: Advisers


def make_app(store: Store, offer: Offer, door: Door, version: str) -> Starlette:
    """The application; closing it closes the tables, and not the store."""
    house = House(store, offer, Hall(store, offer), Library(store), Advisers())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        house.hall.close()
        house.library.close()

    pages = _Pages(house, door, version)
    tables, hands = _Tables(house), _Hands(house)
    at_table, at_hand = "/api/tables/{id}", "/api/replays/{id}/{hand:int}"
    routes = [
        Route("/", pages.index),
        Route("/api/menu", pages.menu),
        Route("/api/rules/{name}", pages.rules),
        Route("/api/tables", tables.open, methods=["POST"]),
        Route("/api/tables", tables.list),
        Route(at_table, tables.look),
        Route(at_table, tables.forget, methods=["DELETE"]),
        Route(f"{at_table}/play", tables.play, methods=["POST"]),
        Route(f"{at_table}/next", tables.next, methods=["POST"]),
        Route(f"{at_table}/leave", tables.leave, methods=["POST"]),
        Route(f"{at_table}/speed", tables.speed, methods=["POST"]),
        Route(f"{at_table}/help", tables.help),
        Route(f"{at_table}/hint", tables.hint, methods=["POST"]),
        Route("/api/statistics", hands.statistics),
        Route("/api/statistics/export", hands.export),
        Route("/api/records", hands.records),
        Route("/api/replays", hands.open, methods=["POST"]),
        Route(at_hand, hands.replay),
        Route(f"{at_hand}/analysis", hands.analysis),
        Mount("/static", _Static(directory=STATIC, check_dir=False)),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Guard, door=door)],
        exception_handlers={Exception: _broken, HTTPException: _not_found, **_REFUSALS},
    )
    app.state.house = house
    return app


class _Static(StaticFiles):
    """The page's files, asked for anew each time and sent when they have changed."""

    def file_response(self, *args: Any, **keywords: Any) -> Response:
        response = super().file_response(*args, **keywords)
        response.headers["Cache-Control"] = "no-cache"
        return response


# Some systems take JavaScript for plain text, which browsers then refuse to run.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("image/svg+xml", ".svg")


# -- refusals


def _error(status: int, sentence: str, **more: Any) -> Response:
    return JSONResponse({"error": sentence, **more}, status_code=status)


def _refusal(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        table = getattr(request.state, "table", None)
        more = await run_in_threadpool(table.message) if isinstance(table, Table) else {}
        return _error(status, str(error), **more)

    return answer


async def _told(request: Request, error: Exception) -> Response:
    return _error(error.status if isinstance(error, Refused) else 500, str(error))


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentences = {404: "there is nothing here", 405: f"{request.method} is not for this address"}
    return _error(status, sentences.get(status, str(error)))


async def _broken(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _error(500, "something went wrong in the table itself: its log tells what")


_REFUSALS: dict[Any, Any] = {
    Refused: _told,
    NoSuchTable: _refusal(404),
    NoSuchHand: _refusal(404),
    OldMove: _refusal(409),
    PlayedElsewhere: _refusal(409),
    TooMany: _refusal(429),
    IllegalAction: _refusal(422),
    ValueError: _refusal(422),
}


# -- the page


class _Pages:
    """The page itself, and what it lists."""

    def __init__(self, house: House, door: Door, version: str) -> None:
        self._house = house
        self._door = door
        self._version = version

    async def index(self, request: Request) -> Response:
        """The page; a person or a token in its address goes into a cookie, and out of sight."""
        token, key = request.query_params.get("token"), request.query_params.get("person")
        if token is None and key is None:
            response = await _Static(directory=STATIC).get_response("index.html", request.scope)
            if person_in(request) is None:
                _remember(response, PERSON_COOKIE, new_id())
            return response
        response = RedirectResponse("/", 303)
        if token is not None and self._door.token is not None:
            _remember(response, TOKEN_COOKIE, self._door.token)  # the guard has compared it
        owner = await run_in_threadpool(self._house.store.owner)
        if key is not None and hmac.compare_digest(key.encode(), owner.encode()):
            _remember(response, PERSON_COOKIE, owner)
        return response

    async def menu(self, request: Request) -> Response:
        """Rule sets, agents and what is chosen at first."""
        menu = await run_in_threadpool(self._house.offer.menu)
        usual = {"rules": "classic", "opponent": "medium", "match": {"kind": "single"}}
        told = {
            **menu,
            "defaults": usual,
            "version": self._version,
            "token_needed": self._door.token is not None,
            "notice": self._house.store.notice,
        }
        return JSONResponse(told)

    async def rules(self, request: Request) -> Response:
        """One rule set in words."""
        return JSONResponse(rules_text(rules_named(request.path_params["name"])))


def _remember(response: Response, name: str, value: str) -> None:
    response.set_cookie(name, value, max_age=_YEAR, httponly=True, samesite="strict")


def _person(request: Request) -> str:
    """Who asks; a browser without a cookie is nobody, who has nothing here."""
    return person_in(request) or ""


# -- tables


class _Tables:
    """Playing and watching."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def _table(self, request: Request) -> Table:
        person, name = _person(request), request.path_params["id"]
        table = await run_in_threadpool(self._house.hall.get, person, name)
        request.state.table = table
        return table

    async def open(self, request: Request) -> Response:
        """A new table."""
        told = await told_in(request)
        person = person_in(request) or new_id()

        def opened() -> Table:
            return self._house.hall.open(person, settings_in(told, self._house.offer))

        table = await run_in_threadpool(opened)
        response = JSONResponse({"id": table.id, **table.message(0)}, 201)
        _remember(response, PERSON_COOKIE, person)
        return response

    async def list(self, request: Request) -> Response:
        """A person's tables."""
        return JSONResponse(await run_in_threadpool(self._house.hall.list, _person(request)))

    async def look(self, request: Request) -> Response:
        """The table as it stands, or as soon as something happens."""
        table = await self._table(request)
        after = number_in_query(request, "after", -1, _MOST_MOVES)
        wait = number_in_query(request, "wait", 0, LONGEST_WAIT)
        if after is not None and wait:
            await self._until_news(table, int(after), wait)
        return await self._answer(table, None if after is None else int(after))

    async def _until_news(self, table: Table, after: int, seconds: float) -> None:
        """Wait until something happens; watched agents go on meanwhile."""
        if table.bells >= _MOST_WAITING:
            raise TooMany(f"{_MOST_WAITING} pages wait at this table already: close some")
        loop, bell = asyncio.get_running_loop(), asyncio.Event()
        until = loop.time() + seconds

        def ring() -> None:
            loop.call_soon_threadsafe(bell.set)

        table.add_bell(ring)
        try:
            while not (self._house.hall.closing or table.has_news(after)):
                left = until - loop.time()
                if left <= 0:
                    return
                due = table.seconds_to_wait()
                if due == 0:
                    await run_in_threadpool(table.advance)
                    continue
                try:
                    await asyncio.wait_for(bell.wait(), left if due is None else min(left, due))
                except asyncio.TimeoutError:
                    continue
                bell.clear()
        finally:
            table.remove_bell(ring)

    async def _answer(self, table: Table, after: int | None = None) -> Response:
        return JSONResponse(await run_in_threadpool(table.message, after))

    async def play(self, request: Request) -> Response:
        """One action of the person, and what a quick opponent answers."""
        told = await told_in(request)
        known_only(told, "action", "move")
        action, move = whole(told, "action", 0, 52), whole(told, "move", 0, _MOST_MOVES)
        table = await self._table(request)
        before = table.last_event
        await run_in_threadpool(table.play, action, move)
        return await self._answer(table, before)

    async def next(self, request: Request) -> Response:
        """The next hand of a match."""
        told = await told_in(request)
        known_only(told, "move")
        table = await self._table(request)
        before = table.last_event
        move = whole_or_none(told, "move", 0, _MOST_MOVES)
        await run_in_threadpool(table.next_hand, move)
        return await self._answer(table, before)

    async def leave(self, request: Request) -> Response:
        """End it here."""
        known_only(await told_in(request))
        table = await self._table(request)
        before = table.last_event
        await run_in_threadpool(table.leave)
        return await self._answer(table, before)

    async def forget(self, request: Request) -> Response:
        """Clear a table away."""
        person, name = _person(request), request.path_params["id"]
        await run_in_threadpool(self._house.hall.forget, person, name)
        return JSONResponse({"forgotten": name})

    async def speed(self, request: Request) -> Response:
        """How fast watched agents play."""
        told = await told_in(request)
        known_only(told, "delay_ms", "pause", "step")
        delay = whole_or_none(told, "delay_ms", 0, 600_000)
        pause, step = yes_or_no(told, "pause"), bool(yes_or_no(told, "step"))
        table = await self._table(request)
        before = table.last_event
        await run_in_threadpool(table.set_speed, delay, pause, step)
        return await self._answer(table, before)

    async def help(self, request: Request) -> Response:
        """What has been seen."""
        table = await self._table(request)
        return JSONResponse(await run_in_threadpool(lambda: seen_of(table.person_view())))

    async def hint(self, request: Request) -> Response:
        """What might be played, and why."""
        known_only(await told_in(request))
        table = await self._table(request)
        view = table.person_view()
        if not view.to_move or table.sitting.settings.watched:
            raise OldMove("it is not your turn, so there is nothing to advise")
        return JSONResponse(await run_in_threadpool(self._house.advisers.hint, view))


# -- finished hands


class _Hands:
    """Statistics, records, replays and analyses."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def statistics(self, request: Request) -> Response:
        """How the person has done."""
        store, person = self._house.store, _person(request)
        return JSONResponse(await run_in_threadpool(statistics_of, store, person))

    async def export(self, request: Request) -> Response:
        """The same to take along."""
        form, person = request.query_params.get("form", "csv"), _person(request)
        makers = {"csv": (as_csv, "text/csv"), "jsonl": (as_records, "application/x-ndjson")}
        if form not in makers:
            raise Refused(400, f"form is {form[:40]!r}: there are csv and jsonl")
        make, kind = makers[form]
        text = await run_in_threadpool(make, self._house.store, person)
        return _file(text, kind, f"german-whist.{form}")

    async def records(self, request: Request) -> Response:
        """The hands that the person finished."""
        return JSONResponse(await run_in_threadpool(self._house.library.played, _person(request)))

    async def open(self, request: Request) -> Response:
        """A file of records."""
        person = person_in(request) or new_id()
        text = await text_in(request, UPLOAD_LIMIT)
        opened = await run_in_threadpool(self._house.library.open, person, text)
        response = JSONResponse(opened, 201)
        _remember(response, PERSON_COOKIE, person)
        return response

    def _asked(self, request: Request) -> tuple[str, str, int]:
        return _person(request), request.path_params["id"], request.path_params["hand"]

    async def replay(self, request: Request) -> Response:
        """A hand, step by step."""
        asked, library = self._asked(request), self._house.library
        return JSONResponse(await run_in_threadpool(lambda: replay_of(library.record(*asked))))

    async def analysis(self, request: Request) -> Response:
        """What each decision was worth, or how much of that is known."""
        found = await run_in_threadpool(self._house.library.analysis, *self._asked(request))
        return JSONResponse(found)


def _file(text: str, kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(text, headers=headers, media_type=f"{kind}; charset=utf-8")
