# pyright: strict
"""Playing and watching over HTTP: each handler reads its request, asks a table, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .hall import TooMany
from .helping import seen_of
from .house import House, person_of, remember
from .messages import Message
from .requests import (
    PERSON_COOKIE,
    known_only,
    number_in_query,
    person_in,
    settings_in,
    told_in,
    whole,
    whole_or_none,
    yes_or_no,
)
from .store import new_id
from .tables import OldMove, Table

LONGEST_WAIT = 25.0
_MOST_WAITING = 20
"""Pages that may wait at one table."""
_MOST_MOVES = 10**9


class Tables:
    """Playing and watching."""

    def __init__(self, house: House) -> None:
        self._house = house

    def _found(self, request: Request) -> Table:
        table = self._house.hall.get(person_of(request), request.path_params["id"])
        request.state.table = table
        return table

    async def _table(self, request: Request) -> Table:
        return await run_in_threadpool(self._found, request)

    async def open(self, request: Request) -> Response:
        """A new table."""
        told = await told_in(request)
        person = person_in(request) or new_id()

        def opened() -> Table:
            return self._house.hall.open(person, settings_in(told, self._house.offer))

        table = await run_in_threadpool(opened)
        response = JSONResponse({"id": table.id, **table.message(0)}, 201)
        remember(response, PERSON_COOKIE, person)
        return response

    async def list(self, request: Request) -> Response:
        """A person's tables."""
        return JSONResponse(await run_in_threadpool(self._house.hall.list, person_of(request)))

    async def look(self, request: Request) -> Response:
        """The table as it stands, or as soon as something happens."""
        table = await self._table(request)
        after = number_in_query(request, "after", -1, _MOST_MOVES)
        wait = number_in_query(request, "wait", 0, LONGEST_WAIT)
        if after is not None and wait:
            await self._until_news(table, int(after), wait)
        number = None if after is None else int(after)
        return JSONResponse(await run_in_threadpool(table.message, number))

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

    async def _changed(self, request: Request, act: Callable[[Table], object]) -> Response:
        """Let something happen at a table, and tell what did: all in one go to a thread."""

        def done() -> Message:
            table = self._found(request)
            before = table.last_event
            act(table)
            return table.message(before)

        return JSONResponse(await run_in_threadpool(done))

    async def play(self, request: Request) -> Response:
        """One action of the person, and what a quick opponent answers."""
        told = await told_in(request)
        known_only(told, "action", "move")
        action, move = whole(told, "action", 0, 52), whole(told, "move", 0, _MOST_MOVES)
        return await self._changed(request, lambda table: table.play(action, move))

    async def next(self, request: Request) -> Response:
        """The next hand of a match."""
        told = await told_in(request)
        known_only(told, "move")
        move = whole_or_none(told, "move", 0, _MOST_MOVES)
        return await self._changed(request, lambda table: table.next_hand(move))

    async def leave(self, request: Request) -> Response:
        """End it here."""
        known_only(await told_in(request))
        return await self._changed(request, Table.leave)

    async def forget(self, request: Request) -> Response:
        """Clear a table away."""
        person, name = person_of(request), request.path_params["id"]
        await run_in_threadpool(self._house.hall.forget, person, name)
        return JSONResponse({"forgotten": name})

    async def speed(self, request: Request) -> Response:
        """How fast watched agents play."""
        told = await told_in(request)
        known_only(told, "delay_ms", "pause", "step")
        delay = whole_or_none(told, "delay_ms", 0, 600_000)
        pause, step = yes_or_no(told, "pause"), bool(yes_or_no(told, "step"))
        return await self._changed(request, lambda table: table.set_speed(delay, pause, step))

    async def help(self, request: Request) -> Response:
        """What has been seen."""

        def seen() -> Message:
            return seen_of(self._found(request).person_view())

        return JSONResponse(await run_in_threadpool(seen))

    async def hint(self, request: Request) -> Response:
        """What might be played, and why."""
        known_only(await told_in(request))
        table = await self._table(request)
        view = table.person_view()
        if not view.to_move or table.sitting.settings.watched:
            raise OldMove("it is not your turn, so there is nothing to advise")
        return JSONResponse(await run_in_threadpool(self._house.advisers.hint, view))
