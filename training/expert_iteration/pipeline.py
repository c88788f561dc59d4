"""The expert-iteration loop: its stages in order, each resumed from the folder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import nn

from ...agents.checkpoints.bundled import BELIEF_WEIGHTS, VALUE_WEIGHTS
from ...agents.checkpoints.checkpoint import (
    Checkpoint,
    find_checkpoint,
    read_auxiliary_card,
    read_checkpoint,
    read_weights,
    resolve_rules,
    strip_critic,
    write_checkpoint,
)
from ...agents.checkpoints.schema import Origin
from ...agents.networks.auxiliary import covers_rules
from ...agents.networks.value import check_value_rules
from ...agents.search.base import MOST_SAMPLES
from ...common.executors import LOCAL, Executor, InProcessExecutor, WorkersLost, check_backend
from ...common.files import atomic_write, write_file
from ...common.settings_files import keep_settings
from ...common.signals import RunStopped
from ...common.typed_settings import SettingsError, check_unchanged
from ...common.typing import Array
from ...engine.rules import Rules
from ...evaluation.packing import pack
from ...evaluation.provenance import processor_and_cores
from ..api import train_or_go_on
from ..checkpoint import revision
from ..folder import SETTINGS, RunLock, settings_of
from ..presets import PRESETS, load_settings
from ..settings import Settings
from .belief import BeliefTask
from .fitting import (
    Fit,
    FitConfig,
    FitTask,
    half_weights,
    is_fitted,
    layer_names,
    make_mlp,
    write_network,
)
from .recipe import Recipe, command_of
from .search_targets import PolicyTask
from .self_play import check_hands
from .value import ValueTask
from .workers import ROUND_SEED_STEP, HandsFile, Kind, Networks, make_player, path_settings

_LANES: dict[Kind, int] = {"hands": 4096, "search_targets": 1024}
_BATCHES_PER_FILE = 16
_VALIDATION_HANDS = 4096
TRAINED = "trained"
"""Folder of the training of the first policy."""
FIRST_POLICY = "policy-0"
MINUTES = "minutes.txt"
"""File with the policy of the present round, and the minutes spent on it so far."""


class Stopwatch:
    """Minutes of work on a round, over all commands.

    They are saved with each progress line; what follows the last one before a kill is lost. The
    file names the policy of the round, so that time of an earlier round does not count twice.
    """

    def __init__(self, path: Path, policy: str) -> None:
        self._path = path
        self.start(policy)
        self._before = self._saved_minutes()

    def start(self, policy: str) -> None:
        """Count from 0 for the round of this policy."""
        self._policy, self._before, self._began = policy, 0.0, time.monotonic()

    @property
    def minutes(self) -> float:
        return self._before + (time.monotonic() - self._began) / 60

    def save(self) -> None:
        write_file(self._path, f"{self._policy} {self.minutes:.2f}\n")

    def _saved_minutes(self) -> float:
        if not self._path.exists():
            return 0.0
        try:
            policy, text = self._path.read_text(encoding="utf-8").split()
            minutes = float(text)
            if not 0 <= minutes < math.inf:
                raise ValueError(f"{text} minutes")
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"{self._path}: is to hold a policy and the minutes of its round, as 'policy-1 "
                f"30.5' ({error}): delete it, and the round's time counts from 0"
            ) from None
        return minutes if policy == self._policy else 0.0


def run_expert_iteration(
    folder: Path,
    recipe: Recipe,
    tell: Callable[[str], object],
    *,
    workers: int = 1,
    on: str = LOCAL,
    on_policy: Callable[[Path], object] = lambda _: None,
) -> None:
    """Run or resume all stages of a recipe.

    `workers` processes of this machine, or `on` a Ray cluster, play the hands. `on_policy` is
    called with each policy once it is written.
    """
    pipeline = Pipeline(folder, recipe, tell, workers, check_backend(on))
    pipeline.on_policy = on_policy
    pipeline.check()
    check_begun(folder)
    remedy = "go on with its own settings, or name another folder"
    keep_settings(folder / SETTINGS, recipe, remedy)
    lock = RunLock(folder)
    try:
        pipeline.train()
        pipeline.fit_auxiliary()
        pipeline.fit_policies()
    finally:
        lock.release()


def check_begun(folder: Path) -> None:
    """Refuse a folder with parts of a run, of whose settings nothing is known."""
    if (folder / SETTINGS).exists():
        return
    for pattern in (
        TRAINED,
        "hands",
        "search_targets*",
        "policy*.safetensors",
        "value.*",
        "belief.*",
    ):
        for part in folder.glob(pattern):
            raise SettingsError(
                f"{folder} has {part.name} and no {SETTINGS}: put it back, or name another folder"
            )


@dataclass(frozen=True)
class HandsStage:
    """Hands that networks are fitted to."""

    kind: Kind
    count: int
    folder: str
    recipe: Recipe
    """Recipe with the policy and the seed of these hands."""
    auxiliary: tuple[str, str]
    """Value and belief network of the search."""
    policy: str = ""
    """Name of the policy that is fitted to them."""


class Pipeline:
    """Stages of a recipe in its folder."""

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        tell: Callable[[str], object],
        workers: int = 1,
        on: str = LOCAL,
    ) -> None:
        self.folder, self.recipe, self._tell = folder, recipe, tell
        self.workers, self.on = workers, on
        self.on_policy: Callable[[Path], object] = lambda _: None
        self.rules = resolve_rules(recipe.rules)
        own = str(folder / "value"), str(folder / "belief")
        # Without self-play hands there is nothing to fit new networks to: the bundled ones serve.
        value_init, belief_init = (
            init or ("" if recipe.hands else str(bundled))
            for init, bundled in (
                (recipe.value_init, VALUE_WEIGHTS),
                (recipe.belief_init, BELIEF_WEIGHTS),
            )
        )
        auxiliary = own if recipe.hands else (value_init, belief_init)
        first = {"train": "", "policy": str(folder / FIRST_POLICY)} if recipe.train else {}
        first_recipe = msgspec.structs.replace(recipe, **first)
        stages = [*rounds(folder, first_recipe, auxiliary, own)]
        self._auxiliary_hands = (
            HandsStage("hands", recipe.hands, "hands", first_recipe, auxiliary)
            if recipe.hands
            else stages[0]
        )
        # Resume after the last round with a policy.
        done = [k for k, stage in enumerate(stages, 1) if is_fitted(folder / stage.policy)]
        self._rounds = stages[max(done, default=0) :]
        self._first_fit = (self._rounds or stages)[0].policy
        self._stopwatch = Stopwatch(folder / MINUTES, self._first_fit)
        self._needs_first_policy = not (done and all(is_fitted(Path(path)) for path in own))
        self._training = (
            first_training(folder, recipe, self.rules)
            if recipe.train and self._needs_first_policy and not is_fitted(folder / FIRST_POLICY)
            else None
        )
        tasks: tuple[tuple[str, FitTask, FitConfig, str], ...] = (
            (
                "value",
                ValueTask(self.rules, recipe.lambda_),
                FitConfig(
                    recipe.value_hidden_sizes,
                    recipe.value_epochs,
                    512,
                    recipe.value_learning_rate,
                    seed=recipe.seed,
                ),
                value_init,
            ),
            (
                "belief",
                BeliefTask(self.rules),
                FitConfig(
                    recipe.belief_hidden_sizes,
                    recipe.belief_epochs,
                    128,
                    recipe.belief_learning_rate,
                    seed=recipe.seed,
                ),
                belief_init,
            ),
        )
        self._auxiliary_fits = [
            (
                name,
                task,
                config,
                None
                if is_fitted(folder / name)
                else auxiliary_layers(init, task, config, self.rules),
            )
            for name, task, config, init in tasks
        ]

    def check(self) -> None:
        """Refuse what cannot be played, before hours of self-play."""
        check_value_rules(self.rules)
        if self.recipe.determinizations > MOST_SAMPLES:
            raise SettingsError(
                f"determinizations is {self.recipe.determinizations}: give {MOST_SAMPLES} at most"
            )
        if self._needs_first_policy and self._training is None:
            networks_of(self._auxiliary_hands)

    def tell(self, line: str) -> None:
        """Report progress, and save the time that it took."""
        self._tell(line)
        self._stopwatch.save()

    def train(self) -> None:
        if self._training is None:
            return
        try:
            trained = train_or_go_on(self._training, self.folder / TRAINED)
        except RunStopped as stopped:
            raise RunStopped("stopped; the same command goes on", stopped.status) from stopped
        # A copy: users may train on in the run.
        policy = strip_critic(read_checkpoint(trained.checkpoint))
        write_checkpoint(self.folder / FIRST_POLICY, policy.weights, policy.card)
        self._stopwatch.start(self._first_fit)
        self.tell(f"train: {trained.checkpoint}")

    def _play(self, stage: HandsStage) -> list[Path]:
        lanes = min(_LANES[stage.kind], stage.count)
        batches = min(_BATCHES_PER_FILE, math.ceil(stage.count / lanes))
        file_count = math.ceil(stage.count / (lanes * batches))
        folder = self.folder / stage.folder
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{stage.recipe.seed}-{number:05d}.npy" for number in range(file_count)]
        missing = [number for number, path in enumerate(paths) if not path.exists()]
        for path in paths:
            if path.exists():
                check_hands(path)
        if missing:
            files = (HandsFile(stage.kind, number, lanes, batches) for number in missing)
            with self._results(stage, lambda: next(files, None)) as results:
                for file, hands in results:
                    with atomic_write(paths[file.number]) as out:
                        np.save(out, hands)
                    self.tell(
                        f"{stage.folder}: {file.number + 1} of {file_count} files of "
                        f"{lanes * batches:,} hands"
                    )
        return paths

    @contextmanager
    def _results(
        self, stage: HandsStage, next_file: Callable[[], HandsFile | None]
    ) -> Iterator[Iterator[tuple[HandsFile, Array]]]:
        if self.workers == 1 and self.on == LOCAL:
            yield InProcessExecutor(networks_of(stage).play).results(next_file)
            return
        names, files = pack(path_settings(stage.recipe, *stage.auxiliary), self.on)
        try:
            with Executor(
                make_player, (stage.recipe, names), self.workers, self.on, files=files
            ) as executor:
                yield executor.results(next_file)
        except WorkersLost as error:
            raise RunStopped(
                f"{error}; the files that are there stay, and the same command goes on"
            ) from error

    def fit_auxiliary(self) -> None:

        def write(fit: Fit, path: Path) -> None:
            write_network(path, fit, self.rules, self.recipe)

        for name, task, config, net in self._auxiliary_fits:
            self._fit(name, task, config, net, self._auxiliary_hands, write)

    def fit_policies(self) -> None:
        recipe = self.recipe
        for number, stage in enumerate(self._rounds):
            if number:
                self._stopwatch.start(stage.policy)
            networks = networks_of(stage)
            config = FitConfig(
                tuple(networks.checkpoint.card.network.hidden_sizes),
                recipe.policy_epochs,
                128,
                recipe.policy_learning_rate,
                0.998,
                recipe.seed,
            )
            task = PolicyTask(self.rules, networks.policy, recipe.kl_coef)

            def write(fit: Fit, path: Path, before: Checkpoint = networks.checkpoint) -> None:
                write_policy(path, fit.average, before, recipe, self._stopwatch.minutes)
                self.on_policy(path)

            net = policy_layers(networks.checkpoint, task, config)
            self._fit(stage.policy, task, config, net, stage, write)

    def _fit(
        self,
        name: str,
        task: FitTask,
        config: FitConfig,
        net: nn.Module | None,
        stage: HandsStage,
        write: Callable[[Fit, Path], object],
    ) -> None:
        """Fit a network to the hands of a stage, which are played first, unless it is written."""
        target = self.folder / name
        if is_fitted(target):
            return
        files = self._play(stage)
        torch.set_num_threads(1)
        validation = np.load(files[-1])[:_VALIDATION_HANDS]
        if len(files) == 1:
            self.tell(f"{name}: all hands are in one file, so its metrics are of training")
        fit = Fit(task, config, files[:-1] or files, net)
        fit.restore(target)
        fit.run(target, lambda line: self.tell(f"{name}: {line}"), validation, write)


def networks_of(stage: HandsStage) -> Networks:
    """Load the networks that play the hands of a stage."""
    return Networks(stage.recipe, *stage.auxiliary)


def rounds(
    folder: Path, recipe: Recipe, auxiliary: tuple[str, str], own: tuple[str, str]
) -> Iterator[HandsStage]:
    """The rounds of search, each with the policy of the round before.

    The search of the first uses the networks `auxiliary`, that of the others the recipe's `own`.
    """
    last = len(recipe.target_hands)
    for number, count in enumerate(recipe.target_hands, 1):
        suffix = "" if number == last else f"-{number}"
        policy = f"policy{suffix}"
        yield HandsStage(
            "search_targets", count, f"search_targets{suffix}", recipe, auxiliary, policy
        )
        auxiliary, seed = own, recipe.seed + ROUND_SEED_STEP
        recipe = msgspec.structs.replace(recipe, policy=str(folder / policy), seed=seed)


def first_training(folder: Path, recipe: Recipe, rules: Rules) -> Settings:
    """Settings of the training of the first policy, those of the run if it was started."""
    run = folder / TRAINED
    started = settings_of(run) if (run / SETTINGS).exists() else None
    if started is not None and (recipe.train in PRESETS.names() or not Path(recipe.train).exists()):
        return started
    try:
        settings = load_settings(recipe.train, [f"seed={recipe.seed}"])
    except ValueError as error:
        raise SettingsError(f"train: {error}") from error
    remedy = f"put it back in {recipe.train}, or name another folder"
    check_unchanged(run, (started or settings).as_mapping(), settings, remedy)
    if not any(rules.same_game(options.rules) for options in settings.all_options):
        raise SettingsError(
            f"train is {recipe.train!r}, a training for other rules than {rules.name}, which the "
            "recipe is for: name another, or a file with its settings"
        )
    return settings


def auxiliary_layers(
    source: str, task: FitTask, config: FitConfig, rules: Rules
) -> nn.Sequential | None:
    """Layers with the weights of a value or belief network; None without a source."""
    if not source:
        return None
    path = find_checkpoint(source)
    card = read_auxiliary_card(path)
    expected = task.kind, task.inputs, config.hidden_sizes, task.outputs
    if (card.kind, card.inputs, card.hidden_sizes, card.outputs) != expected:
        raise SettingsError(
            f"{path}: is a network of {card.kind} with hidden_sizes {card.hidden_sizes}, and the "
            f"settings ask for one of {task.kind} with {config.hidden_sizes}"
        )
    if not covers_rules(path, rules):
        raise SettingsError(
            f"{path}: was not trained for {rules.name}: name another by {task.kind}_init=PATH, or "
            "have hands played for a new one, as by hands=4_000_000"
        )
    names = layer_names(len(config.hidden_sizes))
    return layers_with(read_weights(path, card), names, task, config)


def policy_layers(checkpoint: Checkpoint, task: FitTask, config: FitConfig) -> nn.Sequential:
    names = _policy_layer_names(len(config.hidden_sizes))
    return layers_with(checkpoint.weights, names, task, config)


def layers_with(
    weights: Mapping[str, Array], names: Sequence[str], task: FitTask, config: FitConfig
) -> nn.Sequential:
    """Layers with the weights of these names."""
    net = make_mlp(task.inputs, config.hidden_sizes, task.outputs, config.seed)
    linear = [module for module in net if isinstance(module, nn.Linear)]
    with torch.no_grad():
        for name, layer in zip(names, linear, strict=True):
            for key, param in layer.named_parameters():
                param.copy_(torch.from_numpy(weights[f"{name}.{key}"].astype(np.float32)))
    return net


def write_policy(
    path: Path, net: nn.Module, before: Checkpoint, recipe: Recipe, minutes: float
) -> Path:
    """Write a policy as a checkpoint of the same kind as the one it was initialized with.

    `minutes` is the time of this round.
    """
    card = msgspec.structs.replace(
        before.card,
        network=msgspec.structs.replace(before.card.network, critic=None),
        settings=recipe.as_mapping(),
        minutes=round(before.card.minutes + minutes, 2),
        machine=processor_and_cores(),
        evaluations=(),
        init=Origin(
            before.path.name, before.card.sha256, before.card.decisions, before.card.commands
        ),
        revision=revision(),
        commands=(command_of(recipe),),
    )
    names = _policy_layer_names(len(card.network.hidden_sizes))
    return write_checkpoint(path, half_weights(net, names), card)


def _policy_layer_names(hidden: int) -> list[str]:
    return [*(f"hidden.{k}" for k in range(hidden)), "policy"]
