"""`ismcts` beats the rules that it plays worlds out with."""

from __future__ import annotations

from duels import win_rate


def test_ismcts_beats_the_counting_player() -> None:
    assert win_rate("ismcts:300", "counting", 40, seed=8) > 0.5
