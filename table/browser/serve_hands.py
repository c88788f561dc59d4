# pyright: strict
"""HTTP handlers of finished hands: statistics, records, replays, analyses, and files of them.

Starlette runs handlers that are not `async` in a thread.
"""

from __future__ import annotations

import threading
from functools import lru_cache

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ...agents.networks.policy import NetworkAgent
from ...engine.records import GameRecord
from ..game.database import new_id
from ..game.statistics import as_csv, as_records, compute_statistics
from ..review.networks import NetworkReview, review_networks
from ..review.replay import make_replay
from ..text.labels import label
from .finished_hands import UPLOAD_LIMIT
from .messages import Refused
from .requests import PERSON_COOKIE, Services, find_person, json_response, read_text, set_cookie
from .saved_replay import replay_page


class HandHandlers:
    """Statistics, records, replays and analyses."""

    def __init__(self, services: Services) -> None:
        self._store, self._finished = services.store, services.finished
        self._opponents = services.opponents
        self._reviewing = threading.Lock()

    def statistics(self, request: Request) -> Response:
        return json_response(compute_statistics(self._store, find_person(request)))

    def export(self, request: Request) -> Response:
        form = request.query_params.get("form", "csv")
        writers = {"csv": (as_csv, "text/csv"), "jsonl": (as_records, "application/x-ndjson")}
        if form not in writers:
            raise Refused(label("refused.form", form=repr(form[:40])))
        write, media_type = writers[form]
        text = write(self._store, find_person(request))
        return _attachment(text, media_type, f"german-whist.{form}")

    def records(self, request: Request) -> Response:
        return json_response(self._finished.by_person(find_person(request)))

    async def open(self, request: Request) -> Response:
        person = find_person(request) or new_id()
        text = await read_text(request, UPLOAD_LIMIT)
        response = json_response(await run_in_threadpool(self._finished.open, person, text), 201)
        set_cookie(request, response, PERSON_COOKIE, person)
        return response

    def replay(self, request: Request) -> Response:
        return json_response(make_replay(self._finished.record(*_hand_key(request))))

    def analysis(self, request: Request) -> Response:
        return json_response(self._finished.analysis(*_hand_key(request)))

    def networks(self, request: Request) -> Response:
        record = self._finished.record(*_hand_key(request))
        policies = tuple(self._opponents.policies(record.rules))
        with self._reviewing:
            return json_response(_review(record.to_line(), policies))

    def share(self, request: Request) -> Response:
        return json_response(self._finished.share(*_hand_key(request)))

    def file(self, request: Request) -> Response:
        key = _hand_key(request)
        page = replay_page(self._finished.record(*key), self._finished.finished_analysis(*key))
        return _attachment(page, "text/html", "german-whist-replay.html")


@lru_cache(maxsize=64)
def _review(line: str, policies: tuple[NetworkAgent, ...]) -> NetworkReview:
    return review_networks(GameRecord.from_line(line), policies)


def _hand_key(request: Request) -> tuple[str, str, int]:
    return find_person(request), request.path_params["id"], request.path_params["hand"]


def _attachment(text: str, media_type: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(text, headers=headers, media_type=f"{media_type}; charset=utf-8")
