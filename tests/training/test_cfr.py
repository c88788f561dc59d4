"""Regret minimisation on sampled hands: what is drawn is on average what the whole tree says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from german_whist.agents.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from german_whist.agents.registry import make_agent
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.evaluation.exploitability.public_tree import PublicTreeTraversal, Responses
from german_whist.evaluation.exploitability.traversal import LEARN
from german_whist.training.algorithms.cfr import CFR, CFRSettings, _walk_many

DECK = "2x4-h2"
TINY: list[dict[str, Any]] = [
    {"name": "high", "suits": 2, "ranks": 3, "hand": 2},
    {"name": "low", "suits": 2, "ranks": 3, "hand": 2, "contract": "low"},
    {"name": "all", "suits": 2, "ranks": 3, "hand": 2, "counts": "all", "pay": "margin"},
]
QUICK = ["eval_opponents=[]", "final_eval_hands=2", "eval_hands=2", "eval_every=10_000_000"]


def train(run: Path, *words: str) -> None:
    assert main(["train", "trainer=cfr", *QUICK, *words, "--run", str(run)]) == 0


def exploitability(player: str, deck: str = DECK) -> float:
    return measure_exploitability(make_agent(player, deck), deck).exploitability


@pytest.mark.parametrize("rules", TINY, ids=[each["name"] for each in TINY])
def test_regrets_of_drawn_hands_are_on_average_those_of_all(rules: dict[str, Any]) -> None:
    """The walk in vectors of `solve` tells what every hand together adds to a strategy's regrets.

    Both begin with the same regrets, so far above nothing there that none is cut off.
    """
    trainer = CFR(CFRSettings(rules=rules, reward="points", averaging=0.0))
    desk, walker = trainer.desk, PublicTreeTraversal(load_rules(rules), 1)
    held = np.random.default_rng(1).uniform(1, 2, len(desk.regrets)).astype(np.float32)
    deals = walker.tree.roots * walker.tree.deals
    exact = held * np.float32(8 * deals)
    before, sums = exact.copy(), np.zeros(len(held), np.float32)
    for player in range(2):
        walker.traverse(player, LEARN, sums, exact, 1.0)
    exact = (exact - before) / deals
    drawn, hands = np.zeros(len(held)), 60_000
    for number in range(hands):
        desk.regrets[:] = held
        _walk_many(desk, number, 1, 0.0, np.zeros(2))
        drawn += desk.regrets - held
    drawn *= 2 / hands  # each player walks in every second hand
    assert np.abs(exact).max() > 0.01
    assert np.linalg.norm(drawn - exact) < 0.1 * np.linalg.norm(exact)


def added_by_hand(regrets: Any, weighing: float, number: int) -> tuple[Any, Any]:
    """What a hand adds to regrets and to the average strategy."""
    desk = CFR(CFRSettings(rules=TINY[0], reward="points", averaging=weighing)).desk
    desk.regrets[:] = regrets
    _walk_many(desk, number, 1, weighing, np.zeros(2))
    added = desk.regrets - regrets
    # One player learns, and the average of the other's strategy grows.
    assert not (added.astype(bool) & desk.sums.astype(bool)).any()
    return added, desk.sums


def test_regrets_and_average_grow_by_a_power_of_the_hands_number() -> None:
    """Brown and Sandholm 2019: hand t counts t**weighing times in both."""
    size = len(CFR(CFRSettings(rules=TINY[0])).desk.regrets)
    regrets = np.random.default_rng(1).uniform(1, 2, size).astype(np.float32)
    grown = np.zeros(2)
    for number in (0, 6, 7, 20, 21, 33, 34):
        plain = added_by_hand(regrets, 0.0, number)
        grown += [np.abs(each).max() for each in plain]
        for weighing in (1.0, 2.0):
            weighted = added_by_hand(regrets, weighing, number)
            for one, other in zip(plain, weighted, strict=True):
                assert other == pytest.approx((number + 1) ** weighing * one, rel=1e-3, abs=1e-3)
    assert (grown > 0.5).all()


def test_cards_of_negative_regret_are_not_played_beside_others() -> None:
    """Regret matching: in proportion to positive regrets, evenly where there are none."""
    size = len(CFR(CFRSettings(rules=TINY[0])).desk.regrets)
    regrets = np.random.default_rng(2).choice([-1.0, 3.0], size).astype(np.float32)
    desk = CFR(CFRSettings(rules=TINY[0], reward="points", averaging=0.0)).desk
    below = 0
    for number in range(400):
        desk.regrets[:], desk.sums[:] = regrets, 0
        _walk_many(desk, number, 1, 0.0, np.zeros(2))
        probs = desk.sums[desk.sums > 0]
        # The regrets above nothing are alike, so that only equal shares of one can be.
        assert np.rint(1 / probs) * probs == pytest.approx(1, abs=1e-5)
        below += int((regrets[desk.sums > 0] < 0).sum())
    assert below > 0


def by_open_spiel(game: Any, hands: int, seed: int) -> Responses:
    """What best responses win from the average of OpenSpiel's external sampling, by its own."""
    import pyspiel

    solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed, pyspiel.MCCFRAverageType.SIMPLE)
    for _ in range(hands // 2):  # in an iteration each player walks once
        solver.run_iteration()
    root, policy, found = game.new_initial_state(), solver.average_policy(), np.zeros((2, 2))
    deals = [root.child(action) for action, _ in root.chance_outcomes()]
    half = len(deals) // 2  # seat 0 deals in the first half
    for seat in range(2):
        best = pyspiel.TabularBestResponse(game, seat, policy)
        wins = np.array([best.value_from_state(each) for each in deals])
        found[seat] = wins[:half].mean(), wins[half:].mean()
    leading, dealing = found[[1, 0], [0, 1]].mean(), found[[0, 1], [0, 1]].mean()
    assert (leading + dealing) / 2 == pytest.approx(pyspiel.exploitability(game, policy))
    return Responses(leading, dealing)


def by_ours(hands: int, seed: int) -> Responses:
    """The same from the average of as many hands that all count alike."""
    desk = CFR(CFRSettings(rules=TINY[0], reward="points", averaging=0.0, seed=seed)).desk
    for number in range(hands):
        _walk_many(desk, number, 1, 0.0, np.zeros(2))
    return PublicTreeTraversal(load_rules(TINY[0]), 1).responses(desk.sums)


@pytest.mark.thorough
def test_it_comes_to_what_open_spiels_external_sampling_comes_to() -> None:
    """The value lies between what best responses leave the leader, whoever was learnt with.

    From as many hands ours is nearer to it: endings are exact and suits alike, so that it has
    fewer decisions to learn.
    """
    pyspiel: Any = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    from open_spiel.python.algorithms.gambit import export_gambit

    from german_whist.envs.open_spiel import open_spiel_game

    game = pyspiel.load_efg_game(export_gambit(open_spiel_game(TINY[0])))
    value, means = 1 / 30, {}  # as the linear programme of test_equilibrium tells
    for hands in (2_000, 8_000):
        theirs = [by_open_spiel(game, hands, seed) for seed in (1, 2, 3)]
        ours = [by_ours(hands, seed) for seed in (1, 2, 3)]
        for each in (*theirs, *ours):
            assert -each.against_leader < value < each.against_dealer
        told = [[each.exploitability for each in some] for some in (theirs, ours)]
        assert max(told[1]) < min(told[0])
        means[hands] = np.mean(told, axis=1)
    # An error falls by half or more with four times the hands, as means of draws do.
    assert (means[8_000] < means[2_000] / 2).all()
    assert means[8_000].max() < 0.03


def test_the_average_comes_to_the_equilibrium(tmp_path: Path) -> None:
    """And so closely that the value of the game is known to a thousandth."""
    train(tmp_path / "run", "decisions=2_000_000", "iteration=500_000")
    found = measure_exploitability(make_agent(str(tmp_path / "run"), DECK), DECK)
    assert found.exploitability < 0.003
    assert found.self_play_value == pytest.approx(0.06052, abs=0.004)
    assert exploitability(f"{tmp_path / 'run'},greedy") < 0.05


def test_the_seed_decides_all_and_iterations_nothing(tmp_path: Path) -> None:
    runs = {"one": ["seed=1"], "cut": ["seed=1", "iteration=1_000"], "two": ["seed=2"]}
    found = {}
    for name, words in runs.items():
        train(tmp_path / name, *words, "decisions=20_000", "iteration=20_000")
        found[name] = read_checkpoint(tmp_path / name)
    assert found["one"].card.network.cells == len(found["one"].weights["cells"]) > 20_000
    # An iteration is some decisions longer than it was to be, so hands are cut off elsewhere.
    first, cut, second = (found[name].weights["cells"] for name in runs)
    assert np.array_equal(first, cut)
    assert not np.array_equal(first, second)


def test_a_checkpoint_plays_wherever_agents_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    train(tmp_path / "run", "decisions=300_000")
    assert main(["evaluate", run, "--against", "nash", "--rules", "2x5-h3"]) == 2
    assert f"{run} plays 2x4-h2, and not 2x5-h3" in capsys.readouterr().err
    assert main(["evaluate", run, "--against", "nash", "--rules", DECK, "--hands", "20"]) == 0
    for words, told in (
        (["export", run, "-o", str(tmp_path / "x.onnx")], "is a table; only networks"),
        (["export", run, "-o", str(tmp_path / "x.safetensors")], "is a table, whose smallest"),
        (["train", "tiny", f"init={run}"], "is a table, whose numbers fit no network"),
        (["evaluate", f"thinker:4,policy={run}", "--against", "nash", "--rules", DECK], "table"),
    ):
        assert main(words) == 2
        assert told in capsys.readouterr().err


def test_a_table_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    train(tmp_path / "run", "decisions=1_000")
    found = read_checkpoint(tmp_path / "run")
    cells = found.weights["cells"]
    for name, wrong, told in (
        ("short", cells[:-1], "cells, and 2x4-h2 has"),
        ("below", cells - 1, "a weight is below 0"),
    ):
        network = msgspec.structs.replace(found.card.network, cells=len(wrong))
        card = msgspec.structs.replace(found.card, network=network)
        path = write_checkpoint(tmp_path / name, {"cells": wrong}, card)
        with pytest.raises(ValueError, match=told):
            make_agent(str(path), DECK)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("hands", "many", "hands is 'many'"),
        ("decisions", -1, "decisions is -1"),
        ("decisions", None, "decisions is None"),
        ("regrets", np.nan, "regrets holds numbers that are not finite"),
        ("sums", np.inf, "sums holds numbers that are not finite"),
    ],
)
def test_a_state_that_is_none_is_refused(name: str, value: Any, told: str) -> None:
    trainer = CFR(CFRSettings())
    arrays, plain = trainer.state()
    if name in plain:
        plain[name] = value
    else:
        arrays[name] = np.full_like(arrays[name], value)
    with pytest.raises(ValueError, match=told):
        CFR(CFRSettings()).restore(arrays, plain)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rules=classic"], "have a deck of 52 cards, too many for a table: 2x4-h2, 2x5-h3"),
        (["rules=2x6-h3"], "245,407,770 numbers for 2x6-h3, and 20,000,000 are the most"),
        (["rules=draft", "horizon=auto"], "cfr learns a table, and the rules draft"),
        (["rules={suits: 2, ranks: 4, hand: 2, race: 2}", "horizon=auto"], "are a race"),
        (["horizon=hand"], "cfr takes endings for what they are worth"),
        (["averaging=3"], "averaging is 3.0: it has to be a number of at least 0 and at most 2"),
        (["init=champion"], "init is 'champion': cfr learns a table"),
        (["hidden_sizes=[64]"], "'hidden_sizes' is not a setting of the cfr trainer"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "trainer=cfr", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_run_under_way_keeps_how_hands_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(tmp_path / "run", "decisions=1_000")
    assert main(["train", "--resume", str(tmp_path / "run"), "averaging=1"]) == 2
    assert "averaging is 2.0 in this run and cannot become 1" in capsys.readouterr().err
