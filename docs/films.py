"""The two films of the pages: `make films`.

`hand.gif` is a hand between the champion and the rules of thumb, by `examples/random_hand.py`.
`learning.gif` are the curves of a training: the preset `quick`, which takes some minutes, in
`build/films/quick`; a run that is there goes on, or is only drawn.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.lines import Line2D

ROOT = Path(__file__).resolve().parent.parent
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
    with (run / "measured.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["opponent"] in AGAINST:
                point = int(row["decisions"]) / 1e6, 100 * float(row["win_rate"])
                found[row["opponent"]].append(point)
    return found


def film_of(points: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Draw the curves as they grow."""
    figure, axes = plt.subplots(figsize=(5.6, 3.4), dpi=100, layout="constrained")
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


def main() -> None:
    """Make both."""
    hand = [sys.executable, str(ROOT / "examples" / "random_hand.py"), "--width", "440"]
    words = ["--players", "champion", "threshold", "--seed", "1", "--out", str(PICTURES)]
    subprocess.run([*hand, *words], check=True)
    os.remove(PICTURES / "hand.svg")
    trained()
    film_of(curves(RUN), PICTURES / "learning.gif")


if __name__ == "__main__":
    main()
