"""MCCFR: mean sampled regrets equal those of the whole tree; it nears an equilibrium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from german_whist.agents.checkpoints import read_checkpoint, write_checkpoint
from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.solvers.external_sampling_mccfr import MCCFRState, run_iterations
from german_whist.solvers.public_tree_traversal import PublicTreeTraversal
from german_whist.solvers.traversal import LEARN
from german_whist.training.algorithms.mccfr import MCCFR, MCCFRSettings

pytestmark = pytest.mark.usefixtures("few_checked_hands")

DECK = "2x4-h2"
TINY: list[dict[str, Any]] = [
    {"name": "high", "suits": 2, "ranks": 3, "hand": 2},
    {"name": "low", "suits": 2, "ranks": 3, "hand": 2, "contract": "low"},
    {"name": "all", "suits": 2, "ranks": 3, "hand": 2, "counts": "all", "pay": "margin"},
]
QUICK = ["eval_opponents=[]", "final_eval_hands=2", "eval_hands=2", "eval_every=10_000_000"]


def train(run: Path, *words: str) -> None:
    assert main(["train", "trainer=mccfr", *QUICK, *words, "--run", str(run)]) == 0


def exploitability(player: str, deck: str = DECK) -> float:
    return measure_exploitability(load_agent(player, deck), deck).exploitability


def traverse(mccfr: MCCFRState, number: int, averaging: float = 0.0) -> None:
    run_iterations(mccfr, number, 1, averaging, np.zeros(2))


def mccfr_of(rules: dict[str, Any], averaging: float = 0.0, seed: int = 1) -> MCCFRState:
    return MCCFR(MCCFRSettings(rules=rules, reward="points", averaging=averaging, seed=seed)).mccfr


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(
            rules, id=rules["name"], marks=pytest.mark.thorough if rules["name"] == "low" else ()
        )
        for rules in TINY
    ],
)
def test_mean_sampled_regrets_equal_exact_regrets(rules: dict[str, Any]) -> None:
    """Both start from the same regrets, so far above 0 that none becomes negative."""
    mccfr, walker = mccfr_of(rules), PublicTreeTraversal(load_rules(rules), 1)
    start = np.random.default_rng(1).uniform(1, 2, len(mccfr.regrets)).astype(np.float32)
    deals = walker.tree.n_roots * walker.tree.n_deals
    exact = start * np.float32(8 * deals)
    before, sums = exact.copy(), np.zeros(len(start), np.float32)
    for player in range(2):
        walker.traverse(player, LEARN, sums, regrets=exact, weight=1.0)
    exact = (exact - before) / deals
    sampled, hands = np.zeros(len(start)), 60_000
    for number in range(hands):
        mccfr.regrets[:] = start
        traverse(mccfr, number)
        sampled += mccfr.regrets - start
    sampled *= 2 / hands  # each player is the traverser of every second hand
    assert np.abs(exact).max() > 0.01
    assert np.linalg.norm(sampled - exact) < 0.1 * np.linalg.norm(exact)


def increments(regrets: Any, averaging: float, number: int) -> tuple[Any, Any]:
    """What a hand adds to regrets and to the strategy sum."""
    mccfr = mccfr_of(TINY[0], averaging)
    mccfr.regrets[:] = regrets
    traverse(mccfr, number, averaging)
    added = mccfr.regrets - regrets
    # Regrets of the traverser, and the strategy of the other player.
    assert not (added.astype(bool) & mccfr.strategy_sum.astype(bool)).any()
    return added, mccfr.strategy_sum


def test_regrets_and_strategy_are_weighted_by_iteration() -> None:
    """Brown and Sandholm 2019: iteration t has the weight t**averaging in both."""
    size = len(mccfr_of(TINY[0]).regrets)
    regrets = np.random.default_rng(1).uniform(1, 2, size).astype(np.float32)
    totals = np.zeros(2)
    for number in (0, 6, 7, 20, 21, 33, 34):
        uniform = increments(regrets, 0.0, number)
        totals += [np.abs(increment).max() for increment in uniform]
        for averaging in (1.0, 2.0):
            weight, weighted = (number + 1) ** averaging, increments(regrets, averaging, number)
            for one, other in zip(uniform, weighted, strict=True):
                assert other == pytest.approx(weight * one, rel=1e-3, abs=1e-3)
    assert (totals > 0.5).all()


def test_regret_matching_ignores_negative_regrets() -> None:
    """Regret matching: in proportion to positive regrets, uniform where there are none."""
    mccfr, negative = mccfr_of(TINY[0]), 0
    regrets = np.random.default_rng(2).choice([-1.0, 3.0], len(mccfr.regrets)).astype(np.float32)
    for number in range(400):
        mccfr.regrets[:], mccfr.strategy_sum[:] = regrets, 0
        traverse(mccfr, number)
        probs = mccfr.strategy_sum[mccfr.strategy_sum > 0]
        # Positive regrets are equal, so that all probabilities are 1/n.
        assert np.rint(1 / probs) * probs == pytest.approx(1, abs=1e-5)
        negative += int((regrets[mccfr.strategy_sum > 0] < 0).sum())
    assert negative > 0


def test_average_strategy_nears_an_equilibrium(tmp_path: Path) -> None:
    train(tmp_path / "run", "decisions=2_000_000", "iteration=500_000")
    result = measure_exploitability(load_agent(str(tmp_path / "run"), DECK), DECK)
    assert result.exploitability < 0.003
    assert result.self_play_value == pytest.approx(0.06052, abs=0.004)
    assert exploitability(f"{tmp_path / 'run'},greedy") < 0.05


def test_table_depends_on_seed_and_not_on_iterations(tmp_path: Path) -> None:
    runs = {"one": ["seed=1"], "cut": ["seed=1", "iteration=1_000"], "two": ["seed=2"]}
    for name, words in runs.items():
        train(tmp_path / name, "iteration=20_000", *words, "decisions=20_000")
    first, cut, second = (read_checkpoint(tmp_path / name).weights["cells"] for name in runs)
    assert read_checkpoint(tmp_path / "one").card.network.cells == len(first) > 20_000
    # An iteration ends with a whole hand, so that iterations end at other hands.
    assert np.array_equal(first, cut)
    assert not np.array_equal(first, second)


def test_checkpoint_plays_whatever_its_trainer_was_called(tmp_path: Path) -> None:
    train(tmp_path / "run", "decisions=2_000")
    checkpoint = read_checkpoint(tmp_path / "run")
    settings = {**checkpoint.card.settings, "trainer": "cfr"}
    card = msgspec.structs.replace(checkpoint.card, settings=settings)
    older = write_checkpoint(tmp_path / "older.safetensors", checkpoint.weights, card)
    assert read_checkpoint(older).card.settings["trainer"] == "cfr"
    assert exploitability(str(older)) == exploitability(str(tmp_path / "run"))


def test_table_plays_its_rules_and_is_refused_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    train(tmp_path / "run", "decisions=300_000")
    assert main(["evaluate", run, "--against", "nash", "--rules", "2x5-h3"]) == 2
    assert f"{run} plays 2x4-h2, and not 2x5-h3" in capsys.readouterr().err
    assert main(["evaluate", run, "--against", "nash", "--rules", DECK, "--hands", "20"]) == 0
    for words, message in (
        (["export", run, "-o", str(tmp_path / "x.onnx")], "is a table; only networks"),
        (["train", "tiny", f"init={run}"], "is a table, whose numbers fit no network"),
        (["evaluate", f"thinker:4,policy={run}", "--against", "nash", "--rules", DECK], "table"),
        (["train", "--resume", run, "averaging=1"], "is 2.0 in this run and cannot become 1"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err


def test_table_of_wrong_size_is_refused(tmp_path: Path) -> None:
    train(tmp_path / "run", "decisions=1_000")
    checkpoint = read_checkpoint(tmp_path / "run")
    cells = checkpoint.weights["cells"]
    for name, wrong, message in (
        ("short", cells[:-1], "cells, and 2x4-h2 has"),
        ("below", cells - 1, "a weight is below 0"),
    ):
        network = msgspec.structs.replace(checkpoint.card.network, cells=len(wrong))
        card = msgspec.structs.replace(checkpoint.card, network=network)
        path = write_checkpoint(tmp_path / name, {"cells": wrong}, card)
        with pytest.raises(ValueError, match=message):
            load_agent(str(path), DECK)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("hands", "many", "hands is 'many'"),
        ("decisions", -1, "decisions is -1"),
        ("regrets", np.nan, r"regrets has to be \(\d+,\) finite numbers"),
        ("strategy_sum", np.inf, r"strategy_sum has to be \(\d+,\) finite"),
    ],
)
def test_mccfr_refuses_a_wrong_state(name: str, value: Any, message: str) -> None:
    trainer = MCCFR(MCCFRSettings())
    arrays, plain = trainer.state()
    if name in plain:
        plain[name] = value
    else:
        arrays[name] = np.full_like(arrays[name], value)
    with pytest.raises(ValueError, match=message):
        MCCFR(MCCFRSettings()).restore(arrays, plain)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rules=classic"], "have a deck of 52 cards, too many for a table: 2x4-h2, 2x5-h3"),
        (["rules=2x6-h3"], "245,407,770 numbers for 2x6-h3, and 20,000,000 are the most"),
        (["rules=draft", "horizon=auto"], "mccfr learns a table, and the rules draft"),
        (["rules={suits: 2, ranks: 4, hand: 2, race: 2}", "horizon=auto"], "are a race"),
        (["horizon=hand"], "mccfr ends hands with the foreplay, at the exact"),
        (["averaging=3"], "averaging is 3.0: it has to be a number of at least 0 and at most 2"),
        (["init=champion"], "init is 'champion': mccfr learns a table"),
        (["hidden_sizes=[64]"], "'hidden_sizes' is not a setting of the mccfr trainer"),
    ],
)
def test_mccfr_refuses_settings_that_do_not_fit(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "trainer=mccfr", *words]) == 2
    assert message in capsys.readouterr().err
