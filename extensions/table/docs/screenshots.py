"""Screenshots of the table in the browser, by Chromium: `table.png`, `replay.png`, `learn.png`."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).with_name("pictures")

REQUEST = """async ([path, body]) => (await fetch('/api/' + path, {
    method: body ? 'POST' : 'GET',
    headers: {'Content-Type': 'application/json'},
    body: body,
})).json()"""


@contextmanager
def opened_table() -> Iterator[Page]:
    """A page at a table of its own, in the light theme and without animations."""
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        words = ["table", "--no-browser", "--port", "0", "--data", data]
        server = subprocess.Popen(
            [sys.executable, "-u", "-m", "german_whist", *words], stdout=subprocess.PIPE, text=True
        )
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox"],
        )
        try:
            assert server.stdout is not None
            addresses = (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in server.stdout)
            page = browser.new_page(
                viewport={"width": 960, "height": 640},
                color_scheme="light",
                reduced_motion="reduce",
            )
            page.set_default_timeout(300_000)
            page.goto(next(address[0] for address in addresses if address))
            yield page
        finally:
            browser.close()
            server.terminate()
            server.wait()


def photograph(page: Page, name: str) -> None:
    """Write a picture of a page in few colors."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)


def play(page: Page, wishes: dict[str, Any], cards: int) -> str:
    """The id of a table at which so many cards were played."""
    state: dict[str, Any] = page.evaluate(REQUEST, ["tables", json.dumps(wishes)])["state"]
    for _ in range(cards):
        if state["phase"] == "over":
            break
        card = json.dumps({"action": state["legal"][-1], "move": state["move"]})
        state = page.evaluate(REQUEST, [f"tables/{state['id']}/play", card])["state"]
    return state["id"]


def table() -> None:
    """Show a hand in the foreplay."""
    with opened_table() as page:
        name = play(page, {"rules": "classic", "opponent": "medium", "seed": 7}, 7)
        page.goto(f"{page.url.partition('#')[0]}#/table/{name}")
        page.locator(".table-view[data-move]").wait_for()
        page.wait_for_timeout(1000)
        photograph(page, "table.png")


def replay() -> None:
    """Show a mistake in an analyzed hand."""
    with opened_table() as page:
        page.set_viewport_size({"width": 960, "height": 640})
        name = play(page, {"rules": "classic", "opponent": "medium", "seed": 7}, 26)
        page.goto(f"{page.url.partition('#')[0]}#/replay/{name}/1")
        page.locator(".totals").wait_for()
        page.locator(".mistake-list button").first.click()
        page.wait_for_timeout(1000)
        photograph(page, "replay.png")


def learn() -> None:
    """Show the puzzles of a person who has solved one, with their themes."""
    with opened_table() as page:
        site = page.url.partition("#")[0]
        page.set_viewport_size({"width": 960, "height": 520})
        page.goto(f"{site}#/puzzles/endgame")
        page.locator(".table-view[data-move=asked]").wait_for()
        page.locator(".hit:not([aria-disabled])").first.click(position={"x": 6, "y": 12})
        page.locator(".task h2:is(.good, .bad)").wait_for()
        page.goto(f"{site}#/learn")
        page.locator(".history summary").click()
        page.get_by_role("heading", name="Puzzles").evaluate(
            "each => each.parentElement.scrollIntoView()"
        )
        page.wait_for_timeout(500)
        photograph(page, "learn.png")


if __name__ == "__main__":
    table()
    replay()
    learn()
