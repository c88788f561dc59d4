"""Which places of the observation a network reads: those that tell it something in these games.

The observation has the same places for every rule set; most trainings use a part of
them. What is the same in every situation of a training, or follows from other
places by a sum, is left out of the network and of the trainer's buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...agents.networks.relative_ranks import SETS_IN_PLAY
from ...common.typing import Array
from ...engine.batch.config import Options
from ...engine.observation.layout import EXCHANGE_LAYOUT
from ...engine.observation.rule_features import rule_features

_SETS = ("own_hand", "upcards", "led", "played_by_me", "played_by_opponent", "opponent_known")


def features_of(options: Sequence[Options]) -> Array:
    """The places of the rule features that differ between the rule sets, in order."""
    features = np.array([rule_features(each.rules) for each in options])
    return np.flatnonzero((features != features[0]).any(axis=0))


def inputs_of_all(options: Sequence[Options], closed: bool = False) -> Array:
    """The places that a network reads of which there is something to see in any of the games."""
    return np.unique(np.concatenate([inputs_of(each, closed) for each in options]))


def inputs_of(options: Options, closed: bool = False) -> Array:
    """The places that a network for these options reads, in order.

    With closed ranks the unseen cards are read as well, since what was played does not
    tell their places then.
    """
    rules = options.rules
    whole = options.horizon != "foreplay"
    with_trumps = rules.trumps == "upcard"
    shown = options.layout == "trump-first"
    deck = [int(card) for card in rules.deck]
    counts_seen = whole or rules.counts == "all"
    counts = min(rules.counting_tricks, EXCHANGE_LAYOUT.group("tricks_me").size)
    taken: dict[str, list[int]] = dict.fromkeys(_SETS, deck)
    if closed:
        most = max(sum(card // 13 == suit for card in deck) for suit in range(rules.suits))
        moved = [13 * suit + rank for suit in range(rules.suits) for rank in range(13 - most, 13)]
        taken |= dict.fromkeys(SETS_IN_PLAY, moved)
    if rules.faced == "never" or rules.stock_cards == 0:
        del taken["upcards"]
    if with_trumps and not shown:
        taken["trumps"] = list(range(rules.suits))
    draws = EXCHANGE_LAYOUT.group("opponent_void").size // 4
    most = min(rules.foreplay_tricks, draws - 1) + 1
    taken["opponent_void"] = [
        draws * suit + count for suit in range(rules.suits) for count in range(most)
    ]
    taken["decision"] = [0, 2] if rules.choice else [0]
    if rules.choice:
        taken["leads"] = [0]
    taken["dealer"] = [0]
    if rules.contract == "colour":
        taken["contract"] = [1]
    taken["draws_left"] = list(range(rules.foreplay_tricks))
    if counts_seen:
        taken["tricks_me"] = list(range(counts))
        taken["tricks_opponent"] = list(range(counts))
    if rules.exchange:
        taken |= {"exchange": [0], "exchanged_me": [1], "exchanged_opponent": [1]}
        taken["laid_away"] = deck
        if rules.faced == "every":
            taken["turned"] = deck
    if options.horizon == "match":
        for name in ("match_needs_me", "match_needs_opponent"):
            taken[name] = list(range(EXCHANGE_LAYOUT.group(name).size))
    places = [
        EXCHANGE_LAYOUT.group(name).start + place
        for name, places in taken.items()
        for place in places
    ]
    return np.array(sorted(places), np.int64)
