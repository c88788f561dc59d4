"""What decisions cost over many hands: added up by player, stage and trick, with intervals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from scipy import stats

from german_whist import Game, GameRecord, record_of, write_records
from german_whist.agents import Player
from german_whist.cli import main
from german_whist.table.review.accuracy import Accuracy, Cost, accuracy
from german_whist.table.review.analysis import AnalysisSettings, analyse

RULES = {"name": "small", "suits": 3, "ranks": 8, "hand": 6, "pay": "margin"}
QUICK = AnalysisSettings("flat-mc:10")


def hands(count: int) -> list[GameRecord]:
    """Ada plays at random, Bob by rule and endings perfectly; they change seats."""
    found = []
    players = Player("random", RULES), Player("threshold", RULES)
    for number in range(count):
        game = Game(RULES)
        game.deal(5, number)
        first = number % 2
        while not game.over:
            seat = game.turn or 0
            game.play(players[(seat + first) % 2].choose(game.view(), number))
        names = ["Ada", "Bob"] if not first else ["Bob", "Ada"]
        found.append(record_of(game, {"players": names}))
    return found


@pytest.fixture(scope="module")
def records() -> list[GameRecord]:
    return hands(6)


@pytest.fixture(scope="module")
def found(records: list[GameRecord]) -> Accuracy:
    return accuracy(records, QUICK)


def cost_of(found: Accuracy, player: str, stage: str, trick: int | None = None) -> Cost:
    (one,) = [
        each
        for each in found.costs
        if (each.player, each.stage, each.trick) == (player, stage, trick)
    ]
    return one


def test_costs_are_those_of_the_hands_added_up(found: Accuracy, records: list[GameRecord]) -> None:
    wanted: dict[int, list[float]] = {}
    for record in records:
        seat = record.meta["players"].index("Ada")
        costs = [
            each.cost
            for each in analyse(record, QUICK).decisions
            if each.who == seat and each.stage == "endgame" and len(each.cards) > 1
        ]
        wanted[len(wanted)] = costs
    every = [cost for costs in wanted.values() for cost in costs]
    ada = cost_of(found, "Ada", "endgame")
    mean = sum(every) / len(every)
    assert (ada.decisions, ada.cost) == (len(every), pytest.approx(mean, abs=1e-4))
    apart = [sum(costs) - mean * len(costs) for costs in wanted.values()]
    error = math.sqrt(sum(each**2 for each in apart) * 6 / 5) / len(every)
    assert ada.half_width is not None
    # Six hands: their spread is known so badly that 1.96 standard errors are too few.
    assert ada.half_width == pytest.approx(stats.t.ppf(0.975, 5) * error, abs=1e-3)
    tricks = [each for each in found.costs if each.player == "Ada" and each.stage == "endgame"][1:]
    assert sum(each.decisions for each in tricks) == ada.decisions
    assert sum(each.decisions * each.cost for each in tricks) == pytest.approx(sum(every), abs=0.01)


def test_who_plays_endings_perfectly_makes_no_mistakes_there(found: Accuracy) -> None:
    bob = cost_of(found, "Bob", "endgame")
    assert (bob.cost, bob.mistakes, bob.half_width) == (0, 0, 0)
    assert bob.accuracy == 100
    ada = cost_of(found, "Ada", "endgame")
    assert ada.mistakes > 0
    assert ada.accuracy is not None
    assert ada.accuracy < 100


def test_a_single_hand_has_no_interval(
    records: list[GameRecord], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hands.jsonl"
    write_records(path, records)
    assert main(["analyse", str(path), "--hands", "1", "--search", "flat-mc:8"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert len(rows) == 4
    assert all(" ± – " in row for row in rows)
    (ada, bob) = (cost_of(accuracy(records[:1], QUICK), name, "endgame") for name in ("Ada", "Bob"))
    assert (ada.half_width, bob.half_width) == (None, None)


def test_the_command_tells_and_writes(
    records: list[GameRecord], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "hands.jsonl", tmp_path / "costs.json"
    write_records(path, records)
    words = ["--hands", "2", "--search", "flat-mc:8", "--json", str(out)]
    assert main(["analyse", str(path), *words]) == 0
    told = capsys.readouterr().out
    assert told.startswith("2 hands, valued by flat-mc:8; what a decision costs, in pay:")
    assert len([line for line in told.splitlines() if line.startswith(("Ada", "Bob"))]) == 4
    assert json.loads(out.read_text(encoding="utf-8"))["hands"] == 2
    assert main(["analyse", str(path), *words, "--tricks"]) == 0
    assert "  trick 1" in capsys.readouterr().out
    assert main(["analyse", str(path), "--hands", "0"]) == 2
    assert main(["analyse", str(tmp_path / "none.jsonl")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_hands_that_are_paid_in_other_ways_are_not_added_up(records: list[GameRecord]) -> None:
    game = Game({**RULES, "name": "other", "pay": "win"}, seed=1)
    while not game.over:
        game.play(game.legal()[0])
    with pytest.raises(ValueError, match="which cannot be added up"):
        accuracy([records[0], record_of(game)], QUICK)
    with pytest.raises(ValueError, match="no hands to analyse"):
        accuracy([])
