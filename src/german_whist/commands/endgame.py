# pyright: strict
"""Solve an endgame in which both hands are known. The first HAND is the leader's.

`endgame "AS KS 2H" "QS JS 3H" --trump none` prints how many tricks the leader takes if both players
play as well as possible. For each card of the player to move, it also prints how many tricks that
player takes after playing the card.
"""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "leader", metavar="HAND", help="hand of the player who leads, for example 'AS KS 2H'"
    )
    parser.add_argument("other", metavar="HAND", help="hand of the other player")
    parser.add_argument(
        "--trump", required=True, metavar="SUIT", help="trump suit: C, D, H or S, or none"
    )
    parser.add_argument(
        "--led", metavar="CARD", help="card that was led already; leave it out of the leader's hand"
    )
    parser.add_argument("--low", action="store_true", help="play low: the fewest tricks win")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    from ..engine import endgame
    from ..engine.cards import SUITS

    hands = [arguments.leader, arguments.other]
    trump: str = arguments.trump.upper()
    if trump != "NONE" and trump not in [*SUITS]:
        raise ValueError(f"--trump is {arguments.trump!r}: it has to be C, D, H or S, or none")
    values = endgame.moves(
        hands, None if trump == "NONE" else trump, 0, arguments.led, low=arguments.low
    )
    best = min(values.values()) if arguments.low else max(values.values())
    total = max(len(hand.split()) for hand in hands)
    leads = arguments.led is None
    value = best if leads else total - best
    if arguments.json:
        cards = {str(card): tricks for card, tricks in values.items()}
        print(json.dumps({"value": value, "tricks": total, "cards": cards}))
        return 0
    print(f"the leader takes {value} of {total} tricks with best play by both")
    print(f"{'the leader' if leads else 'the other'}, to move, takes")
    for card, tricks in sorted(values.items(), key=lambda item: (-item[1], item[0])):
        mark = "  best" if tricks == best else ""
        print(f"  {card!s:<4}{tricks:>3}{mark}")
    return 0
