# pyright: strict
"""HTTP handlers of finished hands: statistics, replays, analyses, and files of them.

Starlette runs handlers that are not `async` in a thread.
"""

from __future__ import annotations

import threading
from functools import lru_cache

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from german_whist.agents.networks.policy import NetworkAgent
from german_whist.engine.records import GameRecord

from ..game.statistics import as_csv, as_records, compute_statistics
from ..review.networks import NetworkReview, review_networks
from ..review.replay import make_replay
from ..text.labels import label
from .messages import Refused
from .requests import Services, json_response
from .saved_replay import replay_page


class HandHandlers:
    """Statistics, replays and analyses."""

    def __init__(self, services: Services) -> None:
        self._store, self._finished = services.store, services.finished
        self._opponents = services.opponents
        self._reviewing = threading.Lock()

    def statistics(self, _: Request) -> Response:
        return json_response(compute_statistics(self._store))

    def export(self, request: Request) -> Response:
        form = request.query_params.get("form", "csv")
        writers = {"csv": (as_csv, "text/csv"), "jsonl": (as_records, "application/x-ndjson")}
        if form not in writers:
            raise Refused(label("refused.form", form=repr(form[:40])))
        write, media_type = writers[form]
        return _attachment(write(self._store), media_type, f"german-whist.{form}")

    def list(self, _: Request) -> Response:
        return json_response(self._finished.latest())

    def replay(self, request: Request) -> Response:
        return json_response(make_replay(self._finished.record(*_hand_key(request))))

    def analysis(self, request: Request) -> Response:
        return json_response(self._finished.analysis(*_hand_key(request)))

    def networks(self, request: Request) -> Response:
        record = self._finished.record(*_hand_key(request))
        policies = self._opponents.policies(record.rules)
        with self._reviewing:
            names, agents = tuple(policies), tuple(policies.values())
            return json_response(_review(record.to_line(), names, agents))

    def file(self, request: Request) -> Response:
        key = _hand_key(request)
        page = replay_page(self._finished.record(*key), self._finished.finished_analysis(*key))
        return _attachment(page, "text/html", "german-whist-replay.html")


@lru_cache(maxsize=64)
def _review(line: str, names: tuple[str, ...], policies: tuple[NetworkAgent, ...]) -> NetworkReview:
    return review_networks(GameRecord.from_line(line), policies, names)


def _hand_key(request: Request) -> tuple[str, int]:
    return request.path_params["id"], request.path_params["hand"]


def _attachment(text: str, media_type: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(text, headers=headers, media_type=f"{media_type}; charset=utf-8")
