# pyright: reportArgumentType=false
"""Self-play hands of expert iteration, stored so that any network can be fitted to them.

One policy plays both seats of many hands in lockstep, with ε-random cards for exploration. A hand
is stored as its deal, the cards of the foreplay, the tricks with a random card, and the exact value
of the endgame.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from german_whist.agents.networks.mlp import MLPWeights
from german_whist.agents.networks.policy import (
    PolicyBuffers,
    PolicyNet,
    encode_policy_input,
    new_policy_buffers,
)
from german_whist.agents.networks.value import MAX_TRICKS
from german_whist.agents.sampling import masked_argmax
from german_whist.common.jit.compiler import jit
from german_whist.common.typing import Array
from german_whist.engine.bitset import ONE, nth_lowest, popcount
from german_whist.engine.cards import N_CARDS
from german_whist.engine.dtypes import GAME
from german_whist.engine.endgame import Scratch, Tablebase, load_tablebase, new_scratch, solve
from german_whist.engine.endgame.index import MAX_CARDS
from german_whist.engine.observation.suit_order import real_action
from german_whist.engine.play import Record, deal_numbered, legal, play, row, set_up
from german_whist.engine.rng import hash_with, random_below, random_fraction, stream_state
from german_whist.engine.rules import Rules
from german_whist.engine.view import write_position
from german_whist.training.rollout.networks import MLP
from german_whist.training.rollout.precision import has_bfloat16

MAX_PLAYS = 2 * MAX_TRICKS
BF16_ONE = np.int16(0x3F80)
"""The bits of 1.0 in bfloat16, a type that NumPy lacks."""

HAND = np.dtype(
    [
        ("random_tricks", "u4"),  # bit set of the tricks in which a card was random
        ("deal", "u1", (N_CARDS,)),
        ("dealer", "u1"),
        ("tricks", "i1"),  # endgame tricks of seat 0 with best play
        ("plays", "u1", (MAX_PLAYS,)),  # cards of the foreplay in order
    ]
)

SEARCHED_HAND = np.dtype([("hand", HAND), ("targets", "f4", (MAX_PLAYS, MAX_CARDS))])
"""A hand, and the search targets of the legal cards of each decision, lowest card first, or nan."""

_EXPLORATION = np.uint64(0x5712A7)


def check_hands(path: Path) -> None:
    """Refuse a file that does not hold hands, or not all of it."""
    try:
        kind = np.load(path, mmap_mode="r").dtype
    except (OSError, ValueError, EOFError):
        kind = None
    if kind not in (HAND, SEARCHED_HAND):
        raise ValueError(f"{path} is no whole file of hands: delete it, and they are played again")


def without_targets(hands: Array) -> Array:
    """Hands without their search targets, if they have any."""
    return np.ascontiguousarray(hands["hand"]) if hands.dtype == SEARCHED_HAND else hands


def bfloat16_inputs(inputs: Array) -> Tensor:
    """Inputs that hold the bits of bfloat16 numbers, as a tensor."""
    return torch.from_numpy(inputs).view(torch.bfloat16)


def evaluate_network(net: nn.Module, inputs: Tensor) -> Tensor:
    """Outputs in float32; matrices are multiplied in bfloat16 where the CPU can."""
    mixed = has_bfloat16()
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        return net(inputs if mixed else inputs.float()).float()


@torch.no_grad()
def torch_mlp(net: MLPWeights) -> MLP:
    """A compiled network as an MLP of torch, which is not trained."""
    mlp, start = MLP(net.sizes.tolist()).requires_grad_(False), 0
    for module in mlp.layers:
        layer = cast("nn.Linear", module)
        end = start + layer.in_features * layer.out_features
        columns = torch.from_numpy(net.weights[start:end]).view(-1, layer.out_features)
        layer.weight.copy_(columns.T)
        layer.bias.copy_(torch.from_numpy(net.weights[end : end + layer.out_features]))
        start = end + layer.out_features
    return mlp


class LockstepGames(NamedTuple):
    """Hands in lockstep, a row each."""

    games: np.ndarray
    hands: np.ndarray
    """Records of the type `HAND`."""
    streams: np.ndarray
    """Random streams."""


@jit
def deal_again(rules: Record, game: Record, hand: Record) -> None:
    """Start the game of a stored hand."""
    # Card by card: numba takes two seconds to compile an assignment of one array to another.
    for place in range(len(hand.deal)):
        game.deal[place] = hand.deal[place]
    set_up(rules, game, np.int64(hand.dealer))


@jit
def deal_all(rules: np.ndarray, lockstep: LockstepGames, seed: np.uint64, first: int) -> None:
    """Deal hands from number `first` of a seed, and start an exploration stream for each."""
    streams = lockstep.streams
    for index in range(len(lockstep.hands)):
        game, hand = row(lockstep.games, index), row(lockstep.hands, index)
        number = np.uint64(first + index)
        deal_numbered(row(rules, 0), game, seed, number, streams[index : index + 1])
        for place in range(len(hand.deal)):
            hand.deal[place] = game.deal[place]
        hand.dealer = game.dealer
        hand.random_tricks = 0
        streams[index] = stream_state(hash_with(seed, _EXPLORATION), number)


class PolicyInputs(NamedTuple):
    """A batch of a policy's inputs, a row per game, and the actions of its outputs."""

    inputs: np.ndarray
    """Bits of bfloat16 numbers."""
    masks: np.ndarray
    """Legal outputs as bit sets."""
    actions: np.ndarray
    """Action of each output, in the suit order of the row."""
    suit_orders: np.ndarray


def new_policy_inputs(net: PolicyNet, count: int) -> PolicyInputs:
    return PolicyInputs(
        np.zeros((count, len(net.inputs)), np.int16),
        np.zeros(count, np.uint64),
        np.zeros((count, net.layers.sizes[-1]), np.int64),
        np.zeros((count, 4), np.uint8),
    )


class BatchedPolicy(NamedTuple):
    """A policy, its buffers for one view, and a batch of inputs."""

    net: PolicyNet
    buffers: PolicyBuffers
    batch: PolicyInputs


@jit
def write_query(rules: Record, game: Record, queries: BatchedPolicy, index: int) -> None:
    """Write the inputs for the player to move into a row of the batch."""
    net, buffers, batch = queries.net, queries.buffers, queries.batch
    view = row(buffers.views, 0)
    write_position(rules, game, np.int64(game.turn), view)
    batch.masks[index] = encode_policy_input(
        rules,
        view,
        net,
        order=batch.suit_orders[index],
        action_map=batch.actions[index],
        observation=buffers.observation,
    )
    for k in range(len(net.inputs)):
        batch.inputs[index, k] = BF16_ONE if buffers.observation[net.inputs[k]] else 0


@jit
def write_queries(rules: np.ndarray, games: np.ndarray, queries: BatchedPolicy) -> None:
    for index in range(len(games)):
        write_query(row(rules, 0), row(games, index), queries, index)


@jit
def greedy_cards(logits: np.ndarray, batch: PolicyInputs, cards: np.ndarray) -> None:
    """Write the legal card with the largest logit of each row."""
    for index in range(len(cards)):
        best = masked_argmax(logits[index], batch.masks[index])
        cards[index] = real_action(batch.actions[index, best], batch.suit_orders[index])


@jit
def play_all(
    rules: np.ndarray, lockstep: LockstepGames, ply: int, cards: np.ndarray, epsilon: float
) -> None:
    """Play the chosen card in each game, or with probability `epsilon` a random one."""
    hands = lockstep.hands
    for index in range(len(hands)):
        game, card = row(lockstep.games, index), cards[index]
        stream = lockstep.streams[index : index + 1]
        legal_cards = legal(row(rules, 0), game)
        if legal_cards & (legal_cards - ONE) and random_fraction(stream) < epsilon:
            card = nth_lowest(legal_cards, random_below(stream, popcount(legal_cards)))
            hands[index].random_tricks |= np.uint32(1) << np.uint32(game.trick)
        hands[index].plays[ply] = card
        play(row(rules, 0), game, card)


@jit
def solve_endgames(tablebase: Tablebase, scratch: Scratch, lockstep: LockstepGames) -> None:
    """Write the exact value of each endgame."""
    hands = lockstep.hands
    for index in range(len(hands)):
        game = row(lockstep.games, index)
        first, second = game.hand[0], game.hand[1]
        trump = np.int64(game.trump)
        if game.leader == 0:
            hands[index].tricks = solve(tablebase, scratch, first, second, trump)
        else:
            taken = solve(tablebase, scratch, second, first, trump)
            hands[index].tricks = popcount(first) - taken


class Lockstep(ABC):
    """Plays many hands in lockstep."""

    def __init__(self, rules: Rules, count: int) -> None:
        self.rules, self.games = rules.array(), np.zeros(count, GAME)
        self.streams = np.zeros(count, np.uint64)
        self.tablebase, self.scratch = load_tablebase(), new_scratch()

    def play(self, seed: int, first: int, epsilon: float) -> Array:
        """Play hands of a seed from number `first`."""
        hands = np.zeros(len(self.games), HAND)
        lockstep = LockstepGames(self.games, hands, self.streams)
        deal_all(self.rules, lockstep, np.uint64(seed), first)
        for ply in range(int(self.rules["stock"][0])):
            play_all(self.rules, lockstep, ply, self.choose(ply), epsilon)
        solve_endgames(self.tablebase, self.scratch, lockstep)
        return hands

    @abstractmethod
    def choose(self, ply: int) -> Array:
        """The next card of each hand, after `ply` cards."""


class PolicyPlayers(Lockstep):
    """A greedy policy in both seats."""

    def __init__(self, rules: Rules, policy: PolicyNet, count: int) -> None:
        super().__init__(rules, count)
        self.policy = torch_mlp(policy.layers)
        self.queries = BatchedPolicy(
            policy, new_policy_buffers(policy), new_policy_inputs(policy, count)
        )
        self.cards = np.zeros(count, np.int64)
        self.logits = np.zeros((count, policy.layers.sizes[-1]), np.float32)

    def choose(self, ply: int) -> Array:
        batch = self.queries.batch
        write_queries(self.rules, self.games, self.queries)
        self.logits = evaluate_network(self.policy, bfloat16_inputs(batch.inputs)).numpy()
        greedy_cards(self.logits, batch, self.cards)
        return self.cards
