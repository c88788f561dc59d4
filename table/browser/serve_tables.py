# pyright: strict
"""Playing and watching over HTTP: each handler reads its request, asks a table, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..game.database import new_id
from ..game.session import Settings
from ..review.hints import seen_cards
from ..text.labels import say
from .live_table import LiveTable, StaleMove
from .live_tables import LimitExceeded
from .messages import TableUpdate
from .requests import (
    PERSON_COOKIE,
    ClaimRequest,
    EmptyRequest,
    NextHandRequest,
    PlayRequest,
    SameDealRequest,
    SpeedRequest,
    TableRequest,
    find_person,
    read_request,
    table_settings,
)
from .shared import Services, get_person, json_response, set_cookie

_STILL_HERE = 15.0
"""Seconds after which a page is told that nothing has happened."""
_MOST_WAITING = 20
"""Pages that may look at one table."""
_MOST_EVENTS = 10**9


class TableHandlers:
    """Playing and watching."""

    def __init__(self, shared: Services) -> None:
        self._shared = shared

    def _found(self, request: Request) -> LiveTable:
        table = self._shared.live.get(get_person(request), request.path_params["id"])
        request.state.table = table
        return table

    async def _table(self, request: Request) -> LiveTable:
        return await run_in_threadpool(self._found, request)

    async def open(self, request: Request) -> Response:
        """A new table."""
        asked = await read_request(request, TableRequest)
        person = find_person(request) or new_id()

        def opened() -> LiveTable:
            settings = table_settings(asked, self._shared.opponents)
            if asked.again is not None:
                settings = self._again(settings, person, asked.again)
            return self._shared.live.open(person, settings)

        table = await run_in_threadpool(opened)
        response = json_response(table.message(0), 201)
        set_cookie(response, PERSON_COOKIE, person)
        return response

    def _again(self, settings: Settings, person: str, asked: SameDealRequest) -> Settings:
        """The same cards as in a hand that was played here, from the same seat or the other."""
        record = self._shared.finished.record(person, asked.id, asked.hand)
        dealer = 1 - record.dealer if asked.swapped else record.dealer
        deal = tuple(map(int, record.start().cards_dealt))
        return replace(
            settings,
            rules=record.rules,
            match=None,
            deal=deal,
            dealer=dealer,
            again=(asked.id, asked.hand),
        )

    async def list(self, request: Request) -> Response:
        """A person's tables."""
        return json_response(await run_in_threadpool(self._shared.live.list, get_person(request)))

    async def look(self, request: Request) -> Response:
        """The table as it stands."""
        table = await self._table(request)
        return json_response(await run_in_threadpool(table.message, None))

    async def events(self, request: Request) -> Response:
        """The table as it stands, and again whenever something happens: server-sent events."""
        table = await self._table(request)
        if table.events.n_subscribers >= _MOST_WAITING:
            raise LimitExceeded(say("refused.many_pages", n=_MOST_WAITING))
        asked = request.headers.get("last-event-id") or request.query_params.get("after", "")
        after = int(asked) if asked.isdecimal() and int(asked) < _MOST_EVENTS else 0
        headers = {"X-Accel-Buffering": "no"}
        return StreamingResponse(
            self._stream(table, after), media_type="text/event-stream", headers=headers
        )

    async def _stream(self, table: LiveTable, after: int) -> AsyncGenerator[bytes]:
        """Tell what happens while somebody listens; watched agents go on meanwhile."""
        loop, bell = asyncio.get_running_loop(), asyncio.Event()

        def ring() -> None:
            loop.call_soon_threadsafe(bell.set)

        table.events.subscribe(ring)
        try:
            first = True
            while not self._shared.live.closing:
                bell.clear()
                if first or table.events.last != after:
                    answer = await run_in_threadpool(table.message, after)
                    first, after = False, answer.state.n
                    yield b"id: %d\ndata: %s\n\n" % (after, msgspec.json.encode(answer))
                due = table.seconds_to_wait()
                if due == 0:
                    await run_in_threadpool(table.advance)
                    continue
                try:
                    await asyncio.wait_for(bell.wait(), min(due or _STILL_HERE, _STILL_HERE))
                except asyncio.TimeoutError:
                    if not await run_in_threadpool(table.is_current):
                        return  # played on elsewhere: the page asks again, and hears of it
                    yield b": still here\n\n"
        finally:
            table.events.unsubscribe(ring)

    async def _changed(self, request: Request, act: Callable[[LiveTable], object]) -> Response:
        """Let something happen at a table, and tell what did: all in one go to a thread."""

        def done() -> TableUpdate:
            table = self._found(request)
            before = table.events.last
            act(table)
            return table.message(before)

        return json_response(await run_in_threadpool(done))

    async def play(self, request: Request) -> Response:
        """One action of the person, and what a quick opponent answers."""
        asked = await read_request(request, PlayRequest)
        return await self._changed(request, lambda table: table.play(asked.action, asked.move))

    async def take_back(self, request: Request) -> Response:
        """Back to the person's last decision."""
        await read_request(request, EmptyRequest)
        return await self._changed(request, LiveTable.take_back)

    async def claim(self, request: Request) -> Response:
        """Tricks of an open endgame."""
        asked = await read_request(request, ClaimRequest)
        return await self._changed(request, lambda table: table.claim(asked.tricks, asked.move))

    async def next(self, request: Request) -> Response:
        """The next hand of a match."""
        asked = await read_request(request, NextHandRequest)
        return await self._changed(request, lambda table: table.next_hand(asked.move))

    async def leave(self, request: Request) -> Response:
        """End it here."""
        await read_request(request, EmptyRequest)
        return await self._changed(request, LiveTable.leave)

    async def forget(self, request: Request) -> Response:
        """Clear a table away."""
        person, name = get_person(request), request.path_params["id"]
        await run_in_threadpool(self._shared.live.forget, person, name)
        return json_response({"forgotten": name})

    async def speed(self, request: Request) -> Response:
        """How fast watched agents play."""
        asked = await read_request(request, SpeedRequest)
        return await self._changed(
            request, lambda table: table.set_speed(asked.delay_ms, asked.pause, asked.step)
        )

    async def help(self, request: Request) -> Response:
        """What has been seen."""
        return json_response(
            await run_in_threadpool(lambda: seen_cards(self._found(request).person_view()))
        )

    async def hint(self, request: Request) -> Response:
        """What might be played, and why."""
        await read_request(request, EmptyRequest)
        table = await self._table(request)
        view = table.person_view()
        if not view.to_move or table.session.settings.watched:
            raise StaleMove(say("refused.no_advice"))
        hint = await run_in_threadpool(self._shared.advisers.hint, view)
        await run_in_threadpool(table.note_hint)
        return json_response(hint)
