"""Pictures of every page at the usual widths and in both themes, to be looked at by people.

python tests/table/screenshots.py FOLDER [WIDTH ...]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import sync_playwright
from tablepage import CHROMIUM, OVER, PLAYABLE, Server, Visit, visiting

from german_whist.table.puzzles import ENDGAME, FOREPLAY, shipped

HEIGHTS = {320: 640, 390: 844, 820: 1180, 1280: 800, 1920: 1080}


def puzzle(kind: str) -> str:
    """A puzzle of this kind."""
    return next(each.id for each in shipped() if each.kind == kind)


class Album:
    """Takes the pictures of one person's visit."""

    def __init__(self, visit: Visit, folder: Path, width: int, theme: str) -> None:
        self.visit, self.page = visit, visit.page
        self._name = f"{{}}-{width}-{theme}.png"
        self._folder = folder

    def take(self, name: str, ready: str = "h1") -> None:
        """The page as it is, once a part of it is there."""
        self.page.locator(ready).first.wait_for()
        self.page.wait_for_timeout(150)
        self.page.screenshot(path=self._folder / self._name.format(name), full_page=True)

    def hand(self) -> None:
        """A hand: its stages, its dialogs, its end, its replay."""
        visit, page = self.visit, self.page
        visit.sit_down(rules="classic", opponent="medium", seed=5)
        self.take("table", PLAYABLE)
        for _ in range(4):
            visit.play_on()
        self.take("table-later", PLAYABLE)
        for name, key, there in (
            ("help", "p", ".seen"),
            ("menu", "m", ".pages-menu"),
            ("settings", ",", ".settings"),
            ("keys", "?", ".keys"),
        ):
            page.keyboard.press(key)
            self.take(name, there)
            page.keyboard.press("Escape")
        name = visit.sit_down(match={"kind": "best", "n": 3}, seed=3)
        while visit.ask(f"tables/{name}")["state"]["stock_left"]:
            visit.play_on()
        self.take("endgame", PLAYABLE)
        visit.finish_hand(name)
        page.reload()
        page.locator(".after-hand").click()
        page.locator(OVER).wait_for()
        self.take("score", ".turning p:not(.faint)")
        page.get_by_role("button", name="Replay and analysis").click()
        page.locator(".plot").wait_for()
        page.get_by_role("slider").fill("9")
        self.take("replay", ".values")
        visit.sit_down(rules="draft", opponent="random", seed=5)
        while not page.locator(".hit[data-zone=up]").count():
            visit.play_on()
        self.take("choice")
        visit.sit_down(player="medium", opponent="easy", rules="classic")
        self.take("watching", ".watch-bar")

    def pages(self) -> None:
        """The pages around the hands."""
        visit, page = self.visit, self.page
        places: dict[str, tuple[str, str]] = {
            "lobby": ("", ".player-grid"),
            "watch": ("watch", ".player-grid"),
            "learn": ("learn", ".figures-line"),
            "puzzle": (f"puzzle/{puzzle(ENDGAME)}", ".felt[data-move=asked]"),
            "puzzle-foreplay": (f"puzzle/{puzzle(FOREPLAY)}", ".felt[data-move=asked]"),
            "replays": ("replays", ".hand-list"),
            "statistics": ("statistics", ".chart"),
        }
        for name, (place, ready) in places.items():
            visit.go(place)
            self.take(name, ready)
            if name.startswith("puzzle"):
                page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
                self.take(f"{name}-answer", ".values")
        visit.go("learn")
        page.get_by_role("button", name="Begin").click()
        self.take("lesson", ".guide p")


def main(folder: Path, widths: list[int]) -> None:
    """All pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as data:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        server = Server(Path(data))
        for width in widths:
            for theme in ("light", "dark"):
                size = {"viewport": {"width": width, "height": HEIGHTS.get(width, 900)}}
                with visiting(server, browser, **size, color_scheme=theme) as visit:
                    album = Album(visit, folder, width, theme)
                    parts: tuple[Callable[[], None], ...] = (album.hand, album.pages)
                    for part in parts:
                        part()
                    print(width, theme, visit.complaints or "")
        server.stop()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), list(map(int, sys.argv[2:])) or list(HEIGHTS))
