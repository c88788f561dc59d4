"""Solved small decks as agents: cells of decisions, probabilities, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import rewrite_card

from german_whist.agents.base import CannotPlay, agent_key, decision_streams
from german_whist.agents.checkpoints import write_checkpoint
from german_whist.agents.checkpoints.schema import CheckpointCard, NetworkCard, Solution
from german_whist.agents.registry import load_agent
from german_whist.agents.tabular.nash import NashAgent
from german_whist.engine.enumerate_deals import all_deals
from german_whist.engine.game import Game
from german_whist.engine.rules import load_rules
from german_whist.solvers.public_tree import public_tree
from german_whist.solvers.view_cells import path_tables, write_cells

TWO_TRICKS = {"name": "two tricks", "suits": 3, "ranks": 2, "hand": 1}
THREE_SUITS = {"name": "three suits", "suits": 3, "ranks": 2, "hand": 2}


def every_decision(rules: Any) -> list[Any]:
    """Views of all decisions for the stock, over every deal and line of play."""
    views = []

    def on(game: Game) -> None:
        if game.over or not game.stock:
            return
        views.append(game.view().array)
        for action in game.legal():
            after = game.clone()
            after.play(action)
            on(after)

    for deal in all_deals(load_rules(rules)):
        game = Game(rules)
        game.deal_cards([int(card) for card in deal], 1)
        on(game)
    return views


@pytest.mark.parametrize("rules", [TWO_TRICKS, THREE_SUITS], ids=lambda rules: rules["name"])
def test_each_decision_has_cells_of_its_own_and_none_is_left(rules: dict[str, Any]) -> None:
    tree = public_tree(load_rules(rules))
    views = np.concatenate(every_decision(rules))
    cells = np.zeros((len(views), 52), np.int64)
    write_cells(path_tables(tree), views, cells)
    owners: dict[int, tuple[Any, ...]] = {}
    for view, view_cells in zip(views, cells, strict=True):
        legal = set(np.flatnonzero(view_cells >= 0).tolist())
        assert legal <= {card for card in range(52) if int(view["hand"]) >> card & 1}
        trump = int(view["trump"])
        # What both saw, with the hand; suits are told apart by their part alone.
        renamed = {trump: 0} | {s: s + (s < trump) for s in range(3) if s != trump}
        named = {card: renamed[card // 13] * 13 + card % 13 for card in range(39)}
        hand = sorted(named[c] for c in range(39) if int(view["hand"]) >> c & 1)
        upcards = [int(view["upcards"][0])]
        for trick in range(int(view["trick"])):
            draws = (int(view["my_draws"][trick]), int(view["opponent_draws"][trick]))
            won = bool(view["i_led"][trick + 1] if trick + 1 < view["trick"] else view["i_lead"])
            upcards.insert(trick, draws[0] if won else draws[1])
        played = [
            int(c)
            for part in ("led_cards", "followed_cards", "led")
            for c in np.atleast_1d(view[part])
            if c < 52
        ]
        public = tuple(named[card] for card in (*upcards, *played))
        for card in legal:
            info_set = (public, bool(view["i_lead"]), int(view["trick"]), tuple(hand), named[card])
            assert owners.setdefault(int(view_cells[card]), info_set) == info_set
    assert sorted(owners) == list(range(tree.size))


def test_shipped_decks_are_played_and_others_refused() -> None:
    for name in ("2x4-h2", "2x5-h3"):
        agent = load_agent("nash", name)
        game = Game(name, seed=1)
        while not game.over:
            view = game.view().array
            probs = agent.probabilities(view)[0]  # type: ignore[attr-defined]
            assert probs.sum() == pytest.approx(1)
            assert set(np.flatnonzero(probs).tolist()) <= set(game.legal())
            rng = decision_streams(agent_key(1), np.zeros(1), view)
            action = int(agent.act(view, rng)[0])
            assert probs[action] > 0
            game.play(action)
    assert NashAgent.plays(load_rules("2x4-h2"))
    assert not NashAgent.plays(load_rules("classic"))
    for rules, why in (
        ("classic", r"--rules 2x4-h2; .*german-whist rules. lists"),
        ("2x8-h6", "german-whist solve 2x8-h6` solves it"),
        ("race-7", "race"),
    ):
        with pytest.raises(CannotPlay, match=why):
            load_agent("nash", rules)


def test_what_is_no_solution_of_these_rules_is_told(tmp_path: Path) -> None:
    rules = load_rules(THREE_SUITS)
    size = public_tree(rules).size
    path = tmp_path / "mine"

    def write(size: int, *, solved: bool = True) -> None:
        network = NetworkCard(kind="table", inputs=(), hidden_sizes=(), cells=size)
        card = CheckpointCard(
            rules=(rules.as_mapping(),),
            network=network,
            actions=rules.actions,
            suit_order="raw",
            horizon="foreplay",
            solution=Solution(1, 0.1, 0.0) if solved else None,
        )
        write_checkpoint(path, {"cells": np.ones(size, np.uint8)}, card)

    write(size)
    assert load_agent(f"nash:{path}", rules).name == f"nash:{path}"
    with pytest.raises(CannotPlay, match="plays three suits, and not"):
        load_agent(f"nash:{path}", "2x4-h2")
    with pytest.raises(
        CannotPlay, match=r"mine-2: there is no solution: `german-whist solve three"
    ):
        load_agent(f"nash:{path}-2", rules)
    for folder in (tmp_path, "."):
        with pytest.raises(
            CannotPlay, match=r"is a folder: name a solution in it, as nash:.*three"
        ):
            load_agent(f"nash:{folder}", rules)
    write(size, solved=False)
    with pytest.raises(CannotPlay, match=r"mine.safetensors is no solution of a deck: .*`german"):
        load_agent(f"nash:{path}", rules)
    assert load_agent(f"network:{path}", rules).name == f"network:{path}"
    write(size - 1)
    with pytest.raises(CannotPlay, match=f"and three suits has {size:,}: make it anew"):
        load_agent(f"nash:{path}", rules)
    rewrite_card(path.with_suffix(".safetensors"), lambda fields: {**fields, "format": 9})
    with pytest.raises(CannotPlay, match="its format is 9, and this version reads format 4"):
        load_agent(f"nash:{path}", rules)
