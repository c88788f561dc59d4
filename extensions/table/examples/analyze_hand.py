"""Analysis of a hand: mistakes, turning point, and a plot of the first player's expectation.

`python extensions/table/examples/analyze_hand.py` lets two agents play a hand, values every
decision, and writes `hand.png`. `german-whist analyze` does the same for a file of hands.

Install in a clone: `pip install . matplotlib`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

from german_whist import Game, GameRecord, record_of
from german_whist.agents import Player
from german_whist.table.review.analysis import Analysis, AnalysisSettings, analyze

mpl.use("Agg")
from matplotlib import pyplot as plt


def play_hand(names: list[str], seed: int) -> GameRecord:
    """Record of a hand between two agents."""
    game = Game("classic", seed=seed)
    players = [Player(name, "classic", seed=seed) for name in names]
    while game.turn is not None:
        game.play(players[game.turn].choose(game.view()))
    return record_of(game)


def plot(analysis: Analysis, names: list[str], path: Path) -> None:
    """Plot the expectation by trick, mistakes as dots, and the turning point as title."""
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    expected = {point.trick: point.expected for point in analysis.story}
    axes.plot(list(expected), list(expected.values()), marker=".", color="tab:gray")
    axes.axhline(50, color="gray", linewidth=0.8)
    axes.axvline(13.5, color="gray", linestyle=":", label="the stock is empty")
    for mistake in analysis.mistakes:
        decision = next(d for d in analysis.decisions if d.n == mistake.n)
        height = expected.get(decision.trick, 50)
        axes.plot(decision.trick, height, "o", color=("tab:blue", "tab:red")[mistake.who])
    axes.set(xlabel="trick", ylabel=f"{names[0]}: {analysis.unit}", ylim=(-2, 102))
    axes.set_title(analysis.turning_point, fontsize=9, wrap=True)
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Play, analyze, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", nargs=2, default=["threshold", "counting"], metavar="NAME")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--search", default="flat-mc:400,voids", help="agent that estimates")
    parser.add_argument("--out", type=Path, default=Path("hand.png"))
    args = parser.parse_args()
    settings = AnalysisSettings(search=args.search)
    analysis = analyze(play_hand(args.players, args.seed), settings)
    for name, total in zip(args.players, analysis.totals, strict=True):
        print(f"{name}: {total.mistakes} mistakes in {total.mattered} decisions that mattered")
    print(analysis.turning_point)
    plot(analysis, args.players, args.out)


if __name__ == "__main__":
    main()
