"""Win rates of flat Monte Carlo search beside reference values: `make strength`.

The references are from two independent programs; the exit status is 1 if a win rate differs.
Without all layers of the tablebase this takes hours instead of minutes.
"""

from __future__ import annotations

import argparse
import sys

from german_whist.common.progress import Progress
from german_whist.engine.endgame import tables
from german_whist.evaluation.formats import percent_with_interval
from german_whist.evaluation.tournament import evaluate, show_on

OPPONENT = "threshold"
REFERENCES = {"flat-mc:16": 0.597, "flat-mc:64": 0.667, "flat-mc:256": 0.719}
TOLERANCE = 0.015
_ALL_CARDS = 13


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hands", type=int, default=40_000, help="maximum for each search")
    parser.add_argument("--until", type=float, default=0.6, help="half-width in %% to stop at")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    if tables().cards < _ALL_CARDS:
        print(
            f"the table holds endings of up to {tables().cards} cards: this will be slow; "
            "german-whist tablebase build --cards 13 adds the rest",
            file=sys.stderr,
        )
    deviations = 0
    for player, reference in REFERENCES.items():
        with Progress("measuring") as progress:
            result = evaluate(
                player,
                OPPONENT,
                hands=arguments.hands,
                until=arguments.until / 100,
                seed=arguments.seed,
                workers=arguments.workers,
                progress=show_on(progress),
            )
        if not result.complete:
            return 130
        pairing = result.pairings[0]
        deviates = abs(pairing.win_rate.value - reference) > TOLERANCE
        deviations += deviates
        rate, milliseconds = pairing.win_rate, pairing.stages[0].ms_a_move or 0
        print(
            f"{player} against {OPPONENT}: {percent_with_interval(rate)} of "
            f"{pairing.hands:,} hands, expected {100 * reference:.1f} within "
            f"{100 * TOLERANCE:.1f}: "
            f"{'OFF' if deviates else 'agrees'}; {milliseconds:.2f} ms a move",
            flush=True,
        )
    return 1 if deviations else 0


if __name__ == "__main__":
    sys.exit(main())
