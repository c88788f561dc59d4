"""The expert-iteration loop: its stages in order, each resumed from the folder."""

from __future__ import annotations

import math
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
    policy_alone,
    read_auxiliary_card,
    read_checkpoint,
    read_weights,
    rules_wanted,
    write_checkpoint,
)
from ...agents.checkpoints.schema import Origin
from ...agents.networks.auxiliary import covers
from ...agents.networks.value import check_value_rules
from ...agents.search.base import MOST_SAMPLES
from ...common.executors import LOCAL, Executor, InProcessExecutor, WorkersLost, check_backend
from ...common.files import atomic_write
from ...common.signals import RunStopped
from ...common.typed_settings import SettingsError, check_unchanged
from ...common.typing import Array
from ...engine.rules import Rules
from ...evaluation.packing import pack
from ..checkpoint import revision
from ..runs.api import train_or_go_on
from ..runs.presets import PRESETS, load_settings
from ..runs.run_lock import Claim
from ..runs.store import SETTINGS, settings_of
from ..settings import Settings
from .belief import BeliefTask
from .fitting import (
    Fit,
    FitConfig,
    FitTask,
    fitted,
    half_weights,
    layer_names,
    layers,
    write_network,
)
from .recipe import Recipe, check_settings, check_workers, command_of
from .search_targets import PolicyTask
from .value import ValueTask
from .workers import OTHER_DEALS, HandsFile, Kind, Networks, named, player_of

# Games in lockstep, and how often so many are played for a file.
_TOGETHER: dict[Kind, int] = {"hands": 4096, "search_targets": 1024}
_TIMES = 16
_CHECKED = 4096
TRAINED = "trained"
"""The folder of the run that a recipe begins with."""
FIRST = "policy-0"
"""The policy that came of it."""


def run_expert_iteration(
    folder: Path, recipe: Recipe, tell: Callable[[str], object], *, workers: int = 1,
    on: str = LOCAL,
) -> None:  # fmt: skip
    """Go through all parts of a recipe, or on from where it was broken off.

    Hands are played by so many `workers`: processes here, or `on` a cluster of Ray.
    """
    check_workers(workers)
    parts = Pipeline(folder, recipe, tell, workers, check_backend(on))
    parts.check()
    check_settings(folder, recipe)
    claim = Claim(folder)
    try:
        parts.train()
        parts.fit_auxiliary()
        parts.fit_policies()
    finally:
        claim.release()


@dataclass(frozen=True)
class HandsStage:
    """Hands that networks learn from."""

    kind: Kind
    number: int
    name: str
    """Of their folder."""
    recipe: Recipe
    """Whose policy plays them, and its seed."""
    auxiliary: tuple[str, str]
    """The value and belief networks that advice is by."""
    policy: str = ""
    """The policy that comes of them."""


class Pipeline:
    """What a recipe makes in its folder."""

    def __init__(
        self, folder: Path, recipe: Recipe, tell: Callable[[str], object], workers: int = 1,
        on: str = LOCAL,
    ) -> None:  # fmt: skip
        self.folder, self.recipe, self.tell = folder, recipe, tell
        self.workers, self.on = workers, on
        self.rules = rules_wanted(recipe.rules)
        own = str(folder / "value"), str(folder / "belief")
        given = (
            self._before(recipe.value_init, VALUE_WEIGHTS),
            self._before(recipe.belief_init, BELIEF_WEIGHTS),
        )
        begins = {"train": "", "policy": str(folder / FIRST)} if recipe.train else {}
        played_by = msgspec.structs.replace(recipe, **begins)
        auxiliary = own if recipe.hands else given
        every = [*rounds(folder, played_by, auxiliary, own)]
        self._hands = (
            HandsStage("hands", recipe.hands, "hands", played_by, auxiliary)
            if recipe.hands
            else every[0]
        )
        # Rounds are gone on with after the last whose policy is there.
        done = [k for k, each in enumerate(every, 1) if fitted(folder / each.policy)]
        self._left = every[max(done, default=0) :]
        judged = all(fitted(Path(each)) for each in own)
        self._begins = not (done and judged)
        self._training = (
            first_training(folder, recipe, self.rules)
            if recipe.train and self._begins and not fitted(folder / FIRST)
            else None
        )
        judging: tuple[tuple[str, FitTask, FitConfig], ...] = (
            ("value", ValueTask(self.rules, recipe.lambda_), FitConfig(
                recipe.value_hidden_sizes, recipe.value_epochs, 512, recipe.value_learning_rate,
                seed=recipe.seed,
            )),
            ("belief", BeliefTask(self.rules), FitConfig(
                recipe.belief_hidden_sizes, recipe.belief_epochs, 128, recipe.belief_learning_rate,
                seed=recipe.seed,
            )),
        )  # fmt: skip
        # What a network that is not there yet learns on from.
        self._judging = [
            (name, study, plan,
             None if fitted(folder / name) else auxiliary_layers(before, study, plan, self.rules))
            for (name, study, plan), before in zip(judging, given, strict=True)
        ]  # fmt: skip

    def _before(self, named: str, shipped: Path) -> str:
        """The network to go on from, the package's own where no hands are played for another."""
        return named or ("" if self.recipe.hands else str(shipped))

    def check(self) -> None:
        """Refuse what could not be played, before hours of hands."""
        check_value_rules(self.rules)
        if self.recipe.determinizations > MOST_SAMPLES:
            raise SettingsError(
                f"determinizations is {self.recipe.determinizations}: give {MOST_SAMPLES} at most"
            )
        if self._begins and self._training is None:
            networks_of(self._hands)

    def train(self) -> None:
        """The policy that the recipe begins with, if it is to be trained."""
        if self._training is None:
            return
        try:
            trained = train_or_go_on(self._training, self.folder / TRAINED)
        except RunStopped as stopped:
            raise RunStopped("stopped; the same command goes on", stopped.status) from stopped
        # What anybody does with the run from now on is no part of the recipe.
        policy = policy_alone(read_checkpoint(trained.checkpoint))
        write_checkpoint(self.folder / FIRST, policy.weights, policy.card)
        self.tell(f"train: {trained.checkpoint}")

    def _play(self, hands: HandsStage) -> list[Path]:
        """Play the hands that are not there yet; returns the files of all."""
        count = min(_TOGETHER[hands.kind], hands.number)
        times = min(_TIMES, math.ceil(hands.number / count))
        chunks = math.ceil(hands.number / (count * times))
        folder = self.folder / hands.name
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{hands.recipe.seed}-{number:05d}.npy" for number in range(chunks)]
        missing = [number for number, path in enumerate(paths) if not path.exists()]
        if missing:
            files = (HandsFile(hands.kind, number, count, times) for number in missing)
            with self._played(hands, lambda: next(files, None)) as played:
                for file, each in played:
                    with atomic_write(paths[file.number]) as out:
                        np.save(out, each)
                    self.tell(
                        f"{hands.name}: {file.number + 1} of {chunks} files of "
                        f"{count * times:,} hands"
                    )
        return paths

    @contextmanager
    def _played(
        self, hands: HandsStage, next_file: Callable[[], HandsFile | None]
    ) -> Iterator[Iterator[tuple[HandsFile, Array]]]:
        if self.workers == 1 and self.on == LOCAL:
            yield InProcessExecutor(networks_of(hands).play).results(next_file)
            return
        names, files = pack(named(hands.recipe, *hands.auxiliary), self.on)
        try:
            with Executor(
                player_of, (hands.recipe, names), self.workers, self.on, files=files
            ) as executor:
                yield executor.results(next_file)
        except WorkersLost as error:
            raise RunStopped(
                f"{error}; the files that are there stay, and the same command goes on"
            ) from error

    def fit_auxiliary(self) -> None:
        """The value and belief networks."""

        def write(fit: Fit, path: Path) -> None:
            write_network(path, fit, self.rules, self.recipe)

        for name, study, plan, start in self._judging:
            self._fit(name, study, plan, start=start, hands=self._hands, write=write)

    def fit_policies(self) -> None:
        """A policy that has taken the advice, in each round."""
        recipe = self.recipe
        for hands in self._left:
            cast = networks_of(hands)
            layers = tuple(cast.checkpoint.card.network.hidden_sizes)
            plan = FitConfig(
                layers, recipe.policy_epochs, 128, recipe.policy_learning_rate, 0.998, recipe.seed
            )
            study = PolicyTask(self.rules, cast.policy, recipe.kl_coef)
            start = policy_layers(cast.checkpoint, study, plan)

            def write(fit: Fit, path: Path, before: Checkpoint = cast.checkpoint) -> None:
                write_policy(path, fit.average, before, recipe)

            self._fit(hands.policy, study, plan, start=start, hands=hands, write=write)

    def _fit(
        self, name: str, study: FitTask, plan: FitConfig, *, start: nn.Module | None,
        hands: HandsStage,
        write: Callable[[Fit, Path], object],
    ) -> None:  # fmt: skip
        """Fit a network, for which hands are played first, unless it is there."""
        target = self.folder / name
        if fitted(target):
            return
        files = self._play(hands)
        torch.set_num_threads(1)
        checked = np.load(files[-1])[:_CHECKED]
        if len(files) == 1:
            self.tell(f"{name}: all hands are in one file, so its errors are training errors")
        fit = Fit(study, plan, files[:-1] or files, start)
        fit.restore(target)
        fit.go(target, lambda line: self.tell(f"{name}: {line}"), checked, write)


def networks_of(hands: HandsStage) -> Networks:
    """Who plays these hands."""
    return Networks(hands.recipe, *hands.auxiliary)


def rounds(
    folder: Path, recipe: Recipe, auxiliary: tuple[str, str], own: tuple[str, str]
) -> Iterator[HandsStage]:
    """The rounds of hands with advice, of which each is played by what came of the one before.

    The first is judged by networks that there are, the others by the recipe's `own`.
    """
    last = len(recipe.target_hands)
    for number, count in enumerate(recipe.target_hands, 1):
        ending = "" if number == last else f"-{number}"
        policy = f"policy{ending}"
        yield HandsStage(
            "search_targets", count, f"search_targets{ending}", recipe, auxiliary, policy
        )
        auxiliary, seed = own, recipe.seed + OTHER_DEALS
        recipe = msgspec.structs.replace(recipe, policy=str(folder / policy), seed=seed)


def first_training(folder: Path, recipe: Recipe, rules: Rules) -> Settings:
    """The settings of the training that a recipe begins with, or began with."""
    begun = folder / TRAINED
    kept = settings_of(begun) if (begun / SETTINGS).exists() else None
    if kept is not None and (recipe.train in PRESETS.names() or not Path(recipe.train).exists()):
        return kept
    try:
        settings = load_settings(recipe.train, [f"seed={recipe.seed}"])
    except ValueError as error:
        raise SettingsError(f"train: {error}") from error
    remedy = f"put it back in {recipe.train}, or study in another folder"
    check_unchanged(begun, (kept or settings).as_mapping(), settings.as_mapping(), remedy)
    if not any(rules.same_game(each.rules) for each in settings.all_options):
        raise SettingsError(
            f"train is {recipe.train!r}, a training for other rules than {rules.name}, which the "
            "recipe is for: name another, or a file with its settings"
        )
    return settings


def auxiliary_layers(
    source: str, study: FitTask, plan: FitConfig, rules: Rules
) -> nn.Sequential | None:
    """Layers of the network to start from; None without one."""
    if not source:
        return None
    path = find_checkpoint(source)
    card = read_auxiliary_card(path)
    wanted = study.kind, study.inputs, plan.layers, study.outputs
    if (card.kind, card.inputs, card.hidden_sizes, card.outputs) != wanted:
        raise SettingsError(
            f"{path}: is a network of {card.kind} with hidden_sizes {card.hidden_sizes}, and the "
            f"settings ask for one of {study.kind} with {plan.layers}"
        )
    if not covers(path, rules):
        raise SettingsError(
            f"{path}: does not judge {rules.name}: name another by {study.kind}=PATH, or have "
            "hands played for a new one, as by hands=4_000_000"
        )
    names = layer_names(len(plan.layers))
    return known_layers(read_weights(path, card.weights), names, study, plan)


def policy_layers(checkpoint: Checkpoint, study: FitTask, plan: FitConfig) -> nn.Sequential:
    """A policy's layers, to learn on."""
    return known_layers(checkpoint.weights, _names(len(plan.layers)), study, plan)


def known_layers(
    weights: Mapping[str, Array], names: Sequence[str], study: FitTask, plan: FitConfig
) -> nn.Sequential:
    """Layers with the weights of these names."""
    found = layers(study.inputs, plan.layers, study.outputs, plan.seed)
    linear = [each for each in found if isinstance(each, nn.Linear)]
    with torch.no_grad():
        for name, layer in zip(names, linear, strict=True):
            for part, parameter in layer.named_parameters():
                kept = weights[f"{name}.{part}"].astype(np.float32)
                parameter.copy_(torch.from_numpy(kept))
    return found


def write_policy(path: Path, net: nn.Module, before: Checkpoint, recipe: Recipe) -> Path:
    """A policy as a checkpoint of the same kind as the one before it."""
    assert before.card.weights is not None
    digest = before.card.weights.sha256
    card = msgspec.structs.replace(
        before.card,
        network=msgspec.structs.replace(before.card.network, critic=None),
        settings=recipe.as_mapping(),
        measured=(),
        init=Origin(before.path.name, digest, before.card.decisions, before.card.commands),
        revision=revision(),
        commands=(command_of(recipe),),
    )
    names = _names(len(card.network.hidden_sizes))
    return write_checkpoint(path, half_weights(net, names), card)


def _names(hidden: int) -> list[str]:
    return [f"hidden.{k}" for k in range(hidden)] + ["policy"]
