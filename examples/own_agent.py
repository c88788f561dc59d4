"""A custom agent on a ladder with three others; every deal is played twice, with seats exchanged.

`python examples/own_agent.py` prints every pairing with its interval, and the ladder.

Install in a clone: `pip install .`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from german_whist import View, ladder
from german_whist.agents import Agent, EndgamePlayer


class Saver(Agent):
    """Wins the upcard if it is a trump or at least a queen, as cheaply as it can."""

    name = "saver"

    def act(self, views: Any, rng: Any) -> Any:
        """An action for each of an array of views."""
        actions = np.array(
            [self.choose(View(self.rules, views[i : i + 1])) for i in range(len(views))], np.int64
        )
        EndgamePlayer(self.rules).improve(views, actions)  # exact endgames
        return actions

    def choose(self, view: View) -> int:
        """One card: the cheapest winner, the strongest lead, or the lowest card."""
        legal = sorted(view.legal(), key=lambda card: (card // 13 == view.trump, card % 13))
        if not self.wants_upcard(view):
            return legal[0]
        if view.led is None:
            return legal[-1]
        led = int(view.led)
        winners = [card for card in legal if beats(card, led, view.trump)]
        return winners[0] if winners else legal[0]

    def wants_upcard(self, view: View) -> bool:
        """Whether the upcard is worth a good card."""
        upcard = int(view.upcards[0]) if view.upcards else 0
        return upcard // 13 == view.trump or upcard % 13 >= 10


def beats(card: int, led: int, trump: int | None) -> bool:
    """Whether a card takes the trick from the one that was led."""
    if card // 13 == led // 13:
        return card > led
    return card // 13 == trump


def main() -> None:
    """Play every pairing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hands", type=int, default=1000, help="of each pairing")
    args = parser.parse_args()
    result = ladder([Saver, "random-exact", "threshold", "counting"], hands=args.hands, seed=1)
    for pairing in result.pairings:
        win_rate = pairing.win_rate.scaled(100)
        print(
            f"{pairing.agent} against {pairing.opponent}: "
            f"{win_rate.value:.1f} % [{win_rate.low:.1f}, {win_rate.high:.1f}]"
        )
        for forfeit in pairing.forfeits:
            print(forfeit)
    assert result.ladder is not None
    for rank, (name, rating) in enumerate(result.ladder.ranked(), 1):
        print(rank, name, round(rating.value))


if __name__ == "__main__":
    main()
