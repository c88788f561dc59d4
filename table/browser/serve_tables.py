# pyright: strict
"""Playing and watching over HTTP: each handler reads its request, asks a table, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ..hints import seen_of
from ..store import new_id
from .live_table import LiveTable, OldMove
from .live_tables import TooMany
from .messages import Answer
from .requests import (
    PERSON_COOKIE,
    Nothing,
    WantedMove,
    WantedPlay,
    WantedSpeed,
    WantedTable,
    asked_in,
    number_in_query,
    person_in,
    settings_in,
)
from .shared import Shared, person_of, remember, told

LONGEST_WAIT = 25.0
_MOST_WAITING = 20
"""Pages that may wait at one table."""
_MOST_MOVES = 10**9


class Tables:
    """Playing and watching."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def _found(self, request: Request) -> LiveTable:
        table = self._shared.live.get(person_of(request), request.path_params["id"])
        request.state.table = table
        return table

    async def _table(self, request: Request) -> LiveTable:
        return await run_in_threadpool(self._found, request)

    async def open(self, request: Request) -> Response:
        """A new table."""
        asked = await asked_in(request, WantedTable)
        person = person_in(request) or new_id()

        def opened() -> LiveTable:
            return self._shared.live.open(person, settings_in(asked, self._shared.opponents))

        table = await run_in_threadpool(opened)
        response = told(table.message(0), 201)
        remember(response, PERSON_COOKIE, person)
        return response

    async def list(self, request: Request) -> Response:
        """A person's tables."""
        return told(await run_in_threadpool(self._shared.live.list, person_of(request)))

    async def look(self, request: Request) -> Response:
        """The table as it stands, or as soon as something happens."""
        table = await self._table(request)
        after = number_in_query(request, "after", -1, _MOST_MOVES)
        wait = number_in_query(request, "wait", 0, LONGEST_WAIT)
        if after is not None and wait:
            await self._until_news(table, int(after), wait)
        number = None if after is None else int(after)
        return told(await run_in_threadpool(table.message, number))

    async def _until_news(self, table: LiveTable, after: int, seconds: float) -> None:
        """Wait until something happens; watched agents go on meanwhile."""
        if table.bells >= _MOST_WAITING:
            raise TooMany(f"{_MOST_WAITING} pages wait at this table already: close some")
        loop, bell = asyncio.get_running_loop(), asyncio.Event()
        until = loop.time() + seconds

        def ring() -> None:
            loop.call_soon_threadsafe(bell.set)

        table.add_bell(ring)
        try:
            while not (self._shared.live.closing or table.has_news(after)):
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

    async def _changed(self, request: Request, act: Callable[[LiveTable], object]) -> Response:
        """Let something happen at a table, and tell what did: all in one go to a thread."""

        def done() -> Answer:
            table = self._found(request)
            before = table.last_event
            act(table)
            return table.message(before)

        return told(await run_in_threadpool(done))

    async def play(self, request: Request) -> Response:
        """One action of the person, and what a quick opponent answers."""
        asked = await asked_in(request, WantedPlay)
        return await self._changed(request, lambda table: table.play(asked.action, asked.move))

    async def next(self, request: Request) -> Response:
        """The next hand of a match."""
        asked = await asked_in(request, WantedMove)
        return await self._changed(request, lambda table: table.next_hand(asked.move))

    async def leave(self, request: Request) -> Response:
        """End it here."""
        await asked_in(request, Nothing)
        return await self._changed(request, LiveTable.leave)

    async def forget(self, request: Request) -> Response:
        """Clear a table away."""
        person, name = person_of(request), request.path_params["id"]
        await run_in_threadpool(self._shared.live.forget, person, name)
        return told({"forgotten": name})

    async def speed(self, request: Request) -> Response:
        """How fast watched agents play."""
        asked = await asked_in(request, WantedSpeed)
        return await self._changed(
            request, lambda table: table.set_speed(asked.delay_ms, asked.pause, asked.step)
        )

    async def help(self, request: Request) -> Response:
        """What has been seen."""
        return told(await run_in_threadpool(lambda: seen_of(self._found(request).person_view())))

    async def hint(self, request: Request) -> Response:
        """What might be played, and why."""
        await asked_in(request, Nothing)
        table = await self._table(request)
        view = table.person_view()
        if not view.to_move or table.session.settings.watched:
            raise OldMove("it is not your turn, so there is nothing to advise")
        return told(await run_in_threadpool(self._shared.advisers.hint, view))
