"""`counting` keeps what is worth keeping, and beats both simpler rules."""

from __future__ import annotations

import pytest

from german_whist.evaluation import evaluate
from support import KEY


def win_rate(other: str, hands: int, rules: str = "classic") -> float:
    found = evaluate("counting", other, rules, hands=hands, seed=8, key=KEY).pairings[0]
    return found.win_rate.value


@pytest.mark.parametrize("other", ["threshold", "value:13"])
def test_counting_beats_the_simpler_rules(other: str) -> None:
    assert win_rate(other, 8000) > 0.57


@pytest.mark.parametrize("rules", ["all-margin", "colour", "no-trump", "open-stock", "draft"])
def test_counting_holds_its_own_under_other_rules(rules: str) -> None:
    assert win_rate("threshold", 2000, rules) > 0.5
