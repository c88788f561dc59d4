"""Films and pictures of the pages: `make films`.

`hand.gif` is a hand between the champion and the rules of thumb, by `examples/random_hand.py`.
`learning.gif` shows the learning curves of the preset `quick`, which trains for some minutes in
`build/films/quick`; a run that is there is resumed, or only drawn.
`trick.png` is a picture of a trick. With names, only these are made. Without names the scripts
`docs/screenshots.py` of the extensions make their pictures too.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image

from german_whist import german_whist_v0

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.lines import Line2D

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
RUN = ROOT / "build" / "films" / "quick"
AGAINST = ("threshold", "flat-mc:16", "random-exact")
# A ground of their own, so that the curves can be read in both themes.
GROUND, INK, COLORS = "#f7f8fa", "#1f2430", ("#b4531b", "#2c6a9b", "#5a7d2a")


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
        axes.plot([], [], color=color, linewidth=2, label=f"against {name}")[0]
        for name, color in zip(AGAINST, COLORS, strict=True)
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


def write_picture(picture: Image.Image, name: str) -> None:
    """Write a picture in few colors."""
    picture.quantize(128, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)


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


PICTURES_BY_NAME: dict[str, Callable[[], None]] = {
    "hand": hand,
    "learning": learning,
    "trick": trick,
}


def main() -> None:
    """Make all, or those that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*")
    names: list[str] = parser.parse_args().names
    for name in names or PICTURES_BY_NAME:
        PICTURES_BY_NAME[name]()
    if not names:
        for script in sorted(ROOT.glob("extensions/*/docs/screenshots.py")):
            subprocess.run([sys.executable, str(script)], check=True)


if __name__ == "__main__":
    main()
