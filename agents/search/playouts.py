"""Playouts of flat Monte Carlo: a determinization played on by a rule player for both seats.

`play_out` returns what the hand pays in the end: the rest of the foreplay is played by
`threshold` or `counting`, and the ending has its exact value. What has no exact ending is
played to the last card by the rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS
from ...common.jit.compiler import inline_ir, jit
from ...engine.dtypes import CHOOSE, EXCHANGE, FOLLOW, NO_CARD, OVER
from ...engine.endgame import Scratch, Tables
from ...engine.play import Record, legal, n_faced, pay, play, row, stock_card, stock_left
from ...engine.view import write_position
from ..heuristic.counting import counting_action
from ..heuristic.threshold import Situation, exchanged, rule_of_thumb
from .leaf_values import ending_worth, is_ending


class Playouts(NamedTuple):
    """How determinizations are played on, and one thread's buffers for it."""

    tables: Tables
    scratch: Scratch
    counting: bool
    """Whether the counting player plays on, or the rules of thumb."""
    views: np.ndarray
    """Buffer of one view, for the counting player."""


@jit
def _rule_of_thumb_in_game(rules: Record, game: Record) -> int:
    """What the rules of thumb play for the player to move, read from the game without a view."""
    phase = np.int64(game.phase)
    if phase == EXCHANGE:
        seat = np.int64(game.turn)
        # The other has shown nothing but the card that was turned up.
        unseen = rules.deck & ~(game.hand[seat] | game.known_cards[1 - seat])
        return exchanged(game.hand[seat], unseen, np.int64(game.trump), game.low == 1)
    left = stock_left(rules, game)
    count = n_faced(rules, np.int64(game.trick), left)
    upper = np.int64(stock_card(rules, game, 0)) if count > 0 else NO_CARD
    lower = np.int64(stock_card(rules, game, 1)) if count > 1 else NO_CARD
    led = np.int64(game.led_cards[game.trick]) if phase == FOLLOW else NO_CARD
    cards = legal(rules, game) if phase != CHOOSE else NO_CARDS
    return rule_of_thumb(
        rules, Situation(phase, cards, led, upper, lower, left, np.int64(game.trump), game.low == 1)
    )


@inline_ir
def play_out(rules: Record, playouts: Playouts, game: Record, seat: int) -> int:
    """Play the hand out, by the same rule for both seats; returns what it pays `seat`."""
    while game.phase != OVER:
        if is_ending(rules, game):
            worth = ending_worth(rules, playouts.tables, playouts.scratch, game)
            return worth if game.leader == seat else -worth
        if playouts.counting:
            view = row(playouts.views, 0)
            write_position(rules, game, np.int64(game.turn), view)
            play(rules, game, counting_action(rules, view))
        else:
            play(rules, game, _rule_of_thumb_in_game(rules, game))
    return pay(rules, game, seat)
