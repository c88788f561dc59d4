"""Every figure of a pairing is what its records add up to, counted again hand by hand."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import pytest

from german_whist import Match
from german_whist.engine.endgame import moves
from german_whist.engine.records import GameRecord
from german_whist.evaluation import Arena, ArenaConfig
from german_whist.evaluation.results import Pairing
from german_whist.evaluation.statistics import mean_estimate, win_rate_estimate

PLAYERS = ("random", "arena_players:Lowest")
HIGH = 10  # the rank of queens


@dataclass
class Hand:
    """One hand as player one sees it."""

    pair: int
    half: tuple[str, ...]
    score: float
    margin: int
    points: int
    led: bool
    won: list[bool] = field(default_factory=list)
    trumps: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    ending: int | None = None
    thrown: list[int] = field(default_factory=lambda: [0, 0])
    """Endgame tricks lost against perfect play, by me and by the other."""


def recounted(record: GameRecord, in_match: bool) -> Hand:
    """A record played again, by looking at the cards."""
    half = tuple(record.meta["players"])
    me = half.index(PLAYERS[0])
    game = record.start()
    sign = -1 if game.low else 1
    mine, theirs = record.counting_tricks[me], record.counting_tricks[1 - me]
    payoff = record.payoffs[me]
    hand = Hand(
        pair=record.number >> 16 if in_match else record.number,
        half=half,
        points=payoff,
        score=0.5 + 0.5 * (payoff > 0) - 0.5 * (payoff < 0),
        margin=sign * (mine - theirs),
        led=record.dealer != me,
    )
    counted = not record.rules.open_endgame or record.rules.race is not None
    for trick in record.tricks:
        lead = [game.hands[me], game.hands[1 - me]]
        assert game.turn is not None
        if not game.stock and not counted:
            counted = True
            worth = moves(game.hands, game.trump, game.turn, low=game.low).values()
            most = min(worth) if game.low else max(worth)
            taken = most if game.turn == me else record.rules.hand - most
            hand.ending = sign * (2 * taken - record.rules.hand)
        count = [sum(card.suit == game.trump for card in cards) for cards in lead]
        hand.trumps.append(count[0] - count[1])
        count = [sum(card.rank >= HIGH for card in cards) for cards in lead]
        hand.high.append(count[0] - count[1])
        for action in trick.actions:
            if hand.ending is not None:
                assert game.turn is not None
                leader = game.turn if game.led is None else 1 - game.turn
                worth = moves(game.hands, game.trump, leader, game.led, low=game.low)
                best = min(worth.values()) if game.low else max(worth.values())
                hand.thrown[game.turn != me] += abs(best - worth[action])
            game.play(action)
        hand.won.append(game.view(me).i_lead)
    return hand


def spread(x: dict[int, float], h: dict[int, float]) -> tuple[float, float]:
    """The ratio of two sums over pairs, and its standard error."""
    value, count = sum(x.values()) / sum(h.values()), len(x)
    rest = sum((x[pair] - value * h[pair]) ** 2 for pair in x)
    return value, sqrt(rest * count / (count - 1)) / sum(h.values())


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        *((name, None) for name in ("all-margin", "small-last", "colour", "race-9", "draft")),
        ("small-all", Match(target=6)),
        ("quick", Match(best_of=3)),
        ("colour", Match(target=3)),
    ],
    ids=str,
)
def test_a_pairing_is_what_its_records_add_up_to(rules: str, match: Match | None) -> None:
    lines: list[str] = []
    options: Any = {"hands": 24, "match": match, "seed": 4, "records": lines.append}
    config = ArenaConfig.of(PLAYERS, rules, **options)
    pairing = Arena(PLAYERS, [(0, 1)], config).play().pairings[0]
    hands = [recounted(GameRecord.from_line(line), match is not None) for line in lines]
    assert (pairing.hands, pairing.pairs) == (len(hands), 12)
    assert {hand.pair for hand in hands} == {*range(12)}
    sums: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    totals: dict[tuple[int, Any], float] = defaultdict(float)
    for hand in hands:
        sums["hands"][hand.pair] += 1
        for name in ("score", "margin", "points"):
            sums[name][hand.pair] += getattr(hand, name)
        by_points = match is not None and match.target
        totals[hand.pair, hand.half] += hand.points if by_points else 2 * hand.score - 1
    results = sums["score"]
    if match is not None:
        results = defaultdict(float)
        for (pair, _), total in totals.items():
            results[pair] += 0.5 + 0.5 * (total > 0) - 0.5 * (total < 0)
    win_rate, error = spread(results, dict.fromkeys(results, 2.0))
    assert flat(pairing.win_rate) == pytest.approx(flat(win_rate_estimate(win_rate, error, 12)))
    found = win_rate_estimate(*spread(sums["score"], sums["hands"]), 12, games=len(hands))
    assert flat(pairing.hand_win_rate) == pytest.approx(flat(found))
    for name in ("margin", "points"):
        value, error = spread(sums[name], sums["hands"])
        found = mean_estimate(value, error or math.inf, 11)
        assert flat(getattr(pairing, name)) == pytest.approx(flat(found))
    assert pairing.as_leader == pytest.approx(mean([each.score for each in hands if each.led]))
    assert pairing.as_dealer == pytest.approx(mean([each.score for each in hands if not each.led]))
    check_stages(pairing, hands, rules)


def flat(estimate: Any) -> list[float]:
    return [estimate.value, estimate.low, estimate.high]


def check_stages(pairing: Pairing, hands: list[Hand], rules: str) -> None:
    """The course of the hands, trick by trick, and what the foreplay won."""
    foreplay = {"small-last": 7, "small-all": 7, "quick": 6}.get(rules, 13)
    upcards = [sum(hand.won[:foreplay]) for hand in hands]
    other = [len(hand.won[:foreplay]) - won for hand, won in zip(hands, upcards, strict=True)]
    assert pairing.stages[0].upcards == pytest.approx(mean(upcards))
    assert pairing.stages[1].upcards == pytest.approx(mean(other))
    for trick in range(max(len(hand.won) for hand in hands)):
        came = [hand for hand in hands if len(hand.won) > trick]
        before = [hand for hand in hands if len(hand.won) > max(trick - 1, 0)]
        course = pairing.course
        assert course.tricks_won[trick] == pytest.approx(mean([hand.won[trick] for hand in came]))
        if trick:
            trumps = sum(hand.trumps[trick] for hand in came)
            high = sum(hand.high[trick] for hand in came)
            assert course.trumps[trick] == pytest.approx(trumps / len(before))
            assert course.high_cards[trick] == pytest.approx(high / len(before))
    endings = [hand.ending for hand in hands if hand.ending is not None]
    if endings:
        assert pairing.ending_margin == pytest.approx(mean([float(each) for each in endings]))
        for number, stage in enumerate(pairing.stages):
            thrown = mean([float(hand.thrown[number]) for hand in hands if hand.ending is not None])
            assert stage.thrown == pytest.approx(thrown) != 0
    else:
        assert pairing.ending_margin is None
