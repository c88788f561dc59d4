"""The page in a real browser: matches by clicks and by keys, and what a player may rely on."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import expect
from serving import running_server
from tablepage import (
    ASKED,
    AXE,
    OVER,
    PLAYABLE,
    SETTLED,
    SHOWN,
    User,
    box_of,
    user_of,
)
from test_puzzles import FOREPLAYS

needs_axe = pytest.mark.skipif(not AXE.exists(), reason="there is no axe-core here: make browser")


WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
KEYS = dict(zip((*WORDS, "jack", "queen", "king", "ace"), "234567890jqka", strict=True))


# -- playing


def test_match_is_played_by_clicks_from_lobby_to_statistics(user: User) -> None:
    page = user.page
    user.go()
    page.locator("[name=opponent][value=easy]").check()
    page.locator("summary", has_text="More rules").click()
    page.get_by_label("Small last").check()
    page.locator("summary", has_text="Options").click()
    page.get_by_label("Best of", exact=True).check()
    page.get_by_role("button", name="Play").click()
    user.computed(PLAYABLE)
    hands = 0
    while True:
        while not user.is_over():
            user.play_on()
        hands += 1
        if page.get_by_role("button", name="Play again").count():
            break
        if hands == 1:
            page.keyboard.press("Escape")
            expect(page.locator(OVER)).to_have_count(0)
            page.keyboard.press("n")
        else:
            page.get_by_role("button", name="Next hand").click()
        user.computed(PLAYABLE)
    expect(page.locator(f"{OVER} h2")).to_contain_text("the match")
    won = page.locator(f"{OVER} h2").inner_text().startswith("You")
    assert page.locator(".trophy").count() == won
    assert page.locator(".scoreboard tbody tr").count() == hands
    page.locator(f"{OVER} summary").click()
    page.get_by_role("button", name="Lobby").click()
    page.get_by_role("link", name="Statistics").click()
    row = page.locator(".figures tbody tr")
    expect(row).to_contain_text("small-last")
    expect(row.locator("td").nth(1)).to_have_text(str(hands))


def test_keys_find_cards_and_illegal_one_stays(
    user: User,
) -> None:
    page = user.page
    user.sit_down(rules="classic", opponent="random", seed=3)
    for name in user.hand:
        rank, suit = name.split(" of ")
        page.keyboard.press(KEYS[rank])
        page.keyboard.press(suit[0])
        assert page.evaluate("document.activeElement.ariaLabel") == name
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("a hint")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator("#spoken")).to_contain_text("Trumps are")
    page.get_by_role("button", name="The rules").click()
    expect(page.get_by_role("dialog", name="Classic")).to_contain_text("Stage two")
    page.keyboard.press("Escape")
    illegal = page.locator(".hit[aria-disabled]")
    while "follow" not in page.locator(".prompt").inner_text().lower() or not illegal.count():
        user.play_on()
    move, name = user.move, illegal.first.get_attribute("aria-label")
    illegal.first.click(position={"x": 6, "y": 12}, force=True)
    expect(page.get_by_role("alert")).to_contain_text("follow suit")
    expect(page.get_by_role("alert")).to_be_visible()
    assert user.move == move
    expect(page.get_by_role("button", name=str(name))).to_have_count(1)
    user.play_on()


def test_two_clicks_play_a_card_where_that_is_wished(user: User) -> None:
    user.set(clicks="two")
    user.sit_down()
    move, card = user.move, user.page.locator(PLAYABLE).first
    card.click(position={"x": 6, "y": 12})
    expect(user.page.locator(".card.chosen")).to_have_count(1)
    assert user.move == move
    card.click(position={"x": 6, "y": 12})
    user.wait_for_more(move)
    assert user.move != move


@pytest.mark.parametrize("rules", ["draft", "open-stock"])
def test_upper_stock_card_is_clicked_and_chosen(user: User, rules: str) -> None:
    page, up = user.page, user.page.locator(".hit[data-zone=up]")
    user.sit_down(rules=rules, opponent="random", seed=5)
    while not up.count():
        user.play_on()
    script = """() => [...document.querySelectorAll('.hit[data-zone=up]')].map((hit) => {
        const box = hit.getBoundingClientRect();
        const first = document.elementFromPoint(box.left + 6, box.top + 12);
        return [hit.dataset.key, first.dataset.key];
    })"""
    assert all(wanted == found for wanted, found in page.evaluate(script))
    if rules == "draft":
        expect(page.get_by_role("button", name="Take the hidden card")).to_be_visible()
        move = user.move
        assert page.locator(".card.offered").count() == 2
        page.keyboard.press("x")
        user.wait_for_more(move)
        expect(page.locator(".hit")).to_have_count(13)


def test_a_hand_is_kept_or_exchanged_by_a_button_or_a_key(user: User) -> None:
    page = user.page
    buttons = page.get_by_role("group", name="The exchange").get_by_role("button")
    for wish, keeps in (("Keep the hand", True), ("x", False)):
        user.sit_down(rules="humbug", opponent="random", seed=5)
        expect(buttons).to_have_count(2)
        dealt, move = user.hand, user.move
        if wish == "x":
            page.keyboard.press(wish)
        else:
            page.get_by_role("button", name=wish).click()
        user.wait_for_more(move)
        expect(buttons).to_have_count(0)
        assert (user.hand == dealt) == keeps
        expect(page.locator(".plate-own .plate-stock")).to_have_text(
            "kept" if keeps else "took a blind hand"
        )
        user.play_on()


def test_table_shows_the_course_of_a_hand(user: User) -> None:
    page = user.page
    user.set(motion="fast")
    name = user.sit_down(seed=5)
    expect(page.locator(".stage-label")).to_have_text("Trick 1 of 14, for the stock")
    expect(page.locator(".prompt")).to_contain_text("the winner takes ")
    listen = """() => {
        window.prompts = [];
        new MutationObserver(() => prompts.push(document.querySelector('.prompt').textContent))
            .observe(document.querySelector('.prompt'), {childList: true, subtree: true});
    }"""
    page.evaluate(listen)
    held = user.hand
    user.play_on()
    state = user.request(f"tables/{name}")["state"]
    for zone, cards in (("hand", state["hand"]), ("up", state["upcards"])):
        shown = page.locator(f".card[data-zone={zone}]")
        found = shown.evaluate_all("all => all.map(each => each.dataset.card)")
        assert sorted(found) == sorted(cards)
    expect(page.locator(".card[data-zone=other]")).to_have_count(state["hand_size_other"])
    expect(page.locator(".last-label")).to_have_text(state["texts"]["last"])
    assert re.search(r"won and drew \S+, \w+ \S+", state["texts"]["last"])
    # A mark lies on the card that was drawn, and tricks for the stock stand in gray.
    (fresh,) = set(user.hand) - set(held)
    expect(page.locator(".card.fresh")).to_have_count(1)
    assert page.locator(".card.fresh").get_attribute("data-zone") == "hand"
    assert page.locator(f".hit[aria-label='{fresh}']").get_attribute("data-key") == page.locator(
        ".card.fresh"
    ).get_attribute("data-card")
    edge = page.locator(".card.fresh .face").evaluate("each => getComputedStyle(each).boxShadow")
    assert edge == "rgb(47, 127, 208) 0px 4px 0px 0px inset"
    gray = page.locator(".plate-stock").all_inner_texts()
    assert sorted(gray) == ["0 for the stock", "1 for the stock"]
    while user.request(f"tables/{name}")["state"]["stock_left"]:
        user.play_on()
    assert any(each.startswith("The stock is gone.") for each in page.evaluate("prompts"))
    expect(page.locator(".stage-label")).to_have_text("Trick 8 of 14, it counts")
    expect(page.locator(".card[data-zone=other] .back")).to_have_count(0)
    expect(page.locator(".plate-own .plate-score").first).to_be_visible()
    expect(page.locator(".plate-own .plate-stock")).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator(".seen td")).to_have_count(28)
    expect(page.locator(".seen .seen-hand")).to_have_count(7)
    page.keyboard.press("i")
    user.computed(".card.hinted")
    expect(page.locator(".card.hinted")).to_have_count(1)
    expect(page.locator(".help-hint")).not_to_be_empty()
    page.get_by_role("button", name="Close help").click()
    expect(page.get_by_role("button", name="Cards seen")).to_be_focused()


def test_forced_cards_play_themselves_and_memory_hides_old_ones(user: User) -> None:
    user.set(forced="on")
    user.page.reload()
    page, clicks = user.page, 0
    page.locator("[name=opponent][value=counting]").check()
    page.locator("summary", has_text="More rules").click()
    page.get_by_label("Small last").check()
    page.locator("summary", has_text="Options").click()
    page.get_by_label("From memory").check()
    page.get_by_role("button", name="Play").click()
    user.computed(SHOWN)
    expect(page.locator("h1")).to_contain_text("From memory")
    expect(page.get_by_role("button", name="Cards seen")).to_be_hidden()
    for _ in range(300):
        if user.is_over():
            break
        if page.locator(SHOWN).count():
            assert page.locator(".card[data-zone=other] .face, .card[data-zone=last]").count() == 0
        if page.locator(PLAYABLE).count() > 1:
            user.play_on()
            clicks += 1
        else:
            page.wait_for_timeout(50)
    assert 0 < clicks < 14
    # Opponents' strengths are those of classic hands.
    expect(page.locator(f"{OVER} .compared")).to_have_count(0)


# -- coming back


def test_a_hand_survives_a_reload_and_a_server_that_begins_again(browser, tmp_path) -> None:
    first = ExitStack()
    server = first.enter_context(running_server(tmp_path, ("upcard-value:3",)))
    with first, user_of(server, browser) as user:
        page = user.page
        user.go()
        # Who names an agent on the command line plays it.
        expect(page.locator(".agent input").first).to_have_value("upcard-value:3")
        expect(page.locator(".agent input").first).to_be_checked()
        user.sit_down(rules="quick", seed=8)
        user.play_on()
        before = user.hand
        page.reload()
        user.wait_for_hand(before)
        user.computed(PLAYABLE)
        assert not user.complaints
        first.close()
        page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
        expect(page.locator("#connection")).to_contain_text("connection")
        user.wait_for_hand(before)
        with running_server(tmp_path, port=server.port):
            expect(page.locator("#connection")).to_be_hidden()
            user.play_on()
            user.go()
            page.locator(".table-list a").click()
            user.computed(PLAYABLE)


def test_settings_stay(user: User) -> None:
    page = user.page
    user.go()
    page.keyboard.press(",")
    expect(page.locator(".settings section")).to_have_count(3)
    for name in ("Dark", "Classic card faces", "A row for each suit", "A color for each suit"):
        page.get_by_label(name, exact=True).check()
    page.get_by_role("button", name="Done").click()
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    user.sit_down(rules="classic")
    expect(page.locator(".card[data-zone=hand] .face.classic")).to_have_count(13)
    rows = page.locator(".hit").evaluate_all("all => new Set(all.map(each => each.style.top)).size")
    assert rows > 1


# -- watching and understanding


def test_two_agents_are_watched_step_by_step(user: User) -> None:
    page = user.page
    user.sit_down(player="medium", opponent="easy")
    expect(page.locator(".card[data-zone=other] .face").first).to_be_visible()
    page.get_by_role("button", name="Pause (Space)").click()
    page.get_by_role("button", name="Go on (Space)").wait_for()
    move = user.move
    page.get_by_role("button", name="One step (→)").click()
    page.wait_for_function(
        "move => document.querySelector('.table-view').dataset.move !== move", arg=move
    )
    assert page.locator(PLAYABLE).count() == 0


def test_a_hand_is_replayed_and_analyzed(user: User) -> None:
    page = user.page
    state = user.finish_hand(user.table(seed=6))
    user.go("replays")
    page.locator(".hand-list a").first.click()
    expect(page.locator(".replay-count")).to_contain_text("0 / ")
    user.computed(".story .plot")
    expect(page.locator(".plot-value")).to_contain_text("You, as you saw it:")
    views = set()
    for step in range(1, 5):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".replay-count")).to_contain_text(f"{step} / ")
        expect(page).to_have_url(re.compile(f"/{step}$"))
        views.add(page.locator(".values caption").inner_text().rpartition(", ")[2])
    assert views == {"as you saw it", "as Easy saw it"}
    page.keyboard.press("ArrowLeft")
    page.reload()
    user.computed(".story .plot")
    expect(page.locator(".replay-count")).to_contain_text("3 / ")
    page.get_by_role("slider").fill("12")
    expect(page.locator(".values tr.played")).to_have_count(1)
    page.get_by_role("slider").fill("0")
    more = page.get_by_role("button", name="All 7 cards")
    more.wait_for()
    assert page.locator(".values tbody tr").count() in (5, 6)
    more.click()
    expect(page.locator(".values tbody tr")).to_have_count(7)
    expect(page.locator(".values-scroll").first).to_be_focused()
    page.get_by_role("slider").fill("12")
    expect(page.locator(".mistakes h2")).to_be_visible()
    if page.locator(".mistake-list button").count():
        page.locator(".mistake-list button").first.click()
        expect(page.locator(".values tr.played")).to_have_count(1)
    page.keyboard.press("Home")
    assert page.locator(".card[data-zone=other] .back").count() == 0
    page.get_by_label("Whose cards are shown").select_option("0")
    expect(page.locator(".card[data-zone=other] .back").first).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".decision")).to_contain_text("–".join(map(str, state["result"]["tricks"])))
    with page.expect_download() as loading:
        page.get_by_role("link", name="Save as a page").click()
    assert "<html" in loading.value.path().read_text(encoding="utf-8")


# -- sizes and access


SIZES = [(360, 640), (740, 360), (844, 390), (768, 1024), (1280, 800), (2560, 1300)]


@pytest.mark.parametrize("rows", ["one", "stacked"])
def test_every_card_can_be_reached_on_narrow_and_wide_screens(rows: str, user: User) -> None:
    page = user.page
    user.set(rows=rows)
    user.sit_down(rules="classic", seed=2)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(SETTLED, arg=width)
        boxes: list[dict[str, Any]] = page.locator(".hit").evaluate_all(
            "all => all.map(each => each.getBoundingClientRect().toJSON())"
        )
        assert len(boxes) == 13
        for box in boxes:
            assert min(box["left"], box["top"]) >= 0, (width, height, box)
            assert box["right"] <= width + 1, (width, height, box)
            assert box["bottom"] <= height, (width, height, box)
            assert box["width"] >= 18, (width, height, box)
        assert box_of(page.locator(".prompt"))["bottom"] <= min(box["top"] for box in boxes) + 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for place in ("", "watch", "replays", "statistics"):
        user.go(place)
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_trumps_pulse_and_refusals_vibrate_where_wished(user: User) -> None:
    page = user.page
    user.set(back="red", trumps="pulse", vibration="on", motion="fast")
    user.sit_down(rules="classic", opponent="random", seed=3)
    pulses = "all => all.map((card) => getComputedStyle(card).animationName)"
    trumps = page.locator(".card.trump .inner")
    assert set(trumps.evaluate_all(pulses)) == {"pulse"}
    page.emulate_media(reduced_motion="reduce")
    assert set(trumps.evaluate_all(pulses)) == {"none"}
    page.emulate_media(reduced_motion="no-preference")
    others = page.locator(".card:not(.trump) .inner").evaluate_all(pulses)
    assert set(others) == {"none"}
    filters = page.locator(".back").evaluate_all(
        "all => all.map((b) => getComputedStyle(b).filter)"
    )
    assert set(filters) == {"hue-rotate(140deg)"}
    page.evaluate("() => { window.buzzed = []; navigator.vibrate = (what) => buzzed.push(what); }")
    illegal = page.locator(".hit[aria-disabled]")
    while "follow" not in page.locator(".prompt").inner_text().lower() or not illegal.count():
        user.play_on()
    illegal.first.click(position={"x": 6, "y": 12}, force=True)
    page.wait_for_function("buzzed.some((what) => what.length === 3)")


@pytest.mark.thorough
@needs_axe
def test_axe_finds_nothing_on_any_page(user: User) -> None:
    page, found = user.page, dict[str, list[str]]()

    def look(name: str, ready: str) -> None:
        user.computed(ready)
        found[name] = user.violations()

    user.sit_down()
    for key, shown in (("p", ".seen"), ("?", ".keys"), (",", ".settings"), ("m", ".pages-menu")):
        page.keyboard.press(key)
        look(shown, shown)
        page.keyboard.press("Escape")
    name, decision = user.hand_with_a_mistake()
    user.show_score(name)
    look("score", OVER)
    page.get_by_role("button", name="Replay and analysis").click()
    user.computed(".story .plot")
    user.computed(".networks")
    page.get_by_text("What the networks think").click()
    played = page.locator(".policies tr.played th")
    seen = set()
    for step in (12, 13):
        page.get_by_role("slider").fill(str(step))
        expect(played).to_be_visible()
        seen.add(played.inner_text())
    assert len(seen) == 2
    look("replay", ".story .plot")
    page.get_by_role("slider").fill("2")
    shown = []
    for seat in ("0", "1"):  # of a hidden decision nothing is shown
        page.get_by_label("Whose cards are shown").select_option(seat)
        shown.append(page.locator(".policies").count())
    assert sorted(shown) == [0, 1]
    pages = {"": "form", "watch": "form", "replays": ".hand-list", "statistics": ".chart"}
    pages |= {"learn": ".figures-line", f"exercise/{name}/1/{decision}": ASKED}
    for place, ready in (pages | {"puzzles/endgame": ASKED}).items():
        user.go(place)
        look(place, ready)
    user.go(f"puzzle/{FOREPLAYS[0].id}")  # an ending may go on after its first card
    user.computed(ASKED)
    page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
    user.computed(".values")
    look("answer", ".task h2")
    user.go("learn")
    page.get_by_role("button", name="Begin").first.click()
    look("lesson", SHOWN)
    user.sit_down(player="easy", opponent="medium")
    page.get_by_role("button", name="Pause (Space)").click()
    look("watching", ".watch-bar")
    assert not any(found.values()), found
