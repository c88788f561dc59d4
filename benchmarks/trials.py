"""What each setting of the trainer is worth: short trainings that differ in one of them.

`python -m benchmarks.trials` trains what is not in `runs/trials` yet, three seeds each and a
minute or so a seed, prints a table in Markdown and draws the learning curves of the settings that
differ by more than seeds do; docs/learning.md shows both.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from german_whist.training.compare import Comparison, as_curve, compare, rate_text
from german_whist.training.pictures import curves, standalone

FOLDER = Path("runs/trials")
PICTURES = Path("docs/pictures")
COMMON = (
    "decisions=2_000_000", "layers=128,128", "measure_every=400_000", "measure_hands=2_000",
    "final_hands=5_000", "final_yardsticks=flat-mc:16", "threads=1", "seeds=1,2,3",
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
TOPICS = tuple(dict.fromkeys(each.topic for each in TRIALS))
DRAWN = ("critic", "trace")


def train(trial: Trial) -> None:
    """Train one that is not there yet; one that was interrupted goes on."""
    if (trial.folder / "done").exists():
        return
    words = ["quick", "--run", str(trial.folder), *COMMON, *trial.words]
    if trial.folder.exists():
        words = ["--resume", str(trial.folder)]
    print(f"{trial.folder}: {trial.topic} {trial.label}", flush=True)
    subprocess.run([sys.executable, "-m", "german_whist", "train", *words], check=True)
    (trial.folder / "done").touch()


# -- what it leaves behind


def compared(topic: str) -> Comparison:
    """The trials of one topic side by side."""
    return compare([f"{each.label}={each.folder}" for each in TRIALS if each.topic == topic])


def picture(topic: str) -> str:
    """The learning curves of one topic, readable on light and on dark."""
    trainings = compared(topic).trainings
    lines = {each.name: as_curve(each.rates["threshold"], 100) for each in trainings}
    return standalone(curves(lines, "decisions", "won against threshold, in %"), list(lines))


def table() -> str:
    """The last measurements of every trial as Markdown."""
    lines = [
        "| setting | value | against `threshold` | against `flat-mc:16` |",
        "|---|---|--:|--:|",
    ]
    for topic in TOPICS:
        for each in compared(topic).trainings:
            rates = [f"{rate_text(each.last[name])} %" for name in ("threshold", "flat-mc:16")]
            lines.append(f"| `{topic}` | {each.name} | {rates[0]} | {rates[1]} |")
    return "\n".join(lines)


def main() -> None:
    """Train, draw, and print the table."""
    for trial in TRIALS:
        train(trial)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for topic in DRAWN:
        (PICTURES / f"training-{topic}.svg").write_text(picture(topic), encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
