"""Trainings start with the weights of a checkpoint that fits; the card names it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from small_runs import quiet

from german_whist.agents.base import CannotPlay
from german_whist.agents.checkpoints import (
    read_checkpoint,
    strip_critic,
    write_checkpoint,
)
from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.common.settings import SettingsError
from german_whist.engine.rules import load_rules
from german_whist.envs.self_play import SelfPlayEnv
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.callbacks.console import ConsoleLog
from german_whist.training.presets import load_settings
from german_whist.training.run import resume, start
from german_whist.training.run_state import write_policy
from german_whist.training.warm_start import load_warm_start

TINY: dict[str, Any] = {
    "rules": {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2},
    "horizon": "hand",
    "n_envs": 8,
    "hidden_sizes": (6, 5),
    "batch_size": 16,
    "decisions": 200,
    "eval_opponents": (),
    "threads": 1,
    "final_eval_hands": 20,
}


def settings(**changes: Any) -> PPOSettings:
    return PPOSettings(**{**TINY, **changes})


def checkpoint(folder: Path, **changes: Any) -> Path:
    trainer = PPO(settings(seed=9, **changes))
    for _ in range(2):
        trainer.iterate()
    return write_policy(
        folder / "1",
        trainer.policy_weights(),
        trainer.settings,
        trainer.network_card(),
        decisions=trainer.decisions,
        commands=("german-whist train tiny seed=9",),
    )


def begun(path: Path, **changes: Any) -> tuple[PPO, str]:
    config = settings(init=str(path), **changes)
    trainer = PPO(config)
    weights, _, note = load_warm_start(config, trainer.network_card())
    trainer.load_weights(weights)
    return trainer, note


@pytest.mark.parametrize("critic", ["oracle", "separate", "shared"])
def test_warm_start_sets_network_ema_and_critic(critic: str, tmp_path: Path) -> None:
    path = checkpoint(tmp_path, critic=critic)
    trainer, note = begun(path, critic=critic)
    assert note == f"begun with the weights of {path}"
    weights = read_checkpoint(path).weights
    assert ("critic.0.weight" in weights) == (critic != "shared")
    assert "value.weight" in weights
    for module in (trainer.network, trainer.ema_network):
        own = PPO(trainer.settings)
        own.ema_network.load_state_dict(module.state_dict())
        assert own.policy_weights().keys() == weights.keys()
        for name, values in own.policy_weights().items():
            assert np.array_equal(values, weights[name]), name
    assert np.isfinite(trainer.iterate()["value_loss"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"critic": "separate"}, "there it is 'oracle', and here 'separate'"),
        ({"reward": "margin"}, "it was paid 'win' with the horizon 'hand', and here 'margin'"),
    ],
)
def test_warm_start_drops_a_critic_that_does_not_fit(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = checkpoint(tmp_path)
    trainer, note = begun(path, **changes)
    assert "the critic begins anew" in note
    assert message in note
    fresh, weights = PPO(trainer.settings).policy_weights(), trainer.policy_weights()
    for name, values in read_checkpoint(path).weights.items():
        critics = name.startswith(("critic.", "value."))
        assert np.array_equal(weights[name], fresh[name] if critics else values), name


def test_warm_start_without_critic_makes_a_new_one(tmp_path: Path) -> None:
    source = read_checkpoint(checkpoint(tmp_path))
    network = msgspec.structs.replace(source.card.network, critic=None)
    card = msgspec.structs.replace(source.card, network=network)
    path = write_checkpoint(tmp_path / "bare", strip_critic(source).weights, card)
    trainer, note = begun(path)
    assert "the critic begins anew: its weights are not in the checkpoint" in note
    assert np.array_equal(
        trainer.policy_weights()["policy.weight"], source.weights["policy.weight"]
    )


def test_card_has_the_origin_of_a_warm_start(tmp_path: Path) -> None:
    path = checkpoint(tmp_path)
    output = io.StringIO()
    config = settings(init=str(path), final_eval_hands=20)
    run = start(tmp_path / "run", config)
    run.go(ConsoleLog(output))
    assert f"begun with the weights of {path}" in output.getvalue()
    card = read_checkpoint(tmp_path / "run").card
    first = read_checkpoint(path).card
    assert card.init is not None
    assert msgspec.to_builtins(card.init) == {
        "checkpoint": str(path),
        "sha256": first.sha256,
        "decisions": first.decisions,
        "commands": ("german-whist train tiny seed=9",),
    }
    assert f"init={path}" in card.commands[0]
    # It is not needed again, and a run cannot change it.
    path.unlink()
    again = resume(tmp_path / "run", ["decisions=300"])
    assert again.state.init == card.init
    again.close()
    with pytest.raises(SettingsError, match=r"init is .* cannot become"):
        resume(tmp_path / "run", ["init=champion"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_sizes": (6,)}, r"\[6, 5\], and this training \[6\]: give hidden_sizes=6,5"),
        ({"card_ranks": "absolute"}, "and this training absolute: give card_ranks=relative"),
        (
            {"suit_order": "raw"},
            "reads the suit order trump-first, .* raw: give suit_order=trump-first",
        ),
    ],
)
def test_warm_start_refuses_networks_that_do_not_fit(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = checkpoint(tmp_path)
    with pytest.raises(SettingsError, match=f"init: .*{message}"):
        begun(path, **changes)


WIDER = {"name": "wider", "suits": 2, "ranks": 5, "hand": 2, "choice": True}
RACE = {"name": "race", "suits": 2, "ranks": 4, "hand": 2, "counts": "all", "race": 2}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([TINY["rules"]], [WIDER]),
        ([TINY["rules"]], [TINY["rules"], WIDER, RACE]),
        ([TINY["rules"], RACE], [RACE, WIDER]),
        ([RACE, WIDER], [WIDER, TINY["rules"], RACE]),
        ([TINY["rules"], RACE], [RACE]),
    ],
)
def test_warm_start_for_other_rules_plays_as_before(
    before: list[Any], after: list[Any], tmp_path: Path
) -> None:
    path = checkpoint(tmp_path, rules=before)
    trainer, about = begun(path, rules=after)
    assert (", which plays" in about) == any(name not in before for name in after)
    assert "not used" not in about
    network = trainer.network_card()
    begun_path = write_policy(tmp_path / "2", trainer.policy_weights(), trainer.settings, network)
    for name in (name for name in before if name in after):
        rules = load_rules(name)
        players = [NetworkAgent(rules, file, "endgame=network") for file in (path, begun_path)]
        games = SelfPlayEnv(64, rules)
        games.reset(seed=3)
        for _ in range(12):
            first, second = (player.network_probabilities(games.views()) for player in players)
            assert np.allclose(first, second, atol=1e-5)
            games.step(first.argmax(axis=1))
    assert np.isfinite(trainer.iterate()["value_loss"])


def test_inputs_that_the_checkpoint_lacks_start_at_zero(tmp_path: Path) -> None:
    path = checkpoint(tmp_path)
    trainer, _ = begun(path, rules=[TINY["rules"], WIDER])
    known = read_checkpoint(path).card.network.places
    network = trainer.network_card()
    weight = trainer.policy_weights()["hidden.0.weight"]
    new = [k for k, place in enumerate(network.places) if place not in known]
    assert new
    assert network.rule_features
    assert not weight[:, [*new, *range(len(network.places), weight.shape[1])]].any()
    assert not trainer.policy_weights()["policy.weight"][52].any()
    # And what is no longer read is reported.
    _, about = begun(
        checkpoint(tmp_path, rules=[TINY["rules"], WIDER]), rules=[TINY["rules"], RACE]
    )
    assert "inputs that this network lacks are not used" in about


def test_warm_start_from_the_champion(tmp_path: Path) -> None:
    words = ["init=champion", "hidden_sizes=512,256", "n_envs=16", "threads=1"]
    run = start(tmp_path / "run", load_settings("quick", words))
    assert run.state.init is not None
    assert run.state.init.checkpoint == "champion"
    assert run.state.init.decisions == read_checkpoint(CLASSIC_WEIGHTS).card.decisions > 0
    assert "the critic begins anew" in run.note
    weights, champion = run.trainer.policy_weights(), read_checkpoint(CLASSIC_WEIGHTS)
    for name, values in champion.weights.items():
        assert np.array_equal(weights[name], values.astype(np.float32)), name
    run.close()
    message = r"has hidden_sizes \[512, 256\], and this training \[256"
    with pytest.raises(SettingsError, match=message):
        start(tmp_path / "other", load_settings("quick", ["init=champion"]))
    with pytest.raises(SettingsError, match=r"init: .*nowhere: there is no checkpoint"):
        start(tmp_path / "other", settings(init=str(tmp_path / "nowhere")))
    assert not (tmp_path / "other").exists()


def test_warm_start_of_sb3_from_both_kinds_of_weights(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    path = checkpoint(tmp_path, card_ranks="absolute")
    words = [
        "rules={name: tiny, suits: 2, ranks: 4, hand: 2}",
        "horizon=hand",
        "hidden_sizes=6,5",
        "n_envs=8",
        "n_steps=8",
        "batch_size=16",
        "threads=1",
        "decisions=64",
        "pool_size=0",
        "eval_opponents=[]",
        "final_eval_opponents=[]",
        "final_eval_hands=20",
        "opponents=random",
    ]
    run = start(tmp_path / "run", load_settings("sb3", [*words, f"init={path}"]))
    source = read_checkpoint(path)
    for name, values in run.trainer.policy_weights().items():
        assert np.array_equal(values, source.weights[name]), name
    assert run.trainer.policy_weights().keys() == strip_critic(source).weights.keys()
    run.go(quiet())
    again = start(tmp_path / "again", load_settings("sb3", [*words, f"init={run.folder}"]))
    weights = [each.trainer.policy_weights()["policy.weight"] for each in (run, again)]
    assert np.array_equal(*weights)


def test_auto_horizon_is_set_for_each_rule_set(tmp_path: Path) -> None:
    trainer, _ = begun(checkpoint(tmp_path), rules=[TINY["rules"], RACE], horizon="auto", n_steps=4)
    metrics = trainer.iterate()
    assert metrics["hands"] > 0
    path = write_policy(
        tmp_path / "2", trainer.policy_weights(), trainer.settings, trainer.network_card()
    )
    assert read_checkpoint(path).card.horizon == "auto"
    NetworkAgent(RACE, path, "endgame=network")
    with pytest.raises(CannotPlay, match="'foreplay' and never saw an ending"):
        NetworkAgent(TINY["rules"], path, "endgame=network")
