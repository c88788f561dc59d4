"""The comparison of small decks with the whole pack resumes, and its correlations are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import transfer

pytest.importorskip("torch")


def test_configurations_differ_and_have_every_value() -> None:
    chosen = transfer.configurations()
    assert len(chosen) == len({json.dumps(settings) for settings in chosen.values()}) == 32
    for name in ("trainer", "learning_rate", "hidden_sizes"):
        assert len({str(settings[name]) for settings in chosen.values()}) > 1
    assert {settings.get("critic") for settings in chosen.values()} == {
        "separate",
        "oracle",
        None,
    }
    of_ppo = [each for each in chosen.values() if each.get("critic") == "oracle"]
    for name in ("hidden_sizes", "learning_rate", "ent_coef_end", "n_epochs"):
        values = [str(settings[name]) for settings in of_ppo]
        assert {values.count(value) for value in values} == {4}


def test_rank_correlation_is_spearmans() -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    first = rng.integers(0, 9, 30).astype(float)
    second = first + rng.normal(scale=4, size=30).round()
    estimate = transfer.rank_correlation(first, second)
    assert estimate.value == pytest.approx(stats.spearmanr(first, second).statistic)
    assert estimate.low < estimate.value < estimate.high
    assert transfer.ranks([3.0, 1.0, 3.0]).tolist() == [2.5, 1.0, 2.5]
    equal = [
        {"configuration": name, "rules": "r", "figure": figure, "value": value}
        for name, value in (("a", 1.0), ("b", 2.0), ("c", 3.0))
        for figure, value in (("x", value), ("y", 0.5))
    ]
    assert "| x on r | y on r | 3 | all equal |" in transfer.summary(equal)


def test_correlations_within_kinds_of_learners() -> None:
    values: dict[str, tuple[tuple[str, str | None], list[tuple[float, float, float]]]] = {
        "p": (("ppo", "separate"), [(0.1, 0.6, 0.2), (0.2, 0.5, 0.1), (0.3, 0.4, 0.3)]),
        "m": (("mmd", "separate"), [(0.1, 0.3, 0.1), (0.2, 0.3, 0.1), (0.3, 0.3, 0.1)]),
        "n": (("nfsp", None), [(0.4, 0.2, 0.3), (0.5, 0.1, 0.4)]),
    }
    lines = [
        {
            "configuration": f"{name}{number}",
            "rules": rules,
            "figure": figure,
            "value": value,
            "settings": {"trainer": trainer, **({"critic": critic} if critic else {})},
        }
        for name, ((trainer, critic), learners) in values.items()
        for number, learner in enumerate(learners)
        for rules, figure, value in (
            ("2x5-h3", "exploitability", learner[0]),
            ("classic", "win rate", learner[1]),
            ("3x4-h4", "exploitability", learner[2]),
        )
    ]
    header, _, *rows = transfer.summary_of_kinds(lines).splitlines()
    assert header == "| kind | learners | exploitability on 2x5-h3 | exploitability on 3x4-h4 |"
    assert [row.split(" [")[0] for row in rows] == [
        "| ppo | 3 | -1.00",
        "| mmd | 3 | all equal | all equal |",
        "| nfsp | 2 |  |  |",
        "| all but nfsp | 6 | -0.25",
    ]
    assert "| -0.50 [" in rows[0]


@pytest.mark.thorough
@pytest.mark.usefixtures("light_workers", "few_checked_hands")
def test_interrupted_comparison_goes_on_and_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from scipy import stats

    monkeypatch.setattr(transfer, "DECKS", ("2x4-h2", "2x5-h3"))
    monkeypatch.setattr(transfer, "OPPONENTS", ("random", "threshold"))
    monkeypatch.setattr(transfer, "affordable_decisions", lambda *_: 256)
    small: dict[str, Any] = {"n_envs": 32, "hidden_sizes": [4], "batch_size": 64}
    chosen = {
        "a": {"trainer": "ppo", "critic": "separate", **small},
        "b": {"trainer": "ppo", "critic": "oracle", **small},
        "c": {"trainer": "mmd", "critic": "separate", **small},
    }
    monkeypatch.setattr(transfer, "configurations", lambda: chosen)
    words = ["--folder", str(tmp_path), "--hands", "20", "--responder-hands", "2"]
    transfer.main([*words, "--configurations", "2"])
    first = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [(line["configuration"], line["rules"], line["figure"]) for line in first] == [
        ("a", "2x4-h2", "exploitability"),
        ("a", "2x5-h3", "exploitability"),
        ("a", "classic", "win rate"),
        ("a", "classic", "loss to responder"),
        ("b", "2x4-h2", "exploitability"),
        ("b", "2x5-h3", "exploitability"),
        ("b", "classic", "win rate"),
    ]
    assert all(line["decisions"] == 256 for line in first)
    trained: list[Path] = []
    train = transfer.train_or_resume
    monkeypatch.setattr(
        transfer,
        "train_or_resume",
        lambda settings, folder, **options: (
            trained.append(folder) or train(settings, folder, **options)
        ),
    )
    transfer.main(words)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert lines[:7] == first
    assert {folder.name for folder in trained} == {"c"}
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    found = transfer.figures(lines)
    both = [[*found[f"exploitability on {rules}"].values()] for rules in transfer.DECKS]
    assert all(len({*values}) == 3 for values in both)
    correlation = stats.spearmanr(*both).statistic
    row = f"| exploitability on 2x4-h2 | exploitability on 2x5-h3 | 3 | {correlation:+.2f} ["
    assert row in text
    wins = found["win rate on classic"]
    for rules, by_name in zip(transfer.DECKS, both, strict=True):
        svg = (tmp_path / f"transfer-{rules}.svg").read_text(encoding="utf-8")
        assert svg.count("<title>") == svg.count("<circle") == 3
        for value, rate in zip(by_name, wins.values(), strict=True):
            assert f"{rate:.4g}</title>" in svg, value
