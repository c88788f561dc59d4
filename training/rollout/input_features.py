"""Inputs of a network: the features of the observation that vary in its games.

The observation has the same features for every rule set, and a training uses a part of them. A
feature that is constant in a training, or the sum of other features, is left out of the network
and of the trainer's buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...agents.networks.relative_ranks import SETS_IN_PLAY
from ...common.typing import Array
from ...engine.batch.config import Options
from ...engine.observation.rule_features import rule_features
from ...engine.observation.spec import ALL, DECK, EXCHANGE_SPEC


def features_of(options: Sequence[Options]) -> Array:
    """Indices of the rule features in which the rule sets differ."""
    features = np.array([rule_features(option.rules) for option in options])
    return np.flatnonzero((features != features[0]).any(axis=0))


def inputs_of_all(options: Sequence[Options], relative_ranks: bool = False) -> Array:
    """Indices of the features that vary with any of the options."""
    return np.unique(np.concatenate([inputs_of(option, relative_ranks) for option in options]))


def inputs_of(options: Options, relative_ranks: bool = False) -> Array:
    """Indices of the features that vary with these options, ascending.

    With relative ranks, the unseen cards are no longer the complement of the others, so they are
    inputs too.
    """
    rules = options.rules
    deck = [int(card) for card in rules.deck]
    # The inputs within each group of features, counted from its start.
    offsets: dict[str, list[int]] = {}
    for group in EXCHANGE_SPEC.groups:
        if group.network_input == ALL:
            offsets[group.name] = list(range(group.size))
        elif group.network_input == DECK:
            offsets[group.name] = deck
    if relative_ranks:
        longest = max(sum(card // 13 == suit for card in deck) for suit in range(rules.suits))
        cards = [13 * suit + r for suit in range(rules.suits) for r in range(13 - longest, 13)]
        offsets |= dict.fromkeys(SETS_IN_PLAY, cards)
    if rules.faced == "never" or rules.stock_cards == 0:
        del offsets["upcards"]
    if rules.trumps == "upcard" and options.suit_order != "trump-first":
        offsets["trumps"] = list(range(rules.suits))
    draws = EXCHANGE_SPEC.group("opponent_void").size // 4
    max_draws = min(rules.foreplay_tricks, draws - 1)
    offsets["opponent_void"] = [
        draws * suit + count for suit in range(rules.suits) for count in range(max_draws + 1)
    ]
    offsets["decision"] = [0, 2] if rules.choice else [0]
    if rules.choice:
        offsets["leads"] = [0]
    if rules.contract == "colour":
        offsets["contract"] = [1]
    offsets["draws_left"] = list(range(rules.foreplay_tricks))
    if options.horizon != "foreplay" or rules.counts == "all":
        n_tricks = min(rules.counting_tricks, EXCHANGE_SPEC.group("tricks_me").size)
        offsets["tricks_me"] = offsets["tricks_opponent"] = list(range(n_tricks))
    if rules.exchange:
        offsets |= {"exchange": [0], "exchanged_me": [1], "exchanged_opponent": [1]}
        offsets["laid_away"] = deck
        if rules.faced == "every":
            offsets["turned"] = deck
    if options.horizon == "match":
        for name in ("match_needs_me", "match_needs_opponent"):
            offsets[name] = list(range(EXCHANGE_SPEC.group(name).size))
    return np.array(
        sorted(
            EXCHANGE_SPEC.group(name).start + offset
            for name, group in offsets.items()
            for offset in group
        ),
        np.int64,
    )
