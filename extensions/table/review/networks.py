# pyright: strict
"""What networks thought of each decision of a hand: checkpoints side by side, beliefs, values.

Probabilities are those of the policy networks, in endings too. Beliefs are of the bundled belief
network; values of the bundled value network, and of the critics with which the checkpoints were
trained, from what each seat could know.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from german_whist.agents.base import Array
from german_whist.agents.checkpoints import CheckpointError, read_checkpoint
from german_whist.agents.checkpoints.bundled import BELIEF_WEIGHTS, VALUE_WEIGHTS
from german_whist.agents.networks.belief import read_belief_network, view_beliefs
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.networks.search_networks import covers_rules
from german_whist.agents.networks.value import SAMPLES, read_value_network, sampled_values
from german_whist.engine.cards import cards_of
from german_whist.engine.dtypes import SEATS, VIEW
from german_whist.engine.game import Game
from german_whist.engine.records import GameRecord
from german_whist.engine.rules import Rules
from german_whist.engine.sampling.determinizations import sample_determinizations
from german_whist.training.rollout.critic_values import critic_values

from ..text import words
from .analysis import WIN
from .replay import player_names

_LEAST = 1e-9


class PolicyChoice(Struct):
    """A policy's probabilities of the legal actions, and their entropy in nats."""

    probabilities: list[float]
    entropy: float


class NetworkDecision(Struct):
    """A decision: each policy's choice, and the first one's divergence from the second in nats."""

    n: int
    actions: list[int]
    policies: list[PolicyChoice]
    kl: float | None
    belief: dict[str, float]
    """The probability of each card that the player had not seen to be in the opponent's hand."""


class SeatValue(Struct):
    """What a seat could expect at a decision."""

    n: int
    who: int
    expected: float
    """Mean over hands that the opponent may hold."""
    spread: float | None
    """Standard deviation over these hands; None where the network does not see them."""
    actual: float | None
    """The value with the cards as they lay; None where the network does not see them."""


class ValueCurve(Struct):
    """The values of one network over a hand, for both seats."""

    name: str
    """The name of the checkpoint whose critic it is; empty for the value network."""
    unit: str
    """`win %`, or the reward that the critic expects."""
    values: list[SeatValue]


class Continuation(Struct):
    """The rest of the hand as one policy plays it for both players."""

    name: str
    actions: list[int]
    result: str


class NetworkReview(Struct):
    """A hand as the networks saw it."""

    names: list[str]
    decisions: list[NetworkDecision]
    curves: list[ValueCurve]
    first_difference: int | None
    """The first decision at which the policies' most probable cards differ."""
    continuations: list[Continuation]


def review_networks(
    record: GameRecord, policies: Sequence[NetworkAgent], names: Sequence[str] = ()
) -> NetworkReview:
    """Review a finished hand; `names` of the policies, if they are not those of their files."""
    views, legal = policy_inputs(record)
    probabilities = [policy.network_probabilities(views) for policy in policies]
    beliefs = _beliefs(record.rules, views)
    decisions = [
        _decision(n, legal[n], [probs[n] for probs in probabilities], beliefs[n])
        for n in range(len(views))
    ]
    first_difference = _first_difference([policy.probabilities(views) for policy in policies])
    files = [policy.name for policy in policies]
    names = list(names) or [words.display_name(name, files) for name in files]
    curves = [_value_curve(record), *map(partial(_critic_curve, record), names, policies)]
    continuations: list[Continuation] = []
    if first_difference is not None:
        for name, policy in zip(names, policies, strict=True):
            continuations.append(_continuation(record, first_difference, name, policy))
    return NetworkReview(
        names=names,
        decisions=decisions,
        curves=[curve for curve in curves if curve is not None],
        first_difference=first_difference,
        continuations=continuations,
    )


def policy_inputs(record: GameRecord) -> tuple[Array, list[list[int]]]:
    """The view of the player to move at each decision, and the legal actions."""
    game = record.start()
    views, legal = np.zeros(len(record.actions), VIEW), list[list[int]]()
    for n, action in enumerate(record.actions):
        view = game.view()
        views[n] = view.array[0]
        legal.append([int(action) for action in view.legal()])
        game.play(action)
    return views, legal


def _decision(
    n: int, actions: list[int], probabilities: list[Array], belief: dict[str, float]
) -> NetworkDecision:
    choices = [np.maximum(probs[actions].astype(float), _LEAST) for probs in probabilities]
    kl = None
    if len(choices) > 1:
        first, second = choices[:2]
        kl = round(float((first * np.log(first / second)).sum()), 4) + 0.0
    return NetworkDecision(n, actions, list(map(_choice, choices)), kl, belief)


def _choice(probabilities: Array) -> PolicyChoice:
    entropy = -float((probabilities * np.log(probabilities)).sum())
    return PolicyChoice([round(float(p), 4) for p in probabilities], round(entropy, 4) + 0.0)


def _first_difference(probabilities: list[Array]) -> int | None:
    cards = [probs.argmax(axis=1) for probs in probabilities]
    differs = np.any([other != cards[0] for other in cards[1:]], axis=0)
    return int(np.argmax(differs)) if np.any(differs) else None


def _continuation(record: GameRecord, n: int, name: str, policy: NetworkAgent) -> Continuation:
    game = record.start()
    for action in record.actions[:n]:
        game.play(action)
    actions: list[int] = []
    while not game.over:
        action = int(policy.probabilities(np.array(game.view().array))[0].argmax())
        actions.append(action)
        game.play(action)
    return Continuation(name, actions, _result(record, game))


def _result(record: GameRecord, game: Game) -> str:
    low = record.rules.contract != "high" and game.low
    return words.result(game.counting_tricks, game.payoffs, player_names(record), low)


def _beliefs(rules: Rules, views: Array) -> list[dict[str, float]]:
    if not covers_rules(BELIEF_WEIGHTS, rules):
        return [{} for _ in views]
    beliefs = view_beliefs(rules, views, read_belief_network(BELIEF_WEIGHTS, rules))
    unseen = views["unseen"] | views["opponent_known"]
    return [
        {str(card): round(float(belief[card]), 3) for card in cards_of(int(cards))}
        for belief, cards in zip(beliefs, unseen.tolist(), strict=True)
    ]


def _value_curve(record: GameRecord) -> ValueCurve | None:
    """The value network's values before each trick."""
    rules = record.rules
    if not covers_rules(VALUE_WEIGHTS, rules):
        return None
    net, game, values = read_value_network(VALUE_WEIGHTS, rules), record.start(), list[SeatValue]()
    for n, action in enumerate(record.actions):
        if game.phase == "lead":
            for seat in range(SEATS):
                view = np.array(game.view(seat).array)
                payoffs = sampled_values(rules, view, np.array([action]), net)[0]
                values.append(_seat_value(n, seat, 50 + 50 * payoffs, None))
        game.play(action)
    return ValueCurve("", WIN, values)


def _critic_curve(record: GameRecord, name: str, policy: NetworkAgent) -> ValueCurve | None:
    """The values of a checkpoint's critic at each decision that its training had.

    None without a critic, or if the policy's file is gone or holds other weights by now.
    """
    if not policy.checkpoints:
        return None
    try:
        checkpoint = read_checkpoint(policy.path)
    except CheckpointError:
        return None
    if checkpoint.card.sha256 != policy.card.sha256:
        return None
    card = checkpoint.card
    if card.network.kind == "module" or card.network.critic is None or card.horizon == "match":
        return None  # what a custom network's critic reads is the network's own affair
    wins, oracle = card.reward == "win", card.network.critic == "oracle"
    foreplay = policy.card.horizon == "foreplay"  # `auto` is resolved there
    game, values = record.start(), list[SeatValue]()
    for n, action in enumerate(record.actions):
        view = game.view()
        if foreplay and view.stock_left == 0:
            break
        games = sample_determinizations(view, SAMPLES if oracle else 1, method="voids")
        games = np.concatenate([np.array(game.array), games])
        returns = critic_values(checkpoint, record.rules, np.array(view.array), games)
        returns = 50 + 50 * returns if wins else returns
        values.append(_seat_value(n, view.seat, returns[1:], returns[0] if oracle else None))
        game.play(action)
    return ValueCurve(name, WIN if wins else card.reward, values)


def _seat_value(n: int, who: int, values: Array, actual: float | None) -> SeatValue:
    spread = round(float(values.std()), 2) if len(values) > 1 else None
    shown = None if actual is None else round(float(actual), 2)
    return SeatValue(n, who, round(float(values.mean()), 2), spread, shown)
