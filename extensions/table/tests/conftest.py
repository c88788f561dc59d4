"""A browser for the tests of the page, and a server with its user for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support import CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: make browser, as root, where there is apt")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from serving import running_server

    with running_server(tmp_path_factory.mktemp("data")) as opened:
        yield opened


@pytest.fixture
def user(request: pytest.FixtureRequest, server: Any, browser: Any) -> Iterator[Any]:
    from tablepage import user_of

    with user_of(server, browser, **getattr(request, "param", {})) as user:
        yield user
        assert not user.complaints


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    from german_whist.table.game.store import Store

    with closing(Store(tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
def client(server: Any) -> Any:
    return server.client()


@pytest.fixture(autouse=True)
def own_agents() -> Iterator[None]:
    """Names of agents are told apart from those of the same test alone."""
    yield
    from german_whist.table.text.words import tell_apart

    tell_apart(())
