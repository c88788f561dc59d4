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
        ("suits", 4, "number of suits, as that many ones from the first place on"),
        ("ranks", 13, "number of ranks, as that many ones"),
        ("hand", MAX_TRICKS, "number of cards in a hand, as that many ones"),
        ("stock", MAX_TRICKS, "number of tricks played for the stock, as that many ones"),
        ("set_aside", 1, "1 if some cards stay out of play and are never seen"),
        (
            "trumps",
            1,
            "1 if the first card that is turned up decides trumps, 0 if there are no trumps",
        ),
        (
            "contract",
            len(CONTRACTS),
            "one-hot: the most tricks win (high), the fewest tricks win (low), or the color of the "
            "first upcard decides which (colour)",
        ),
        ("counts_all", 1, "1 if all tricks count, also those for the stock"),
        (
            "pay",
            len(PAYS),
            "what a win pays, one-hot: one point (win), the difference of tricks (margin), or the "
            "tricks above a fixed number, the *book* (over_book)",
        ),
        (
            "book",
            MAX_TRICKS,
            "the book, that is, the number of tricks that pay nothing, as that many ones; zeros "
            "unless `pay` is over_book",
        ),
        (
            "slam_pay",
            _PAY_BITS,
            "points for taking all counting tricks (a slam), as a binary number with the lowest "
            "bit first; zero without such a bonus",
        ),
        ("two_faced", 1, "1 if two cards of the stock lie face up together"),
        (
            "faced",
            len(FACED),
            "when stock cards lie face up, one-hot: at every trick, from the second trick on, "
            "never",
        ),
        ("choice", 1, "1 if the winner of a trick chooses which stock card to take"),
        (
            "race",
            MAX_TRICKS,
            "number of tricks that ends a race, as that many ones; zeros without a race",
        ),
        ("exchange", 1, "1 if players may exchange their hand for a blind one"),
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
