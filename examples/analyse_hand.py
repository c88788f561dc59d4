"""A hand analysed to its turning point, with a plot of what the first seat could expect.

`python examples/analyse_hand.py` lets two players play a hand, values every decision, and writes
`hand.png`. It needs matplotlib. The same for a file of hands is `german-whist analyse`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

from german_whist import Game, GameRecord, record_of
from german_whist.agents import Player
from german_whist.table.review.analysis import Analysis, AnalysisSettings, analyse

mpl.use("Agg")
from matplotlib import pyplot as plt


def played(names: list[str], seed: int) -> GameRecord:
    """A hand between two players, as a record that can be kept."""
    game = Game("classic", seed=seed)
    players = [Player(name, "classic", seed=seed) for name in names]
    while game.turn is not None:
        game.play(players[game.turn].choose(game.view()))
    return record_of(game)


def plot(told: Analysis, names: list[str], path: Path) -> None:
    """The expectation trick by trick, the mistakes as dots, the turning point with its words."""
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    expected = {point.trick: point.expected for point in told.story}
    axes.plot(list(expected), list(expected.values()), marker=".", color="tab:grey")
    axes.axhline(50, color="grey", linewidth=0.8)
    axes.axvline(13.5, color="grey", linestyle=":", label="the stock is empty")
    for mistake in told.mistakes:
        decision = next(each for each in told.decisions if each.n == mistake.n)
        height = expected.get(decision.trick, 50)
        axes.plot(decision.trick, height, "o", color=("tab:blue", "tab:red")[mistake.who])
    axes.set(xlabel="trick", ylabel=f"{names[0]}: {told.unit}", ylim=(-2, 102))
    axes.set_title(told.turning_point, fontsize=9, wrap=True)
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Play, analyse, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", nargs=2, default=["threshold", "counting"], metavar="NAME")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--search", default="flat-mc:400,voids", help="who estimates")
    parser.add_argument("--out", type=Path, default=Path("hand.png"))
    given = parser.parse_args()
    told = analyse(played(given.players, given.seed), AnalysisSettings(search=given.search))
    for name, total in zip(given.players, told.totals, strict=True):
        print(f"{name}: {total.mistakes} mistakes in {total.mattered} decisions that mattered")
    print(told.turning_point)
    plot(told, given.players, given.out)


if __name__ == "__main__":
    main()
