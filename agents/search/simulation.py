"""What a thinker imagines: worlds drawn by beliefs, played on by a policy, judged by worth."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, lowest
from ...common.jit.compiler import jit, pasted
from ...engine.cards import ACTIONS_IN_ALL, CARDS_IN_ALL
from ...engine.dtypes import FOLLOW, GAME, LEAD
from ...engine.endgame import Scratch, Tables
from ...engine.endgame.index import MOST_CARDS
from ...engine.endgame.solver import scratch_here
from ...engine.play import Record, legal, play, row, stock_left
from ...engine.rules import Rules
from ...engine.sampling.determinizations import PLAN, draw_hand, plan_worlds, shuffled
from ...engine.view import write_position
from ..checkpoints.checkpoint import checkpoint_for, read_checkpoint
from ..networks.belief import (
    MOST_HIDDEN,
    MOST_KNOWN,
    draw_planned,
    odds_of,
    plan_any_hands,
    read_beliefs,
    write_known,
)
from ..networks.mlp import NO_LAYERS, Layers, Rows, new_rows, pass_rows
from ..networks.policy import Desk, PolicyNet, look, new_desk, ones_of, policy_net
from ..networks.value import MOST_PLACES, paid_on_average, pays_of, read_worth, write_game_places
from ..sampling import masked_argmax
from .leaf_values import open_last_trick, paid_at_ending

VOIDS = "voids"
"""In the place of a network of beliefs: nothing is believed but what failures to follow show."""
ROUND = 16
"""Worlds between two looks at which cards have fallen behind."""


class Minds(NamedTuple):
    """The networks that a search asks."""

    policy: PolicyNet
    worth: Layers
    beliefs: Layers
    guesses: bool
    """Whether worlds are drawn by the network of beliefs, or by failures to follow alone."""
    pays: np.ndarray
    """What each number of tricks in the ending pays, for the network of worth."""
    most: float
    """The most that a hand pays."""
    ahead: int
    """How many further tricks the policy plays out before a leaf is judged."""


def minds_of(
    rules: Rules, policy: Path, worth: Path | None, beliefs: str | Path, ahead: int
) -> Minds:  # fmt: skip
    """Networks by their paths, refused where they were not made for these rules."""
    net = policy_net(checkpoint_for(read_checkpoint(policy), rules))
    guesses = str(beliefs) != VOIDS
    return Minds(
        net,
        NO_LAYERS if worth is None else read_worth(worth, rules),
        read_beliefs(beliefs, rules) if guesses else NO_LAYERS,
        guesses,
        pays_of(rules),
        float(rules.most_pay),
        ahead,
    )


class Thoughts(NamedTuple):
    """What one thread needs to search in."""

    scratch: Scratch
    plans: np.ndarray
    desk: Desk
    games: np.ndarray
    """The world at hand, and room to play on in."""
    leaves: np.ndarray
    """What each card has led to in each world of a round."""
    asked: np.ndarray
    """Which of them wait for an answer of a network."""
    legal: np.ndarray
    orders: np.ndarray
    shown: np.ndarray
    replies: Rows
    judged: Rows
    guessed: Rows
    odds: np.ndarray
    """Of each unseen card to be in the other's hand."""
    ways: np.ndarray
    """How the hands that can be drawn weigh."""
    totals: np.ndarray
    """What each action came to in all worlds."""
    products: np.ndarray
    """Sums of products of the values of two cards, by their place among the legal ones."""
    cards: np.ndarray
    priors: np.ndarray
    weights: np.ndarray
    state: np.ndarray
    """How many cards, worlds so far, which cards are in question, as a set, and `THOROUGH`."""


COUNT, WORLDS, ACTIVE, THOROUGH = 0, 1, 2, 3
"""What the state holds; the last place says what becomes of cards that do not look good."""
DROPS, KEEPS, TRIES_ALL = 0, 1, 2
"""They are dropped, and so are all but one of equals; they are kept, but for those that the policy
rules out; all are tried."""


def new_thoughts(minds: Minds, thorough: int = DROPS) -> Thoughts:
    """Room to think in."""
    rows = ROUND * MOST_CARDS
    return Thoughts(
        scratch_here(),
        np.zeros(1, PLAN),
        new_desk(minds.policy),
        np.zeros(4, GAME),
        np.zeros(rows, GAME),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.uint64),
        np.zeros((rows, 4), np.uint8),
        np.zeros((rows, minds.policy.layers.sizes[-1]), np.int64),
        new_rows(minds.policy.layers, rows, len(minds.policy.inputs)),
        new_rows(minds.worth, rows, MOST_PLACES),
        new_rows(minds.beliefs, 1, MOST_KNOWN),
        np.zeros(CARDS_IN_ALL),
        np.zeros((ACTIONS_IN_ALL, MOST_HIDDEN + 1)),
        np.zeros(CARDS_IN_ALL),
        np.zeros((MOST_CARDS, MOST_CARDS)),
        np.zeros(MOST_CARDS, np.int64),
        np.zeros(MOST_CARDS),
        np.zeros(ROUND),
        np.array([0, 0, 0, thorough], np.int64),
    )


# -- worlds


@pasted
def guess(rules: Record, view: Record, minds: Minds, room: Thoughts) -> None:
    """Weigh the hands that the other may hold."""
    plan = row(room.plans, 0)
    plan_worlds(rules, view, not minds.guesses, plan)
    if not minds.guesses:
        return
    desk = room.desk
    at = np.zeros(4, np.int64)
    room.guessed.counts[0] = write_known(rules, view, desk.order, at, room.guessed.places[0])
    pass_rows(minds.beliefs, room.guessed, 1)
    odds_of(view, at, room.guessed.out[0], room.odds)
    plan_any_hands(view.unseen, np.int64(plan.hidden), room.odds, room.ways)


@pasted
def imagine(
    rules: Record, view: Record, minds: Minds, room: Thoughts, stream: np.ndarray, game: Record
) -> None:
    """Give the world at hand another hidden hand and another stock."""
    plan = row(room.plans, 0)
    if minds.guesses:
        held = draw_planned(view.unseen, np.int64(plan.hidden), room.odds, room.ways, stream)
    else:
        held = draw_hand(view, plan, stream)
    rest = np.zeros(CARDS_IN_ALL, np.uint8)
    count = shuffled(view.unseen & ~held, stream, rest)
    lay_out(rules, view, held, rest, count, game)


@jit
def lay_out(
    rules: Record, view: Record, held: np.uint64, rest: np.ndarray, count: int, game: Record
) -> None:
    """Give the world at hand this hidden hand, and these cards for the rest of its stock."""
    game.hand[1 - np.int64(view.seat)] = view.known | held
    hidden = 2 * np.int64(rules.hand) + np.int64(rules.stock) - count
    for place in range(count):
        game.deal[hidden + place] = rest[place]


# -- replies


@jit
def ask_in(rules: Record, minds: Minds, room: Thoughts, count: int, phase: int) -> int:
    """Ask the policy in the leaves of a phase that have a choice; returns how many were asked."""
    net, asked = minds.policy, 0
    view = row(room.desk.views, 0)
    for leaf in range(count):
        game = row(room.leaves, leaf)
        if game.phase != phase or not _goes_on(rules, game):
            continue
        cards = legal(rules, game)
        if cards & (cards - ONE) == NO_CARDS:
            continue
        write_position(rules, game, np.int64(game.turn), view)
        room.legal[asked] = look(
            rules, view, net, room.orders[asked], room.shown[asked], room.desk.observation
        )
        room.replies.counts[asked] = ones_of(
            room.desk.observation, net.inputs, room.replies.places[asked]
        )
        room.asked[asked] = leaf
        asked += 1
    pass_rows(net.layers, room.replies, asked)
    return asked


@jit
def _goes_on(rules: Record, game: Record) -> bool:
    """Whether imagined play goes on here: a trick is ended, but no last one for the stock begun."""
    return game.phase == FOLLOW or stock_left(rules, game) > 2


@jit
def real_card(room: Thoughts, asked: int, place: int) -> int:
    """The card that stands in this place of what the policy was shown."""
    card = room.shown[asked, place]
    return card + 13 * (np.int64(room.orders[asked, card // 13]) - card // 13)


@pasted
def _play_likeliest(rules: Record, minds: Minds, room: Thoughts, count: int, phase: int) -> None:
    """The policy's likeliest card in every leaf of a phase."""
    asked = ask_in(rules, minds, room, count, phase)
    for index in range(asked):
        best = masked_argmax(room.replies.out[index], room.legal[index])
        play(rules, row(room.leaves, room.asked[index]), real_card(room, index, best))
    if phase != FOLLOW:
        return
    for leaf in range(count):
        game = row(room.leaves, leaf)
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))


@jit
def play_out(rules: Record, minds: Minds, room: Thoughts, count: int) -> None:
    """The policy's reply to a card that was led, and what it plays in the tricks after."""
    for ply in range(1 + 2 * minds.ahead):
        _play_likeliest(rules, minds, room, count, LEAD if ply % 2 else FOLLOW)


# -- what leaves are worth


@pasted
def judge(
    rules: Record, known: Tables, minds: Minds, room: Thoughts, seat: int, count: int,
    worths: np.ndarray,
) -> None:  # fmt: skip
    """What `seat` is paid for each leaf, which all stand before a trick."""
    asked = 0
    for leaf in range(count):
        game = row(room.leaves, leaf)
        left = stock_left(rules, game)
        sign = 1.0 if game.leader == seat else -1.0
        if left == 0:
            worths[leaf] = paid_at_ending(rules, known, room.scratch, game, seat)
        elif left == 2:
            worths[leaf] = sign * open_last_trick(
                rules, known, room.scratch, room.leaves[leaf : leaf + 1], room.games[2:4],
                minds.most,
            )  # fmt: skip
        else:
            room.judged.counts[asked] = write_game_places(rules, game, room.judged.places[asked])
            room.asked[asked] = leaf
            asked += 1
    pass_rows(minds.worth, room.judged, asked)
    for index in range(asked):
        leaf = room.asked[index]
        worth = paid_on_average(room.judged.out[index], minds.pays)
        worths[leaf] = worth if room.leaves[leaf].leader == seat else -worth  # pyright: ignore[reportAttributeAccessIssue]
