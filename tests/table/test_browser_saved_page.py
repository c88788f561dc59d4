"""A saved replay opens from the disk, offline, steps by keys and buttons, and runs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import Browser, Page

from german_whist.engine.records import GameRecord
from german_whist.table.browser.saved_replay import replay_page
from german_whist.table.review.analysis import AnalysisSettings, analyse
from support import random_hand

EVIL = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


class UploadResult:
    """A saved page in a browser without a network, and everything that it complained of."""

    def __init__(self, browser: Browser, path: Path, record: GameRecord, **more: Any) -> None:
        path.write_text(replay_page(record, **more), encoding="utf-8")
        self.context = browser.new_context(offline=True, reduced_motion="reduce")
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.locator(".replay-count", has_text="/").wait_for()

    def at(self) -> str:
        return self.page.locator(".replay-count").inner_text()


def test_it_opens_at_a_seat_and_steps_by_keys_and_buttons(browser, tmp_path) -> None:
    record = random_hand("small-last", 3, players=["ann", "bob"])
    analysis = analyse(record, AnalysisSettings(search="flat-mc:25,voids,playout=counting"))
    opened = UploadResult(browser, tmp_path / "hand.html", record, analysis=analysis, seat=1)
    page, last = opened.page, len(record.actions)
    assert opened.at() == f"Trick 1 · 0 / {last}"
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Forwards").click()
    assert opened.at() == f"Trick 2 · 2 / {last}"
    page.get_by_role("button", name="Back").click()
    assert opened.at() == f"Trick 1 · 1 / {last}"
    page.keyboard.press("End")
    assert opened.at() == f"End · {last} / {last}"
    page.keyboard.press("Home")
    assert opened.at() == f"Trick 1 · 0 / {last}"
    assert "ann and bob" in page.locator("h1").inner_text()
    for view, seats in (("1", {1}), ("both", {0, 1}), ("0", {0}), ("1", {1})):
        assert page.get_by_label("Whose cards are shown").input_value() == view
        # What ann could expect is nothing that bob saw.
        assert page.locator(".story svg").is_visible() == (0 in seats)
        hidden = len(analysis.mistakes) - page.locator(".mistake-list li").count()
        assert (hidden > 0) == (len(seats) == 1)
        page.keyboard.press("v")
    assert opened.complaints == []
    assert opened.asked == [(tmp_path / "hand.html").as_uri()]


def test_nothing_of_a_hostile_record_runs(browser, tmp_path) -> None:
    rules = {"name": EVIL, "about": EVIL, "suits": 4, "ranks": 7, "hand": 7}
    record = random_hand(rules, players=[EVIL, EVIL], date=EVIL, **{EVIL: EVIL})
    analysis = analyse(record, AnalysisSettings(search="flat-mc:6,voids,playout=counting"))
    opened = UploadResult(browser, tmp_path / "evil.html", record, analysis=analysis)
    for _ in record.actions:
        opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("v")
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img, [onerror]").count() == 0
    assert opened.page.locator("script").count() == 3
    assert opened.complaints == []
    assert len(opened.asked) == 1
