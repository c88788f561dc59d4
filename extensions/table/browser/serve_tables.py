# pyright: strict
"""HTTP handlers of playing and watching.

Starlette runs handlers that are not `async` in a thread: a table may have to wait for its lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace

import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..game.lessons import can_coach
from ..game.session import SessionSettings
from ..review.hints import find_hint, seen_cards
from ..text.labels import label
from .live_table import LiveTable
from .messages import Refused
from .requests import (
    SameDealRequest,
    Services,
    TableRequest,
    json_response,
    read_request,
    table_settings,
)

_KEEPALIVE_SECONDS = 15.0
_MAX_EVENT = 10**9


class TableHandlers:
    """Playing and watching."""

    def __init__(self, services: Services) -> None:
        self._services, self._live = services, services.live

    def _table(self, request: Request) -> LiveTable:
        table = self._live.get(request.path_params["id"])
        request.state.table = table  # a refusal contains its state
        return table

    async def open(self, request: Request) -> Response:
        body = await read_request(request, TableRequest)

        def open_table() -> LiveTable:
            settings = table_settings(body, self._services.opponents)
            if body.replayed_from is not None:
                settings = self._same_deal(settings, body.replayed_from)
            coached = body.coached and can_coach(settings)
            return self._live.open(settings, coached)

        table = await run_in_threadpool(open_table)
        return json_response(table.message(0), 201)

    def _same_deal(self, settings: SessionSettings, body: SameDealRequest) -> SessionSettings:
        record = self._services.finished.record(body.id, body.hand)
        if body.decision >= len(record.actions):
            raise Refused(label("refused.hand_over"))
        return replace(
            settings,
            rules=record.rules,
            match=None,
            deal=tuple(map(int, record.start().cards_dealt)),
            dealer=1 - record.dealer if body.swapped else record.dealer,
            replayed_from=(body.id.partition("~")[0], body.hand),
            prior_actions=record.actions[: body.decision],
        )

    def list(self, _: Request) -> Response:
        return json_response(self._live.list())

    def look(self, request: Request) -> Response:
        return json_response(self._table(request).message(None))

    async def events(self, request: Request) -> Response:
        """The table's state, and again after each event, as server-sent events."""
        table = await run_in_threadpool(self._table, request)
        after_text = request.headers.get("last-event-id") or request.query_params.get("after", "")
        is_number = after_text.isdecimal() and int(after_text) < _MAX_EVENT
        return StreamingResponse(
            self._stream(table, int(after_text) if is_number else 0),
            media_type="text/event-stream",
        )

    async def _stream(self, table: LiveTable, after: int) -> AsyncGenerator[bytes]:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            loop.call_soon_threadsafe(changed.set)

        table.events.subscribe(notify)
        try:
            first = True
            while not self._live.closing:
                changed.clear()
                if first or table.events.last != after:
                    update = await run_in_threadpool(table.message, after)
                    first, after = False, update.state.n
                    yield b"id: %d\ndata: %s\n\n" % (after, msgspec.json.encode(update))
                # Not on the event loop: a thread that plays may hold the table's lock for long.
                due = await run_in_threadpool(table.seconds_to_wait)
                if due == 0:
                    await run_in_threadpool(table.advance)
                    continue
                try:
                    timeout = min(due or _KEEPALIVE_SECONDS, _KEEPALIVE_SECONDS)
                    await asyncio.wait_for(changed.wait(), timeout)
                except asyncio.TimeoutError:
                    if not await run_in_threadpool(table.is_current):
                        return  # played on by another program: the page loads the table anew
                    yield b": still here\n\n"
        finally:
            table.events.unsubscribe(notify)

    def change(
        self, act: Callable[..., None], body: type[Struct] | None = None
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler that lets a table act, by the fields of a body if there is one.

        It responds with the new state and events.
        """

        async def handler(request: Request) -> Response:
            values = {} if body is None else asdict(await read_request(request, body))

            def change() -> Response:
                table = self._table(request)
                before = table.events.last
                act(table, **values)
                return json_response(table.message(before))

            return await run_in_threadpool(change)

        return handler

    def forget(self, request: Request) -> Response:
        name = request.path_params["id"]
        self._live.forget(name)
        return json_response({"forgotten": name})

    def help(self, request: Request) -> Response:
        return json_response(seen_cards(self._table(request).view_for_help()))

    def hint(self, request: Request) -> Response:
        return json_response(find_hint(self._table(request).view_for_hint()))
