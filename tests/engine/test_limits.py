"""Numbers that are read hold to their limits: the last that is good is taken, the next is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from german_whist.engine.game import Game
from german_whist.engine.records import GameRecord, RecordError, record_of
from german_whist.engine.rules import Match, Rules, RulesError
from support import played_out

# A rule set in which each parameter reaches its limit, and what else it needs there.
REACHED: dict[str, list[tuple[int, dict[str, Any]]]] = {
    "suits": [(1, {"hand": 4, "stock": 4}), (4, {})],
    "ranks": [(1, {"hand": 1, "stock": 2}), (13, {})],
    "hand": [(1, {"stock": 50}), (26, {"stock": 0, "trumps": "none"})],
    "stock": [(0, {"trumps": "none"}), (50, {"hand": 1})],
    "book": [(0, {"pay": "over_book"}), (26, {"pay": "over_book", "counts": "all", "slam_pay": 1})],
    "slam_pay": [(1, {"pay": "over_book"}), (10_000, {"pay": "over_book"})],
    "face_up": [(1, {}), (2, {})],
    "race": [(1, {"counts": "all"}), (26, {"counts": "all"})],
}


@pytest.mark.parametrize("name", REACHED)
def test_a_parameter_is_taken_up_to_its_limits_and_no_further(name: str) -> None:
    (least, at_least), (most, at_most) = REACHED[name]
    for value, more in ((least, at_least), (most, at_most)):
        assert getattr(Rules(**{name: value, **more}), name) == value
    for value, more in ((least - 1, at_least), (most + 1, at_most)):
        words = f"{name} is {value}: it has to be from {least} to {most}"
        if name == "stock" and value < 0:
            words = "stock is -1: a stock cannot be negative"
        with pytest.raises(RulesError, match=words):
            Rules(**{name: value, **more})


def test_matches_reach_from_one_to_ten_thousand() -> None:
    assert [Match(target=value).target for value in (1, 10_000)] == [1, 10_000]
    assert Match(best_of=9_999).best_of == 9_999
    for wrong in (0, 10_001):
        with pytest.raises(RulesError, match=f"target is {wrong}: .*from 1 to 10000"):
            Match(target=wrong)
        with pytest.raises(RulesError, match=f"best_of is {wrong}: .*from 1 to 10000"):
            Match(best_of=wrong)


def mapping_with(**changes: Any) -> dict[str, Any]:
    game = played_out(Game("classic", 5, match=Match(target=10_000)))
    mapping = record_of(game).as_mapping()
    mapping["match"] = mapping["match"] | changes
    return mapping


def refusal(mapping: dict[str, Any]) -> str:
    try:
        GameRecord.from_line(json.dumps(mapping))
    except RecordError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("name", "most", "value"),
    [
        ("hands", 60_000, lambda n: n),
        ("hands_won", 60_000, lambda n: [n, 0]),
        ("points", 1_000_000_000, lambda n: [0, n]),
    ],
)
def test_the_score_before_a_hand_is_taken_up_to_its_limit(name: str, most: int, value: Any) -> None:
    within = f"it has to be a whole number of at least 0 and at most {most}"
    assert within not in refusal(mapping_with(**{name: value(most)}))
    for beyond in (most + 1, -1):
        place = f"{name}[{value(beyond).index(beyond)}]" if name != "hands" else name
        assert refusal(mapping_with(**{name: value(beyond)})) == (
            f"the record: match.{place} is {beyond}: {within}"
        )


def test_pays_and_seeds_of_records_hold_to_their_limits() -> None:
    for payoffs, words in (
        ([-1_000_000_000, 0], "the result is recorded as"),
        ([1_000_000_000, 0], "the result is recorded as"),
        ([-1_000_000_001, 0], "the record: result.pays[0] is -1000000001: it has to be"),
        ([0, 1_000_000_001], "the record: result.pays[1] is 1000000001: it has to be"),
    ):
        mapping = mapping_with()
        mapping["result"]["pays"] = payoffs
        assert refusal(mapping).startswith(words)
    mapping = mapping_with()
    for seed, words in (
        (2**64 - 1, "is not in the hand of seat"),
        (2**64, f"seed is {2**64}: it has to be from 0"),
    ):
        mapping["seed"] = seed
        assert words in refusal(mapping)
