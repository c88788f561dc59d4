"""Win rates of flat Monte Carlo search beside reference values: `make strength`.

The references are from two independent programs; the exit status is 1 if a win rate differs.
Without all layers of the tablebase this takes hours instead of minutes.
"""

from __future__ import annotations

import sys

from german_whist.common.progress import Progress
from german_whist.engine.endgame import load_tablebase
from german_whist.evaluation.formats import percent_with_interval
from german_whist.evaluation.tournament import evaluate, show_on

OPPONENT = "threshold"
REFERENCES = {"flat-mc:16": 0.597, "flat-mc:64": 0.667, "flat-mc:256": 0.719}
TOLERANCE = 0.015
_ALL_CARDS = 13


def main() -> int:
    if load_tablebase().cards < _ALL_CARDS:
        print(
            f"the table holds endings of up to {load_tablebase().cards} cards: this will be slow; "
            "german-whist tablebase build --cards 13 adds the rest",
            file=sys.stderr,
        )
    deviations = 0
    for player, reference in REFERENCES.items():
        with Progress("measuring") as progress:
            result = evaluate(
                player, OPPONENT, hands=40_000, until=0.006, seed=16, progress=show_on(progress)
            )
        if not result.complete:
            return 130
        rate = result.pairings[0].win_rate
        deviates = abs(rate.value - reference) > TOLERANCE
        deviations += deviates
        print(
            f"{player} against {OPPONENT}: {percent_with_interval(rate)}, expected "
            f"{100 * reference:.1f} within {100 * TOLERANCE:.1f}: "
            f"{'OFF' if deviates else 'agrees'}",
            flush=True,
        )
    return 1 if deviations else 0


if __name__ == "__main__":
    sys.exit(main())
