"""A saved replay is one file that works offline, and in which the texts of a record stay texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from german_whist.engine.records import GameRecord
from german_whist.table.browser.saved_replay import replay_page
from german_whist.table.review.analysis import AnalysisSettings, analyze
from german_whist.table.review.replay import make_replay
from support import random_hand

QUICK = AnalysisSettings(search="flat-mc:12,voids,playout=counting")
EVIL = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'><!-- \u2028"


def hand_in(page: str) -> dict[str, Any]:
    """What a page holds of its hand."""
    saved = json.loads(page.partition('id="saved">')[2].partition("</script>")[0])
    (hand,) = saved["hands"]
    return {**hand, "seat": saved["seat"]}


def test_page_holds_the_replay_and_the_analysis() -> None:
    record = random_hand("classic", 3)
    analysis = analyze(record, QUICK)
    saved = hand_in(replay_page(record, analysis, 1))
    assert saved["analysis"] == json.loads(msgspec.json.encode(analysis))
    assert saved["replay"] == json.loads(msgspec.json.encode(make_replay(record)))
    assert saved["seat"] == 1
    assert hand_in(replay_page(record))["analysis"] is None


def test_page_is_small_and_names_no_other_file() -> None:
    record = random_hand("draft", 3)
    page = replay_page(record, analyze(record, QUICK))
    assert len(page.encode()) < 300_000
    assert set(re.findall(r"https?://[^\s\"'<)]*", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"url\((?!\"data:)|<(link|iframe|base|object)\b|^import ", page, re.M)
    policy = re.findall(r'Policy" content="([^"]*)"', page)[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    long = {"players": ["x" * 100_000, "y"], "more": "z" * 100_000, "list": ["w" * 100_000]}
    assert len(replay_page(random_hand("draft", 3, **long))) < len(page)


# -- in a browser


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a saved replay in a browser without a network, which complains of nothing."""
    context = browser.new_context(offline=True, reduced_motion="reduce")
    page, complaints, requests = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    path = tmp_path / "hand.html"

    def open_page(record: GameRecord, **options: Any) -> Any:
        path.write_text(replay_page(record, **options), encoding="utf-8")
        page.goto(path.as_uri())
        page.locator(".replay-count", has_text="/").wait_for()
        return page

    yield open_page
    assert (complaints, requests) == ([], [path.as_uri()])
    context.close()


def test_page_opens_at_a_seat_and_steps_by_keys_and_buttons(opened) -> None:
    record = random_hand("small-last", 3, players=["ann", "bob"])
    analysis = analyze(record, AnalysisSettings(search="flat-mc:25,voids,playout=counting"))
    page, last = opened(record, analysis=analysis, seat=1), len(record.actions)
    buttons = {name: page.get_by_role("button", name=name) for name in ("Forward", "Back")}
    for key, shown in (
        ("Home", f"Trick 1 · 0 / {last}"),
        ("ArrowRight", f"Trick 1 · 1 / {last}"),
        ("Forward", f"Trick 2 · 2 / {last}"),
        ("Back", f"Trick 1 · 1 / {last}"),
        ("End", f"End · {last} / {last}"),
    ):
        buttons[key].click() if key in buttons else page.keyboard.press(key)
        assert page.locator(".replay-count").inner_text() == shown
    assert "ann and bob" in page.locator("h1").inner_text()
    for view, seats in (("1", {1}), ("both", {0, 1}), ("0", {0}), ("1", {1})):
        assert page.get_by_label("Whose cards are shown").input_value() == view
        # What ann could expect is nothing that bob saw.
        assert page.locator(".story svg").is_visible() == (0 in seats)
        hidden = len(analysis.mistakes) - page.locator(".mistake-list li").count()
        assert (hidden > 0) == (len(seats) == 1)
        page.keyboard.press("v")


def test_page_follows_a_change_of_reduced_motion(opened) -> None:
    page = opened(random_hand("small-last", 3))
    for wish, motion in (("no-preference", "normal"), ("reduce", "none")):
        page.emulate_media(reduced_motion=wish)
        page.locator(f"html[data-motion={motion}]").wait_for(timeout=10_000)


def test_nothing_of_a_hostile_record_runs(opened) -> None:
    rules = {"name": EVIL[:60], "about": EVIL, "suits": 4, "ranks": 7, "hand": 7}
    record = random_hand(rules, players=[EVIL, EVIL], date=EVIL, n={"x": EVIL}, **{EVIL: EVIL})
    page = opened(record, analysis=analyze(record, QUICK))
    for _ in record.actions:
        page.keyboard.press("ArrowRight")
    page.keyboard.press("v")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, [onerror]").count() == 0
    assert page.locator("script").count() == 3
    assert page.title().startswith("</script><script>")
