"""Does more search win as much as it should? `make strength` measures it against known truths.

Two independent programs found what flat Monte Carlo search wins against the rules
of thumb with so many worlds; here the same comes out, or the exit status says so.
Without all layers of the table of endings this takes hours instead of minutes.
"""

from __future__ import annotations

import argparse
import sys

from german_whist.common.progress import Progress
from german_whist.engine.endgame import tables
from german_whist.evaluation.formats import percent_with_interval
from german_whist.evaluation.tournament import evaluate, show_on

OPPONENT = "threshold"
TRUTHS = {"flat-mc:16": 0.597, "flat-mc:64": 0.667, "flat-mc:256": 0.719}
TOLERANCE = 0.015
_ALL_CARDS = 13


def main() -> int:
    """Measure each search, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hands", type=int, default=40_000, help="at most, for each search")
    parser.add_argument("--until", type=float, default=0.6, help="half-width in %% to stop at")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    if tables().cards < _ALL_CARDS:
        print(
            f"the table holds endings of up to {tables().cards} cards: this will be slow; "
            "german-whist tablebase build --cards 13 adds the rest",
            file=sys.stderr,
        )
    wrong = 0
    for player, truth in TRUTHS.items():
        with Progress("measuring") as progress:
            result = evaluate(
                player, OPPONENT, hands=given.hands, until=given.until / 100, seed=given.seed,
                workers=given.workers, progress=show_on(progress),
            )  # fmt: skip
        if not result.complete:
            return 130
        found = result.pairings[0]
        off = abs(found.win_rate.value - truth) > TOLERANCE
        wrong += off
        print(
            f"{player} against {OPPONENT}: {percent_with_interval(found.win_rate)} of "
            f"{found.hands:,} hands, expected {100 * truth:.1f} within {100 * TOLERANCE:.1f}: "
            f"{'OFF' if off else 'agrees'}; {found.stages[0].ms_a_move or 0:.2f} ms a move",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
