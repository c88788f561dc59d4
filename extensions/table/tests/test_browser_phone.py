"""The page on a phone: what is needed lies on the first screen, and under nothing else."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import Locator, expect
from tablepage import ASKED, COMPUTING, OVER, PLAYABLE, SHOWN, User, box_of, in_windows
from test_puzzles import ENDINGS, FOREPLAYS

from german_whist.engine.rules import load_rules
from german_whist.evaluation.reports.html import as_html
from german_whist.evaluation.tournament import evaluate
from german_whist.training.callbacks.report_files import write_report
from german_whist.training.presets import load_settings

pytestmark = pytest.mark.thorough

TALL, SMALL, TABLET = (390, 844), (360, 640), (768, 1024)
on_phones = partial(in_windows, is_mobile=True, has_touch=True)


def is_in_sight(user: User, locator: Locator) -> bool:
    """Whether an element lies in the window as it is, without scrolling."""
    box = box_of(locator)
    left, right, height = box["left"], box["right"], user.page.evaluate("innerHeight")
    inside = left >= 0 and right <= user.page.evaluate("innerWidth") + 1
    return inside and box["width"] > 0 and box["top"] >= 0 and box["bottom"] <= height + 1


@on_phones(SMALL, TABLET)
def test_puzzles_are_solved_without_scrolling(user: User) -> None:
    page = user.page
    for puzzle in (ENDINGS[0], FOREPLAYS[10]):
        user.go(f"puzzle/{puzzle.id}")
        user.computed(ASKED)
        assert is_in_sight(user, page.locator(".task h2"))
        assert all(is_in_sight(user, each) for each in page.locator(".hit").all())
        table = box_of(page.locator(".table-view"))
        assert box_of(page.locator(".task h2"))["bottom"] < table["top"] + 1
        for illegal in page.locator(".hit[aria-disabled]").all()[:1]:
            illegal.tap(position={"x": 8, "y": 14}, force=True)
            foot = box_of(page.locator(".toast.shown"))["bottom"]
            assert all(foot <= box_of(each)["top"] for each in page.locator(".hit").all())
        page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
        following = page.get_by_role("button", name="Next")
        user.computed(".task h2.good, .task h2.bad")
        assert is_in_sight(user, following)
        assert is_in_sight(user, page.locator(".task h2"))
        assert page.evaluate("innerHeight < 700") or box_of(page.locator(".table-view")) == table
        assert page.evaluate("scrollY") == 0
        assert page.evaluate("document.scrollingElement.scrollHeight <= innerHeight")


@on_phones(SMALL)
def test_play_and_a_first_hand_are_on_the_first_screen(user: User) -> None:
    page = user.page
    user.go()
    play = page.get_by_role("button", name="Play")
    play.wait_for()
    begin = page.locator(".first-hand button")
    expect(begin).to_be_visible()
    assert is_in_sight(user, begin)
    assert is_in_sight(user, play)
    assert box_of(play)["height"] >= 56
    names = page.locator("[name=rules]").evaluate_all("all => all.map(({value}) => value)")
    assert names[:5] == ["classic", "open-stock", "draft", "race-7", "no-trump"]
    expect(page.get_by_label("Small last")).to_be_hidden()
    page.locator("summary", has_text="More rules").click()
    page.get_by_label("Small last").check()
    page.locator("[name=opponent][value=easy]").check()
    play.click()
    user.computed(PLAYABLE)
    user.go()
    expect(play).to_contain_text("Easy · Small last")
    expect(begin).to_be_hidden()


@on_phones((844, 390))
def test_play_is_on_the_first_screen_of_a_phone_on_its_side(user: User) -> None:
    user.go()
    play = user.page.get_by_role("button", name="Play")
    user.page.locator(".first-hand button").wait_for()
    assert is_in_sight(user, play)
    user.table()
    user.go()
    user.page.locator(".table-list a").wait_for()
    assert is_in_sight(user, play)


@on_phones((844, 390), SMALL)
def test_a_replay_is_stepped_through_without_scrolling(user: User) -> None:
    page = user.page
    user.go(f"replay/{user.finished_hand(seed=6)}/1/4")
    page.locator(".story").wait_for()
    controls = ".table-view", ".replay-buttons", ".replay-count", ".replay-controls input"
    assert all(is_in_sight(user, page.locator(each)) for each in controls)
    top = box_of(page.locator(".table-view"))["top"]
    assert all(box_of(each)["top"] >= top for each in page.locator(".card").all())


@on_phones(SMALL)
def test_a_hint_stays_above_the_table_until_its_decision_is_made(user: User) -> None:
    page = user.page
    user.sit_down(rules="classic", seed=4)
    # Without a keyboard no keys are named.
    page.get_by_role("button", name="Hint", exact=True).tap()
    guide = page.locator(".guide:not([hidden])")
    guide.wait_for()
    user.computed(".card.hinted")
    box, table = box_of(guide), box_of(page.locator(".table-view"))
    assert box["width"] >= page.evaluate("innerWidth") - 1
    assert box["bottom"] <= table["top"] + 1
    page.wait_for_timeout(500)
    expect(guide).to_be_visible()
    move = user.move
    page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
    user.wait_for_more(move)
    expect(guide).to_be_hidden()


@on_phones(SMALL)
@pytest.mark.parametrize("lesson", range(5))
def test_a_lesson_leaves_the_table_three_quarters(user: User, lesson: int) -> None:
    page = user.page
    user.go("learn")
    page.get_by_role("button", name="Begin").nth(lesson).tap()
    user.computed(SHOWN)
    height = page.evaluate("innerHeight")
    while not page.locator(".after-hand:visible").count():
        assert box_of(page.locator(".guide"))["height"] <= 0.25 * height
        legal = page.locator(PLAYABLE).count()
        assert ("only card" in page.locator(".guide").inner_text()) == (legal == 1)
        user.play_on()
    expect(page.locator(".guide")).to_contain_text("That was the hand")
    name = ("Losing on purpose", "Counting", "Voids", "Endings", "Play against Easy")[lesson]
    before = page.url
    page.get_by_role("button", name=name).tap()
    expect(page).not_to_have_url(before, timeout=COMPUTING)
    title = name if lesson < 4 else "Classic"
    expect(page.locator(".table-bar h1")).to_contain_text(title, timeout=COMPUTING)


@on_phones(SMALL)
def test_the_score_names_the_numbers_and_has_three_buttons(user: User) -> None:
    page = user.page
    name = user.table(seed=6)
    result = user.finish_hand(name)["result"]
    user.show_score(name)
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
    user.computed(".turning a, .turning:has-text('decided')")


@on_phones(TALL)
def test_labels_of_report_charts_are_readable(user: User, tmp_path: Path) -> None:
    result = evaluate("threshold", ["random", "counting"], "classic", hands=4)
    (tmp_path / "arena.html").write_text(as_html(result, load_rules("classic")), "utf-8")
    settings = load_settings("quick")
    rows = [{"decisions": 1e6 * n, "entropy": 2.0 / n, "value_loss": 0.5} for n in (1, 2, 3)]
    write_report(tmp_path / "run.html", settings, rows, [])
    script = """() => [...document.querySelectorAll('svg text')].map((each) => {
        const drawing = each.closest('svg');
        const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
        return scale * parseFloat(getComputedStyle(each).fontSize);
    })"""
    for report in ("arena.html", "run.html"):
        user.page.goto((tmp_path / report).as_uri())
        sizes = user.page.evaluate(script)
        assert sizes
        assert min(sizes) >= 11
        assert user.page.evaluate("document.documentElement.scrollWidth") <= TALL[0]
