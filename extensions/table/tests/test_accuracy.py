"""Mean costs of decisions over many hands, by player, stage and trick, with intervals."""

from __future__ import annotations

import json
import math

import pytest
from scipy import stats

from german_whist import Game, GameRecord, record_of, write_records
from german_whist.agents import Player
from german_whist.table.review.accuracy import Accuracy, Cost, accuracy
from german_whist.table.review.analysis import AnalysisSettings, analyze
from support import random_hand

RULES = {"name": "small", "suits": 3, "ranks": 8, "hand": 6, "pay": "margin"}
QUICK = AnalysisSettings("flat-mc:10")
N_HANDS = 6


@pytest.fixture(scope="module")
def records() -> list[GameRecord]:
    """Ada plays at random, Bob by rule and endings perfectly; they change seats."""
    records = []
    players = Player("random", RULES), Player("threshold", RULES)
    for number in range(N_HANDS):
        game = Game(RULES)
        game.deal(5, number)
        first = number % 2
        while not game.over:
            seat = game.turn or 0
            game.play(players[(seat + first) % 2].choose(game.view(), number))
        names = ["Bob", "Ada"] if first else ["Ada", "Bob"]
        records.append(record_of(game, {"players": names}))
    return records


@pytest.fixture(scope="module")
def result(records: list[GameRecord]) -> Accuracy:
    return accuracy(records, QUICK)


def endgame_cost(result: Accuracy, player: str) -> Cost:
    (cost,) = (
        cost
        for cost in result.costs
        if (cost.player, cost.stage, cost.trick) == (player, "endgame", None)
    )
    return cost


def test_costs_are_those_of_the_hands_added_up(result: Accuracy, records: list[GameRecord]) -> None:
    hands = [
        [
            decision.cost
            for decision in analyze(record, QUICK).decisions
            if decision.who == record.meta["players"].index("Ada")
            and decision.stage == "endgame"
            and len(decision.cards) > 1
        ]
        for record in records
    ]
    costs = [cost for hand in hands for cost in hand]
    ada, mean = endgame_cost(result, "Ada"), sum(costs) / len(costs)
    assert (ada.decisions, ada.cost) == (len(costs), pytest.approx(mean, abs=1e-4))
    residuals = [sum(hand) - mean * len(hand) for hand in hands]
    variance = sum(residual**2 for residual in residuals) * N_HANDS / (N_HANDS - 1)
    # Student's t: the spread of six hands is itself uncertain.
    margin_of_error = stats.t.ppf(0.975, N_HANDS - 1) * math.sqrt(variance) / len(costs)
    assert ada.margin_of_error == pytest.approx(margin_of_error, abs=1e-3)
    tricks = [cost for cost in result.costs if cost.player == "Ada" and cost.stage == "endgame"][1:]
    assert sum(trick.decisions for trick in tricks) == ada.decisions
    assert sum(trick.decisions * trick.cost for trick in tricks) == pytest.approx(
        sum(costs), abs=0.01
    )


def test_hands_of_one_deal_are_one_observation(result: Accuracy, records: list[GameRecord]) -> None:
    """Hands that are played alike from both seats tell no more than one of them."""
    once, twice = endgame_cost(result, "Ada"), endgame_cost(accuracy(records * 2, QUICK), "Ada")
    assert twice.decisions == 2 * once.decisions
    assert (twice.cost, twice.margin_of_error) == (once.cost, once.margin_of_error)


def test_perfect_endings_have_no_mistakes(result: Accuracy) -> None:
    bob, ada = endgame_cost(result, "Bob"), endgame_cost(result, "Ada")
    assert (bob.cost, bob.mistakes, bob.margin_of_error, bob.accuracy) == (0, 0, 0, 100)
    assert ada.mistakes > 0
    assert ada.accuracy is not None
    assert ada.accuracy < 100


def test_the_command_prints_and_writes(records: list[GameRecord], tmp_path, whist) -> None:
    path, out = tmp_path / "hands.jsonl", tmp_path / "costs.json"
    write_records(path, records)
    # A single hand has no interval.
    quick = ["analyze", path, "--search", "flat-mc:8", "--hands"]
    rows = whist(*quick, 1).out.splitlines()[2:]
    assert len(rows) == 4
    assert all(" ± – " in row for row in rows)
    single = accuracy(records[:1], QUICK)
    assert [endgame_cost(single, name).margin_of_error for name in ("Ada", "Bob")] == [None, None]
    words = [*quick, 2, "--json", out]
    text = whist(*words).out
    heading = "2 hands, the foreplay probably, by flat-mc:8; cost of a decision in pay:"
    assert text.startswith(heading)
    assert len([line for line in text.splitlines() if line.startswith(("Ada", "Bob"))]) == 4
    assert json.loads(out.read_text(encoding="utf-8"))["hands"] == 2
    assert "  trick 1" in whist(*words, "--tricks").out
    assert whist(*quick, 0, status=2)
    assert "cannot be read" in whist("analyze", tmp_path / "none.jsonl", status=2).err


def test_hands_that_are_paid_in_other_ways_are_not_added_up(records: list[GameRecord]) -> None:
    other = random_hand({**RULES, "name": "other", "pay": "win"})
    with pytest.raises(ValueError, match="which cannot be added up"):
        accuracy([records[0], other], QUICK)
    with pytest.raises(ValueError, match="no hands to analyze"):
        accuracy([])
