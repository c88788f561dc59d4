# pyright: strict
"""Finished hands over HTTP: statistics, records, replays, analyses, and all of them as files."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ..game.database import new_id
from ..game.statistics import as_csv, as_records, compute_statistics
from ..review.replay import make_replay
from ..text.labels import say
from .finished_hands import UPLOAD_LIMIT
from .requests import (
    PERSON_COOKIE,
    EmptyRequest,
    RequestError,
    find_person,
    read_request,
    read_text,
)
from .saved_replay import replay_page
from .shared import Services, get_person, json_response, set_cookie


class HandHandlers:
    """Statistics, records, replays and analyses."""

    def __init__(self, shared: Services) -> None:
        self._shared = shared

    async def statistics(self, request: Request) -> Response:
        """How the person has done."""
        store, person = self._shared.store, get_person(request)
        return json_response(await run_in_threadpool(compute_statistics, store, person))

    async def export(self, request: Request) -> Response:
        """The same to take along."""
        form, person = request.query_params.get("form", "csv"), get_person(request)
        makers = {"csv": (as_csv, "text/csv"), "jsonl": (as_records, "application/x-ndjson")}
        if form not in makers:
            raise RequestError(400, say("refused.form", form=repr(form[:40])))
        make, kind = makers[form]
        text = await run_in_threadpool(make, self._shared.store, person)
        return _file(text, kind, f"german-whist.{form}")

    async def records(self, request: Request) -> Response:
        """The hands that the person finished."""
        return json_response(
            await run_in_threadpool(self._shared.finished.played, get_person(request))
        )

    async def open(self, request: Request) -> Response:
        """A file of records."""
        person = find_person(request) or new_id()
        text = await read_text(request, UPLOAD_LIMIT)
        opened = await run_in_threadpool(self._shared.finished.open, person, text)
        response = json_response(opened, 201)
        set_cookie(response, PERSON_COOKIE, person)
        return response

    def _asked(self, request: Request) -> tuple[str, str, int]:
        return get_person(request), request.path_params["id"], request.path_params["hand"]

    async def replay(self, request: Request) -> Response:
        """A hand, step by step."""
        asked, finished = self._asked(request), self._shared.finished
        return json_response(await run_in_threadpool(lambda: make_replay(finished.record(*asked))))

    async def analysis(self, request: Request) -> Response:
        """What each decision was worth, or how much of that is known."""
        found = await run_in_threadpool(self._shared.finished.analysis, *self._asked(request))
        return json_response(found)

    async def share(self, request: Request) -> Response:
        """An address by which others may look at the hand."""
        await read_request(request, EmptyRequest)
        finished = self._shared.finished
        return json_response(await run_in_threadpool(finished.share, *self._asked(request)))

    async def file(self, request: Request) -> Response:
        """The replay as one page to send to someone."""
        asked, finished = self._asked(request), self._shared.finished

        def page() -> str:
            return replay_page(finished.record(*asked), finished.found(*asked))

        return _file(await run_in_threadpool(page), "text/html", "german-whist-replay.html")


def _file(text: str, kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(text, headers=headers, media_type=f"{kind}; charset=utf-8")
