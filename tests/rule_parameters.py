"""Rule sets of any parameters, and every end of a hand, for tests of properties."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import strategies as st

from german_whist.engine.reference import ReferenceGame, ReferenceRules


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    """The parameters of a rule set, most of which fit together."""
    suits, ranks = draw(st.integers(1, 4)), draw(st.integers(1, 13))
    hand = draw(st.integers(1, max(1, suits * ranks // 2)))
    left = max(0, suits * ranks - 2 * hand)
    stock = 2 * draw(st.integers(0, left // 2))
    faced = draw(st.sampled_from(["every", "after-first", "never"]))
    exchange = 4 * hand <= suits * ranks and draw(st.booleans())
    if exchange:
        stock = 0
    first_faced = (exchange or stock > 0) and faced == "every"
    counts = draw(st.sampled_from(["last", "all"]))
    tricks = hand + (stock // 2 if counts == "all" else 0)
    pay = draw(st.sampled_from(["win", "margin", "over_book", "over_book"]))
    optional: dict[str, Any] = {}
    if draw(st.booleans()):
        optional["race"] = draw(st.integers(1, tricks))
    if pay == "over_book":
        if draw(st.booleans()):
            optional["book"] = draw(st.integers(0, tricks))
        if draw(st.booleans()):
            optional["slam_pay"] = draw(st.integers(1, 12))
    return {
        "name": "drawn",
        "suits": suits,
        "ranks": ranks,
        "hand": hand,
        "stock": stock,
        "trumps": draw(st.sampled_from(["upcard", "none"])) if first_faced else "none",
        "contract": draw(st.sampled_from(["high", "low", "colour" if first_faced else "high"])),
        "counts": counts,
        "pay": pay,
        "face_up": draw(st.integers(1, 2)),
        "faced": faced,
        "choice": draw(st.booleans()),
        "exchange": exchange,
        **optional,
    }


def results(rules: ReferenceRules) -> list[tuple[int, int, int, list[int]]]:
    """Every end of a hand, by the plain rules: its contract, either player's tricks, the pays."""
    most = rules.race or rules.counting_tricks
    game = ReferenceGame(rules, rules.deck, 0)
    game.phase = "over"
    found = []
    for own, other in product(range(most + 1), repeat=2):
        ended = own + other == rules.counting_tricks or most in (own, other)
        if ended and own + other <= rules.counting_tricks and (own, other) != (rules.race,) * 2:
            for low in {"high": (0,), "low": (1,)}.get(rules.contract, (0, 1)):
                game.counting, game.low = [own, other], bool(low)
                found.append((low, own, other, game.payoffs()))
    return found
