"""What each setting of the trainer is worth: short trainings that differ in one of them.

`python -m benchmarks.trials` trains what is not in `runs/trials` yet, a minute or so
each, and writes a picture of the learning curves for each setting and a table in
Markdown; docs/training.md shows both.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

from german_whist.training.pictures import PALETTE

FOLDER = Path("runs/trials")
PICTURES = Path("docs/pictures")
COMMON = (
    "decisions=3_000_000", "layers=128,128", "measure_every=500_000", "measure_hands=4_000",
    "final_hands=20_000", "final_yardsticks=flat-mc:16", "threads=1",
)  # fmt: skip


class Trial(NamedTuple):
    """A training: what it shows, its name in the picture, and its settings over `quick`'s."""

    topic: str
    label: str
    words: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its run is kept; the same settings are trained once."""
        return FOLDER / ("-".join(self.words).replace("=", "_").replace(",", "x") or "quick")


TRIALS = (
    Trial("critic", "oracle", ()),
    Trial("critic", "shared layers", ("critic=shared",)),
    Trial("trace", "0.2", ("trace=0.2",)),
    Trial("trace", "0.6", ()),
    Trial("trace", "0.95", ("trace=0.95",)),
    Trial("entropy", "0.05 to 0.01", ()),
    Trial("entropy", "0.05 throughout", ("entropy_end=0.05",)),
    Trial("entropy", "0.1 to 0.01", ("entropy=0.1",)),
    Trial("entropy", "0.02 to 0.002", ("entropy=0.02", "entropy_end=0.002")),
    Trial("layers", "two of 128", ()),
    Trial("layers", "two of 64", ("layers=64,64",)),
    Trial("layers", "two of 256", ("layers=256,256",)),
    Trial("average", "0.99", ()),
    Trial("average", "none", ("average=0",)),
    Trial("reward", "win", ()),
    Trial("reward", "margin", ("reward=margin",)),
    Trial("pool", "none", ()),
    Trial("pool", "a quarter of the games", ("pool_games=0.25", "pool_every=500_000")),
    Trial("ranks", "closed", ()),
    Trial("ranks", "real", ("ranks=real",)),
)


def train(trial: Trial) -> None:
    """Train one that is not there yet; one that was interrupted goes on."""
    if (trial.folder / "done").exists():
        return
    words = ["quick", "--run", str(trial.folder), *COMMON, *trial.words]
    if (trial.folder / "settings.yaml").exists():
        words = ["--resume", str(trial.folder)]
    print(f"{trial.folder}: {trial.topic} {trial.label}", flush=True)
    subprocess.run([sys.executable, "-m", "german_whist", "train", *words], check=True)
    (trial.folder / "done").touch()


class Point(NamedTuple):
    """A measurement on the way."""

    decisions: int
    win_rate: float
    half_width: float
    hands: int


def measured(trial: Trial, opponent: str) -> list[Point]:
    """The measurements of a trial against one opponent, oldest first."""
    with open(trial.folder / "measured.csv", encoding="utf-8") as file:
        return [
            Point(
                int(row["decisions"]),
                float(row["win_rate"]),
                float(row["half_width"]),
                int(row["hands"]),
            )
            for row in csv.DictReader(file)
            if row["opponent"] == opponent
        ]


# -- what it leaves behind

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 560, 260, 46, 14, 34, 196
_LOW, _HIGH = 0.20, 0.58


def picture(topic: str, trials: list[Trial]) -> str:
    """The learning curves of one topic as SVG, readable on light and on dark."""

    def place(decisions: float, rate: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT - _RIGHT) * decisions / 3.1e6
        up = (min(max(rate, _LOW), _HIGH) - _LOW) / (_HIGH - _LOW)
        return across, _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * up

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="wins against threshold while training, by {escape(topic)}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#fbfbf9"/>',
    ]
    for percent in range(20, 58, 10):
        _, y = place(0, percent / 100)
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#d9dde5"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#5d6675">'
            f"{percent} %</text>"
        )
    for million in range(4):
        x, _ = place(million * 1e6, 0)
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - 14}" text-anchor="middle" fill="#5d6675">'
            f"{million} M</text>"
        )
    for number, trial in enumerate(trials):
        colour = PALETTE[number % len(PALETTE)]
        points = [place(each.decisions, each.win_rate) for each in measured(trial, "threshold")]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<text x="{_WIDTH - _RIGHT + 12}" y="{_TOP + 14 + 18 * number}" fill="{colour}">'
            f"{escape(trial.label)}</text>"
        )
    return "\n".join([*parts, "</svg>\n"])


def table() -> str:
    """The last measurements of every trial as Markdown."""
    lines = [
        "| setting | value | against `threshold` | against `flat-mc:16` |",
        "|---|---|--:|--:|",
    ]
    for trial in TRIALS:
        found = [measured(trial, name)[-1] for name in ("threshold", "flat-mc:16")]
        rates = [f"{100 * each.win_rate:.1f} ± {100 * each.half_width:.1f} %" for each in found]
        lines.append(f"| `{trial.topic}` | {trial.label} | {rates[0]} | {rates[1]} |")
    return "\n".join(lines)


def main() -> None:
    """Train, draw, and print the table."""
    for trial in TRIALS:
        train(trial)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for topic in dict.fromkeys(trial.topic for trial in TRIALS):
        chosen = [trial for trial in TRIALS if trial.topic == topic]
        (PICTURES / f"training-{topic}.svg").write_text(picture(topic, chosen), encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
