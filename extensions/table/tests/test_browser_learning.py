"""Learning at the page, by clicks and by keys: a guided hand, puzzles, exercises, duplicates."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import Page, expect
from tablepage import ASKED, COMPUTING, OVER, PLAYABLE, SHOWN, User
from test_puzzles import ENDINGS, FOREPLAYS

from german_whist import Game
from german_whist.agents.costs import exact_payoffs
from german_whist.table.review import puzzles as puzzle_review
from german_whist.table.review.puzzles import Puzzle

pytestmark = pytest.mark.thorough


def choose(page: Page, action: int) -> None:
    """Choose a card by keys alone: its rank, then its suit, then Enter."""
    page.keyboard.press("0" if action % 13 == 8 else "23456789TJQKA"[action % 13].lower())
    page.keyboard.press("cdhs"[action // 13])
    page.keyboard.press("Enter")


def decisions_of(puzzle: Puzzle) -> list[tuple[Game, list[int]]]:
    best = puzzle.position_values().best[0]
    return puzzle_review._decisions(puzzle.kind, puzzle.position(), best)


def test_a_puzzle_goes_on_until_its_last_decision(user: User) -> None:
    page = user.page
    puzzle = next(puzzle for puzzle in ENDINGS if len(decisions_of(puzzle)) == 3)
    best = puzzle.position_values().best[0]
    user.go(f"puzzle/{puzzle.id}")
    user.computed(ASKED)
    line, seat = puzzle.position(), puzzle.position().turn or 0
    for n in range(3):
        choose(page, best)
        if n == 2:
            break
        expect(page.locator(".task h2")).to_contain_text("And now?", timeout=COMPUTING)
        user.computed(ASKED)
        line.play(best)
        puzzle_review.play_to_decision(line, seat, line.play)
        expect(page.locator(PLAYABLE)).to_have_count(len(line.legal()), timeout=COMPUTING)
        payoffs = exact_payoffs(line.view()) or {}
        best = max(payoffs, key=payoffs.__getitem__)
    user.computed(".values")
    expect(page.locator(".task")).to_contain_text("1 in a row")
    user.go("learn")
    page.locator(".history summary").click()
    expect(page.locator(".history a")).to_have_count(1)
    expect(page.locator(".history b")).to_have_text("✓ solved")
    theme = page.locator(".themes a").first
    name = theme.inner_text()
    theme.click()
    user.computed(ASKED)
    page.go_back()
    expect(page.locator(".themes")).to_contain_text(name)


def test_a_puzzle_is_solved_by_keys_and_played_out(user: User) -> None:
    page = user.page
    puzzle = next(puzzle for puzzle in ENDINGS if len(decisions_of(puzzle)) == 1)
    (best,) = puzzle.position_values().best
    user.go(f"puzzle/{puzzle.id}")
    user.computed(ASKED)
    choose(page, best)
    user.computed(".values")
    expect(page.locator(".task h2")).to_contain_text("Right")
    expect(page.locator(".values tr.best")).to_have_count(1)
    expect(page.locator(".task")).to_contain_text("1 in a row")
    page.locator(".table-view[data-move=answered]").wait_for()
    wrong = next(each.action for each in puzzle.position_values().cards if each.action != best)
    choose(page, wrong)
    user.computed(".line li")
    page.get_by_role("button", name="Back to the position").click()
    page.keyboard.press("n")
    user.computed(ASKED)
    expect(page.locator("h1")).to_be_focused()
    user.go("learn")
    expect(page.locator(".figures-line").first).to_contain_text("1 of 1 puzzle solved")


def test_wrong_answer_shows_its_cost_and_may_be_retried(user: User) -> None:
    page = user.page
    puzzle = FOREPLAYS[0]
    values = puzzle.position_values()
    wrong = max(values.cards, key=lambda each: each.cost)
    user.go(f"puzzle/{puzzle.id}")
    user.computed(ASKED)
    choose(page, wrong.action)
    user.computed(".values")
    expect(page.locator(".task h2")).to_contain_text("That probably costs")
    expect(page.locator(".card.hinted")).to_have_count(1)
    page.get_by_role("button", name="Try again").click()
    user.computed(ASKED)


def test_the_turning_point_leads_to_its_step(user: User) -> None:
    page, name = user.page, user.finished_hand(opponent="random", seed=6)
    user.show_score(name)
    turning = user.computed(".turning a")
    mistakes = user.request(f"replays/{name}/1/analysis")["mistakes"]
    mine = next(each for each in mistakes if each["who"] == 0)
    assert mistakes[0]["who"] == 1
    expect(page.locator(".turning a")).to_have_count(2)
    expect(page.locator(".turning a").last).to_contain_text(mine["text"])
    step = str(turning.get_attribute("href")).rpartition("/")[2]
    turning.click()
    expect(page.locator(".replay-count")).to_contain_text(f"{step} / ")


def test_another_card_is_tried_in_a_replay_and_played_on(user: User) -> None:
    page, name = user.page, user.finished_hand(seed=5)
    steps = user.request(f"replays/{name}/1")["steps"]
    step = next(each for each in steps[4:] if each["who"] == 1 and len(each["legal"]) > 1)
    other = next(action for action in step["legal"] if action != step["action"])
    user.go(f"replay/{name}/1/{step['n']}")
    buttons = page.get_by_role("group", name="Choose another card").get_by_role("button")
    expect(buttons).to_have_count(len(step["legal"]))
    buttons.nth(step["legal"].index(other)).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text("What if Easy leads")
    assert page.url.endswith(f"~{step['n']}.{other}/1/{step['n'] + 1}")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".decision h2")).to_contain_text("Easy is to")
    page.get_by_role("button", name="Play on from here").click()
    page.get_by_label("Opponent").select_option("threshold")
    page.get_by_role("button", name="Play", exact=True).click()
    user.computed(PLAYABLE)
    expect(page.locator("h1")).to_contain_text("not rated")
    assert len(user.hand) == len(step["before"]["hands"][1])
    page.go_back()
    page.get_by_role("link", name="Back to the hand played").click()
    expect(page.locator(".note")).to_have_count(0)


def test_a_replay_that_is_left_does_not_take_its_address_back(user: User) -> None:
    page, name = user.page, user.finished_hand(seed=5)
    user.go(f"replay/{name}/1/3")
    expect(page.locator(".replay-count")).to_contain_text("3 / ")
    # The step comes after the new address is set and before the page hears of it.
    page.evaluate("""() => {
        location.hash = "#/replays";
        const arrow = new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true });
        document.body.dispatchEvent(arrow);
    }""")
    expect(page).to_have_url(re.compile("#/replays$"))
    expect(page.locator(".replay-count")).to_have_count(0)


def test_the_same_deal_is_played_from_the_other_seat(user: User) -> None:
    page = user.page
    user.show_score(name := user.finished_hand(seed=5))
    page.locator(f"{OVER} summary").click()
    page.get_by_role("button", name="Same deal, other seat").click()
    expect(page).not_to_have_url(re.compile(name), timeout=COMPUTING)
    user.computed(SHOWN)
    other = page.evaluate("location.hash").rpartition("/")[2]
    user.finish_hand(other)
    page.reload()
    user.show_score(other)
    expect(page.locator(f"{OVER} .compared")).to_contain_text("over both seats")


def test_a_card_is_taken_back_and_tricks_are_claimed(user: User) -> None:
    page = user.page
    name = user.sit_down(rules="classic")
    expect(page.locator("h1")).not_to_contain_text("not rated")
    before = user.hand
    user.play_on()
    page.keyboard.press("z")
    user.wait_for_hand(before)
    expect(page.locator("h1")).to_contain_text("not rated")
    while (
        user.request(f"tables/{name}")["state"]["stock_left"] or not page.locator(PLAYABLE).count()
    ):
        user.play_on()
    page.keyboard.press("m")
    page.get_by_role("button", name="Claim tricks").click()
    page.get_by_label("How many of the").fill("0")
    page.get_by_role("button", name="Claim", exact=True).click()
    page.locator(OVER).wait_for()


def test_hands_are_filtered_colored_and_grouped_by_match(
    user: User,
) -> None:
    page = user.page
    user.finished_hand(opponent="random", seed=5)
    name = user.finished_hand(match={"kind": "best", "n": 3}, seed=5)
    user.request(f"tables/{name}/next", {})
    user.finish_hand(name)
    user.go("replays")
    expect(page.locator(".hand-list a")).to_have_count(3)
    expect(page.locator(".hand-group h3")).to_contain_text("Small last against Easy: 2 hands")
    expect(page.locator(".hand-group a")).to_have_count(2)
    page.get_by_label("Opponent").select_option("Random")
    expect(page.locator(".hand-list a")).to_have_count(1)
    assert page.locator(".hand-list li:is(.good, .bad, .faint)").count() == 1


def test_lobby_and_first_hand_work_by_keys(user: User) -> None:
    page, keyboard = user.page, user.page.keyboard
    user.go()
    page.locator(".agent-grid").first.wait_for()
    user.tab_to("Learn")
    keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Learn")
    user.tab_to("Begin")
    keyboard.press("Enter")
    user.computed(SHOWN)
    user.play_by_keys()
    keyboard.press("m")
    user.tab_to("Play")
    keyboard.press("Enter")
    user.tab_to("Medium")
    keyboard.press("ArrowLeft")
    expect(page.locator("[name=opponent][value=easy]")).to_be_checked()
    user.tab_to("More rules")
    keyboard.press("Enter")
    user.tab_to("Classic")
    for _ in range(20):
        keyboard.press("ArrowRight")
        if page.get_by_label("Small last").is_checked():
            break
    expect(page.get_by_label("Small last")).to_be_focused()
    page.get_by_role("button", name="Play").focus()
    keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Small last")
    user.computed(PLAYABLE)
    user.play_by_keys()
    expect(page.locator(".hit:focus")).to_have_count(1)


def test_replays_exercises_and_statistics_work_by_keys(user: User) -> None:
    page, keyboard = user.page, user.page.keyboard
    user.hand_with_a_mistake()
    user.go("replays")
    user.tab_to("Small last against Medium")
    keyboard.press("Enter")
    user.computed(".totals")
    user.tab_to("only mine")
    keyboard.press("Space")
    page.locator(".mistake-list button").first.wait_for()
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(page.locator(".mistake-list button:focus")).to_have_count(1)
    expect(page.locator(".trick-card.mistake.now")).to_have_count(1)
    keyboard.press("v")
    expect(page.get_by_label("Whose cards are shown")).to_have_value("0")
    user.go("learn")
    page.locator(".hand-list a").first.wait_for()
    user.tab_to("Small last against Medium")
    keyboard.press("Enter")
    user.computed(ASKED)
    keyboard.press("Home")
    while not page.locator(f":focus{PLAYABLE}").count():
        keyboard.press("ArrowRight")
    keyboard.press("Enter")
    user.computed(".values")
    keyboard.press("m")
    user.tab_to("Statistics")
    keyboard.press("Enter")
    page.locator(".chart").first.wait_for()
    user.tab_to("Statistics by opponent")
    user.tab_to("as CSV")
    with page.expect_download() as loading:
        keyboard.press("Enter")
    assert "medium" in loading.value.path().read_text()
