"""What tells rule sets apart for a network: told of every field, each in its place, for good."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from rule_parameters import parameters

from german_whist import RulesError
from german_whist.engine.observation.rule_features import RULE_SPEC, rule_features
from german_whist.engine.rules import load_rules


@given(parameters(), parameters())
def test_vectors_differ_exactly_where_games_do(one: dict[str, Any], other: dict[str, Any]) -> None:
    try:
        first, second = load_rules(one), load_rules(other)
    except RulesError:
        return
    # A book that is not told is half of the tricks.
    alike = first.same_game(second) or first.array() == second.array()
    assert (rule_features(first).tolist() == rule_features(second).tolist()) == bool(alike)


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ("classic", "suits", [1, 1, 1, 1]),
        ("classic", "trumps", [1]),
        ("classic", "book", [0] * 26),
        ("quick", "ranks", [1] * 8 + [0] * 5),
        ("quick", "hand", [1] * 10 + [0] * 16),
        ("quick", "stock", [1] * 6 + [0] * 20),
        ("no-trump", "trumps", [0]),
        ("no-trump", "faced", [0, 1, 0]),
        ("colour", "contract", [0, 0, 1]),
        ("all-tricks", "counts_all", [1]),
        ("club-last", "pay", [0, 0, 1]),
        ("club-last", "book", [1] * 6 + [0] * 20),
        ("club-last", "slam_pay", [0, 1, 0, 1] + [0] * 10),
        ("open-stock", "two_faced", [1]),
        ("draft", "choice", [1]),
        ("race-7", "race", [1] * 7 + [0] * 19),
        ("race-7", "exchange", [0]),
        ("humbug", "exchange", [1]),
        ("humbug", "set_aside", [1]),
    ],
)
def test_each_figure_stands_in_its_place(rules: str, name: str, expected: list[int]) -> None:
    features = rule_features(load_rules(rules))
    assert features[RULE_SPEC.slice(name)].tolist() == expected


def test_places_are_kept_for_networks_that_read_them() -> None:
    starts = {group.name: group.start for group in RULE_SPEC.groups}
    assert starts == {
        "suits": 0,
        "ranks": 4,
        "hand": 17,
        "stock": 43,
        "set_aside": 69,
        "trumps": 70,
        "contract": 71,
        "counts_all": 74,
        "pay": 75,
        "book": 78,
        "slam_pay": 104,
        "two_faced": 118,
        "faced": 119,
        "choice": 122,
        "race": 123,
        "exchange": 149,
    }
    assert RULE_SPEC.size == 150
