"""What the arena must show: known win rates between known players, from fixed seeds."""

from __future__ import annotations

import pytest

from german_whist.evaluation import evaluate
from support import KEY

SEED = 20_260


@pytest.mark.parametrize(
    ("player", "opponent", "hands", "truth", "tolerance"),
    [
        ("threshold", "random-exact", 20_000, 0.833, 0.015),
        ("upcard-value", "threshold", 20_000, 0.50, 0.02),
        ("upcard-value:3", "threshold", 20_000, 0.41, 0.02),
        pytest.param("flat-mc:16", "threshold", 500, 0.597, 0.04, marks=pytest.mark.thorough),
    ],
)
def test_known_win_rates_are_found(
    player: str, opponent: str, hands: int, truth: float, tolerance: float
) -> None:
    found = evaluate(player, opponent, hands=hands, seed=SEED, key=KEY).pairings[0]
    assert found.hands == hands
    assert found.win_rate.value == pytest.approx(truth, abs=tolerance)


@pytest.mark.parametrize(
    "player", ["random", "threshold", "upcard-value", "flat-mc:3,voids,playout=counting"]
)
def test_an_agent_against_itself_wins_exactly_half(player: str) -> None:
    found = evaluate(player, player, hands=20, seed=SEED, key=KEY).pairings[0]
    assert found.win_rate.value == 0.5
    assert found.win_rate.margin_of_error > 0.1
    assert found.margin.value == 0
    assert found.stages[0].upcards == found.stages[1].upcards
