"""The page on a phone: what is needed lies on the first screen, and under nothing else."""

from __future__ import annotations

from functools import partial

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import Locator, expect
from tablepage import ASKED, OVER, PLAYABLE, SHOWN, Visit, box_of, in_windows
from test_puzzles import ENDINGS, FOREPLAYS

TALL, SMALL, TABLET = (390, 844), (360, 640), (768, 1024)
on_phones = partial(in_windows, is_mobile=True, has_touch=True)


def is_in_sight(visit: Visit, locator: Locator) -> bool:
    """Whether an element lies in the window as it is, without scrolling."""
    box = box_of(locator)
    left, right, height = box["left"], box["right"], visit.page.evaluate("innerHeight")
    inside = left >= 0 and right <= visit.page.evaluate("innerWidth") + 1
    return inside and box["width"] > 0 and box["top"] >= 0 and box["bottom"] <= height + 1


@on_phones(TALL, SMALL, TABLET)
def test_puzzles_are_solved_without_scrolling_on_a_felt_that_stands_still(visit: Visit) -> None:
    page = visit.page
    for puzzle in (*ENDINGS[:20:10], *FOREPLAYS[:20:10]):
        visit.go(f"puzzle/{puzzle.id}")
        visit.computed(ASKED)
        assert is_in_sight(visit, page.locator(".task h2"))
        assert box_of(page.locator(".task h2"))["bottom"] < box_of(page.locator(".felt"))["top"] + 1
        assert all(is_in_sight(visit, each) for each in page.locator(".hit").all())
        felt = box_of(page.locator(".felt"))
        page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
        following = page.get_by_role("button", name="Next")
        visit.computed(".task h2.good, .task h2.bad")
        assert is_in_sight(visit, following)
        assert is_in_sight(visit, page.locator(".task h2"))
        assert page.evaluate("innerHeight < 700") or box_of(page.locator(".felt")) == felt
        assert page.evaluate("scrollY") == 0
        assert page.evaluate("document.scrollingElement.scrollHeight <= innerHeight")


@on_phones(TALL, SMALL)
def test_play_and_a_first_hand_are_on_the_first_screen(visit: Visit) -> None:
    page = visit.page
    visit.go()
    play = page.get_by_role("button", name="Play")
    play.wait_for()
    begin = page.locator(".first-hand button")
    expect(begin).to_be_visible()
    assert is_in_sight(visit, begin)
    assert is_in_sight(visit, play)
    assert box_of(play)["height"] >= 56
    expect(page.get_by_label("Rule set")).to_be_hidden()
    page.locator("summary", has_text="Options").click()
    page.get_by_label("Rule set").select_option("small-last")
    page.locator("[name=opponent][value=easy]").check()
    play.click()
    visit.computed(PLAYABLE)
    visit.go()
    expect(play).to_contain_text("Easy · Small last")
    expect(begin).to_be_hidden()


@on_phones((844, 390))
def test_play_is_on_the_first_screen_of_a_phone_on_its_side(visit: Visit) -> None:
    visit.go()
    play = visit.page.get_by_role("button", name="Play")
    visit.page.locator(".first-hand button").wait_for()
    assert is_in_sight(visit, play)
    visit.table()
    visit.go()
    visit.page.locator(".table-list a").wait_for()
    assert is_in_sight(visit, play)
    visit.go(f"replay/{visit.finished_hand(seed=6)}/1")
    visit.page.locator(".story").wait_for()
    assert is_in_sight(visit, visit.page.locator(".replay-buttons"))


@on_phones(SMALL)
def test_a_hint_stays_above_the_felt_until_its_decision_is_made(visit: Visit) -> None:
    page = visit.page
    visit.sit_down(rules="classic", seed=4)
    page.get_by_role("button", name="Hint").tap()
    guide = page.locator(".guide:not([hidden])")
    guide.wait_for()
    visit.computed(".card.hinted")
    box, felt = box_of(guide), box_of(page.locator(".felt"))
    assert box["width"] >= page.evaluate("innerWidth") - 1
    assert box["bottom"] <= felt["top"] + 1
    page.wait_for_timeout(500)
    expect(guide).to_be_visible()
    move = visit.move
    page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
    visit.wait_for_more(move)
    expect(guide).to_be_hidden()


@on_phones(SMALL)
def test_the_guided_hand_leaves_the_felt_three_quarters(visit: Visit) -> None:
    page = visit.page
    visit.go("learn")
    page.get_by_role("button", name="Begin").tap()
    visit.computed(SHOWN)
    height = page.evaluate("innerHeight")
    while not page.locator(".after-hand:visible").count():
        assert box_of(page.locator(".guide"))["height"] <= 0.25 * height
        legal = page.locator(PLAYABLE).count()
        assert ("only card" in page.locator(".guide").inner_text()) == (legal == 1)
        visit.play_on()
    expect(page.locator(".guide")).to_contain_text("That was the hand")
    expect(page.locator(".guide")).not_to_contain_text("button")


@on_phones(SMALL)
def test_keys_are_not_told_where_there_is_no_keyboard(visit: Visit) -> None:
    page = visit.page
    visit.go()
    expect(page.get_by_role("button", name="Settings", exact=True)).to_be_visible()
    assert not page.get_by_role("button", name="Keys").count()
    visit.sit_down()
    expect(page.get_by_role("button", name="Hint", exact=True)).to_be_visible()


@on_phones(SMALL)
def test_the_score_names_the_numbers_and_has_three_buttons(visit: Visit) -> None:
    page = visit.page
    name = visit.table(seed=6)
    result = visit.finish_hand(name)["result"]
    visit.show_score(name)
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
    visit.computed(".turning a, .turning:has-text('decided')")
