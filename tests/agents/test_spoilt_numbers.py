"""NaN and infinity in a policy's output forfeit a hand, and in weights are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_views import act_on, selfplay_views
from checkpoints import network_card, network_weights, written
from safetensors.numpy import load_file

from german_whist import PolicyAgent, evaluate, network_inputs
from german_whist.agents.checkpoints import (
    CheckpointError,
    read_checkpoint,
    read_search_network_card,
    write_checkpoint,
)
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS, VALUE_WEIGHTS
from german_whist.agents.registry import load_agent
from german_whist.evaluation import EveryHandForfeited

NAN, INF = float("nan"), float("inf")


def logits_with(value: float, location: str) -> Any:
    """Policy that prefers low cards, with `value` at some logits."""

    def policy(observations: Any, masks: Any) -> Any:
        logits = -np.arange(52.0) - np.zeros(masks.shape)
        for row, legal in zip(logits, masks == 1, strict=True):
            places = np.flatnonzero(legal if location != "illegal" else ~legal)
            row[places if location == "all" else places[:1]] = value
        return logits

    return policy


@pytest.mark.parametrize(
    ("value", "location"),
    [(NAN, "all"), (NAN, "one"), (NAN, "illegal"), (INF, "one"), (INF, "all"), (-INF, "all")],
)
@pytest.mark.parametrize("sample", [False, True])
def test_logits_that_choose_nothing_are_refused(value: float, location: str, sample: bool) -> None:
    agent = PolicyAgent("classic", logits_with(value, location), sample=sample, name="mine")
    with pytest.raises(ValueError, match="mine answered with NaN or infinite logits in 8 of 8"):
        act_on(agent, selfplay_views(count=8)[0])


@pytest.mark.parametrize("sample", [False, True])
def test_minus_infinity_means_never(sample: bool) -> None:
    def high(observations: Any, masks: Any) -> Any:
        logits = np.full(masks.shape, -INF)
        for row, legal in zip(logits, masks == 1, strict=True):
            row[np.flatnonzero(legal)[-2:]] = 1.0
        return logits

    views = selfplay_views()[0]
    actions = act_on(PolicyAgent("classic", high, sample=sample), views)
    masks = network_inputs(views).masks
    choices = [np.flatnonzero(legal)[-2:].tolist() for legal in masks]
    assert all(action in two for action, two in zip(actions, choices, strict=True))


@pytest.mark.parametrize("value", [NAN, INF, 3.5])
def test_actions_that_are_no_whole_numbers_are_refused(value: float) -> None:
    agent = PolicyAgent("classic", lambda _, masks: np.full(len(masks), value), name="mine")
    with pytest.raises(ValueError, match=r"mine answered with the action .* an action is a whole"):
        act_on(agent, selfplay_views(count=8)[0])


@pytest.mark.parametrize("suit_order", ["raw", "trump-first"])
@pytest.mark.parametrize("action", [-1, -53, 52, 10**12, -(10**12)])
def test_actions_that_are_no_cards_stay_what_they_are(action: int, suit_order: str) -> None:
    agent = PolicyAgent(
        "classic", lambda _, masks: np.full(len(masks), action), suit_order=suit_order
    )
    assert (act_on(agent, selfplay_views(count=8)[0]) == action).all()


def test_a_policy_of_nans_forfeits_every_hand_and_says_why() -> None:
    for policy in (
        lambda _, masks: np.full(masks.shape, NAN),
        lambda _, masks: np.zeros((len(masks), 3)),
    ):
        agent = PolicyAgent("classic", policy, name="mine")
        with pytest.raises(EveryHandForfeited, match="ValueError: mine answered with ") as raised:
            evaluate(agent, "random-exact", hands=20)
        assert isinstance(raised.value.__cause__, ValueError)
        (pairing,) = raised.value.result.pairings
        (forfeit,) = pairing.forfeits
        assert (pairing.win_rate.value, forfeit.hands) == (0.0, 20)
        assert "ValueError: mine answered with " in forfeit.example


def test_weights_whose_outputs_may_be_infinite_are_no_checkpoint(tmp_path: Path) -> None:
    weights = {name: 1e20 * abs(array) for name, array in network_weights(432, 8, 52).items()}
    path = written(tmp_path / "huge", weights, network_card(np.arange(432), [8]))
    with pytest.raises(CheckpointError, match="so large that its outputs may become infinite"):
        read_checkpoint(path)
    assert read_checkpoint(FIRST_WEIGHTS).weights


def test_value_network_that_may_overflow_is_refused(tmp_path: Path) -> None:
    weights = {name: array * np.float32(1e15) for name, array in load_file(VALUE_WEIGHTS).items()}
    card = read_search_network_card(VALUE_WEIGHTS)
    path = write_checkpoint(tmp_path / "value", weights, card)
    with pytest.raises(CheckpointError, match="may become infinite"):
        load_agent(f"thinker:16,value={path}")


def test_one_row_of_nans_costs_that_hand_alone() -> None:
    def sometimes(observations: Any, masks: Any) -> Any:
        logits = -np.arange(52.0) - np.zeros(masks.shape)
        logits[observations[:, :3].all(axis=1)] = NAN
        return logits

    result = evaluate(PolicyAgent("classic", sometimes, name="mine"), "random-exact", hands=100)
    hands = sum(forfeit.hands for forfeit in result.pairings[0].forfeits)
    assert 0 < hands < 60
