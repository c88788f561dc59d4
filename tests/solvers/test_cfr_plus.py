"""Equilibria and the walk over the public tree: held to published values and second methods."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import network_card, network_weights, written
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

from german_whist.agents.base import Agent
from german_whist.agents.heuristic.random import RandomExactAgent
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.agents.registry import load_agent
from german_whist.agents.tabular.strategy import BUNDLED, write_strategy
from german_whist.cli import main
from german_whist.engine.dtypes import NO_CARD, UNSEEN_CARD, VIEW
from german_whist.engine.rules import Rules, load_rules
from german_whist.engine.view import action_masks
from german_whist.evaluation.exploitability.exact import (
    exploitability_on_full_tree,
    measure_exploitability,
)
from german_whist.solvers.cfr_plus import STATE_VERSION, CFRPlusSolver
from german_whist.solvers.game_tree import GameTree
from german_whist.solvers.public_tree import public_tree
from german_whist.solvers.public_tree_traversal import Responses

pytestmark = pytest.mark.usefixtures("small_parts", "few_checked_hands")

Array = np.ndarray[Any, Any]

SMALLEST: dict[str, Any] = {"name": "two suits", "suits": 2, "ranks": 3, "hand": 2}
TINY = [
    SMALLEST,
    SMALLEST | {"name": "one suit", "suits": 1, "ranks": 6},
    SMALLEST | {"name": "three suits", "suits": 3, "ranks": 2},
    SMALLEST | {"name": "no trumps", "trumps": "none"},
    SMALLEST | {"name": "low", "contract": "low"},
    SMALLEST | {"name": "all", "counts": "all", "pay": "margin"},
    SMALLEST | {"name": "long stock", "hand": 1},
]
NAMES = [each["name"] for each in TINY]


def value_by_linear_programme(rules: Any) -> float:
    """What the leader is paid in equilibrium, by the sequence form over every deal and play.

    Koller, Megiddo and von Stengel 1996: the leader's plan is as good as the dealer's best
    answer to it, which is the dual of another program.
    """
    tree = GameTree.of(load_rules(rules), dealer=1)
    numbers: list[dict[tuple[int, ...], int]] = [{(): 0}, {(): 0}]
    sets: list[dict[tuple[int, int], int]] = [{}, {}]
    parents: list[list[int]] = [[], []]
    last = [np.zeros(tree.deals, np.int64), np.zeros(tree.deals, np.int64)]
    worths: list[tuple[Array, Array, Array]] = []
    for depth, level in enumerate(tree.levels):
        if depth:
            before, came = tree.levels[depth - 1], [last[0], last[1]]
            last = [each[level.parents].copy() for each in came]
            for at, (parent, action) in enumerate(zip(level.parents, level.actions, strict=True)):
                seat = int(before.players[parent])
                known = (depth - 1, int(before.info_states[parent]))
                if known not in sets[seat]:
                    sets[seat][known] = len(sets[seat])
                    parents[seat].append(int(came[seat][parent]))
                key = (*known, int(action))
                last[seat][at] = numbers[seat].setdefault(key, len(numbers[seat]))
        over = np.flatnonzero(level.players == -1)
        worths.append((last[0][over], last[1][over], level.returns[over] / tree.deals))
    rows, columns, payoffs = (np.concatenate(each) for each in zip(*worths, strict=True))
    sizes = [len(each) for each in numbers]
    payoff = coo_array((payoffs, (rows, columns)), shape=sizes).tocsr()

    def plan(seat: int) -> csr_array:
        """Each information set's actions are as likely as coming there; coming to the root is 1."""
        entries = [(0, 0, 1.0)]
        for key, number in numbers[seat].items():
            if key:
                entries.append((1 + sets[seat][key[0], key[1]], number, 1.0))
        entries += [(1 + place, parent, -1.0) for place, parent in enumerate(parents[seat])]
        at, of, numbers_of = zip(*entries, strict=True)
        return coo_array((numbers_of, (at, of)), shape=(1 + len(sets[seat]), sizes[seat])).tocsr()

    leader, dealer = plan(0), plan(1)
    free = dealer.shape[0]
    found = linprog(
        np.concatenate([np.zeros(sizes[0]), np.eye(1, free)[0] * -1]),
        method="highs",
        A_ub=hstack([-payoff.T, dealer.T]),
        b_ub=np.zeros(sizes[1]),
        A_eq=hstack([leader, csr_array((leader.shape[0], free))]),
        b_eq=np.eye(1, leader.shape[0]),
        bounds=[(0, None)] * sizes[0] + [(None, None)] * free,
    )
    assert found.status == 0, found.message
    return -found.fun


def solved(rules: Any, iterations: int) -> CFRPlusSolver:
    solver = CFRPlusSolver(rules, threads=2)
    for _ in range(iterations):
        solver.iterate()
    return solver


@pytest.mark.parametrize("rules", TINY, ids=NAMES)
def test_the_value_is_that_of_a_linear_programme(rules: dict[str, Any]) -> None:
    found = solved(rules, 200).measure()
    assert found.exploitability < 1e-4
    wanted = value_by_linear_programme(rules)
    assert -found.against_leader - 1e-6 <= wanted <= found.against_dealer + 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize("rules", [SMALLEST, TINY[2]], ids=["two", "three"])
def test_the_value_is_that_of_open_spiels_cfr_plus(rules: dict[str, Any]) -> None:
    pyspiel: Any = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms.gambit import export_gambit

    from german_whist.envs.open_spiel import open_spiel_game

    # Written out once, it is solved without the adapter, in C++.
    game = pyspiel.load_efg_game(export_gambit(open_spiel_game(rules)))
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(200):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    error = pyspiel.exploitability(game, policy)
    assert error < 1e-4
    start = game.new_initial_state()
    deals = [start.child(deal) for deal in start.legal_actions()]
    values = [
        pyspiel.expected_returns(state, policy, -1, True)[0]
        for state in deals
        if state.current_player() == 0
    ]
    assert len(values) == len(deals) / 2
    found = solved(rules, 200).measure()
    assert found.value == pytest.approx(np.mean(values), abs=2 * (error + found.exploitability))
    assert found.value > 0.03


def drawn_from(probs: Array, rng: Array) -> Array:
    draws = np.random.default_rng(rng).random((len(probs), 1))
    return (probs.cumsum(axis=1) < draws).sum(axis=1)


class ByHash(Agent):
    """Plays for the stock by a hash of all that it sees, suits and the order of draws as well."""

    name = "by hash"

    def __init__(self, rules: Any) -> None:
        super().__init__(rules)
        self._endgame = EndgamePlayer(self.rules)

    def act(self, views: Array, rng: Array) -> Array:
        return drawn_from(self.probabilities(views), rng)

    def probabilities(self, views: Array) -> Array:
        words = np.ascontiguousarray(views).view(np.uint64).reshape(len(views), VIEW.itemsize // 8)
        factors = np.random.default_rng(1).integers(0, 1 << 63, words.shape[1], np.uint64) | 1
        keys = (words * factors).sum(axis=1, dtype=np.uint64)
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
        found = load_agent("random-exact", self.rules).probabilities(views)  # type: ignore[attr-defined]
        odd = (keys[:, None] * (2 * np.arange(52, dtype=np.uint64) + 1)) >> np.uint64(62)
        found *= odd + 1e-3
        return found / found.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def smallest() -> GameTree:
    return GameTree.of(load_rules("2x4-h2"), dealer=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ByHash("2x4-h2"),
        pytest.param(
            lambda: load_agent(f"nash:{BUNDLED / '2x4-h2'}", "2x4-h2"), marks=pytest.mark.thorough
        ),
    ],
    ids=["by hash", "nash"],
)
def test_players_are_as_exploitable_as_by_whole_views(
    make: Callable[[], Agent], smallest: GameTree
) -> None:
    """A second method: every deal and every play walked by itself, by whole views."""
    agent = make()
    found = measure_exploitability(agent, "2x4-h2")
    wanted = exploitability_on_full_tree(agent, load_rules("2x4-h2"), tree=smallest)
    for name in ("against_dealer", "against_leader", "self_play_value"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=2e-6)
    if agent.name.startswith("nash"):
        assert found.exploitability < 1e-4
    else:
        assert found.exploitability > 0.01
    assert found.n_views < wanted.n_views


def sampled_network(path: Path, rules: Rules, suit_order: str) -> Agent:
    inputs = [*range(0, 430, 3), 431]
    card = network_card(inputs, [8], suit_order=suit_order, rules=[rules.as_mapping()])
    path = written(path, network_weights(len(inputs), 8, 52), card)
    return load_agent(f"network:{path},sample,endgame=exact", rules)


@pytest.mark.parametrize("suit_order", ["trump-first", "raw"])
@pytest.mark.parametrize("deck", ["three suits", "no trumps"])
def test_networks_are_as_exploitable_in_one_suit_as_in_all(
    suit_order: str, deck: str, tmp_path: Path
) -> None:
    """A network that sees trumps first is asked for first upcards of one suit alone."""
    rules = load_rules(TINY[NAMES.index(deck)])
    agent = sampled_network(tmp_path / "network", rules, suit_order)
    found, wanted = measure_exploitability(agent, rules), exploitability_on_full_tree(agent, rules)
    for name in ("against_dealer", "against_leader", "self_play_value"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-6)
    everywhere = measure_exploitability(ByHash(rules), rules)
    suits = 1 if suit_order == "trump-first" and deck == "three suits" else rules.suits
    assert found.n_views * rules.suits == everywhere.n_views * suits


@pytest.mark.parametrize("mode", ["greedy", "sample"])
@pytest.mark.parametrize("deck", ["two suits", "three suits", "no trumps"])
def test_tables_are_as_exploitable_as_on_the_full_tree(
    mode: str, deck: str, tmp_path: Path
) -> None:
    """Of equally likely cards, as where it was never, a greedy table takes the lowest."""
    rules = load_rules(TINY[NAMES.index(deck)])
    cells = np.random.default_rng(5).integers(0, 3, public_tree(rules).size).astype(np.float32)
    table = {"kind": "table", "inputs": [], "hidden_sizes": [], "cells": len(cells)}
    changes = {"suit_order": "raw", "horizon": "foreplay", "rules": [rules.as_mapping()]}
    card = network_card([0], [1], network=table, **changes)
    path = written(tmp_path / "table", {"cells": cells}, card)
    agent = load_agent(f"network:{path},{mode},endgame=exact", rules)
    found, wanted = measure_exploitability(agent, rules), exploitability_on_full_tree(agent, rules)
    for name in ("against_dealer", "against_leader", "self_play_value"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-6)


def test_what_replaces_an_agents_play_is_asked_for_every_suit() -> None:
    rules = load_rules("2x4-h2")
    agent, other = load_agent("nash", rules), load_agent("random-exact", rules)
    nash: Any = agent.probabilities  # type: ignore[attr-defined]

    def random_in_spades(views: Array) -> Array:
        trumps = views["trump"] > 0
        random: Array = other.probabilities(views)  # type: ignore[attr-defined]
        return np.where(trumps[:, None], random, nash(views))

    agent.probabilities = random_in_spades  # type: ignore[attr-defined]
    agent.act = lambda views, rng: drawn_from(random_in_spades(views), rng)  # type: ignore[method-assign]
    assert measure_exploitability(agent, rules).exploitability > 0.01


class BySuit:
    """Prefers high cards or low ones, by the suit that is trumps."""

    def probabilities(self, rules: Array, views: Array) -> Array:
        ranks = np.arange(52) % 13 * np.where(views["trump"] > 0, 0.5, -0.5)[:, None]
        weights = np.exp(ranks) * action_masks(rules, views, 52)
        return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("replaced", ["other probabilities", "network that sees real suits"])
def test_a_replaced_policy_is_asked_for_every_suit(replaced: str, tmp_path: Path) -> None:
    rules = load_rules(TINY[NAMES.index("three suits")])
    agent: Any = sampled_network(tmp_path / "network", rules, "trump-first")
    alike = measure_exploitability(agent, rules)
    if replaced == "other probabilities":
        agent.policy = BySuit()
    else:
        other: Any = sampled_network(tmp_path / "raw", rules, "raw")
        agent.policy = other.policy
    found, wanted = measure_exploitability(agent, rules), exploitability_on_full_tree(agent, rules)
    assert found.n_views == rules.suits * alike.n_views
    for name in ("against_dealer", "against_leader", "self_play_value"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-6)


class Listening(RandomExactAgent):
    """Keeps every view in which it is asked; sampling fails in views that cannot happen."""

    def __init__(self, rules: Any) -> None:
        super().__init__(rules)
        self.views: list[Array] = []

    def probabilities(self, views: Array) -> Array:
        self.views.append(views.copy())
        return super().probabilities(views)


def has_a_past(view: Any) -> bool:
    """Whether the other could hold each card that it played after it had failed to follow suit."""
    failed: dict[int, int] = {}
    for trick in range(2):
        led, followed = int(view["led_cards"][trick]), int(view["followed_cards"][trick])
        own_lead = bool(view["i_led"][trick])
        card = followed if own_lead else led
        if trick == 1 and card == NO_CARD and view["led"] != NO_CARD:
            card = int(view["led"])
        if card != NO_CARD and card // 13 in failed:
            drawn = view["opponent_draws"][failed[card // 13] : trick]
            if card not in drawn and UNSEEN_CARD not in drawn:
                return False
        if own_lead and followed != NO_CARD and followed // 13 != led // 13:
            failed[led // 13] = trick
    return True


def test_no_agent_is_asked_in_a_view_that_play_cannot_lead_to() -> None:
    agent = Listening(load_rules("2x4-h2"))
    measure_exploitability(agent, "2x4-h2")
    views = np.concatenate(agent.views)
    second = views[views["stock_left"] == 2]
    assert len(second) > 10_000
    assert all(has_a_past(view) for view in second)


# Of a foreplay of one trick, its winner has all tricks as the ending begins.
ALL = {"counts": "all", "pay": "margin"}
ALL_OF_TWO = SMALLEST | {"name": "all of two", "hand": 1} | ALL
ALL_OF_TWO_BY_CHOICE = SMALLEST | {"name": "all of two, by choice", "ranks": 4} | ALL


@pytest.mark.parametrize(
    "rules",
    [
        *TINY[-2:],
        ALL_OF_TWO,
        pytest.param(ALL_OF_TWO_BY_CHOICE, marks=pytest.mark.thorough),
    ],
    ids=lambda rules: rules["name"],
)
def test_without_learning_it_is_play_at_random_to_exact_endings(rules: Any) -> None:
    loaded = load_rules(rules)
    agent = load_agent("random-exact", loaded)
    wanted = exploitability_on_full_tree(agent, loaded)
    for found in (CFRPlusSolver(loaded).measure(), measure_exploitability(agent, loaded)):
        for name in ("against_dealer", "against_leader"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-6)


@pytest.mark.parametrize(("name", "value"), [("2x4-h2", 0.0605), ("2x5-h3", 0.1070)])
def test_small_decks_are_worth_what_is_known(name: str, value: float) -> None:
    found = solved(name, 40).measure()
    assert found.exploitability < 1e-4
    assert found.value == pytest.approx(value, abs=1e-4)


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    half = solved(TINY[0], 3)
    half.save(path)
    more = CFRPlusSolver(TINY[0])
    more.restore(path)
    for _ in range(3):
        more.iterate()
    whole = solved(TINY[0], 6)
    np.testing.assert_array_equal(more.strategy_sum, whole.strategy_sum)
    with pytest.raises(ValueError, match="was not written for one suit"):
        CFRPlusSolver(TINY[1]).restore(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="remove it"):
        CFRPlusSolver(TINY[0]).restore(path)
    header = {"version": STATE_VERSION, "rules": half.rules.as_mapping(), "iterations": 1}
    for wrong in ([], header | {"iterations": "x"}, header | {"iterations": -3}):
        card = np.frombuffer(json.dumps(wrong).encode(), np.uint8)
        with open(path, "wb") as file:
            np.savez(file, card=card, regrets=half.regrets, sums=half.strategy_sum)
        with pytest.raises(ValueError, match="was not written for two suits by this version"):
            CFRPlusSolver(TINY[0]).restore(path)


def test_a_better_solution_is_never_replaced_by_a_worse_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither that of the package, nor one that was made here."""
    monkeypatch.setattr("german_whist.commands.solve.solved_folder", lambda: tmp_path / "solved")
    monkeypatch.setattr(
        "german_whist.agents.tabular.strategy.solved_folder", lambda: tmp_path / "solved"
    )
    assert main(["solve", "2x4-h2"]) == 0
    assert "solved already, to an exploitability of 0.000006" in capsys.readouterr().out
    mine = ["solve", "2x4-h2", "--folder", str(tmp_path / "mine"), "--target"]
    for target, solves in (("0.01", True), ("0.02", False), ("0.003", True), ("0.01", False)):
        before = {each: each.read_bytes() for each in tmp_path.rglob("*.*")}
        assert main([*mine, target]) == 0
        assert ("solved already" not in capsys.readouterr().out) == solves
        assert (before != {each: each.read_bytes() for each in tmp_path.rglob("*.*")}) == solves
    assert not (tmp_path / "solved").exists()


def test_a_better_solution_of_another_process_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    better, measure = solved("2x4-h2", 30), CFRPlusSolver.measure
    write_strategy(tmp_path / "better", better, better.measure())

    def finds_another(solver: CFRPlusSolver) -> Any:
        shutil.copy(tmp_path / "better.safetensors", tmp_path / "2x4-h2.safetensors")
        return measure(solver)

    monkeypatch.setattr(CFRPlusSolver, "measure", finds_another)
    assert main(["solve", "2x4-h2", "--folder", str(tmp_path), "--target", "0.01"]) == 0
    kept = (tmp_path / "2x4-h2.safetensors").read_bytes()
    assert kept == (tmp_path / "better.safetensors").read_bytes()


def test_the_command_solves_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun = solved("2x4-h2", 3)
    begun.save(tmp_path / "2x4-h2.state.npz")
    assert main(["solve", "2x4-h2", "--folder", str(tmp_path), "--target", "0.01"]) == 0
    told = capsys.readouterr().out
    assert "going on after 3 iterations" in told
    assert "exploitability 0.005380" in told
    assert {each.name for each in tmp_path.iterdir()} == {"2x4-h2.safetensors"}
    # The file has a byte for each probability, of both seats.
    written_strategy = load_agent(f"nash:{tmp_path}/2x4-h2", "2x4-h2")
    found = measure_exploitability(written_strategy, load_rules("2x4-h2"))
    assert found.exploitability == pytest.approx(0.00538, abs=5e-4)
    words = ["--against", "nash", "--rules", "2x4-h2", "--hands", "100"]
    assert main(["evaluate", f"nash:{tmp_path}/2x4-h2", *words]) == 0
    comma = tmp_path / "comma.yaml"
    comma.write_text("{name: 'my, deck', suits: 2, ranks: 4, hand: 2}")
    for words, wanted in (
        (["classic"], "too large"),
        (["draft"], "no public tree"),
        (["2x4-h2", "--target", "0"], "--target is 0.0"),
        (["2x4-h2", "--target", "1e-12"], "--target is 1e-12: it has to be at least 1e-09"),
        ([str(comma)], "the rules are called 'my, deck', and files"),
        (["2x4-h2", "--threads", "0"], "--threads: 0 is too small: give at least 1"),
        (["2x4-h3"], "is not a rule set"),
    ):
        assert main(["solve", *words, "--folder", str(tmp_path)]) == 2
        assert wanted in capsys.readouterr().err
    assert main(["solve", "2x4-h2", "--folder", f"{tmp_path}/a,b"]) == 2
    assert "a,b': the name of an agent in it could not hold" in capsys.readouterr().err
    assert not (tmp_path / "a,b").exists()


def test_strategies_are_averaged_by_the_square_of_the_iteration() -> None:
    """The second counts four times as much as the same one would as the first, the third nine."""
    rules = load_rules("2x4-h2")
    solver = solved(rules, 1)
    for number in (2, 3):
        as_first = CFRPlusSolver(rules, threads=1)
        as_first.regrets[:] = solver.regrets
        as_first.iterate()
        before = solver.strategy_sum.copy()
        solver.iterate()
        added = solver.strategy_sum - before
        assert added.max() > 0
        assert added == pytest.approx(number**2 * as_first.strategy_sum, rel=1e-3, abs=1e-3)


def test_exploitability_is_the_mean_of_both_best_responses() -> None:
    found = Responses(against_dealer=0.3, against_leader=0.1)
    assert found.exploitability == pytest.approx(0.2)
    # What a perfect leader is paid lies between the two.
    assert found.value == pytest.approx(0.1)
