"""`counting` keeps what is worth keeping, and beats both simpler rules."""

from __future__ import annotations

import pytest
from duels import win_rate


@pytest.mark.parametrize("other", ["threshold", "value:13"])
def test_counting_beats_the_simpler_rules(other: str) -> None:
    assert win_rate("counting", other, 4000, seed=8) > 0.57


@pytest.mark.parametrize("rules", ["all-margin", "colour", "no-trump", "open-stock", "draft"])
def test_counting_holds_its_own_under_other_rules(rules: str) -> None:
    assert win_rate("counting", "threshold", 1000, seed=8, rules=rules) > 0.5
