"""One network for several rule sets: trained, evaluated and played in each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import german_whist
from german_whist.agents.base import CannotPlay
from german_whist.agents.checkpoints import read_checkpoint
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.cli import main
from german_whist.common.settings import SettingsError
from german_whist.engine.observation.rule_features import RULE_SPEC
from german_whist.engine.observation.suit_order import real_action
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.presets import load_settings
from german_whist.training.rollout.networks import weights_of
from german_whist.training.run_state import agent_from_weights

# The same cards; of one the stock's tricks count as well, and in one fewer tricks win.
HIGH = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2}
ALL = {**HIGH, "name": "tiny-all", "counts": "all"}
LOW = {**HIGH, "name": "tiny-low", "contract": "low"}
SMALL: dict[str, Any] = {"horizon": "hand", "n_envs": 11, "batch_size": 32, "hidden_sizes": (16,)}


def settings_of(*rules: Any, **more: Any) -> PPOSettings:
    return PPOSettings(**{**SMALL, "rules": list(rules), **more})


def shaken(trainer: PPO) -> PPO:
    rng = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for each in trainer.network.parameters():
            each.add_(0.3 * torch.randn(each.shape, generator=rng))
    return trainer


def test_rule_features_are_only_those_that_differ() -> None:
    trainer = PPO(settings_of(HIGH, ALL))
    assert trainer.collector.features.tolist() == [RULE_SPEC.group("counts_all").start]
    trainer.iterate()
    seen = trainer.collector.buffer.observations
    assert not seen[:, :5, -1].any()
    assert seen[:, 5:, -1].all()
    assert trainer.collector.buffer.next_observations[:, -1].tolist() == [0] * 5 + [1] * 6
    assert PPO(settings_of(HIGH)).collector.features.tolist() == []


@pytest.mark.parametrize("rules", [(HIGH, LOW, ALL), ("draft", "small-all")])
def test_agent_of_each_rule_set_plays_as_torch(rules: tuple[Any, ...]) -> None:
    trainer = shaken(PPO(settings_of(*rules)))
    agents = [
        agent_from_weights(
            trainer.settings,
            weights_of(trainer.network),
            trainer.network_card(),
            "sample",
            "endgame=network",
            rules=each.rules,
        )
        for each in trainer.settings.all_options
    ]
    rng, now = np.random.default_rng(1), trainer.games.observe()
    for _ in range(30):
        trainer.collector.add_observations(0, now)
        with torch.no_grad():
            logits = trainer.collector.evaluate(trainer.network, 0)[0]
        masks = trainer.collector.buffer.action_masks[0]
        for agent, (batch, span) in zip(agents, trainer.games.parts, strict=True):
            likelihoods = agent.network_probabilities(batch.views(batch.turns()))
            for game, at in enumerate(range(span.start, span.stop)):
                places = np.flatnonzero(masks[at])
                probs = np.exp(logits[at, places] - logits[at, places].max())
                shown = trainer.collector.buffer.env_actions[at, places]
                real = [real_action(int(each), batch.suit_orders[game]) for each in shown]
                assert likelihoods[game, real] == pytest.approx(probs / probs.sum(), abs=1e-5)
        now = trainer.games.step((now.masks * rng.random(now.masks.shape)).argmax(axis=1))


def test_run_is_evaluated_in_each_rule_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small: Any = {
        "rules": [HIGH, ALL],
        "n_envs": 64,
        "hidden_sizes": [8],
        "threads": 1,
        "batch_size": 128,
        "final_eval_hands": 20,
        "quiet": True,
    }
    measured = {"eval_hands": 20, "eval_every": 1000, "eval_mode": "sync"}
    trained = german_whist.train("tiny", folder="both", decisions=2000, **small, **measured)
    played = {(each.opponent, each.rules) for each in trained.evaluations}
    assert played >= {("random", "tiny"), ("random", "tiny-all")}
    assert "random (tiny-all)" in trained.text()
    assert "random (tiny-all)" in Path("both", "report.html").read_text(encoding="utf-8")
    on = german_whist.resume("both", quiet=True, decisions=3000)
    assert on.decisions >= 3000
    assert [each.name for each in read_checkpoint("both").rules] == ["tiny", "tiny-all"]
    for rules in (HIGH, ALL):
        found = german_whist.evaluate("both", "random", rules, hands=20)
        assert found.rules == rules["name"]
    assert german_whist.load_agent("both").rules.name == "tiny"
    with pytest.raises(CannotPlay, match="both plays tiny, tiny-all, and not classic"):
        NetworkAgent("classic", "both")
    more = german_whist.train("tiny", folder="more", decisions=500, init="both", **small)
    assert more.decisions >= 500
    assert main(["compare", "both", "more"]) == 0
    assert "random (tiny-all)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rules", "more", "message"),
    [
        ([], {}, "rules is empty: name a rule set"),
        (["classic", "classic"], {}, "classic and classic are the same game"),
        ([HIGH, {**ALL, "name": "tiny"}], {}, "tiny and tiny are the same game, or have the"),
        (["classic", "race-7"], {"horizon": "foreplay"}, "the rules race-7 are a race"),
        ([HIGH, ALL], {"n_envs": 1}, "n_envs is 1: each of 2 rule sets needs a game"),
        (["classic", "clasic"], {}, "did you mean 'classic'"),
    ],
)
def test_incompatible_rule_sets_are_refused(
    rules: list[Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        settings_of(*rules, **more)


def test_words_name_several_rule_sets() -> None:
    for word in ("rules=[classic, all-tricks]", "rules=classic,all-tricks"):
        settings = load_settings("quick", [word])
        assert [each.rules.name for each in settings.all_options] == ["classic", "all-tricks"]
        again = load_settings(None, [f"rules={settings.as_mapping()['rules']}"])
        assert again.all_options[1].rules == settings.all_options[1].rules
