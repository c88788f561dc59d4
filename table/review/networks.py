# pyright: strict
"""What networks thought of each decision of a hand: checkpoints side by side, beliefs, values.

Probabilities are those of the policy networks, in endings too. Beliefs and values are of the
bundled belief and value network, from what the player to move, or each seat, could know.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ...agents.base import Array
from ...agents.checkpoints.bundled import BELIEF_WEIGHTS, VALUE_WEIGHTS
from ...agents.networks.belief import read_belief_network
from ...agents.networks.policy import NetworkAgent
from ...agents.networks.search_networks import covers_rules
from ...agents.networks.value import read_value_network
from ...agents.networks.view_belief import view_beliefs
from ...agents.networks.view_value import sampled_values
from ...engine.cards import cards_of
from ...engine.dtypes import SEATS, VIEW
from ...engine.game import Game
from ...engine.records import GameRecord
from ...engine.rules import Rules
from ..text import words
from ..text.words import action_symbol
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
    """What a seat could expect from the hand before a trick, and its spread over hidden hands."""

    n: int
    who: int
    expected: float
    spread: float


class Continuation(Struct):
    """The rest of the hand as one policy plays it for both players."""

    name: str
    cards: list[str]
    result: str


class NetworkReview(Struct):
    """A hand as the networks saw it."""

    names: list[str]
    decisions: list[NetworkDecision]
    values: list[SeatValue]
    parted: int | None
    """The first decision at which the policies' most probable cards differ."""
    continuations: list[Continuation]


def review_networks(record: GameRecord, policies: Sequence[NetworkAgent]) -> NetworkReview:
    """Review a finished hand."""
    views, legal = _views(record)
    probabilities = [policy.network_probabilities(views) for policy in policies]
    beliefs = _beliefs(record.rules, views)
    decisions = [
        _decision(n, legal[n], [probs[n] for probs in probabilities], beliefs[n])
        for n in range(len(views))
    ]
    parted = _first_difference([policy.probabilities(views) for policy in policies])
    return NetworkReview(
        names=[policy.name for policy in policies],
        decisions=decisions,
        values=_values(record),
        parted=parted,
        continuations=[]
        if parted is None
        else [_continuation(record, parted, policy) for policy in policies],
    )


def _views(record: GameRecord) -> tuple[Array, list[list[int]]]:
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


def _continuation(record: GameRecord, n: int, policy: NetworkAgent) -> Continuation:
    game = record.start()
    for action in record.actions[:n]:
        game.play(action)
    cards: list[str] = []
    while not game.over:
        action = int(policy.probabilities(np.array(game.view().array))[0].argmax())
        cards.append(action_symbol(action))
        game.play(action)
    return Continuation(policy.name, cards, _result(record, game))


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


def _values(record: GameRecord) -> list[SeatValue]:
    """Both seats' values before each trick, in per cent where a hand is only won or lost."""
    rules = record.rules
    if not covers_rules(VALUE_WEIGHTS, rules):
        return []
    net, game, values = read_value_network(VALUE_WEIGHTS, rules), record.start(), list[SeatValue]()
    for n, action in enumerate(record.actions):
        if game.phase == "lead":
            for seat in range(SEATS):
                view = np.array(game.view(seat).array)
                payoffs = sampled_values(rules, view, np.array([action]), net)[0]
                values.append(
                    SeatValue(
                        n=n,
                        who=seat,
                        expected=round(50 + 50 * float(payoffs.mean()), 2),
                        spread=round(50 * float(payoffs.std()), 2),
                    )
                )
        game.play(action)
    return values
