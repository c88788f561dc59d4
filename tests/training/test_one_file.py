"""PPO in one file and the trainer are compared with equal settings, and the comparison resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import one_file
from german_whist.training.presets import settings_from

pytest.importorskip("torch")


def test_settings_are_those_of_the_file() -> None:
    text = one_file.EXAMPLE.read_text(encoding="utf-8")
    settings: Any = settings_from({**one_file.SAME, "rules": "2x5-h3"})
    for part in (
        f"ratio.clamp({1 - settings.clip_range}, {1 + settings.clip_range})",
        f"advantage[t] += {settings.gae_lambda} *",
        f"for _ in range({settings.n_epochs})]).split({settings.batch_size})",
        f'["lr"] = {settings.learning_rate:.0e}'.replace("e-0", "e-"),
        f"{settings.vf_coef} * (new_value",
        f"{settings.ent_coef} * distribution.entropy()",
        f"network.parameters(), {settings.max_grad_norm})",
        f'"--games", type=int, default={settings.n_envs})',
        f"nn.Linear(size, {settings.hidden_sizes[0]})",
    ):
        assert part in text, part
    assert (settings.critic, settings.ema_decay, settings.gamma) == ("shared", 0, 1)


@pytest.mark.thorough
@pytest.mark.usefixtures("light_workers", "few_checked_hands")
def test_interrupted_comparison_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_file, "affordable_decisions", lambda *_: 256)
    monkeypatch.setattr(one_file, "RULES", ("2x4-h2", "classic"))
    words = ["--folder", str(tmp_path), "--seconds", "0.05", "--hands", "4", "--games", "16"]
    one_file.main([*words, "--seeds", "1"])
    path = tmp_path / "results.jsonl"
    first = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(line["which"], line["rules"]) for line in first] == [
        (which, rules) for rules in one_file.RULES for which in ("one file", "ppo")
    ]
    assert all(0 < line["exploitability"] < 0.5 for line in first[:2])
    assert all(0 <= line["wins against counting"] <= 1 for line in first[2:])
    one_file.main([*words, "--seeds", "2"])
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines[:4] == first
    assert [line["seed"] for line in lines[4:]] == [2] * 4
    mean = sum(line["exploitability"] for line in (lines[0], lines[4])) / 2
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert f"| 2x4-h2 | exploitability | {mean:.4f} [" in text
