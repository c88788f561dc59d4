"""The page on a phone: what is needed lies on the first screen, and under nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import Browser, Locator, expect
from tablepage import OVER, PLAYABLE, Server, Visit, visiting

from german_whist.table.review.puzzles import ENDGAME, FOREPLAY, bundled_puzzles

TALL, SMALL, TABLET = (390, 844), (360, 640), (768, 1024)


@pytest.fixture(params=[TALL, SMALL], ids=["390x844", "360x640"])
def phone(request: pytest.FixtureRequest, server: Server, browser: Browser) -> Iterator[Visit]:
    width, height = request.param
    size: dict[str, Any] = {"viewport": {"width": width, "height": height}}
    with visiting(server, browser, is_mobile=True, has_touch=True, **size) as visit:
        yield visit
        assert not visit.complaints


def box_of(locator: Locator) -> dict[str, float]:
    """The place of an element in the window."""
    script = "each => each.getBoundingClientRect().toJSON()"
    return locator.first.evaluate(script)


def is_in_sight(visit: Visit, locator: Locator) -> bool:
    """Whether an element lies in the window as it is, without scrolling."""
    box = box_of(locator)
    left, right, height = box["left"], box["right"], visit.page.evaluate("innerHeight")
    inside = left >= 0 and right <= visit.page.evaluate("innerWidth") + 1
    return inside and box["width"] > 0 and box["top"] >= 0 and box["bottom"] <= height + 1


@pytest.mark.parametrize("phone", [TALL, SMALL, TABLET], indirect=True, ids=str)
def test_puzzles_are_solved_without_scrolling_on_a_felt_that_stands_still(phone: Visit) -> None:
    page = phone.page
    puzzles = [each for each in bundled_puzzles() if each.kind == ENDGAME][:20:10]
    puzzles += [each for each in bundled_puzzles() if each.kind == FOREPLAY][:20:10]
    for puzzle in puzzles:
        phone.go(f"puzzle/{puzzle.id}")
        page.locator(".felt[data-move=asked]").wait_for()
        assert is_in_sight(phone, page.locator(".task h2"))
        assert box_of(page.locator(".task h2"))["bottom"] < box_of(page.locator(".felt"))["top"] + 1
        assert all(is_in_sight(phone, each) for each in page.locator(".hit").all())
        felt = box_of(page.locator(".felt"))
        page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
        following = page.get_by_role("button", name="Next")
        following.wait_for()
        assert is_in_sight(phone, following)
        assert is_in_sight(phone, page.locator(".task h2"))
        assert phone.page.evaluate("innerHeight < 700") or box_of(page.locator(".felt")) == felt
        assert page.evaluate("scrollY") == 0
        assert page.evaluate("document.scrollingElement.scrollHeight <= innerHeight")


def test_play_and_a_first_hand_are_on_the_first_screen(phone: Visit) -> None:
    page = phone.page
    phone.go()
    play = page.get_by_role("button", name="Play")
    play.wait_for()
    begin = page.locator(".first-hand button")
    expect(begin).to_be_visible()
    assert is_in_sight(phone, begin)
    assert is_in_sight(phone, play)
    assert box_of(play)["height"] >= 56
    expect(page.get_by_label("Rule set")).to_be_hidden()
    page.locator("summary", has_text="Options").click()
    page.get_by_label("Rule set").select_option("small-last")
    page.locator("[name=opponent][value=easy]").check()
    play.click()
    page.locator(PLAYABLE).first.wait_for()
    phone.go()
    expect(play).to_contain_text("Easy · Small last")
    expect(begin).to_be_hidden()


def test_play_is_on_the_first_screen_of_a_phone_on_its_side(
    server: Server, browser: Browser
) -> None:
    size: dict[str, Any] = {"viewport": {"width": 844, "height": 390}}
    with visiting(server, browser, is_mobile=True, has_touch=True, **size) as visit:
        visit.go()
        play = visit.page.get_by_role("button", name="Play")
        visit.page.locator(".first-hand button").wait_for()
        assert is_in_sight(visit, play)
        visit.sit_down()
        visit.go()
        visit.page.locator(".table-list a").wait_for()
        assert is_in_sight(visit, play)
        name = visit.sit_down(seed=6)
        visit.finish_hand(name)
        visit.go(f"replay/{name}/1")
        visit.page.locator(".story").wait_for()
        assert is_in_sight(visit, visit.page.locator(".replay-buttons"))


only_small = pytest.mark.parametrize("phone", [SMALL], indirect=True, ids=["360x640"])


@only_small
def test_a_hint_stays_above_the_felt_until_its_decision_is_made(phone: Visit) -> None:
    page = phone.page
    phone.sit_down(rules="classic", seed=4)
    page.get_by_role("button", name="Hint").tap()
    guide = page.locator(".guide:not([hidden])")
    guide.wait_for()
    page.locator(".card.hinted").wait_for()
    box, felt = box_of(guide), box_of(page.locator(".felt"))
    assert box["width"] >= page.evaluate("innerWidth") - 1
    assert box["bottom"] <= felt["top"] + 1
    page.wait_for_timeout(500)
    expect(guide).to_be_visible()
    move = phone.move
    page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
    phone.wait_for_more(move)
    expect(guide).to_be_hidden()


@only_small
def test_the_guided_hand_leaves_the_felt_three_quarters(phone: Visit) -> None:
    page = phone.page
    phone.go("learn")
    page.get_by_role("button", name="Begin").tap()
    page.locator(".felt[data-move]").wait_for()
    height = page.evaluate("innerHeight")
    while not page.locator(".after-hand:visible").count():
        assert box_of(page.locator(".guide"))["height"] <= 0.25 * height
        legal = page.locator(PLAYABLE).count()
        assert ("only card" in page.locator(".guide").inner_text()) == (legal == 1)
        phone.play_on()
    expect(page.locator(".guide")).not_to_contain_text("button")


@only_small
def test_keys_are_not_told_where_there_is_no_keyboard(phone: Visit) -> None:
    page = phone.page
    phone.go()
    expect(page.get_by_role("button", name="Settings", exact=True)).to_be_visible()
    assert not page.get_by_role("button", name="Keys").count()
    phone.sit_down()
    expect(page.get_by_role("button", name="Hint", exact=True)).to_be_visible()


@only_small
def test_the_score_names_the_numbers_and_has_three_buttons(phone: Visit) -> None:
    page = phone.page
    name = phone.sit_down(seed=6)
    result = phone.finish_hand(name)["result"]
    page.reload()
    page.get_by_role("button", name="Show the score").tap()
    page.locator(OVER).wait_for()
    for place, player in enumerate(("You", "Easy")):
        column = page.locator(".result-tricks p").nth(place)
        expect(column).to_contain_text(player)
        expect(column.locator("b")).to_have_text(str(result["tricks"][place]))
    shown = page.locator(f"{OVER} button:visible, {OVER} summary:visible")
    assert shown.count() == 3
    assert result["text"] not in page.locator(f"{OVER} p:not(.sr-only)").all_inner_texts()
    page.locator(f"{OVER} summary").tap()
    expect(page.get_by_role("button", name="Same deal, other seat")).to_be_visible()
    page.locator(".turning a, .turning:has-text('decided')").wait_for()
