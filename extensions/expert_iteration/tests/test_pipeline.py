"""The pipeline of expert iteration: hands, targets, fits that resume, whole recipes."""

from __future__ import annotations

import os
import shlex
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from german_whist import Game
from german_whist.agents import Player
from german_whist.agents.base import CannotPlay
from german_whist.agents.checkpoints import (
    find_checkpoint,
    read_checkpoint,
    read_search_network_card,
)
from german_whist.agents.checkpoints.bundled import (
    BELIEF_WEIGHTS,
    CLASSIC_WEIGHTS,
    FAMILY_WEIGHTS,
    FIRST_WEIGHTS,
)
from german_whist.agents.networks.belief import read_belief_network
from german_whist.agents.networks.policy import NetworkAgent, policy_net
from german_whist.agents.networks.value import read_value_network
from german_whist.agents.registry import load_agent
from german_whist.agents.search.base import UNLIKELY_FOR_TARGETS, SearchAgent
from german_whist.cli import main
from german_whist.common.executors import Executor, WorkersLost
from german_whist.common.settings import SettingsError
from german_whist.engine.dtypes import VIEW
from german_whist.engine.endgame import value
from german_whist.engine.rules import load_rules
from german_whist.engine.view import View
from german_whist.expert_iteration import fitting
from german_whist.expert_iteration.fit_value import ValueTask
from german_whist.expert_iteration.fitting import (
    Fit,
    FitConfig,
    is_fitted,
    write_search_network,
)
from german_whist.expert_iteration.pipeline import (
    MINUTES,
    first_training,
    rounds,
    run_expert_iteration,
)
from german_whist.expert_iteration.recipe import Recipe, command_of, load_recipe
from german_whist.expert_iteration.search_targets import SearchPlayers, play_with_targets
from german_whist.expert_iteration.self_play import PolicyPlayers
from german_whist.expert_iteration.workers import (
    HandsFile,
    Networks,
    make_player,
)
from german_whist.training.api import resume, train
from german_whist.training.folder import settings_of

CLASSIC = load_rules("classic")


# -- hands


def test_hands_are_legal_and_end_as_solved() -> None:
    policy = policy_net(read_checkpoint(CLASSIC_WEIGHTS))
    hands = PolicyPlayers(CLASSIC, policy, 8).play(5, 100, 0.3)
    np.testing.assert_array_equal(hands[4:], PolicyPlayers(CLASSIC, policy, 4).play(5, 104, 0.3))
    assert hands["random_tricks"].any()
    for k, hand in enumerate(hands):
        game = Game("classic", seed=5, number=100 + k)
        for card in hand["plays"]:
            game.play(int(card))
        record = game.array[0]
        won = value([int(cards) for cards in record["hand"]], int(record["trump"]), game.turn or 0)
        assert hand["tricks"] == (won if game.turn == 0 else 13 - won)


# -- fits


@pytest.mark.parametrize("killed", ["save 1", "save 2", "write 1"])
def test_interrupted_fit_comes_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    policy, files = policy_net(read_checkpoint(CLASSIC_WEIGHTS)), []
    hands = PolicyPlayers(CLASSIC, policy, 256).play(7, 0, 0.1)
    for k in range(4):
        files.append(tmp_path / f"{k}.npy")
        np.save(files[-1], hands[64 * k : 64 * (k + 1)])
    config = FitConfig((8,), 3.0, 16)
    monkeypatch.setattr(fitting, "SAVE_EVERY", 20)

    def fit() -> Fit:
        return Fit(ValueTask(CLASSIC, 0.8), config, files)

    called: list[str] = []

    def may_be_killed(name: str) -> None:
        called.append(name)
        if f"{name} {called.count(name)}" == killed:
            raise KeyboardInterrupt

    class Dying(Fit):
        def save(self, target: Path) -> None:
            may_be_killed("save")
            super().save(target)

    def write(fit: Fit, path: Path) -> None:
        may_be_killed("write")
        write_search_network(CLASSIC, Recipe(), fit, path)

    uninterrupted = fit()
    go = hands[:16], lambda fit, path: write_search_network(CLASSIC, Recipe(), fit, path)
    uninterrupted.run(tmp_path / "whole", lambda _: None, *go)
    assert uninterrupted.step == uninterrupted.steps == 48
    target = tmp_path / "broken"
    with pytest.raises(KeyboardInterrupt):
        Dying(uninterrupted.task, config, files).run(target, lambda _: None, hands[:16], write)
    assert not is_fitted(target)
    later = fit()
    assert later.restore(target) == (killed in ("save 2", "write 1"))
    if later.step:
        with pytest.raises(ValueError, match="other settings"):
            Fit(uninterrupted.task, FitConfig((8,), 2.0, 16), files).restore(target)
    later.run(target, lambda _: None, *go)
    assert is_fitted(target)
    assert not fit().restore(target)
    weights = [target.with_name(f"{name}.safetensors") for name in ("whole", "broken")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


# -- search targets


def likely_cards(view: View) -> np.ndarray:
    network = NetworkAgent("classic", CLASSIC_WEIGHTS)
    probs = network.network_probabilities(np.array(view.array, VIEW))[0][view.legal()]
    return np.flatnonzero(np.log(probs / probs.max()) > UNLIKELY_FOR_TARGETS)


def test_estimates_of_a_search_are_its_search_targets() -> None:
    thinker = load_agent("thinker:8")
    assert isinstance(thinker, SearchAgent)
    searching = SearchPlayers(CLASSIC, thinker, 4)
    hands = play_with_targets(searching, 3, 0, 0.0)
    again = play_with_targets(searching, 3, 2, 0.0)
    for field in ("hand", "targets"):
        np.testing.assert_array_equal(hands[field][2:], again[field][:2])
    compared = ruled_out = 0
    for k, searched in enumerate(hands):
        game = Game("classic", seed=3, number=k)
        for decision, card in enumerate(searched["hand"]["plays"][:26]):
            view, targets = game.view(game.turn or 0), searched["targets"][decision]
            columns = np.flatnonzero(~np.isnan(targets))
            estimates = thinker.estimates(view)
            if estimates is None:
                assert not len(columns)
            elif decision >= 24:
                # At the last trick every determinization is tried: the same in any stream.
                player = Player(thinker, seed=k)
                assert player.choose(view) == card
                assert targets[columns] == pytest.approx(estimates.means[columns], abs=1e-6)
                assert len(columns) == len(view.legal())
                compared += len(columns)
            else:
                likely = likely_cards(view)
                assert {*columns} <= {*likely}
                ruled_out += len(view.legal()) - len(likely)
            game.play(int(card))
    assert compared > 8
    assert ruled_out


# -- recipes


def test_recipe_makes_the_networks_of_a_thinker_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "hands=32 target_hands=[16] value_hidden_sizes=[8] belief_hidden_sizes=[8] epsilon=0.1"
    words = words.split()
    assert main(["expert-iteration", "quick", *words, "--folder", str(tmp_path / "mine")]) == 0
    named = capsys.readouterr().out.splitlines()[-1]
    assert load_agent(named).name == named
    assert find_checkpoint(tmp_path / "mine") == tmp_path / "mine" / "policy.safetensors"
    assert load_agent(str(tmp_path / "mine")).name == str(tmp_path / "mine")
    card = read_checkpoint(tmp_path / "mine" / "policy").card
    program, verb, *typed = shlex.split(card.commands[0])
    assert (program, verb) == ("german-whist", "expert-iteration")
    assert {*typed[1:]} == {*words}
    assert load_recipe(typed[0], typed[1:]).as_mapping() == card.settings
    assert (
        read_search_network_card(tmp_path / "mine" / "value.safetensors").commands == card.commands
    )
    assert card.init is not None
    assert card.init.checkpoint == "champion.safetensors"
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "mine").rglob("*.npy")}
    (tmp_path / "mine" / "policy.safetensors").unlink()
    run_expert_iteration(tmp_path / "mine", load_recipe("quick", words), lambda _: None)
    assert read_checkpoint(tmp_path / "mine" / "policy").card.sha256 == card.sha256
    assert {path: path.stat().st_mtime_ns for path in files} == files, "hands were played again"
    assert len(files) == 2
    with pytest.raises(ValueError, match="was begun with hands 32"):
        run_expert_iteration(tmp_path / "mine", load_recipe("quick", ["hands=16"]), lambda _: None)
    refuses_what_it_cannot_resume(tmp_path / "mine", words)


def refuses_what_it_cannot_resume(folder: Path, words: list[str]) -> None:
    """Damaged hands and a folder without its settings are refused, and nothing is lost."""
    recipe, parts = load_recipe("quick", words), {*folder.iterdir()}
    damaged = next(folder.glob("search_targets*/*.npy"))
    whole = damaged.read_bytes()
    (folder / "policy.safetensors").unlink()
    for content in (b"", whole[:-9], whole[:50], b"hands", npy(np.zeros(3))):
        damaged.write_bytes(content)
        with pytest.raises(ValueError, match=f"{damaged.name} is no whole file of hands: delete"):
            run_expert_iteration(folder, recipe, lambda _: None)
    damaged.write_bytes(whole)
    (folder / "settings.yaml").unlink()
    with pytest.raises(ValueError, match=r"has \w+ and no settings.yaml: put it back"):
        run_expert_iteration(folder, recipe, lambda _: None)
    assert parts - {*folder.iterdir()} == {folder / "policy.safetensors", folder / "settings.yaml"}


def npy(array: np.ndarray) -> bytes:
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_all_networks_learn_from_hands_with_search_targets(tmp_path: Path) -> None:
    words = ["target_hands=8", "determinizations=2"]
    lines: list[str] = []
    run_expert_iteration(tmp_path / "round", load_recipe("round", words), lines.append)
    assert not (tmp_path / "round" / "hands").exists()
    assert lines[0] == "search_targets: 1 of 1 files of 8 hands"
    assert {line.partition(":")[0] for line in lines[1:]} == {"value", "belief", "policy"}
    for kind, layers in (("value", read_value_network), ("belief", read_belief_network)):
        before = layers(CLASSIC_WEIGHTS.parent / kind, CLASSIC).weights
        after = layers(tmp_path / "round" / kind, CLASSIC).weights
        # It has learned on, from what the package has.
        assert 0 < np.abs(after - before).max() < 0.01
    n_lines = len(lines)
    run_expert_iteration(tmp_path / "round", load_recipe("round", words), lines.append)
    assert len(lines) == n_lines


def test_policy_of_many_rule_sets_learns_on_in_one_of_them(tmp_path: Path) -> None:
    words = ["rules=quick", "policy=champion", "hands=32", "target_hands=8,6"]
    words += ["value_hidden_sizes=[8]", "belief_hidden_sizes=[8]"]
    run_expert_iteration(tmp_path, load_recipe("quick", words), lambda _: None)
    card = read_checkpoint(tmp_path / "policy").card
    assert [rules["name"] for rules in card.rules] == ["quick"]
    assert "exchange" in read_checkpoint(FAMILY_WEIGHTS).card.network.inputs
    assert "exchange" not in card.network.inputs
    assert load_agent(str(tmp_path), "quick").rules.name == "quick"


def test_card_has_the_machine_and_the_minutes_of_all_commands(tmp_path: Path) -> None:
    words = ["target_hands=8,6", "determinizations=2", "policy=champion-1"]
    (tmp_path / MINUTES).write_text("policy-1 30.5\n", encoding="utf-8")
    run_expert_iteration(tmp_path, load_recipe("round", words), lambda _: None)
    before = read_checkpoint(FIRST_WEIGHTS).card.minutes
    first, second = (read_checkpoint(tmp_path / name).card for name in ("policy-1", "policy"))
    assert before + 30.5 <= first.minutes <= second.minutes < before + 30.5 + 5
    assert f"{os.cpu_count()} cores" in second.machine
    # After a kill that left the time of a round that is over, the next one counts from 0.
    (tmp_path / "policy.safetensors").unlink()
    (tmp_path / MINUTES).write_text("policy-1 30.5\n", encoding="utf-8")
    run_expert_iteration(tmp_path, load_recipe("round", words), lambda _: None)
    assert read_checkpoint(tmp_path / "policy").card.minutes < first.minutes + 5


@pytest.mark.parametrize(
    "content", [b"", b"30.5", b"policy nan", b"policy -1", b"policy x", b"\xff"]
)
def test_invalid_minutes_are_refused_before_hands_are_played(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / MINUTES).write_bytes(content)
    with pytest.raises(SettingsError, match=r"minutes\.txt: is to hold a policy and the minutes"):
        run_expert_iteration(tmp_path, load_recipe("round"), lambda _: None)


TRAINING = "{trainer: ppo, decisions: 4000, n_envs: 64, hidden_sizes: [8], eval_opponents: []}"


@pytest.mark.thorough
def test_recipe_begins_with_a_training_and_has_rounds(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(TRAINING, encoding="utf-8")
    words = [f"train={tmp_path / 'first.yaml'}", "hands=64", "target_hands=8,6", "seed=7"]
    words += ["determinizations=2", "value_hidden_sizes=[8]", "belief_hidden_sizes=[8]"]
    recipe, folder = load_recipe("quick", words), tmp_path / "mine"
    lines: list[str] = []
    run_expert_iteration(folder, recipe, lines.append, workers=2)
    parts = [*dict.fromkeys(line.partition(":")[0] for line in lines)]
    first, second = ["search_targets-1", "policy-1"], ["search_targets", "policy"]
    assert parts == ["train", "hands", "value", "belief", *first, *second]
    trained = find_checkpoint(folder / "trained")
    assert lines[0] == f"train: {trained}"
    assert settings_of(folder / "trained").seed == 7
    # Each round's policy learns on from the one before.
    before = folder / "policy-0"
    weights = read_checkpoint(trained).weights
    for name, values in read_checkpoint(before).weights.items():
        np.testing.assert_array_equal(values, weights[name])
    for count, (targets, policy) in zip(recipe.target_hands, (first, second), strict=True):
        card = read_checkpoint(folder / policy).card
        assert card.init is not None
        assert card.init.sha256 == read_checkpoint(before).card.sha256  # type: ignore[union-attr]
        program, verb, *typed = shlex.split(card.commands[0])
        assert (program, verb) == ("german-whist", "expert-iteration")
        assert load_recipe(typed[0], typed[1:]) == recipe
        hands = np.load(next((folder / targets).glob("*.npy")))
        assert len(hands) == count
        before = folder / policy
    n_lines = len(lines)
    # What somebody does with the run is no part of the recipe.
    resume(folder / "trained", decisions=4100)
    assert find_checkpoint(folder / "trained") != trained
    # Nothing is made twice, also when all that the last network does not need is gone.
    for name in ("hands", "trained", first[0], second[0]):
        shutil.rmtree(folder / name)
    for path in folder.glob("policy-*"):
        path.unlink()
    (tmp_path / "first.yaml").unlink()
    run_expert_iteration(folder, recipe, lines.append)
    assert len(lines) == n_lines
    # A network that is missing is made again, from what it needs alone.
    made = read_checkpoint(folder / "policy").card.sha256
    (folder / "policy.safetensors").unlink()
    with pytest.raises(SettingsError, match=r"train: .*first\.yaml: cannot be read"):
        run_expert_iteration(folder, recipe, lines.append)
    (tmp_path / "first.yaml").write_text(TRAINING, encoding="utf-8")
    run_expert_iteration(folder, recipe, lines.append)
    assert read_checkpoint(folder / "policy").card.sha256 == made
    # Also where the policy is there, and the value network, which needs the first policy, is not.
    for name in ("value", "policy-0"):
        (folder / f"{name}.safetensors").unlink()
    shutil.rmtree(folder / "trained")
    run_expert_iteration(folder, recipe, lines.append)
    assert (folder / "value.safetensors").exists()
    assert read_checkpoint(folder / "policy").card.sha256 == made


def test_each_round_is_played_by_the_policy_before() -> None:
    recipe = load_recipe("round", ["target_hands=2,3,4", "seed=5", "policy=p", "value_init=v"])
    stages = rounds(Path("f"), recipe)
    initial, own = ("v", str(BELIEF_WEIGHTS)), ("f/value", "f/belief")
    assert [stage.search_networks for stage in stages] == [initial, own, own]
    first = rounds(Path("f"), load_recipe("round", ["hands=9"]))[0]
    assert first.search_networks == own
    names = ["search_targets-1", "search_targets-2", "search_targets"]
    assert [stage.folder for stage in stages] == names
    assert [stage.recipe.policy for stage in stages] == ["p", "f/policy-1", "f/policy-2"]
    assert [stage.policy for stage in stages] == ["policy-1", "policy-2", "policy"]
    assert [stage.recipe.seed for stage in stages] == [5 + k * 1_000_000_007 for k in range(3)]


def test_first_training_keeps_the_settings_it_began_with(tmp_path: Path) -> None:
    file, folder = tmp_path / "first.yaml", tmp_path / "mine"
    file.write_text(TRAINING, encoding="utf-8")
    recipe = load_recipe("quick", [f"train={file}"])
    train(file, folder=folder / "trained", quiet=True, seed=1)
    assert first_training(folder, recipe, CLASSIC).seed == 1
    file.write_text(TRAINING.replace("4000", "4001"), encoding="utf-8")
    message = "begun with decisions 4000, and now it is 4001: put it back in "
    with pytest.raises(SettingsError, match=message):
        run_expert_iteration(folder, recipe, lambda _: None)
    # The file may be gone by then, and a preset is another in another version.
    file.unlink()
    assert first_training(folder, recipe, CLASSIC).seed == 1
    recipe = load_recipe("quick", ["train=champion"])
    assert first_training(folder, recipe, CLASSIC).decisions == 4000


def test_paths_may_have_commas() -> None:
    recipe = load_recipe("quick", ["train=a,b/first.yaml", "value_init=c,d"])
    assert (recipe.train, recipe.value_init) == ("a,b/first.yaml", "c,d")
    _, _, *typed = shlex.split(command_of(recipe))
    assert load_recipe(typed[0], typed[1:]) == recipe


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (TRAINING, ["policy=champion-1"], "with a training or with a policy"),
        (TRAINING, ["rules=margin"], "a training for other rules than margin"),
        ("{trainer: ppo, decisons: 3}", [], "train: .*'decisons' is not a setting"),
        (TRAINING, ["determinizations=20_000_000"], "20000000: give 10000000 at most"),
        (
            TRAINING.replace("}", ", rules: margin}"),
            ["rules=margin", "hands=0"],
            "was not trained for margin: name another by value_init=PATH",
        ),
        ("", ["hand=5"], "did you mean 'hands'"),
        ("", ["hands=many"], "hands"),
        ("", ["hands=-1"], "at least 0"),
        ("", ["epsilon=1"], "less than 1"),
        ("", ["kl_coef=0"], "more than 0"),
        ("", ["hands"], "key=value"),
        ("", ["rules=race-7"], "a value network does not cover race-7"),
        ("{name: long, hand: 12}", ["rules={first}", "train=''"], "most 13 tricks for the stock"),
        ("", ["rules=all-tricks", "determinizations=2"], "network does not cover all-tricks"),
        *(
            (
                "",
                [f"{kind}_init={kind}", f"{kind}_hidden_sizes=[9]"],
                f"is a network of {kind} with hidden_sizes",
            )
            for kind in ("value", "belief")
        ),
    ],
)
def test_impossible_recipe_is_refused_before_it_begins(
    tmp_path: Path, text: str, words: list[str], message: str
) -> None:
    (tmp_path / "first.yaml").write_text(text, encoding="utf-8")
    lines: list[str] = []
    first = tmp_path / "first.yaml"
    words = [word.format(first=first) for word in ([f"train={first}"] if text else []) + words]
    with pytest.raises(ValueError, match=message):
        run_expert_iteration(tmp_path / "mine", load_recipe("quick", words), lines.append)
    assert not lines
    assert not (tmp_path / "mine").exists()


def test_recipe_plays_the_champion_by_default(tmp_path: Path) -> None:
    assert Networks(load_recipe("quick", ["rules=margin"])).checkpoint.path == FAMILY_WEIGHTS
    assert Networks(load_recipe("quick")).checkpoint.path == CLASSIC_WEIGHTS
    assert Networks(load_recipe("classic")).checkpoint.path == FIRST_WEIGHTS
    lines: list[str] = []
    recipe = load_recipe("classic", ["rules=margin"])
    with pytest.raises(CannotPlay, match=r"policy: .* plays classic, and not margin: .*=champion"):
        run_expert_iteration(tmp_path / "mine", recipe, lines.append)
    assert not lines


def test_hands_are_the_same_in_a_worker_process(tmp_path: Path) -> None:
    recipe = load_recipe("round", ["determinizations=2", "policy=champion"])
    files = [HandsFile("search_targets", number, 1, 1) for number in range(2)]
    search_networks = [str(CLASSIC_WEIGHTS.parent / name) for name in ("value", "belief")]
    networks, tasks = Networks(recipe, *search_networks), iter(files)
    with Executor(
        make_player, (recipe, [recipe.rules, recipe.policy, *search_networks])
    ) as executor:
        for file, hands in executor.results(lambda: next(tasks, None)):
            expected = networks.play(file)
            for field in ("hand", "targets"):
                np.testing.assert_array_equal(hands[field], expected[field])
    assert str(files[1]) == "file 2 of search_targets"


def test_death_of_all_workers_says_how_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(*_: object, **__: object) -> Any:
        raise WorkersLost("3 worker processes in a row died")

    monkeypatch.setattr("german_whist.expert_iteration.pipeline.Executor", nobody)
    words = ["expert-iteration", "quick", "hands=8", "--folder", str(tmp_path), "--workers", "2"]
    assert main(words) == 1
    message = "in a row died; the files that are there stay, and the same command"
    assert message in capsys.readouterr().out


def test_recipes_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expert-iteration", "--list"]) == 0
    assert "classic" in capsys.readouterr().out
    assert main(["expert-iteration", "quick", "seed=9", "--show"]) == 0
    assert "seed: 9" in capsys.readouterr().out
