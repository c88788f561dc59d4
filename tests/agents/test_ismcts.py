"""`ismcts` beats the rules that it plays worlds out with."""

from __future__ import annotations

from test_base import play_all

from german_whist.agents import make_agent


def test_ismcts_beats_the_counting_player() -> None:
    search, counting = make_agent("ismcts:400"), make_agent("counting")
    n = 60
    _, first = play_all((search, counting), "classic", n, seed=8)
    _, second = play_all((counting, search), "classic", n, seed=8)
    assert ((first > 0).mean() + (second < 0).mean()) / 2 > 0.5
