# pyright: strict
"""Value an ending whose cards are all known: HAND of the leader, HAND of the other.

`endgame "AS KS 2H" "QS JS 3H" --trump none` tells the tricks that the leader takes with best
play by both, and what each card of the player to move comes to.
"""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("leader", metavar="HAND", help="of the leader, as in 'AS KS 2H'")
    parser.add_argument("other", metavar="HAND", help="of the other; one less after --led's card")
    parser.add_argument(
        "--trump", required=True, metavar="SUIT", help="C, D, H or S, or none: there are no trumps"
    )
    parser.add_argument(
        "--led", metavar="CARD", help="what the leader has led, no more in its hand"
    )
    parser.add_argument("--low", action="store_true", help="few tricks are wanted")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Solve, and tell every card."""
    from ..engine import endgame
    from ..engine.cards import SUITS

    hands = [arguments.leader, arguments.other]
    trump: str = arguments.trump.upper()
    if trump != "NONE" and trump not in [*SUITS]:
        raise ValueError(f"--trump is {arguments.trump!r}: it has to be C, D, H or S, or none")
    found = endgame.moves(
        hands, None if trump == "NONE" else trump, 0, arguments.led, low=arguments.low
    )
    best = min(found.values()) if arguments.low else max(found.values())
    total = max(len(hand.split()) for hand in hands)
    leads = arguments.led is None
    value = best if leads else total - best
    if arguments.json:
        each = {str(card): tricks for card, tricks in found.items()}
        print(json.dumps({"value": value, "tricks": total, "cards": each}))
        return 0
    print(f"the leader takes {value} of {total} tricks with best play by both")
    print(f"{'the leader' if leads else 'the other'}, to move, takes")
    for card, tricks in sorted(found.items(), key=lambda each: (-each[1], each[0])):
        mark = "  best" if tricks == best else ""
        print(f"  {card!s:<4}{tricks:>3}{mark}")
    return 0
