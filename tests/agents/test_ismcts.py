"""`ismcts` beats the rules of thumb, by far more than chance."""

from __future__ import annotations

from german_whist.training.arena import evaluate


def test_ismcts_beats_the_rules_of_thumb() -> None:
    found = evaluate("ismcts:200", "threshold", hands=400, seed=8).pairings[0]
    assert found.win_rate.value > 0.55
