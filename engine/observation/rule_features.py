"""Rule features: a rule set as a binary vector, for networks that play several sets.

`RULE_SPEC` is the index table by name. New groups are only added at its end, so that networks
keep their indices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dtypes import CONTRACTS, FACED, MAX_TRICKS, PAYS
from ..rules import Rules
from .spec import ObservationSpec

_PAY_BITS = 14

RULE_SPEC = ObservationSpec(
    1,
    [
        ("suits", 4, "the first n places for n suits of the deck"),
        ("ranks", 13, "the first n places for n ranks"),
        ("hand", MAX_TRICKS, "the first n places for n cards of a hand"),
        ("stock", MAX_TRICKS, "the first n places for n tricks that are played for the stock"),
        ("set_aside", 1, "cards are out of play that a player never sees"),
        ("trumps", 1, "the first card turned up makes trumps"),
        ("contract", len(CONTRACTS), f"the contract, one-hot: {', '.join(CONTRACTS)}"),
        ("counts_all", 1, "all tricks count, those for the stock too"),
        ("pay", len(PAYS), f"what a hand pays, one-hot: {', '.join(PAYS)}"),
        ("book", MAX_TRICKS, "by `over_book`, the first n places for n tricks that pay nothing"),
        ("slam_pay", _PAY_BITS, "what all tricks pay, a binary number, lowest bit first"),
        ("two_faced", 1, "two cards of the stock lie face up together"),
        ("faced", len(FACED), f"when the stock is faced, one-hot: {', '.join(FACED)}"),
        ("choice", 1, "the winner of a trick chooses which card to take"),
        ("race", MAX_TRICKS, "the first n places where so many tricks end the hand"),
        ("exchange", 1, "each player keeps the hand dealt, or takes a blind one"),
    ],
)


def rule_features(rules: Rules) -> npt.NDArray[np.int8]:
    """Binary vector of a rule set, indexed by `RULE_SPEC`."""
    counts = {
        "suits": rules.suits,
        "ranks": rules.ranks,
        "hand": rules.hand,
        "stock": rules.foreplay_tricks,
        "set_aside": rules.set_aside > 0,
        "trumps": rules.trumps == "upcard",
        "counts_all": rules.counts == "all",
        "book": rules.effective_book if rules.pay == "over_book" else 0,
        "two_faced": rules.face_up == 2,
        "choice": rules.choice,
        "race": rules.race or 0,
        "exchange": rules.exchange,
    }
    features = np.zeros(RULE_SPEC.size, np.int8)
    for name, count in counts.items():
        start = RULE_SPEC.group(name).start
        features[start : start + int(count)] = 1
    for name, place in (
        ("contract", CONTRACTS.index(rules.contract)),
        ("pay", PAYS.index(rules.pay)),
        ("faced", FACED.index(rules.faced)),
    ):
        features[RULE_SPEC.group(name).start + place] = 1
    slam = RULE_SPEC.slice("slam_pay")
    features[slam] = (rules.slam_pay or 0) >> np.arange(_PAY_BITS) & 1
    return features
