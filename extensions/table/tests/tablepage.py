"""A browser at the page of a server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from serving import RunningServer

ROOT = Path(__file__).resolve().parents[3]
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SETTINGS = "german-whist-settings"
PLAYABLE = ".hit:not([aria-disabled])"
PATIENCE = 10_000
"""Milliseconds for what the page does by itself, on a busy machine."""
COMPUTING = 300_000
"""Milliseconds for the server, which may compile agents or analyze a hand first."""
SHOWN = ".table-view[data-move]"
ASKED = ".table-view[data-move=asked]"
# The table is laid out for the size that it has.
SETTLED = """width => {
    const table = document.querySelector('.table-view');
    return innerWidth === width
        && table.dataset.size === `${table.clientWidth} ${table.clientHeight}`;
}"""
# A request of the page's own, with its cookies.
ASK = """const ask = async (path, body) => (await fetch('/api/' + path, body === null ? {} : {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
})).json()"""
OVER = "dialog.score[open]"


expect.set_options(timeout=PATIENCE)


class User:
    """A browser at the table: a page, and what its console had to say."""

    def __init__(self, server: RunningServer, context: BrowserContext) -> None:
        self.server = server
        self.context = context
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.set_default_navigation_timeout(COMPUTING)
        self.devtools = context.new_cdp_session(self.page)
        self._pressed = 0.0
        self.complaints: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def press(self, x: float, y: float, after: float = 0.0, touch: bool = False) -> None:
        """A click or a tap, made so many seconds after the last as its events tell the page.

        The browser's own clock would tell how long a slow machine took from one to the other.
        """
        self.page.wait_for_timeout(1000 * after)
        self._pressed = self._pressed + after if after else time.time()
        point, when = {"x": x, "y": y}, {"timestamp": self._pressed}
        if touch:
            for kind, points in (("touchStart", [point]), ("touchEnd", [])):
                event = {"type": kind, "touchPoints": points, **when}
                self.devtools.send("Input.dispatchTouchEvent", event)
        else:
            for kind in ("mousePressed", "mouseReleased"):
                event = {"type": kind, "button": "left", "clickCount": 1, **point, **when}
                self.devtools.send("Input.dispatchMouseEvent", event)

    def go(self, place: str = "") -> None:
        """Open a page by the address after #."""
        self.page.goto(f"{self.server.url}#/{place}")
        expect(self.page.locator("h1")).not_to_be_empty(timeout=COMPUTING)

    def computed(self, place: str) -> Locator:
        """An element that the page shows once the server has computed what it tells."""
        found = self.page.locator(place).first
        found.wait_for(timeout=COMPUTING)
        return found

    def request(self, path: str, body: Any = None) -> Any:
        return self.page.evaluate(
            f"([path, body]) => {{ {ASK}; return ask(path, body); }}", [path, body]
        )

    def table(self, **wishes: Any) -> str:
        """A table as the lobby would make it, which no page shows."""
        self.page.goto(self.server.url)
        usual = {"rules": "small-last", "opponent": "easy", "match": {"kind": "single"}}
        return self.request("tables", {**usual, **wishes})["state"]["id"]

    def sit_down(self, **wishes: Any) -> str:
        self.go(f"table/{(name := self.table(**wishes))}")
        self.computed(SHOWN)
        return name

    def finish_hand(self, name: str) -> dict[str, Any]:
        """Play a hand to its end without looking, and say how it stands."""
        script = f"""async (table) => {{
            {ASK};
            let {{state}} = await ask(table, null);
            while (state.phase !== 'over') {{
                const play = {{action: state.legal[0], move: state.move}};
                ({{state}} = await ask(`${{table}}/play`, play));
            }}
            return state;
        }}"""
        return self.page.evaluate(script, f"tables/{name}")

    def finished_hand(self, **wishes: Any) -> str:
        self.finish_hand(name := self.table(**wishes))
        return name

    def show_score(self, name: str) -> None:
        self.go(f"table/{name}")
        self.page.get_by_role("button", name="Show the score").click()

    def hand_with_a_mistake(self) -> tuple[str, int]:
        """A table whose hand is over, and a decision of it that was a mistake of the person's."""
        for seed in range(2, 8):
            name = self.finished_hand(opponent="medium", seed=seed)
            while not (analysis := self.request(f"replays/{name}/1/analysis")).get("ready"):
                self.page.wait_for_timeout(100)
            if mine := [each["n"] for each in analysis["mistakes"] if each["who"] == 0]:
                return name, mine[0]
        raise AssertionError("six hands without a mistake")

    @property
    def move(self) -> str:
        """The number of the decision that the page shows, once it shows one."""
        return self.page.locator(SHOWN).get_attribute("data-move") or ""

    @property
    def hand(self) -> list[str]:
        """The cards that lie before the person, and what else can be chosen."""
        return self.page.locator(".hit").evaluate_all("all => all.map(each => each.ariaLabel)")

    def wait_for_hand(self, hand: list[str]) -> None:
        script = """hand => hand.join() === [...document.querySelectorAll('.hit')]
            .map(each => each.ariaLabel).join()"""
        self.page.wait_for_function(script, arg=hand)

    def wait_for_more(self, move: str) -> None:
        """Until the next decision is there, or the score."""
        script = """([move, over]) => document.querySelector(over)
            || (![move, undefined].includes(document.querySelector('.table-view').dataset.move)
                && (document.querySelector('.hit:not([aria-disabled])')
                    || document.querySelector('.after-hand:not([hidden])')))"""
        self.page.wait_for_function(script, arg=[move, OVER], timeout=COMPUTING)

    def play_on(self) -> None:
        """One card, by a click on its outer edge, which no other card covers."""
        card, move = self.computed(PLAYABLE), self.move
        card.click(position={"x": 6, "y": 12})
        self.wait_for_more(move)

    def is_over(self) -> bool:
        """Whether the hand is over and its score is shown, or about to be."""
        if self.page.locator(".after-hand:visible").count():
            self.page.locator(OVER).wait_for()
            return True
        return False

    def tab_to(self, name: str) -> None:
        """Press Tab until what has this name, or begins with it, has the focus."""
        script = """name => {
            const {ariaLabel, textContent, labels} = document.activeElement;
            return (ariaLabel ?? labels?.[0]?.textContent ?? textContent).trim().startsWith(name);
        }"""
        for _ in range(80):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(script, name):
                return
        raise AssertionError(f"Tab does not lead to {name}")

    def play_by_keys(self) -> None:
        self.computed(PLAYABLE)
        move, keyboard = self.move, self.page.keyboard
        keyboard.press("Home")
        for _ in range(26):
            if self.page.locator(f":focus{PLAYABLE}").count():
                break
            keyboard.press("ArrowRight")
        keyboard.press("Enter")
        self.wait_for_more(move)

    def set(self, **settings: str) -> None:
        self.page.goto(self.server.url)
        script = "([key, settings]) => localStorage.setItem(key, JSON.stringify(settings))"
        self.page.evaluate(script, [SETTINGS, {"motion": "none", **settings}])

    def violations(self) -> list[str]:
        """What axe-core finds: colors in the dark, and everything in the light."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        script = "rules => axe.run(document, {resultTypes: ['violations'], ...rules})"
        found: list[Any] = []
        for scheme, rules in (("dark", {"runOnly": ["color-contrast"]}), ("light", {})):
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found += self.page.evaluate(script, rules)["violations"]
        return [
            f"{each['id']}: {each['nodes'][0]['html']} {each['nodes'][0]['failureSummary']}"
            for each in found
        ]


def box_of(locator: Locator) -> dict[str, float]:
    return locator.first.evaluate("each => each.getBoundingClientRect().toJSON()")


def in_windows(*sizes: tuple[int, int], **options: Any) -> pytest.MarkDecorator:
    """A test's `user` in a browser window of each size, with options of Playwright's."""
    windows = [{"viewport": {"width": size[0], "height": size[1]}, **options} for size in sizes]
    return pytest.mark.parametrize("user", windows, indirect=True, ids=map(str, sizes))


@contextmanager
def user_of(server: RunningServer, browser: Browser, **options: Any) -> Iterator[User]:
    """A browser at the table, with animations off unless the settings say otherwise."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    defaults = '{"motion": "none"}'
    context.add_init_script(f"localStorage['{SETTINGS}'] ??= '{defaults}'")
    try:
        yield User(server, context)
    finally:
        context.close()
