"""Films and pictures of the pages: `make films`.

`hand.gif` is a hand between the champion and the rules of thumb, by `examples/random_hand.py`.
`learning.gif` shows the learning curves of the preset `quick`, which trains for some minutes in
`build/films/quick`; a run that is there is resumed, or only drawn.
`table.png`, `replay.png` and `learn.png` are screenshots of the table in the browser, by Chromium.
With names, only these are made.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from german_whist import Game, german_whist_v0, record_of
from german_whist.agents import Player

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.lines import Line2D

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
RUN = ROOT / "build" / "films" / "quick"
AGAINST = ("threshold", "flat-mc:16", "random-exact")
# A ground of their own, so that the curves can be read in both themes.
GROUND, INK, COLOURS = "#f7f8fa", "#1f2430", ("#b4531b", "#2c6a9b", "#5a7d2a")


def trained() -> None:
    """Train, or go on with what is there."""
    start = [
        "quick",
        "--run",
        str(RUN),
        "eval_every=600_000",
        f"eval_opponents={','.join(AGAINST)}",
    ]
    words = ["--resume", str(RUN)] if (RUN / "settings.yaml").exists() else start
    # A run that is over says so, and is drawn.
    subprocess.run([sys.executable, "-m", "german_whist", "train", *words], check=False)


def curves(run: Path) -> dict[str, list[tuple[float, float]]]:
    """Millions of decisions and win rates in per cent, against each."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with (run / "evaluations.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["opponent"] in AGAINST:
                point = int(row["decisions"]) / 1e6, 100 * float(row["win_rate"])
                found[row["opponent"]].append(point)
    return found


def film_of(points: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Draw the curves as they grow."""
    figure, axes = plt.subplots(figsize=(4.2, 3.0), dpi=130, layout="constrained")
    figure.set_facecolor(GROUND)
    axes.set_facecolor(GROUND)
    last = max(x for each in points.values() for x, _ in each)
    axes.set(xlim=(0, last), ylim=(0, 100))
    axes.set_xlabel("million decisions", color=INK)
    axes.set_ylabel("hands won, %", color=INK)
    axes.axhline(50, color="#8793a1", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    lines = [
        axes.plot([], [], color=colour, linewidth=2, label=f"against {name}")[0]
        for name, colour in zip(AGAINST, COLOURS, strict=True)
    ]
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    most = max(map(len, points.values()))

    def draw(frame: int) -> list[Line2D]:
        for name, line in zip(AGAINST, lines, strict=True):
            line.set_data(*zip(*points[name][: frame + 1], strict=True))
        return lines

    pause = [most - 1] * 8
    # All of it comes first too: where pictures do not move, that is what is seen.
    film = FuncAnimation(figure, draw, frames=[most - 1, *range(most), *pause])
    film.save(path, writer=PillowWriter(fps=5))
    plt.close(figure)


def hand() -> None:
    """Play a hand, and film it."""
    words = [sys.executable, str(ROOT / "examples" / "random_hand.py"), "--width", "440"]
    words += ["--players", "champion", "threshold", "--seed", "1", "--out", str(PICTURES)]
    subprocess.run(words, check=True)
    os.remove(PICTURES / "hand.svg")


def learning() -> None:
    """Train, and film the learning curves."""
    trained()
    film_of(curves(RUN), PICTURES / "learning.gif")


# -- screenshots of the table

REQUEST = """async ([path, body]) => (await fetch('/api/' + path, {
    method: body ? 'POST' : 'GET',
    headers: {'Content-Type': 'application/json'},
    body: body,
})).json()"""


@contextmanager
def opened_table() -> Iterator[Page]:
    """A page at a table of its own, in the light theme and without animations."""
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        words = ["table", "--no-browser", "--port", "0", "--data", data]
        server = subprocess.Popen(
            [sys.executable, "-u", "-m", "german_whist", *words], stdout=subprocess.PIPE, text=True
        )
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox"],
        )
        try:
            assert server.stdout is not None
            addresses = (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in server.stdout)
            page = browser.new_page(
                viewport={"width": 960, "height": 640},
                color_scheme="light",
                reduced_motion="reduce",
            )
            page.set_default_timeout(300_000)
            page.goto(next(address[0] for address in addresses if address))
            yield page
        finally:
            browser.close()
            server.terminate()
            server.wait()


def photograph(page: Page, name: str) -> None:
    write_picture(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), name)


def write_picture(picture: Image.Image, name: str) -> None:
    """Write a picture in few colours."""
    picture.quantize(128, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)


def table() -> None:
    """Show a hand in the foreplay."""
    wishes = {"rules": "classic", "opponent": "medium", "seed": 7, "match": {"kind": "single"}}
    with opened_table() as page:
        state: dict[str, Any] = page.evaluate(REQUEST, ["tables", json.dumps(wishes)])["state"]
        for _ in range(7):
            card = json.dumps({"action": state["legal"][-1], "move": state["move"]})
            state = page.evaluate(REQUEST, [f"tables/{state['id']}/play", card])["state"]
        page.goto(f"{page.url.partition('#')[0]}#/table/{state['id']}")
        page.locator(".table-view[data-move]").wait_for()
        page.wait_for_timeout(1000)
        photograph(page, "table.png")


def trick() -> None:
    """Show a trick of the foreplay, for which a trump is turned up."""
    env = german_whist_v0.raw_env(render_mode="rgb_array", render_view=0)
    env.reset(seed=434)
    rng = np.random.default_rng(434)
    for _ in range(5):
        observation = env.last()[0]
        assert observation is not None
        env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    write_picture(Image.fromarray(env.render()).resize((640, 410)), "trick.png")


def replay() -> None:
    """Show a mistake in an analysed hand of the rules of thumb against the champion."""
    names = ("threshold", "champion")
    players = [Player(name, "classic", seed=5) for name in names]
    game = Game("classic", seed=5)
    while not game.over:
        view = game.view()
        game.play(players[view.seat].choose(view))
    line = record_of(game, {"players": names}).to_line()
    with opened_table() as page:
        page.set_viewport_size({"width": 960, "height": 900})
        (opened,) = page.evaluate(REQUEST, ["replays", line])["hands"]
        hand = opened["replay"]
        page.goto(f"{page.url.partition('#')[0]}#/replay/{hand['id']}/{hand['hand']}")
        page.locator(".totals").wait_for()
        page.locator(".mistake-list button").first.click()
        page.wait_for_timeout(1000)
        photograph(page, "replay.png")


def learn() -> None:
    """Show the puzzles of a person who has solved one, with their themes."""
    with opened_table() as page:
        site = page.url.partition("#")[0]
        page.set_viewport_size({"width": 960, "height": 520})
        page.goto(f"{site}#/puzzles/endgame")
        page.locator(".table-view[data-move=asked]").wait_for()
        page.locator(".hit:not([aria-disabled])").first.click(position={"x": 6, "y": 12})
        page.locator(".task h2:is(.good, .bad)").wait_for()
        page.goto(f"{site}#/learn")
        page.locator(".history summary").click()
        page.get_by_role("heading", name="Puzzles").evaluate(
            "each => each.parentElement.scrollIntoView()"
        )
        page.wait_for_timeout(500)
        photograph(page, "learn.png")


PICTURES_BY_NAME: dict[str, Callable[[], None]] = {
    "hand": hand,
    "learning": learning,
    "table": table,
    "trick": trick,
    "replay": replay,
    "learn": learn,
}


def main() -> None:
    """Make all, or those that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[*PICTURES_BY_NAME])
    for name in parser.parse_args().names:
        PICTURES_BY_NAME[name]()


if __name__ == "__main__":
    main()
