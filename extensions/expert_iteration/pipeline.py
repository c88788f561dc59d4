"""The expert-iteration loop: its stages in order, each resumed from the folder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import torch

from german_whist.agents.checkpoints import (
    Checkpoint,
    find_checkpoint,
    read_checkpoint,
    read_search_network_card,
    read_weights,
    resolve_rules,
    strip_critic,
    write_checkpoint,
)
from german_whist.agents.checkpoints.bundled import BELIEF_WEIGHTS, VALUE_WEIGHTS
from german_whist.agents.checkpoints.schema import Origin
from german_whist.agents.networks.search_networks import covers_rules
from german_whist.agents.networks.value import check_value_rules
from german_whist.agents.search.base import MOST_SAMPLES
from german_whist.common.executors import (
    LOCAL,
    Executor,
    InProcessExecutor,
    WorkersLost,
    check_backend,
)
from german_whist.common.files import atomic_write, write_file
from german_whist.common.provenance import processor_and_cores, revision
from german_whist.common.settings import SettingsError, check_unchanged, keep_settings
from german_whist.common.signals import RunStopped
from german_whist.common.typing import Array
from german_whist.engine.rules import Rules
from german_whist.evaluation.packing import pack
from german_whist.training.api import train_or_resume
from german_whist.training.folder import SETTINGS, FolderLock, settings_of
from german_whist.training.presets import PRESETS, load_settings
from german_whist.training.rollout.networks import MLP, load_layers, policy_layer_names
from german_whist.training.settings import Settings

from .fit_belief import BeliefTask
from .fit_value import ValueTask
from .fitting import (
    Fit,
    FitConfig,
    FitTask,
    half_weights,
    is_fitted,
    layer_names,
    new_net,
    write_search_network,
)
from .recipe import Recipe, command_of
from .search_targets import PolicyTask
from .self_play import check_hands
from .workers import ROUND_SEED_STEP, HandsFile, Kind, Networks, make_player

_N_GAMES: dict[Kind, int] = {"hands": 4096, "search_targets": 1024}
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


@dataclass(frozen=True)
class HandsStage:
    """Hands that networks are fitted to."""

    kind: Kind
    count: int
    folder: str
    recipe: Recipe
    """Recipe with the policy and the seed of these hands."""
    search_networks: tuple[str, str]
    """Value and belief network of the search."""
    policy: str = ""
    """Name of the policy that is fitted to them."""


@dataclass
class Work:
    """A recipe in its folder, and the processes that play its hands."""

    folder: Path
    recipe: Recipe
    rules: Rules
    stopwatch: Stopwatch
    report: Callable[[str], object]
    workers: int = 1
    on: str = LOCAL

    def log(self, line: str) -> None:
        """Report progress, and save the time that it took."""
        self.report(line)
        self.stopwatch.save()


def run_expert_iteration(
    folder: Path,
    recipe: Recipe,
    log: Callable[[str], object],
    *,
    workers: int = 1,
    on: str = LOCAL,
) -> None:
    """Run or resume all stages of a recipe.

    `workers` processes of this machine, or `on` a Ray cluster, play the hands.
    """
    rules = resolve_rules(recipe.rules)
    stages = rounds(folder, recipe)
    first = hands_to_begin_with(stages[0])
    # Resume after the last round with a policy.
    done = [k for k, stage in enumerate(stages, 1) if is_fitted(folder / stage.policy)]
    left = stages[max(done, default=0) :]
    stopwatch = Stopwatch(folder / MINUTES, (left or stages)[0].policy)
    work = Work(folder, recipe, rules, stopwatch, log, workers=workers, on=check_backend(on))
    missing = [name for name in ("value", "belief") if not is_fitted(folder / name)]
    needs_policy = bool(missing) or not done
    training = None
    if recipe.train and needs_policy and not is_fitted(folder / FIRST_POLICY):
        training = first_training(folder, recipe, rules)
    fits = search_network_fits(missing, recipe, rules)
    check_value_rules(rules)
    if recipe.determinizations > MOST_SAMPLES:
        raise SettingsError(
            f"determinizations is {recipe.determinizations}: give {MOST_SAMPLES} at most"
        )
    if needs_policy and training is None:
        Networks(first.recipe, *first.search_networks)  # refused before hours of self-play
    check_begun(folder)
    remedy = "go on with its own settings, or name another folder"
    keep_settings(folder / SETTINGS, recipe, remedy)
    lock = FolderLock(folder)
    try:
        if training is not None:
            train_first_policy(work, training)
            stopwatch.start((left or stages)[0].policy)
        fit_search_networks(work, fits, first)
        for number, stage in enumerate(left):
            if number:
                stopwatch.start(stage.policy)
            fit_policy(work, stage)
    finally:
        lock.release()


def check_begun(folder: Path) -> None:
    """Refuse a folder with parts of a run, of whose settings nothing is known."""
    if (folder / SETTINGS).exists():
        return
    networks = "policy*.safetensors", "value.*", "belief.*"
    for pattern in (TRAINED, "hands", "search_targets*", *networks):
        for part in folder.glob(pattern):
            raise SettingsError(
                f"{folder} has {part.name} and no {SETTINGS}: put it back, or name another folder"
            )


# -- stages


def train_first_policy(work: Work, settings: Settings) -> None:
    try:
        trained = train_or_resume(settings, work.folder / TRAINED)
    except RunStopped as stopped:
        raise RunStopped("stopped; the same command goes on", stopped.status) from stopped
    # A copy: users may train on in the run.
    policy = strip_critic(read_checkpoint(trained.checkpoint))
    write_checkpoint(work.folder / FIRST_POLICY, policy.weights, policy.card)
    work.log(f"train: {trained.checkpoint}")


def play_hands(work: Work, stage: HandsStage) -> list[Path]:
    """Play the files of hands that are missing; returns all."""
    n_games = min(_N_GAMES[stage.kind], stage.count)
    batches = min(_BATCHES_PER_FILE, math.ceil(stage.count / n_games))
    file_count = math.ceil(stage.count / (n_games * batches))
    folder = work.folder / stage.folder
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{stage.recipe.seed}-{number:05d}.npy" for number in range(file_count)]
    missing = [number for number, path in enumerate(paths) if not path.exists()]
    for path in paths:
        if path.exists():
            check_hands(path)
    if missing:
        files = (HandsFile(stage.kind, number, n_games, batches) for number in missing)
        with executor_of(work, stage) as executor:
            for file, hands in executor.results(lambda: next(files, None)):
                with atomic_write(paths[file.number]) as out:
                    np.save(out, hands)
                work.log(
                    f"{stage.folder}: {file.number + 1} of {file_count} files of "
                    f"{n_games * batches:,} hands"
                )
    return paths


@contextmanager
def executor_of(
    work: Work, stage: HandsStage
) -> Iterator[InProcessExecutor[HandsFile, Array] | Executor[HandsFile, Array]]:
    if work.workers == 1 and work.on == LOCAL:
        yield InProcessExecutor(Networks(stage.recipe, *stage.search_networks).play)
        return
    names, files = pack([stage.recipe.rules, stage.recipe.policy, *stage.search_networks], work.on)
    try:
        with Executor(
            make_player, (stage.recipe, names), work.workers, work.on, files=files
        ) as executor:
            yield executor
    except WorkersLost as error:
        raise RunStopped(
            f"{error}; the files that are there stay, and the same command goes on"
        ) from error


def fit_search_networks(work: Work, fits: SearchNetworkFits, stage: HandsStage) -> None:
    for name, make_fit in fits.items():
        write = partial(write_search_network, work.rules, work.recipe)
        fit_to_hands(work, name, make_fit, stage, write)


def fit_policy(work: Work, stage: HandsStage) -> None:
    recipe, networks = work.recipe, Networks(stage.recipe, *stage.search_networks)
    before = networks.checkpoint
    config = FitConfig(
        hidden_sizes=tuple(before.card.network.hidden_sizes),
        epochs=recipe.policy_epochs,
        batch_size=128,
        learning_rate=recipe.policy_learning_rate,
        ema_decay=0.998,
        seed=recipe.seed,
    )
    task = PolicyTask(work.rules, networks.policy, recipe.kl_coef)

    def write(fit: Fit, path: Path) -> None:
        write_policy(path, fit.average, before, recipe, work.stopwatch.minutes)

    make_fit = partial(Fit, task, config, net=policy_layers(before, task, config))
    fit_to_hands(work, stage.policy, make_fit, stage, write)


def fit_to_hands(
    work: Work,
    name: str,
    make_fit: Callable[[list[Path]], Fit],
    stage: HandsStage,
    write: Callable[[Fit, Path], object],
) -> None:
    """Fit a network to the hands of a stage, which are played first."""
    target, files = work.folder / name, play_hands(work, stage)
    torch.set_num_threads(1)
    validation = np.load(files[-1])[:_VALIDATION_HANDS]
    if len(files) == 1:
        work.log(f"{name}: all hands are in one file, so its metrics are of training")
    fit = make_fit(files[:-1] or files)
    fit.restore(target)
    fit.run(target, lambda line: work.log(f"{name}: {line}"), validation, write)


# -- what the stages start from


def initial_networks(recipe: Recipe) -> tuple[str, str]:
    """Value and belief network to start from; empty: new ones."""
    value, belief = recipe.value_init, recipe.belief_init
    if recipe.hands:
        return value, belief
    # There is nothing to fit new networks to: the bundled ones serve.
    return value or str(VALUE_WEIGHTS), belief or str(BELIEF_WEIGHTS)


SearchNetworkFits = dict[str, Callable[[list[Path]], Fit]]
"""Functions that fit a network to files of hands, by the name of the network."""


def search_network_fits(names: Iterable[str], recipe: Recipe, rules: Rules) -> SearchNetworkFits:
    inits = initial_networks(recipe)
    return {name: search_network_fit(name, recipe, rules, inits) for name in names}


def search_network_fit(
    name: str, recipe: Recipe, rules: Rules, inits: tuple[str, str]
) -> Callable[[list[Path]], Fit]:
    """A function that fits the value or the belief network to files of hands."""
    task: FitTask
    if name == "value":
        task, init = ValueTask(rules, recipe.td_lambda), inits[0]
        config = FitConfig(
            hidden_sizes=recipe.value_hidden_sizes,
            epochs=recipe.value_epochs,
            batch_size=512,
            learning_rate=recipe.value_learning_rate,
            seed=recipe.seed,
        )
    else:
        task, init = BeliefTask(rules), inits[1]
        config = FitConfig(
            hidden_sizes=recipe.belief_hidden_sizes,
            epochs=recipe.belief_epochs,
            batch_size=128,
            learning_rate=recipe.belief_learning_rate,
            seed=recipe.seed,
        )
    return partial(Fit, task, config, net=search_network_layers(init, task, config, rules))


def hands_to_begin_with(first: HandsStage) -> HandsStage:
    """The hands of the value and the belief network: of self-play, or those of the first round."""
    count = first.recipe.hands
    if not count:
        return first
    return replace(first, kind="hands", folder="hands", count=count, policy="")


def search_round(
    folder: Path, recipe: Recipe, number: int, count: int, policy: str, suffix: str = ""
) -> HandsStage:
    """A round of search with the policy of the round before, a path; it makes `policy` + suffix."""
    own = str(folder / "value"), str(folder / "belief")
    seed = recipe.seed + (number - 1) * ROUND_SEED_STEP
    return HandsStage(
        kind="search_targets",
        count=count,
        folder=f"search_targets{suffix}",
        recipe=msgspec.structs.replace(recipe, train="", policy=policy, seed=seed),
        search_networks=own if recipe.hands or number > 1 else initial_networks(recipe),
        policy=f"policy{suffix}",
    )


def rounds(folder: Path, recipe: Recipe) -> list[HandsStage]:
    """The rounds of search, each with the policy of the round before."""
    stages: list[HandsStage] = []
    policy = str(folder / FIRST_POLICY) if recipe.train else recipe.policy
    last = len(recipe.target_hands)
    for number, count in enumerate(recipe.target_hands, 1):
        suffix = "" if number == last else f"-{number}"
        stages.append(search_round(folder, recipe, number, count, policy, suffix))
        policy = str(folder / stages[-1].policy)
    return stages


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


def search_network_layers(
    source: str, task: FitTask, config: FitConfig, rules: Rules
) -> MLP | None:
    """Layers with the weights of a value or belief network; None without a source."""
    if not source:
        return None
    path = find_checkpoint(source)
    card = read_search_network_card(path)
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
    return load_layers(new_net(task, config), read_weights(path, card), names)


def policy_layers(checkpoint: Checkpoint, task: FitTask, config: FitConfig) -> MLP:
    names = policy_layer_names(len(config.hidden_sizes))
    return load_layers(new_net(task, config), checkpoint.weights, names)


def write_policy(path: Path, net: MLP, before: Checkpoint, recipe: Recipe, minutes: float) -> Path:
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
    names = policy_layer_names(len(card.network.hidden_sizes))
    return write_checkpoint(path, half_weights(net, names), card)
