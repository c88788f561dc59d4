# pyright: strict
"""Hands of an evaluation to look at: of the worst deals, and with the least likely cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import cast

import numpy as np
from msgspec import Struct

from german_whist.agents.networks.policy import NetworkAgent
from german_whist.engine.records import GameRecord

from .networks import NetworkReview, policy_inputs, review_networks
from .replay import Replay, make_replay

MOST = 12
MAX_HANDS = 2000


class NotableHand(Struct):
    """A hand, what networks think of it, and why it was chosen."""

    number: int
    """Its place among the hands that were played, from 1."""
    deal_payoff: int
    """The agent's payoff of this deal from both seats."""
    step: int
    """The decision whose card the policy thought least likely, before all cards are open."""
    probability: float | None
    """The policy's probability of that card; None without a policy."""
    replay: Replay
    networks: NetworkReview


def notable_hands(
    records: Sequence[GameRecord], agent: str, policy: NetworkAgent | None, most: int = MOST
) -> list[NotableHand]:
    """The hands of an agent's worst deals, worst first, then those with the least likely cards.

    Of each kind there are at most `most`, among the agent's first 2,000 hands. Those against
    itself, in which it wins what it loses, are left out.
    """
    numbers = [n for n, record in enumerate(records) if opponent_of(record, agent) is not None]
    numbers = numbers[:MAX_HANDS]
    deals = Counter[Hashable]()
    for number in numbers:
        record = records[number]
        deals[_deal(record, agent)] += record.payoffs[_seat(record, agent)]
    payoffs = {number: deals[_deal(records[number], agent)] for number in numbers}
    surprises = {number: _least_likely(records[number], policy) for number in numbers}
    worst = sorted(numbers, key=lambda n: (payoffs[n], _margin(records[n], agent)))[:most]
    unlikely = sorted(numbers, key=lambda number: surprises[number][1])[:most]
    notable = dict.fromkeys([*worst, *(unlikely if policy is not None else ())])
    return [
        NotableHand(
            number=number + 1,
            deal_payoff=payoffs[number],
            step=surprises[number][0],
            probability=None if policy is None else round(surprises[number][1], 4),
            replay=make_replay(records[number]),
            networks=review_networks(records[number], [] if policy is None else [policy]),
        )
        for number in notable
    ]


def opponent_of(record: GameRecord, agent: str) -> str | None:
    """Whom an agent meets in a hand; None if it is not there, or meets itself."""
    players = record.meta.get("players")
    if not isinstance(players, list):
        return None
    others = [str(player) for player in cast("list[object]", players) if player != agent]
    return others[0] if len(others) == 1 and agent in players else None


def _seat(record: GameRecord, agent: str) -> int:
    return cast("list[str]", record.meta["players"]).index(agent)


def deal_of(record: GameRecord) -> Hashable:
    """What the two hands of a deal, with the seats exchanged, have in common."""
    return record.rules, record.seed, record.number, record.deal


def _deal(record: GameRecord, agent: str) -> Hashable:
    return deal_of(record), opponent_of(record, agent)


def _margin(record: GameRecord, agent: str) -> int:
    own, tricks = _seat(record, agent), record.counting_tricks
    return tricks[own] - tricks[1 - own]


def _least_likely(record: GameRecord, policy: NetworkAgent | None) -> tuple[int, float]:
    """The decision with the least likely card before all cards are open, and its probability."""
    if policy is None:
        return 0, 1.0
    views, _ = policy_inputs(record)
    closed = views[views["stock_left"] > 0] if views["stock_left"].any() else views
    probabilities = policy.network_probabilities(closed)
    played = probabilities[np.arange(len(closed)), record.actions[: len(closed)]]
    return int(played.argmin()), float(played.min())
