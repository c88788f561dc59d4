"""`counting` keeps what is worth keeping, and beats both simpler rules."""

from __future__ import annotations

import pytest
from test_base import play_all

from german_whist.agents import make_agent


@pytest.mark.parametrize("other", ["threshold", "value:13"])
def test_counting_beats_the_simpler_rules(other: str) -> None:
    counting, opponent = make_agent("counting"), make_agent(other)
    n = 2000
    _, first = play_all((counting, opponent), "classic", n, seed=8)
    _, second = play_all((opponent, counting), "classic", n, seed=8)
    assert ((first > 0).mean() + (second < 0).mean()) / 2 > 0.57


@pytest.mark.parametrize("rules", ["all-margin", "colour", "no-trump", "open-stock", "draft"])
def test_counting_holds_its_own_under_other_rules(rules: str) -> None:
    counting, opponent = make_agent("counting", rules), make_agent("threshold", rules)
    n = 300
    _, first = play_all((counting, opponent), rules, n, seed=8)
    _, second = play_all((opponent, counting), rules, n, seed=8)
    assert first.mean() - second.mean() > 0
