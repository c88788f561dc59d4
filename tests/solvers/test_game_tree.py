"""Best responses over whole trees: right by OpenSpiel, by hand, and told by the command."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from checkpoints import network_card, network_weights, written

from german_whist.agents.base import OWN_POLICY, Agent, Array
from german_whist.agents.external.policies import CallableAgent
from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.engine.enumerate_deals import (
    all_deals,
    count_deals,
    count_first_views,
    deals_by_first_view,
)
from german_whist.engine.rules import load_rules
from german_whist.engine.view import action_masks
from german_whist.evaluation.exploitability.action_probabilities import strategy_of
from german_whist.evaluation.exploitability.exact import (
    agent_on_deck,
    exploitability_on_full_tree,
    measure_exploitability,
)
from german_whist.solvers.best_response import best_response_value, strategy_value
from german_whist.solvers.combinatorics import subsets
from german_whist.solvers.game_tree import GameTree, check_size, fits_in_parts
from german_whist.solvers.public_tree_traversal import PublicTreeTraversal

pytestmark = pytest.mark.usefixtures("few_checked_hands")

DECK = "2x4-h2"
SMALL: dict[str, Any] = {"name": "small", "suits": 2, "ranks": 3, "hand": 2, "stock": 2}
EXCHANGE: dict[str, Any] = {"name": "one", "suits": 1, "ranks": 5, "hand": 1, "exchange": True}
TWO = EXCHANGE | {"name": "two", "suits": 2, "ranks": 4, "hand": 2}
SETS = pytest.mark.parametrize("rules", [SMALL, EXCHANGE], ids=["stock", "exchange"])


@pytest.mark.parametrize(
    ("rules", "count"),
    [
        (SMALL, 15 * 6 * 2),
        (EXCHANGE, 5 * 4 * 3 * 2),
        (TWO, 28 * 15 * 6 * 2),
        (TWO | {"trumps": "none", "faced": "never"}, 28 * 15 * 6),
    ],
)
def test_every_deal_is_listed_once(rules: dict[str, Any], count: int) -> None:
    loaded = load_rules(rules)
    deals = all_deals(loaded)
    assert len(deals) == count_deals(loaded) == count
    assert len(np.unique(deals, axis=0)) == len(deals)
    assert (np.sort(deals, axis=1) == sorted(int(card) for card in loaded.deck)).all()


@pytest.mark.parametrize("name", ["random", "random-exact", "threshold"])
@pytest.mark.parametrize("pay", ["win", "margin"])
@SETS
def test_a_best_response_wins_at_least_what_others_do(
    rules: dict[str, Any], name: str, pay: str
) -> None:
    loaded = load_rules({**rules, "pay": pay})
    tree = GameTree.of(loaded, dealer=1)
    plays = strategy_of(load_agent(name, loaded), tree)
    for other in ("random", "threshold"):
        others = strategy_of(load_agent(other, loaded), tree)
        assert best_response_value(tree, 0, plays) >= strategy_value(tree, others, plays) - 1e-12
        assert best_response_value(tree, 1, plays) >= -strategy_value(tree, plays, others) - 1e-12


@pytest.mark.parametrize("name", ["threshold", "random", "network"])
def test_a_tree_in_parts_is_measured_as_a_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = load_rules(SMALL)
    if name == "network":  # for which the first upcards of one suit stand for all
        card = network_card(np.arange(432), [], rules=[rules.as_mapping()], actions=rules.actions)
        path = written(tmp_path / "net", network_weights(432, rules.actions), card)
        name = f"network:{path},sample"
    agent = load_agent(name, rules)
    whole = exploitability_on_full_tree(agent, rules)
    monkeypatch.setattr("german_whist.solvers.game_tree.MAX_HISTORIES", 500)
    reported: list[float] = []
    parts = exploitability_on_full_tree(
        agent, rules, progress=lambda fraction, _: reported.append(fraction)
    )
    assert parts.n_views != whole.n_views
    for figure in ("against_dealer", "against_leader", "self_play_value"):
        assert getattr(parts, figure) == pytest.approx(getattr(whole, figure), abs=1e-12)
    assert reported == sorted(reported)
    assert reported[-1] == 1


@pytest.mark.parametrize("name", ["random-exact", "counting", "nash"])
def test_parts_without_forced_endings_are_measured_as_a_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a deck where it tells something of a hidden hand that a player has no choice."""
    rules = load_rules("2x4-h2")
    agent = load_agent(name, rules)
    whole = exploitability_on_full_tree(agent, rules)
    monkeypatch.setattr("german_whist.solvers.game_tree.MAX_HISTORIES", 30_000)
    parts = exploitability_on_full_tree(agent, rules)
    assert parts.n_views != whole.n_views
    assert parts.exploitability == pytest.approx(whole.exploitability, abs=1e-12)
    assert parts.self_play_value == pytest.approx(whole.self_play_value, abs=1e-12)


def test_parts_need_an_upcard_that_is_seen_first() -> None:
    """Else a player learns more of the deal than a part has in common."""
    hidden = {"suits": 3, "ranks": 3, "hand": 2, "stock": 4, "faced": "never", "trumps": "none"}
    rules = load_rules({"name": "hidden", **hidden})
    assert not fits_in_parts(rules)
    with pytest.raises(ValueError, match="where no card of the stock is turned up first, at most"):
        check_size(rules)


def test_illegal_answers_without_a_choice_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = load_rules("2x4-h2")

    class Careless(Agent):
        name = "careless"

        def act(self, views: Array, rng: Array) -> Array:
            masks = action_masks(rules.array(), views, rules.actions)
            return np.where(masks.sum(axis=1) > 1, masks.argmax(axis=1), 51)

    with pytest.raises(ValueError, match="careless plays action 51 where"):
        exploitability_on_full_tree(Careless(rules), rules)
    monkeypatch.setattr("german_whist.solvers.game_tree.MAX_HISTORIES", 30_000)
    with pytest.raises(ValueError, match="careless plays action 51 where"):
        exploitability_on_full_tree(Careless(rules), rules)


@SETS
def test_hands_can_end_with_the_last_choice(rules: dict[str, Any]) -> None:
    loaded = load_rules(rules)
    agent = load_agent("threshold", loaded)
    whole, short = (GameTree.of(loaded, dealer=1, to_last_choice=ends) for ends in (False, True))
    assert sum(len(level.views) for level in short.levels) < sum(
        len(level.views) for level in whole.levels
    )
    values = [
        (
            best_response_value(tree, 0, plays := strategy_of(agent, tree)),
            best_response_value(tree, 1, plays),
            strategy_value(tree, plays, plays),
        )
        for tree in (whole, short)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_agents_are_asked_where_they_have_a_choice() -> None:
    rules = load_rules(SMALL)

    class Counting(Agent):
        name = "counts its questions"
        asked = 0

        def act(self, views: Array, rng: Array) -> Array:
            masks = action_masks(rules.array(), views, rules.actions)
            assert (masks.sum(axis=1) > 1).all()
            Counting.asked += len(views)
            return masks.argmax(axis=1)

    agent, tree = Counting(rules), GameTree.of(rules, dealer=1)
    strategy = strategy_of(agent, tree)
    assert Counting.asked
    for level, probs in zip(tree.levels, strategy, strict=True):
        masks = action_masks(rules.array(), level.views, rules.actions)
        assert (probs.argmax(axis=1) == masks.argmax(axis=1)).all()
        assert (probs.sum(axis=1) == 1).all()


def test_what_depends_on_more_than_a_view_is_not_measured_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = load_rules(SMALL)
    monkeypatch.setattr("german_whist.solvers.game_tree.MAX_HISTORIES", 500)
    silent = CallableAgent(load_agent("random", rules).act, rules)
    for agent, samples in ((Stubborn(rules, by_chance=False), 0), (silent, 10)):
        with pytest.raises(ValueError, match="too many lines of play for such an agent"):
            exploitability_on_full_tree(agent, rules, samples)


def test_trees_that_are_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3x4-h4 .* 1\.23e\+11 ways, and at most 300,000,000"):
        check_size(load_rules("3x4-h4"))
    exchange = EXCHANGE | {"suits": 3, "ranks": 4, "hand": 3}
    with pytest.raises(ValueError, match="is turned up first, at most 4,000,000"):
        check_size(load_rules(exchange))
    check_size(load_rules("2x5-h3"))
    check_size(load_rules("2x5-h2"))


@pytest.mark.parametrize("seat", range(2))
def test_the_parts_are_all_deals_by_first_views(seat: int) -> None:
    rules = load_rules(SMALL)
    parts = [*deals_by_first_view(rules, seat, map(int, rules.deck))]
    assert len(parts) == count_first_views(rules)
    for deals in parts:
        hands = np.sort(deals[:, seat : 2 * rules.hand : 2], axis=1)
        assert (hands == hands[0]).all()
        assert (deals[:, 2 * rules.hand] == deals[0, 2 * rules.hand]).all()

    def as_sets(deals: Array) -> Array:
        sorted_hands = deals.copy()
        for player in range(2):
            places = np.arange(player, 2 * rules.hand, 2)
            sorted_hands[:, places] = np.sort(deals[:, places], axis=1)
        return np.unique(sorted_hands, axis=0)

    np.testing.assert_array_equal(as_sets(np.concatenate(parts)), as_sets(all_deals(rules)))
    assert sum(map(len, parts)) == count_deals(rules)


def test_weights_whose_inverse_is_infinite_count_as_none() -> None:
    walker = PublicTreeTraversal(load_rules("2x4-h2"), 1)
    weights = np.ones(walker.tree.size, np.float32)
    assert walker.responses(weights * 1e-42) == walker.responses(weights)


@pytest.mark.parametrize(
    "rules", [pytest.param(SMALL, marks=pytest.mark.thorough), EXCHANGE], ids=["stock", "exchange"]
)
def test_it_is_what_open_spiel_finds(rules: dict[str, Any]) -> None:
    pyspiel: Any = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms.gambit import export_gambit

    from german_whist.envs.open_spiel import open_spiel_game

    # Written out once, it is walked without the adapter, in C++.
    game = pyspiel.load_efg_game(export_gambit(open_spiel_game(rules)))
    wanted = pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game))
    agent = load_agent("random", load_rules(rules))
    assert measure_exploitability(agent, rules).exploitability == pytest.approx(wanted)


def test_silent_random_agent_is_estimated_only_on_request() -> None:
    rules = load_rules(SMALL)
    told = load_agent("random", rules)
    silent = CallableAgent(told.act, rules)
    with pytest.raises(ValueError, match="--samples"):
        measure_exploitability(silent, rules)
    found = measure_exploitability(silent, rules, samples=200)
    exact = measure_exploitability(told, rules)
    assert found.exploitability == pytest.approx(exact.exploitability, abs=0.05)
    assert found.estimated


class Stubborn(Agent):
    """Plays high or low cards all hand long, as it began; has to be asked trick by trick."""

    name = "stubborn"
    keeps_state = True

    def __init__(self, rules: Any, *, by_chance: bool) -> None:
        super().__init__(rules)
        self.by_chance = by_chance
        self.high: dict[int, bool] = {}
        self.tricks: dict[int, int] = {}

    def reset(self, indices: Array) -> None:
        for index in indices.tolist():
            self.high.pop(index, None)
            self.tricks[index] = -1

    def act(self, views: Array, rng: Array, *, indices: Array) -> Array:  # type: ignore[override]
        found = []
        for view, drawn, index in zip(views, rng, indices.tolist(), strict=True):
            assert int(view["trick"]) == self.tricks[index] + 1, "a decision was left out"
            self.tricks[index] += 1
            chosen = drawn >> np.uint64(63) if self.by_chance else int(view["hand"]) % 3
            found.append(highest_or_lowest(view, self.high.setdefault(index, bool(chosen))))
        return np.array(found, np.int64)


class Looking(Agent):
    """The same without memory: what it was dealt is what it has and had, less what it drew."""

    name = "looking"

    def act(self, views: Array, rng: Array) -> Array:
        found = []
        for view in views:
            drawn = sum(1 << int(card) for card in view["my_draws"] if card < 52)
            dealt = (int(view["hand"]) | int(view["played"][0])) & ~drawn
            found.append(highest_or_lowest(view, dealt % 3 > 0))
        return np.array(found, np.int64)


def highest_or_lowest(view: Any, high: bool) -> int:
    hand, led = int(view["hand"]), int(view["led"])
    cards = [card for card in range(52) if hand >> card & 1]
    same = [card for card in cards if card // 13 == led // 13]
    cards = same if led < 52 and same else cards
    return max(cards) if high else min(cards)


def test_an_agent_that_remembers_is_led_through_each_hand() -> None:
    rules = load_rules(SMALL)
    tree, agents = GameTree.of(rules, dealer=1), (Stubborn(rules, by_chance=False), Looking(rules))
    for one, other in zip(*(strategy_of(agent, tree) for agent in agents), strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_that_began_by_chance_has_to_be_sampled() -> None:
    rules = load_rules(SMALL)
    tree, agent = GameTree.of(rules, dealer=1), Stubborn(rules, by_chance=True)
    with pytest.raises(ValueError, match="--samples"):
        strategy_of(agent, tree)
    assert ((strategy_of(agent, tree, 10)[0] > 0).sum(axis=1) == 2).all()


def test_exact_endgames_are_a_networks_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one that plays them itself elsewhere: the public tree needs them."""
    rules = load_rules(SMALL)
    deck = tmp_path / "small.yaml"
    deck.write_text(yaml.safe_dump(SMALL), encoding="utf-8")
    changes: dict[str, Any] = {"rules": [rules.as_mapping()], "actions": rules.actions}
    card = network_card(np.arange(432), [], **changes)
    path = written(tmp_path / "net", network_weights(432, rules.actions), card)
    assert load_agent(str(path), rules).endgame == OWN_POLICY
    agent = load_agent(f"{path},endgame=exact", rules)
    exact = measure_exploitability(agent, rules).exploitability
    assert main(["exploitability", f"net={path}", "--rules", str(deck)]) == 0
    told = capsys.readouterr().out
    assert f"{exact:+.5f} a hand" in told
    assert "endgame: exact solver (endgame=network: own policy)" in told
    own = measure_exploitability(agent_on_deck(f"{path},endgame=network", rules), rules)
    assert own.exploitability > exact + 0.01


def test_the_command_tells_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("{name: small, suits: 2, ranks: 3, hand: 2, stock: 2}\n")
    assert main(["exploitability", "random", "--rules", str(path)]) == 0
    told = capsys.readouterr().out
    assert re.search(r"exploitability.* \+0\.12639 a hand", told)
    assert "random: endgame: own policy" in told
    assert main(["exploitability", "random", "--rules", "small-last"]) == 2
    assert "too large to traverse" in capsys.readouterr().err


@pytest.mark.parametrize("suits", [2, 4])
def test_large_hands_have_indices_of_their_own(suits: int) -> None:
    """Of 19 cards that a player may hold, 9 are held in 92,378 ways."""
    rules = load_rules({"name": "large", "suits": suits, "ranks": 20 // suits, "hand": 9})
    n_hands = math.comb(19, 9)
    # Where no card is missing, each index stands for itself.
    assert (subsets(rules).without_card[:n_hands] == np.arange(n_hands)).all()
    values = PublicTreeTraversal(rules, threads=1)
    uniform = values.responses(np.zeros(values.tree.size, np.float32))
    assert all(abs(each) <= 1 for each in (uniform.against_dealer, uniform.against_leader))
