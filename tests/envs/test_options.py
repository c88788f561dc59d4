"""The options that every environment shares: what follows from them, and what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_parameters import parameters, results

from german_whist import Match, Rules, RulesError
from german_whist.engine.batch.config import AUTO, REWARDS, Options, options_from
from german_whist.engine.reference import RULE_SETS, ReferenceMatch, ReferenceRules
from support import EVERY_SET, engine_rules, plain_rules

MATCHES = [None, Match(target=1), Match(target=7), Match(best_of=1), Match(best_of=5)]

# What a hand leads to: what it pays seat 0, and what it is worth to it by a reward.
Result = tuple[int, float]


def worths(rules: ReferenceRules, reward: str) -> set[Result]:
    """Every result that a hand may have, by the plain rules, seen by seat 0."""
    found: set[Result] = set()
    for low, mine, others, (payoff, _) in results(rules):
        reached = rules.race is None or max(mine, others) >= rules.race
        margin = (others - mine) if low else (mine - others)
        won = int(np.sign(margin)) * reached
        worth = {"points": payoff, "win": won, "margin": margin * reached, "tricks": margin}
        found.add((payoff, float(worth[reward])))
    return found


def greatest_loss(rules: ReferenceRules, reward: str, match: Match | None) -> float | None:
    """The most that an episode can cost seat 0, over every course it may take; None without end."""
    hands = worths(rules, reward)
    if match is None:
        return -min(worth for _, worth in hands)
    if reward == "win":
        return 1.0
    if any(worth < 0 for payoff, worth in hands if not payoff):
        return None

    @cache
    def loss(mine: int, others: int) -> float:
        plain = ReferenceMatch(match.target, match.best_of)
        plain.totals = [mine, others]
        plain.hands_won = [mine, others]
        if plain.winner is not None:
            return 0.0
        return max(
            loss(mine + gain(payoff), others + gain(-payoff)) - worth
            for payoff, worth in hands
            if payoff
        )

    def gain(payoff: int) -> int:
        return (payoff if match.target is not None else 1) if payoff > 0 else 0

    return loss(0, 0)


def check_worst(rules: Rules, plain: ReferenceRules, reward: str, match: Match | None) -> None:
    expected = greatest_loss(plain, reward, match)
    horizon = "hand" if match is None else "match"
    if expected is None:
        with pytest.raises(ValueError, match=f"reward is '{reward}', but in a match .*'points'"):
            options_from(rules, reward=reward, horizon=horizon, match=match)
        return
    assert options_from(rules, reward=reward, horizon=horizon, match=match).max_loss >= expected


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("name", EVERY_SET)
def test_no_episode_costs_more_than_worst(name: str, reward: str) -> None:
    for match in MATCHES:
        check_worst(engine_rules(name), plain_rules(name), reward, match)


@settings(max_examples=100)
@given(values=parameters(), reward=st.sampled_from(REWARDS), match=st.sampled_from(MATCHES))
def test_nor_does_one_of_any_rules(values: Any, reward: str, match: Match | None) -> None:
    try:
        rules = Rules(**values)
    except RulesError:
        return
    check_worst(rules, ReferenceRules(**values), reward, match)


@pytest.mark.parametrize(
    ("rules", "reward", "match", "worst"),
    [
        ("classic", "points", None, 1),
        ("classic", "points", Match(target=25), 25),
        ("classic", "points", Match(best_of=5), 3),
        ("classic", "margin", Match(best_of=3), 26),
        ("classic", "tricks", Match(target=2), 26),
        ("margin", "points", None, 13),
        ("margin", "points", Match(target=10), 22),
        ("all-tricks", "tricks", None, 26),
        ("club-last", "points", None, 10),
        ("club-last", "points", Match(target=10), 19),
        ("club-last", "win", Match(target=10), 1),
        ("race-7", "points", Match(best_of=5), 3),
    ],
)
def test_worst_is_as_small_as_it_can_be(rules: str, reward: str, match: Any, worst: int) -> None:
    horizon = "hand" if match is None else "match"
    options = options_from(rules, reward=reward, horizon=horizon, match=match)
    assert options.max_loss == worst
    assert greatest_loss(RULE_SETS[rules], reward, match) == worst


def test_options_are_made_of_what_was_given() -> None:
    options = options_from("small-all", horizon="match", match=7, reward="tricks")
    assert isinstance(options, Options)
    assert options.match == Match(target=7)
    assert options_from("classic", horizon="match").match == Match(target=25)
    assert options_from("classic").match is None


@pytest.mark.parametrize("name", RULE_SETS)
def test_auto_is_the_foreplay_where_it_can_be_played(name: str) -> None:
    found = options_from(name, horizon=AUTO)
    try:
        assert found == options_from(name, horizon="foreplay")
    except ValueError:
        assert found == options_from(name, horizon="hand")
    assert (found.horizon == "hand") == (name in ("race-7", "race-9", "humbug"))
