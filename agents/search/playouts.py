"""Playing a whole deal on by the rules of thumb, for the searches: their look into the future.

Searches sample deals that fit a view, play a card in them and ask `play_out` what the hand
pays in the end: the rest of the foreplay by `threshold` for both players, then the exact
worth of the ending. What has no exact ending is played to the last card by the rule.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.bitset import NO_CARDS
from ...common.jit.compiler import jit, pasted
from ...engine.dtypes import CHOOSE, EXCHANGE, FOLLOW, NO_CARD, OVER
from ...engine.endgame import Scratch, Tables
from ...engine.play import Record, faced_count, legal, pay, play, stock_card, stock_left
from ...engine.view import write_position
from ..heuristic.counting import counting_action
from ..heuristic.threshold import exchanged, rule_of_thumb
from .leaf_values import ending_worth, is_ending


@jit
def thumb_in_game(rules: Record, game: Record) -> int:
    """What the rules of thumb play for the player to move."""
    phase = np.int64(game.phase)
    if phase == EXCHANGE:
        seat = np.int64(game.turn)
        # The other has shown nothing but the card that was turned up.
        unseen = rules.deck & ~(game.hand[seat] | game.known[1 - seat])
        return exchanged(game.hand[seat], unseen, np.int64(game.trump), game.low == 1)
    left = stock_left(rules, game)
    count = faced_count(rules, np.int64(game.trick), left)
    upper = np.int64(stock_card(rules, game, 0)) if count > 0 else NO_CARD
    lower = np.int64(stock_card(rules, game, 1)) if count > 1 else NO_CARD
    led = np.int64(game.led_cards[game.trick]) if phase == FOLLOW else NO_CARD
    cards = legal(rules, game) if phase != CHOOSE else NO_CARDS
    return rule_of_thumb(
        rules, phase, cards, led, upper, lower, left, np.int64(game.trump), game.low == 1
    )


@jit
def counting_in_game(rules: Record, game: Record, view: Record) -> int:
    """What the counting player plays for the player to move; `view` is room to look."""
    write_position(rules, game, np.int64(game.turn), view)
    return counting_action(rules, view)


@pasted
def play_out(
    rules: Record, known: Tables, scratch: Scratch, game: Record, seat: int, counting: bool,
    view: Record,
) -> int:  # fmt: skip
    """Play the hand out, by the counting player or by the rules of thumb for both.

    Returns what it pays `seat` in the end; `view` is room for the counting player to look.
    """
    while game.phase != OVER:
        if is_ending(rules, game):
            worth = ending_worth(rules, known, scratch, game)
            return worth if game.leader == seat else -worth
        if counting:
            play(rules, game, counting_in_game(rules, game, view))
        else:
            play(rules, game, thumb_in_game(rules, game))
    return pay(rules, game, seat)
