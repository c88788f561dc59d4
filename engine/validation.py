"""Validation of game records from outside, by replay.

Compiled code trusts its records: a turn of 2 or a 27th trick would make it write into other games.
So each hand is replayed from its deal, every action is checked, and the result has to equal the
record byte for byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.jit.compiler import jit, warm_up
from ..common.typing import Array
from .bitset import ONE
from .cards import KEEP, N_ACTIONS, TAKE_BLIND, TAKE_HIDDEN
from .dtypes import CHOOSE, FOLLOW, GAME, LEAD, OVER, SEATS, TOOK_BLIND, UNDECIDED
from .play import Record, legal, new_match, play, row, set_up, stock_card
from .rules import Match, Rules, load_rules


def first_impossible(
    rules: Rules,
    match: Match | None,
    records: Array,
    *,
    foreplay: bool = False,
    stopped: bool = False,
) -> int:
    """Index of the first `GAME` record that play by the rules cannot reach; -1 for none.

    With `foreplay`, hands end where the endgame begins; with `stopped`, they may end anywhere.
    """
    warm_up("check of game records", "engine", _compile)
    size = len(rules.deck)
    # Records that can be dealt and replayed; everything else is compared below.
    possible = (records["dealer"] < SEATS) & (
        np.sort(records["deal"][:, :size], axis=1) == rules.deck
    ).all(axis=1)
    replayed = records.copy()
    _replay_all(rules.array(match), records, replayed, possible)
    possible &= score_is_possible(
        rules, match, *(records[name] - replayed[name].astype(np.int64) for name in _SCORE)
    )
    for name in _SCORE:
        replayed[name] = records[name]
    is_over = records["phase"] == OVER
    if stopped:
        replayed["phase"][is_over] = OVER
    if foreplay:
        in_ending = replayed["drawn"] == rules.stock_cards
        at_ending = in_ending & (replayed["phase"] == LEAD)
        at_ending &= replayed["trick"] == rules.foreplay_tricks
        possible &= is_over | ~in_ending
        replayed["phase"][is_over & at_ending] = OVER
    possible &= (_bytes(replayed) == _bytes(records)).all(axis=1)
    return -1 if possible.all() else int(possible.argmin())


# Fields that persist from hand to hand.
_SCORE = ("points", "hands_won", "hands")


def score_is_possible(
    rules: Rules, match: Match | None, points: Any, hands_won: Any, hands: Any
) -> Any:
    """Whether a match can have this score before a hand, for one score or arrays."""
    points, won = np.asarray(points), np.asarray(hands_won)
    possible = (won >= 0) & (points >= won) & (points <= won * rules.max_payoff)
    possible = possible.all(axis=-1) & (won.sum(axis=-1) <= hands)
    if match is None:
        return possible & (np.asarray(hands) == 0)
    if match.best_of is not None:
        return possible & (2 * won.max(axis=-1) <= match.best_of)
    most = points.max(axis=-1)
    return possible & ((most < match.target) | (points[..., 0] == points[..., 1]))


def _bytes(records: Array) -> Array:
    return records.view(np.uint8).reshape(len(records), GAME.itemsize)


@jit
def _recorded_action(rules: Record, game: Record, replayed: Record) -> int:
    trick = np.int64(replayed.trick)
    if replayed.phase == LEAD:
        return np.int64(game.led_cards[trick])
    if replayed.phase == FOLLOW:
        return np.int64(game.followed_cards[trick])
    if replayed.phase == CHOOSE:
        if game.took_second[trick] == 0:
            return stock_card(rules, replayed, 0)
        return TAKE_HIDDEN if rules.face_up == 1 else stock_card(rules, replayed, 1)
    return TAKE_BLIND if game.exchanged[replayed.turn] == TOOK_BLIND else KEEP


@jit
def _replay(rules: Record, game: Record, replayed: Record) -> None:
    new_match(replayed)
    for seat in range(2):
        replayed.exchanged[seat] = UNDECIDED
    set_up(rules, replayed, np.int64(game.dealer))
    while (
        replayed.trick != game.trick
        or replayed.played[0] != game.played[0]
        or replayed.played[1] != game.played[1]
        or replayed.exchanged[0] != game.exchanged[0]
        or replayed.exchanged[1] != game.exchanged[1]
    ):
        action = _recorded_action(rules, game, replayed)
        # No action is legal once the hand is over.
        if action >= N_ACTIONS or not (legal(rules, replayed) >> np.uint64(action)) & ONE:
            return
        play(rules, replayed, action)


@jit
def _replay_all(
    rules: np.ndarray, games: np.ndarray, copies: np.ndarray, dealt: np.ndarray
) -> None:
    for index in range(len(games)):
        if dealt[index]:
            _replay(row(rules, 0), row(games, index), row(copies, index))


def _compile() -> None:
    games = np.zeros(1, GAME)
    _replay_all(load_rules("classic").array(), games, games.copy(), np.zeros(1, np.bool_))
