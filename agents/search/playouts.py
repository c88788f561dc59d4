# pyright: reportArgumentType=false
"""Playouts of flat Monte Carlo: a determinization played on by a rule-based agent for both seats.

`threshold` or `counting` plays the rest of the foreplay, and the ending has its exact value. A
hand without exact ending is played to the last card.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.compiler import inline_ir, jit
from ...engine.bitset import NO_CARDS
from ...engine.dtypes import CHOOSE, EXCHANGE, FOLLOW, NO_CARD, OVER
from ...engine.play import Record, legal, n_faced, payoff, play, row, stock_card, stock_left
from ...engine.view import write_position
from ..heuristic.counting import counting_action
from ..heuristic.threshold import Situation, choose_exchange, rule_of_thumb
from .leaf_values import ending_value, has_exact_value


@jit
def rule_of_thumb_in_game(rules: Record, game: Record) -> int:
    """The action of the rules of thumb for the player to move."""
    phase = np.int64(game.phase)
    if phase == EXCHANGE:
        seat = np.int64(game.turn)
        # The other has shown nothing but the card that was turned up.
        unseen = rules.deck & ~(game.hand[seat] | game.known_cards[1 - seat])
        return choose_exchange(game.hand[seat], unseen, np.int64(game.trump), game.low == 1)
    remaining = stock_left(rules, game)
    count = n_faced(rules, np.int64(game.trick), remaining)
    upper = np.int64(stock_card(rules, game, 0)) if count > 0 else NO_CARD
    lower = np.int64(stock_card(rules, game, 1)) if count > 1 else NO_CARD
    led = np.int64(game.led_cards[game.trick]) if phase == FOLLOW else NO_CARD
    cards = legal(rules, game) if phase != CHOOSE else NO_CARDS
    return rule_of_thumb(
        rules,
        Situation(
            phase=phase,
            legal=cards,
            led=led,
            upper=upper,
            lower=lower,
            stock_left=remaining,
            trump=np.int64(game.trump),
            low=game.low == 1,
        ),
    )


@inline_ir
def play_out(search: Any, game: Record, seat: int) -> int:
    """Play the hand out by a `FlatMcSearch`'s policy for both seats; returns `seat`'s payoff."""
    rules = row(search.rules, 0)
    while game.phase != OVER:
        if has_exact_value(rules, game):
            value = ending_value(rules, search.tablebase, search.scratch, game)
            return value if game.leader == seat else -value
        if search.counting:
            view = row(search.views, 0)
            write_position(rules, game, np.int64(game.turn), view)
            play(rules, game, counting_action(rules, view))
        else:
            play(rules, game, rule_of_thumb_in_game(rules, game))
    return payoff(rules, game, seat)
