"""The page on a phone: what is needed lies on the first screen, and under nothing else."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import Locator, expect
from tablepage import ASKED, COMPUTING, OVER, PLAYABLE, SETTLED, SHOWN, User, box_of, in_windows
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


def places(user: User) -> list[list[float]]:
    """Where the table, its plates and the foot of the hand are, in pixels."""
    script = """() => ['.table-view', '.plate-own', '.plate-other', '.hit'].map((query) => {
        const all = [...document.querySelectorAll(query)]
            .map((each) => each.getBoundingClientRect());
        return query === '.hit' ? [Math.max(0, ...all.map(({bottom}) => bottom))]
            : [all[0].left, all[0].top, all[0].right, all[0].bottom];
    })"""
    table, own, other, hand = user.page.evaluate(script)
    return [table, own, other, *([hand] if hand[0] else [])]


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
    user.computed(".values")
    parts = ".table-view", ".replay-buttons", ".replay-count", ".replay-controls input"
    for part in (*parts, ".replay-controls select", ".cost, .decision .faint"):
        assert is_in_sight(user, page.locator(part)), part
    top = box_of(page.locator(".table-view"))["top"]
    assert all(box_of(each)["top"] >= top for each in page.locator(".card").all())
    # Whose cards are shown can be read.
    fits = "each => each.scrollWidth <= each.clientWidth"
    assert page.locator(".replay-controls select").evaluate(fits)
    assert page.evaluate("document.scrollingElement.scrollHeight <= innerHeight")
    assert box_of(page.locator(".table-view"))["height"] <= 0.8 * page.evaluate("innerHeight")


@on_phones(TALL, (844, 390))
def test_values_and_steps_of_a_replay_share_the_screen(user: User) -> None:
    page = user.page
    user.go(f"replay/{user.finished_hand(seed=6)}/1/4")
    user.computed(".values tbody tr")
    for row in page.locator(".values tbody tr").all()[:2]:
        assert is_in_sight(user, row)
    step = page.locator(".replay-count").inner_text()
    page.get_by_role("button", name="Forward").tap()
    expect(page.locator(".replay-count")).not_to_have_text(step)
    page.get_by_role("button", name="Back", exact=True).tap()
    # Tricks for the stock are counted as at the table.
    expect(page.locator(".plate-own .plate-stock")).to_contain_text("for the stock")
    page.locator(".values tr.tried:not(.played) td").first.tap()
    expect(page.locator(".note")).to_contain_text("What if", timeout=COMPUTING)


@on_phones(SMALL)
def test_a_hint_stays_above_the_table_until_its_decision_is_made(user: User) -> None:
    page = user.page
    user.sit_down(rules="classic", seed=4)
    before = places(user)
    # Without a keyboard no keys are named.
    page.get_by_role("button", name="Hint", exact=True).tap()
    user.computed(".card.hinted")
    hint = page.locator(".prompt.hint")
    hint.wait_for()
    assert places(user) == before
    assert box_of(hint)["bottom"] <= box_of(page.locator(".hit"))["top"] + 8
    # A state that is shown again, as with another setting, leaves it.
    page.keyboard.press("u")
    page.wait_for_timeout(500)
    expect(hint).to_be_visible()
    move = user.move
    page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
    user.wait_for_more(move)
    expect(hint).to_have_count(0)


@on_phones(SMALL)
def test_a_hint_goes_with_its_table_and_none_is_given_there(user: User) -> None:
    page, name = user.page, user.sit_down(rules="classic", seed=4)
    page.get_by_role("button", name="Hint", exact=True).tap()
    user.computed(".prompt.hint")
    user.request(f"tables/{name}/leave", {})
    expect(page.locator(".prompt.hint")).to_have_count(0)
    expect(page.get_by_role("button", name="Hint", exact=True)).to_be_disabled()
    assert "closed" in page.locator(".prompt").inner_text()


@on_phones(SMALL)
def test_a_hint_for_a_card_that_is_played_meanwhile_is_dropped(user: User) -> None:
    page = user.page
    user.sit_down(rules="classic", seed=4)
    move = user.move
    page.route("**/play", lambda route: (page.wait_for_timeout(1500), route.continue_()))
    page.route("**/hint", lambda route: (page.wait_for_timeout(300), route.continue_()))
    page.get_by_role("button", name="Hint", exact=True).tap()
    page.locator(PLAYABLE).first.tap(position={"x": 8, "y": 14})
    page.wait_for_timeout(1200)
    assert not page.locator(".prompt.hint").count()
    user.wait_for_more(move)
    assert not page.locator(".prompt.hint").count()


@pytest.mark.parametrize("lesson", [1, 2, 3])
def test_nothing_moves_from_trick_to_trick_of_a_lesson(user: User, lesson: int) -> None:
    user.sit_down(lesson=lesson)
    before: dict[tuple[int, int], Any] = {}
    over = False
    while not over:
        over = bool(user.page.locator(".after-hand:visible").count())
        for size in (TALL, (844, 390), (1280, 800)):
            user.page.set_viewport_size({"width": size[0], "height": size[1]})
            user.page.wait_for_function(SETTLED, arg=size[0])
            now = places(user)
            assert now == before.setdefault(size, now)[: len(now)], (size, now, before[size])
        if not over:
            user.play_on()


@in_windows(TALL, (1280, 800))
def test_wrong_card_of_a_lesson_is_told_and_taken_back(user: User) -> None:
    page = user.page
    user.sit_down(lesson=1)
    user.play_on()
    before, held = places(user), user.hand
    page.get_by_role("button", name="ace of spades").click(position={"x": 6, "y": 12})
    expect(page.locator(".guide .wrong")).to_contain_text("keep A♠")
    assert places(user) == before
    page.get_by_role("button", name="Take it back").click()
    user.wait_for_hand(held)
    expect(page.locator(".guide .wrong")).to_have_count(0)
    page.get_by_role("button", name="queen of spades").click(position={"x": 6, "y": 12})
    expect(page.locator(".guide")).to_contain_text("Right.")


@on_phones(TALL)
def test_first_hand_of_all_has_a_coach_until_a_lesson_is_done(user: User) -> None:
    page = user.page
    user.go()
    expect(page.locator(".first-hand")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    user.computed(PLAYABLE)
    guide = page.locator(".guide")
    expect(guide).to_contain_text("is the upcard")
    expect(guide).to_be_visible()
    before = places(user)
    while "your own" not in guide.inner_text():
        assert guide.evaluate("each => each.scrollHeight <= each.clientHeight")
        user.play_on()
        assert places(user) == before
    assert guide.evaluate("each => each.scrollHeight <= each.clientHeight")
    user.finish_hand(page.evaluate("location.hash").rpartition("/")[2])
    user.go()
    # A hand was played, but no lesson: the offer stays.
    expect(page.locator(".first-hand")).to_be_visible()
    user.finish_hand(user.table(lesson=1))
    user.go()
    page.locator(".table-list, .new-game").first.wait_for()
    expect(page.locator(".first-hand")).to_be_hidden()
    user.go("learn")
    expect(page.locator(".lesson-list .good")).to_have_count(1)
    expect(page.locator(".lesson-list li").first).to_contain_text("done")


@on_phones(SMALL)
@pytest.mark.parametrize("lesson", range(3))
def test_a_lesson_leaves_the_table_three_quarters(user: User, lesson: int) -> None:
    page = user.page
    user.go("learn")
    page.get_by_role("button", name="Begin").nth(lesson).tap()
    user.computed(SHOWN)
    height = page.evaluate("innerHeight")
    while not page.locator(".after-hand:visible").count():
        assert box_of(page.locator(".guide"))["height"] <= 0.25 * height
        user.play_on()
    expect(page.locator(".guide")).to_contain_text("That was the hand. ")
    name = ("Losing on purpose", "Endings", "Play against Easy")[lesson]
    before = page.url
    page.get_by_role("button", name=name).tap()
    expect(page).not_to_have_url(before, timeout=COMPUTING)
    title = name if lesson < 2 else "Classic"
    expect(page.locator(".table-bar h1")).to_contain_text(title, timeout=COMPUTING)


@in_windows((1280, 800))
def test_next_lesson_is_offered_within_the_coachs_column(user: User) -> None:
    user.finish_hand(name := user.table(lesson=1))
    user.go(f"table/{name}")
    expect(user.page.locator(".guide button").first).to_contain_text("Losing on purpose")
    fits = "each => each.scrollWidth <= each.clientWidth"
    assert user.page.locator(".guide").evaluate(fits)


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
