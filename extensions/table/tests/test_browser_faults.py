"""What once went wrong at the page: clicks for another card, stale tabs, small and odd windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")

from playwright.sync_api import Route, expect
from tablepage import (
    ASKED,
    OVER,
    PLAYABLE,
    SETTLED,
    SHOWN,
    User,
    box_of,
    in_windows,
    user_of,
)
from test_puzzles import ENDINGS, FOREPLAYS

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(("motion", "touch"), [("none", False), ("fast", True)])
@in_windows((820, 1180), has_touch=True)
def test_a_double_click_or_tap_plays_one_card(motion: str, touch: bool, user: User) -> None:
    user.set(motion=motion)
    name = user.sit_down(rules="classic", opponent="random", seed=4)
    for _ in range(2):
        move, events = user.move, len(played_by_me(user, name))
        box = box_of(user.page.locator(PLAYABLE))
        for after in (0.0, 0.09 if touch else 0.15):
            user.press(box["x"] + 8, box["y"] + 13, after, touch=touch)
        user.wait_for_more(move)
        user.page.wait_for_timeout(300)
        assert len(played_by_me(user, name)) == events + 1


def played_by_me(user: User, name: str) -> list[Any]:
    """The person's cards in all tricks, counted from the page's own events."""
    script = """async (path) => {
        const source = new EventSource(`/api/tables/${path}/events?after=0`);
        const answer = await new Promise((done) => { source.onmessage = ({data}) => done(data); });
        source.close();
        return JSON.parse(answer).events;
    }"""
    events = user.page.evaluate(script, name)
    return [each for each in events if each["kind"] in ("led", "followed") and each["who"] == 0]


@in_windows((844, 390))
def test_click_on_next_hand_and_on_a_card_are_no_double_click(user: User) -> None:
    page = user.page
    name = user.sit_down(match={"kind": "points", "n": 50}, opponent="random", seed=6)
    user.finish_hand(name)
    page.locator(OVER).wait_for()
    box = box_of(page.get_by_role("button", name="Next hand"))
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = len(played_by_me(user, name))
    # Two clicks in one place belong together, whatever lies there at the second ...
    user.press(*at)
    user.computed(PLAYABLE)
    assert page.evaluate("at => Boolean(document.elementFromPoint(...at).closest('.hit'))", at)
    user.press(*at, after=0.3)
    page.wait_for_timeout(500)
    assert len(played_by_me(user, name)) == before
    # ... and one in another place is one of its own, however soon.
    move = user.move
    page.mouse.click(5, 200)
    page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
    user.wait_for_more(move)
    assert len(played_by_me(user, name)) == before + 1


def test_two_tabs_of_one_table_stay_alike(user: User) -> None:
    name = user.sit_down(rules="classic", opponent="random", seed=4)
    other = user.context.new_page()
    other.goto(f"{user.server.url}#/table/{name}")
    other.locator(SHOWN).wait_for()
    user.page.bring_to_front()
    user.play_on()
    expect(other.locator(f".table-view[data-move='{user.move}']")).to_have_count(1)


def test_a_table_under_way_is_not_given_up_without_a_question(user: User) -> None:
    user.sit_down(rules="classic", seed=4)
    user.go()
    user.page.get_by_role("button", name="Give up the table").first.click()
    user.page.get_by_role("button", name="Keep it").click()
    assert [each for each in user.request("tables") if not each["over"]]
    user.page.get_by_role("button", name="Give up the table").first.click()
    user.page.get_by_role("button", name="Give it up").click()
    expect(user.page.get_by_role("dialog")).to_have_count(0)
    script = "fetch('/api/tables').then(all => all.json()).then(all => !all.length)"
    user.page.wait_for_function(f"() => {script}")
    expect(user.page.locator("h1")).to_be_focused()
    assert user.request("statistics")["total"]["lost"] == 1


@in_windows((1280, 800), forced_colors="active", color_scheme="dark")
def test_black_suits_are_seen_where_the_system_sets_the_colors(user: User) -> None:
    user.sit_down(rules="classic", seed=4)
    script = """() => {
        const face = document.querySelector('.face.suit-S, .face.suit-C');
        const pip = getComputedStyle(face.querySelector('path:not(.rank)')).fill;
        return [pip, getComputedStyle(face.closest('.inner')).backgroundColor];
    }"""
    pip, paper = (sum(map(int, each[4:-1].split(","))) for each in user.page.evaluate(script))
    assert paper - pip > 400


def test_words_on_the_table_are_whole_and_clear_of_each_other(user: User) -> None:
    script = """() => {
        const box = (each) => each.getBoundingClientRect();
        const all = (query) => [...document.querySelectorAll(query)];
        const seen = (query) => all(query).filter((each) => box(each).width);
        const meet = (one, two) => one.left < two.right - 2 && two.left < one.right - 2
            && one.top < two.bottom - 2 && two.top < one.bottom - 2;
        const table = box(document.querySelector('.table-view'));
        const labels = seen('.prompt, .stage-label, .stock-label, .last-label, .plate');
        return labels.filter((each) => {
            const mine = box(each), plate = each.matches('.plate');
            const under = each.matches('.stage-label, .stock-label') ? seen('.card') : [];
            const others = plate ? [] : [...seen('.prompt, .plate'), ...under];
            return mine.left < table.left - 1 || mine.right > table.right + 1
                || others.some((other) => each !== other && meet(mine, box(other)));
        }).map((each) => each.textContent);
    }"""
    cut = "all => all.filter((each) => each.scrollWidth > each.clientWidth + 1).length"
    page = user.page

    def check(*widths: int) -> None:
        for width in widths:
            page.set_viewport_size({"width": width, "height": 640 if width < 390 else 1000})
            page.wait_for_function(SETTLED, arg=width)
            assert page.evaluate(script) == []
            assert page.locator(".plate-name, .prompt > :first-child").evaluate_all(cut) == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width

    for puzzle in (ENDINGS[0], ENDINGS[13], FOREPLAYS[0]):
        user.go(f"puzzle/{puzzle.id}")
        user.computed(ASKED)
        check(320, 360, 390, 1000, 1920)
    user.sit_down(rules="all-tricks", seed=5)
    check(360, 390, 1280)
    user.sit_down(rules="classic", seed=5)
    for _ in range(3):
        check(320, 390, 1000, 1920)
        user.play_on()
    user.go()
    page.locator(".agent").first.wait_for()
    lines = """all => all.map((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return new Set([...range.getClientRects()].map((box) => box.top)).size;
    })"""
    for width in (320, 360, 390, 1000, 1920):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.locator(".agent-text, .agent-text b, .strength").evaluate_all(cut) == 0
        assert set(page.locator(".site nav a").evaluate_all(lines)) == {1}


def test_all_cards_are_whole_beside_help_on_phones(user: User) -> None:
    user.sit_down(rules="classic", opponent="random", seed=3)
    user.play_on()
    script = """() => {
        const box = (query) => document.querySelector(query).getBoundingClientRect();
        const table = box('.table-view'), help = document.querySelector('.help');
        const cards = [...document.querySelectorAll('.card')];
        const cut = cards.map((each) => each.getBoundingClientRect())
            .filter(({left, right, top, bottom}) => left < table.left - 1
                || right > table.right + 1 || top < table.top || bottom > table.bottom);
        const beside = box('.help');
        const covers = table.left < beside.right - 1 && beside.left < table.right - 1
            && table.top < beside.bottom - 1 && beside.top < table.bottom - 1;
        return [cut.length, covers, help.scrollWidth - help.clientWidth];
    }"""
    for help_ in (False, True):
        if help_:
            user.page.keyboard.press("p")
            user.page.locator(".seen").wait_for()
        for width, height in ((390, 844), (360, 640), (844, 390), (640, 360), (640, 400)):
            user.page.set_viewport_size({"width": width, "height": height})
            user.page.wait_for_function(SETTLED, arg=width)
            assert user.page.evaluate(script) == [0, False, 0], (help_, width, height)


@in_windows((390, 800), (1280, 640))
def test_a_mistake_shows_the_board_and_its_decision(user: User) -> None:
    page, (name, _) = user.page, user.hand_with_a_mistake()
    user.go(f"replay/{name}/1")
    mistakes = user.request(f"replays/{name}/1/analysis")["mistakes"]
    marks = [["?!", "?", "??"][min(2, int(each["cost"]))] for each in mistakes]
    shown = [page.locator(f"[data-step='{each['n']}'] .mark") for each in mistakes]
    assert [each.inner_text() for each in shown] == marks
    mistake = page.locator(".mistake-list button").first
    mistake.scroll_into_view_if_needed()
    mistake.click()
    page.wait_for_function(
        "() => document.querySelector('.table-view').getBoundingClientRect().top >= -2"
    )
    assert box_of(page.locator(".table-view"))["top"] < 200
    assert page.locator(".analysis").evaluate("each => each.scrollTop") == 0


def seconds_to_decide(user: User, hasten: bool) -> float:
    """Seconds from a click on a card to the next decision at rest, counted in frames.

    A busy machine draws fewer frames, so that its seconds do not count. The page itself makes the
    click that hastens: the browser's driver may be late.
    """
    page = user.page
    script = """(hasten) => {
        const table = document.querySelector('.table-view'), before = table.dataset.move;
        const elsewhere = new MouseEvent('click', {bubbles: true, clientX: 640, clientY: 700});
        window.took = new Promise((done) => document.addEventListener('click', () => {
            let frames = 0;
            const count = () => { frames += 1; requestAnimationFrame(count); };
            requestAnimationFrame(count);
            if (hasten) setTimeout(() => table.dispatchEvent(elsewhere), 60);
            new MutationObserver((_, observer) => {
                if ([undefined, before].includes(table.dataset.move)) return;
                observer.disconnect();
                done(frames / 60);
            }).observe(table, {attributes: true});
        }, {capture: true, once: true}));
    }"""
    user.move  # noqa: B018  (waits for the decision)
    page.evaluate(script, hasten)
    page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
    return page.evaluate("window.took")


@pytest.mark.parametrize(("hasten", "limit"), [(False, 1.6), (True, 0.6)])
def test_the_next_decision_comes_soon_after_a_click(user: User, hasten: bool, limit: float) -> None:
    """And sooner after another click that plays no card. One of six has to be in time."""
    user.set(motion="normal")
    name, seconds = user.sit_down(rules="classic", opponent="easy", seed=4), list[float]()
    while not seconds or (min(seconds) >= limit and len(seconds) < 6):
        seconds.append(seconds_to_decide(user, hasten))
    assert min(seconds) < limit
    assert len(played_by_me(user, name)) == len(seconds)


def test_card_whose_answer_is_lost_is_played_once(user: User) -> None:
    def lose_on_its_way_back(route: Route) -> None:
        route.fetch()
        route.abort()

    page = user.page
    for lose in (lambda route: route.abort(), lose_on_its_way_back):
        name = user.sit_down(rules="classic", opponent="random", seed=11)
        page.route("**/play", lose, times=1)
        move = user.move
        page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
        user.wait_for_more(move)
        expect(page.locator("#connection")).to_be_hidden()
        assert len(played_by_me(user, name)) == 1
    user.complaints.clear()


def test_the_banner_of_a_lost_connection_goes_by_itself(user: User) -> None:
    user.go()
    user.page.route("**/api/statistics", lambda route: route.abort())
    user.page.get_by_role("link", name="Statistics").click()
    expect(user.page.locator("#connection")).to_be_visible()
    expect(user.page.locator("#connection")).to_be_hidden()
    user.complaints.clear()


LATENCY, BYTES_A_SECOND = 0.8, 50_000
# Presses Play as soon as it is there, and notes when a card can be played, by the page's clock.
HASTE = """new MutationObserver((_, observer) => {
    document.querySelector('button.play:enabled')?.click();
    if (!document.querySelector('.table-view[data-move] .hit:not([aria-disabled])')) return;
    observer.disconnect();
    window.seconds = performance.now() / 1000;
}).observe(document, {subtree: true, childList: true, attributes: true});"""


def first_card(user: User, browser) -> tuple[float, list[Any]]:
    """A stranger's seconds to the first card on a slow line, and the sizes of all requests."""
    with user_of(user.server, browser) as stranger:
        page, requests = stranger.page, list[Any]()
        page.on("requestfinished", lambda request: requests.append(request.sizes()))
        page.add_init_script(HASTE)
        pace = {"downloadThroughput": BYTES_A_SECOND, "uploadThroughput": BYTES_A_SECOND}
        line = {"offline": False, "latency": 1000 * LATENCY, **pace}
        stranger.devtools.send("Network.emulateNetworkConditions", line)
        page.goto(stranger.server.url, wait_until="commit")
        return page.wait_for_function("() => window.seconds").json_value(), requests


def test_first_visit_takes_few_requests(user: User, browser) -> None:
    user.sit_down(rules="classic")
    _, requests = first_card(user, browser)
    size = sum(each["responseBodySize"] + each["responseHeadersSize"] for each in requests)
    # The page, and then the table; what else is asked for meanwhile takes a part of the line.
    assert len(requests) <= 6
    assert 2 * LATENCY + size / BYTES_A_SECOND < 2.6


def test_first_card_on_slow_line_within_three_seconds(user: User, browser) -> None:
    user.sit_down(rules="classic")
    assert min(first_card(user, browser)[0] for _ in range(5)) < 3.0


# Addresses that the page sets, where frames are drawn a second late.
SLOW_FRAMES = """window.addresses = [];
const frame = requestAnimationFrame.bind(window), replace = history.replaceState.bind(history);
window.requestAnimationFrame = (draw) => frame(() => setTimeout(draw, 1000));
history.replaceState = (state, title, address) => {
    window.addresses.push(address);
    replace(state, title, address);
};"""


def hold(requests: list[Route]) -> Callable[[Route], None]:
    """A route that keeps the requests that write until a test lets them go on."""
    return lambda route: (
        requests.append(route) if route.request.method == "POST" else route.continue_()
    )


def test_analyzed_replay_opens_at_the_step_of_its_address(user: User) -> None:
    page = user.page
    page.add_init_script(SLOW_FRAMES)
    name, _ = user.hand_with_a_mistake()
    address = f"#/replay/{name}/1/5"
    user.go(address.removeprefix("#/"))
    page.wait_for_function("() => window.addresses.length > 1")
    assert set(page.evaluate("window.addresses")) == {address}
    expect(page.locator(".replay-count")).to_contain_text("5 / ")


def test_a_replay_left_while_it_loads_keeps_the_address(user: User) -> None:
    page, held, name = user.page, list[Route](), user.finished_hand()
    page.route(f"**/api/replays/{name}/1", lambda route: held.append(route))
    with page.expect_request(f"**/api/replays/{name}/1"):
        page.evaluate("address => location.hash = address", f"#/replay/{name}/1")
    user.go("learn")
    with page.expect_response(f"**/api/replays/{name}/1"):
        held.pop().continue_()
    page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(done), 200))")
    assert page.evaluate("location.hash") == "#/learn"


def test_closed_replay_keeps_the_address_of_the_next_page(user: User) -> None:
    page, held, name = user.page, list[Route](), user.finished_hand()
    following = user.finished_hand(seed=5)
    user.go(f"replay/{name}/1/3")
    expect(page.locator(".replay-count")).to_contain_text("3 / ")
    page.route(f"**/api/replays/{following}/1", lambda route: held.append(route))
    with page.expect_request(f"**/api/replays/{following}/1"):
        page.evaluate("address => location.hash = address", f"#/replay/{following}/1")
    page.get_by_role("button", name="Forward").click()
    expect(page.locator(".replay-count")).to_contain_text("4 / ")
    assert page.evaluate("location.hash") == f"#/replay/{following}/1"
    held.pop().continue_()
    expect(page.locator(".replay-count")).to_contain_text("0 / ")


def test_replay_step_beyond_the_end_is_the_end_before_a_frame(user: User) -> None:
    page, name = user.page, user.finished_hand()
    last = len(user.request(f"replays/{name}/1")["steps"])
    page.add_init_script("window.requestAnimationFrame = () => 0")
    page.reload()
    user.go(f"replay/{name}/1/999")
    expect(page.locator("h1")).to_contain_text(" and ")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".replay-count")).to_contain_text(f"{last - 1} / {last}")


def test_a_refused_event_stream_is_asked_for_again_after_a_pause(user: User) -> None:
    asked = list[Route]()

    def refuse(route: Route) -> None:
        asked.append(route)
        route.fulfill(status=429, json={"error": "too many pages"})

    user.page.route("**/events?*", refuse)
    user.sit_down()
    user.page.wait_for_timeout(1500)
    assert 0 < len(asked) <= 2
    user.go("learn")
    asked.clear()
    user.page.wait_for_timeout(1500)
    assert not asked
    user.complaints.clear()


def test_an_answer_that_is_sent_is_not_sent_again_nor_left(user: User) -> None:
    page, held = user.page, list[Route]()
    user.go(f"puzzle/{ENDINGS[0].id}")
    user.computed(ASKED)
    page.route("**/answer", hold(held))
    page.route("**/line", hold(held))
    for key in ("Home", "Enter", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    assert len(held) == 1
    held.pop().continue_()
    user.computed(".values")


def test_long_waits_are_announced_at_once(user: User) -> None:
    page, held = user.page, list[Route]()
    user.go()
    page.route(lambda url: url.endswith("/api/tables"), hold(held))
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("alert")).to_contain_text("The first table on a machine takes")
    held.pop().continue_()
    user.computed(PLAYABLE)
    expect(page.locator(".toast.shown")).to_have_count(0, timeout=500)
    page.unroute_all()
    user.sit_down(rules="classic", opponent="random", seed=11)
    page.route("**/play", hold(held))
    page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
    expect(page.locator(".prompt")).to_contain_text("Random is to play")
    held.pop().continue_()
    user.wait_for_more("0")
    # An agent may think for ever.
    page.clock.install()
    answer = user.request(f"tables/{(name := user.table())}")
    answer["state"]["thinking"] = True
    page.route(f"**/api/tables/{name}", lambda route: route.fulfill(json=answer))
    user.go(f"table/{name}")
    page.locator(".prompt.thinking").wait_for()
    page.clock.fast_forward(61_000)
    expect(page.get_by_role("alert")).to_contain_text("Easy has been thinking for a minute")


def test_result_is_announced_once_to_screen_readers(user: User) -> None:
    page = user.page
    name = user.sit_down(seed=6)
    page.evaluate(
        """() => {
            window.texts = [];
            new MutationObserver((all) => all.forEach(({addedNodes}) =>
                addedNodes.forEach((each) => window.texts.push(each.textContent))))
                .observe(document.getElementById('spoken'), {childList: true});
        }"""
    )
    user.play_on()
    user.finish_hand(name)
    page.locator(OVER).wait_for()
    result = page.locator(f"{OVER} .result-text").inner_text()
    texts = page.evaluate("window.texts")
    assert not [each for each in texts if ": you win" in each or "win the hand" in each], texts
    assert " win" in result or "tie" in result
    assert not [each for each in texts if any(suit in each for suit in "♣♦♥♠")]
    assert any(" of " in each for each in texts)
    assert page.locator(f"{OVER} h2").inner_text() in ("You win the hand", "Easy wins the hand")
    # The cards are gone that had the focus before the dialog.
    page.keyboard.press("Escape")
    expect(page.locator("h1")).to_be_focused()


@in_windows((320, 640), has_touch=True)
def test_fingers_can_hit_every_card_on_a_phone(user: User) -> None:
    user.sit_down(rules="classic", seed=3)
    for width, height in ((320, 640), (390, 844), (844, 390)):
        user.page.set_viewport_size({"width": width, "height": height})
        user.page.wait_for_function(SETTLED, arg=width)
        cards = user.page.locator(".hit").evaluate_all(
            """all => all.map(({offsetWidth, offsetHeight, offsetTop, dataset}) =>
                [offsetWidth, offsetHeight, offsetTop, dataset.key])"""
        )
        assert len(cards) == 13
        assert min(min(wide, tall) for wide, tall, *_ in cards) >= 40, (width, cards)
        # A suit lies in one row where there is room for that.
        rows = {(key[1], top) for _, _, top, key in cards}
        assert width == 320 or len(rows) == len({suit for suit, _ in rows}), rows


MEETS = """([one, others]) => {
    const boxes = (query) => [...document.querySelectorAll(query)]
        .filter((each) => getComputedStyle(each).visibility !== 'hidden')
        .map((each) => each.getBoundingClientRect()).filter((box) => box.width);
    return boxes(one).some((own) => boxes(others).some((other) => own.left < other.right - 2
        && other.left < own.right - 2 && own.top < other.bottom - 2 && other.top < own.bottom - 2));
}"""


@in_windows((640, 360))
def test_cards_beside_help_are_wide_enough_for_a_pointer(user: User) -> None:
    user.sit_down(rules="classic", opponent="random", seed=3)
    user.page.keyboard.press("p")
    user.page.locator(".seen").wait_for()
    user.page.wait_for_function(SETTLED, arg=640)
    assert min(box_of(each)["width"] for each in user.page.locator(".hit").all()) >= 28
    assert not user.page.evaluate(MEETS, [".stage-label", ".card"])


@in_windows((320, 568), is_mobile=True, has_touch=True)
def test_number_in_stock_is_clear_of_the_trick(user: User) -> None:
    user.sit_down(rules="open-stock", opponent="random", seed=5)
    for _ in range(4):
        assert not user.page.evaluate(MEETS, [".stock-label > *", ".card, .prompt"])
        user.play_on()


@in_windows((320, 568), is_mobile=True, has_touch=True)
def test_watch_bar_is_clear_of_the_last_trick(user: User) -> None:
    user.sit_down(player="easy", opponent="medium", seed=3)
    page = user.page
    user.computed(".watch-bar")
    pause, step = page.locator(".watch-bar button").all()
    pause.tap()
    for _ in range(20):
        if page.locator("[data-zone=last]").count():
            break
        step.tap()
        page.wait_for_timeout(300)
    assert page.locator("[data-zone=last]").count() == 2
    assert not page.evaluate(MEETS, [".watch-bar", ".last-label, .card[data-zone=last]"])


@in_windows((390, 844), (1280, 800))
def test_refusal_covers_neither_header_nor_the_other_hand(user: User) -> None:
    page = user.page
    user.sit_down(rules="classic", opponent="random", seed=3)
    illegal = page.locator(".hit[aria-disabled]")
    while "follow" not in page.locator(".prompt").inner_text().lower() or not illegal.count():
        user.play_on()
    illegal.first.click(position={"x": 6, "y": 12}, force=True)
    page.locator(".toast.shown").wait_for()
    covered = ".table-bar, .plate, .card[data-zone=other], .card[data-zone=hand]"
    assert not page.evaluate(MEETS, [".toast", covered])


@in_windows((640, 360), is_mobile=True, has_touch=True)
def test_one_tap_plays_a_card_on_a_small_phone(user: User) -> None:
    user.sit_down(rules="classic", opponent="random", seed=3)
    cards = user.page.locator(".hit").evaluate_all("all => all.map(each => each.offsetWidth)")
    assert min(cards) >= 40
    # Beside help they are narrower: the first tap says that another one is needed.
    user.page.evaluate("document.querySelector('.table-view').style.flex = '0 0 300px'")
    user.page.wait_for_timeout(200)
    move, card = user.move, user.page.locator(PLAYABLE).first
    width = card.evaluate("each => each.offsetWidth")
    card.tap(position={"x": 6, "y": 12})
    if width < 40:
        expect(user.page.get_by_role("alert")).to_contain_text("Tap the card again")
        card.tap(position={"x": 6, "y": 12})
    user.wait_for_more(move)


@in_windows((390, 844), (1280, 800))
def test_card_is_dragged_onto_the_table(user: User) -> None:
    page = user.page
    user.set(clicks="two")
    name = user.sit_down(rules="classic", opponent="random", seed=4)
    for up, played in ((20, 0), (300, 1)):
        before, box = len(played_by_me(user, name)), box_of(page.locator(PLAYABLE))
        move, at = user.move, (box["x"] + 6, box["y"] + 20)
        page.mouse.move(*at)
        page.mouse.down()
        page.mouse.move(at[0] + 12, at[1] - up, steps=4)
        page.mouse.up()
        if played:
            user.wait_for_more(move)
        page.wait_for_timeout(300)
        assert len(played_by_me(user, name)) == before + played
        assert not page.locator(".card .inner[style*=translate]").count()


@in_windows((390, 844), (1920, 1080))
def test_pill_says_who_won_a_trick_and_the_stage_is_one_line(user: User) -> None:
    page = user.page
    user.set(motion="normal")
    user.sit_down(rules="classic", opponent="random", seed=4)
    page.evaluate(
        """() => {
            window.prompts = [];
            new MutationObserver(() => prompts.push(document.querySelector('.prompt').textContent))
                .observe(document.querySelector('.prompt'), {childList: true, subtree: true});
        }"""
    )
    for _ in range(2):
        user.play_on()
    assert any(each.endswith("the trick") for each in page.evaluate("prompts"))
    page.evaluate(
        "document.querySelector('.stage-label').textContent = 'Trick 15 of 26, it counts'"
    )
    lines = "each => each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight)"
    assert page.locator(".stage-label").evaluate(lines) < 1.5
    assert not page.evaluate(MEETS, [".stage-label", ".card, .plate"])


def test_table_of_a_failed_agent_has_a_way_out(user: User) -> None:
    page, name = user.page, user.table(rules="classic")
    answer = user.request(f"tables/{name}")
    answer["state"]["trouble"] = "Easy cannot go on"
    page.route(f"**/api/tables/{name}", lambda route: route.fulfill(json=answer))
    user.go(f"table/{name}")
    page.get_by_role("button", name="Leave this table").click()
    expect(page.locator("h1")).to_contain_text("German Whist against")
