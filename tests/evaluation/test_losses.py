"""The best response to a policy as an agent, and the policy's loss in each information set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from german_whist import exploitability, load_agent, load_rules
from german_whist.engine.rules import Rules
from german_whist.evaluation.exploitability import exact
from german_whist.evaluation.exploitability.action_probabilities import strategy_of
from german_whist.solvers.best_response import strategy_value
from german_whist.solvers.game_tree import GameTree, Level

pytestmark = pytest.mark.usefixtures("few_checked_hands")

DECK = "2x4-h2"
SMALL = load_rules({"name": "one suit", "suits": 1, "ranks": 6, "hand": 2})
"""Every play of it is soon walked."""


@pytest.fixture(scope="module")
def threshold() -> Any:
    return exploitability("threshold", DECK, details=True)


@pytest.fixture(scope="module")
def losses(threshold: Any) -> Any:
    """In words, which take a while to write."""
    return threshold.losses()


def check_total(result: Any, losses: Any, decisions: int) -> None:
    total = (losses["reach"] * losses["loss"]).sum()
    assert total == pytest.approx(result.exploitability, abs=1e-6)
    assert total == pytest.approx(losses["cost"].sum())
    # So often each player decides for the stock in every hand.
    assert losses["reach"].sum() == pytest.approx(decisions, abs=1e-6)


def test_losses_by_reach_add_up_to_the_exploitability(threshold: Any, losses: Any) -> None:
    check_total(threshold, losses, 2)
    mixture = exploitability(["threshold", "random-exact"], SMALL, weights=[1, 3], details=True)
    check_total(mixture, mixture.losses(), 1)


@pytest.mark.parametrize(
    ("name", "deck"),
    [
        ("threshold", SMALL),
        ("random-exact", SMALL),
        # With a second trick for the stock.
        pytest.param("threshold", load_rules(DECK), marks=pytest.mark.thorough),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_best_response_wins_what_is_stated(name: str, deck: Rules) -> None:
    result, tree = exploitability(name, deck, details=True), GameTree.of(deck, dealer=1)
    policy = strategy_of(load_agent(name, deck), tree)
    response = strategy_of(result.best_response, tree)
    won = strategy_value(tree, response, policy), -strategy_value(tree, policy, response)
    assert won == pytest.approx([result.against_dealer, result.against_leader], abs=1e-6)


def test_loss_is_what_one_better_card_wins() -> None:
    """The costliest decision of the leader, against a plain sum over all histories behind it."""
    result, tree = exploitability("threshold", SMALL, details=True), GameTree.of(SMALL, dealer=1)
    losses = result.losses()
    at = int(np.flatnonzero((losses["seat"] == "leader") & (losses["trick"] == 1))[0])
    policy, response = (
        strategy_of(agent, tree) for agent in (load_agent("threshold", SMALL), result.best_response)
    )
    view = result.details.views[at]
    level: Level = tree.levels[0]
    (index,) = [k for k, each in enumerate(level.views) if each.tobytes() == view.tobytes()]
    deals = np.flatnonzero(level.info_states == index)
    assert losses["reach"][at] == pytest.approx(len(deals) / tree.deals / 2, rel=1e-5)
    # After this decision the best response plays on, and elsewhere too: only this one differs.
    first = [each.copy() for each in response]
    first[0] = response[0].copy()
    first[0][index] = policy[0][index]
    better = strategy_value(tree, response, policy) - strategy_value(tree, first, policy)
    assert losses["cost"][at] == pytest.approx(better / 2, abs=1e-7)
    assert better > 0


def test_losses_are_columns_that_pandas_reads(threshold: Any, losses: Any) -> None:
    frame = pd.DataFrame(losses)
    assert frame["cost"].is_monotonic_decreasing
    worst = frame.iloc[0]
    assert worst["card"] != worst["best_card"]
    assert (worst["probability"], worst["best_probability"]) == (1, 0)
    assert worst["view"].startswith("hand ")
    pd.testing.assert_frame_equal(pd.DataFrame(threshold.losses(3)), frame.head(3))
    later = frame[frame["trick"] == 2]["view"]
    assert later.str.contains("trick 1: led by").all()
    assert set(frame["seat"]) == {"leader", "dealer"}
    # No two information sets read alike.
    assert not frame.duplicated(["seat", "view"]).any()


def test_equilibrium_gives_nothing_away() -> None:
    nash = exploitability("nash", DECK, details=True)
    losses = nash.losses()
    check_total(nash, losses, 2)
    assert losses["cost"].sum() < 1e-3
    mixed = losses["probability"] < 0.99
    assert losses["cost"][mixed].max() < 1e-4


def test_details_need_the_public_tree() -> None:
    with pytest.raises(ValueError, match="random by the rules 2x4-h2 has no losses to show"):
        exploitability("random", DECK, details=True)
    with pytest.raises(ValueError, match="no details: measure with details=True"):
        exploitability("threshold", DECK).losses()


def test_details_of_too_many_information_sets_are_refused_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact, "_MAX_DETAILS", 18_983)
    monkeypatch.setattr(exact, "_Player", None)  # no agent is asked before
    with pytest.raises(ValueError, match="2x4-h2 has 18,984 information sets, and details list at"):
        exploitability("threshold", DECK, details=True)


def test_command_writes_the_losses(tmp_path: Path, whist: Any) -> None:
    path = tmp_path / "losses.csv"
    told = whist("exploitability", "threshold", "--rules", DECK, "--losses", str(path)).out
    frame = pd.read_csv(path)
    assert f"wrote {path}: {len(frame):,} situations" in told
    assert frame["cost"].sum() == pytest.approx(0.134524, abs=1e-5)
