"""Expert iteration as a trainer: another trainer's policy, then rounds of search on it.

A benchmark compares it with other trainers by it. The command `expert-iteration` keeps the hands of
a recipe and plays them in several processes; here they go when a round has ended.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np
import yaml

from german_whist.agents.checkpoints import WEIGHTS, Checkpoint, read_checkpoint
from german_whist.agents.checkpoints.schema import NetworkCard
from german_whist.agents.networks.value import check_value_rules
from german_whist.common.files import write_file
from german_whist.common.schema import convert
from german_whist.common.settings import SettingsError, build_settings, doc
from german_whist.common.typing import Array, JsonObject
from german_whist.training.algorithms.base import Arrays, Trainer, TrainerState, missing
from german_whist.training.algorithms.registry import make_trainer
from german_whist.training.callbacks.base import Callback, TrainingRun
from german_whist.training.given import Given
from german_whist.training.presets import settings_from
from german_whist.training.run_state import write_policy
from german_whist.training.settings import Settings

from .recipe import Recipe

if TYPE_CHECKING:
    from .pipeline import HandsStage

_OF_THE_RUN = ("rules", "reward", "horizon", "suit_order", "seed", "init", "device", "threads")
"""Settings of the run that its first training shares."""
_NOT_IN_RECIPE = ("about", "rules", "train", "policy", "seed")
"""Settings of a recipe that a run has itself."""
_POLICY, _BEFORE, _VALUE, _BELIEF = "policy", "before", "value", "belief"
_NETWORKS = (_POLICY, _VALUE, _BELIEF)


class ExpertIterationSettings(Settings, frozen=True, kw_only=True):
    """Expert iteration: another trainer makes a first policy, and rounds of search improve it."""

    fixed: ClassVar[tuple[str, ...]] = (*_OF_THE_RUN[:-2], "trainer", "policy", "recipe")

    trainer: str = "expert-iteration"
    policy: Annotated[
        JsonObject,
        doc(
            "Settings of the training that makes the first policy, with a budget of its own "
            f"(`decisions`). Leave out {', '.join(f'`{name}`' for name in _OF_THE_RUN)}: they "
            "are those of the run."
        ),
    ] = msgspec.field(default_factory=lambda: {"trainer": "ppo", "decisions": 9_000_000})
    recipe: Annotated[
        JsonObject,
        doc(
            "Settings of the rounds, with the names that a recipe has. Leave out "
            f"{', '.join(f'`{name}`' for name in _NOT_IN_RECIPE)}: they are those of the run. "
            "If the run has more rounds than `target_hands` has numbers, the other rounds use "
            "the last number."
        ),
    ] = msgspec.field(default_factory=JsonObject)
    callbacks: Annotated[
        tuple[str, ...],
        doc(
            "Callbacks of the run. `each-round` evaluates the first policy and the policy of "
            "every round."
        ),
    ] = ("each-round",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (first := self.first.decisions) >= self.decisions:
            raise SettingsError(
                f"policy: decisions is {first:,}, and the run, rounds included, has "
                f"{self.decisions:,}: give the run more"
            )
        _ = self.rounds

    @cached_property
    def first(self) -> Settings:
        """Settings of the training that makes the first policy."""
        for name in _OF_THE_RUN:
            if name in self.policy:
                raise SettingsError(f"policy: {name} is that of the run: leave it out")
        shared = {name: getattr(self, name) for name in _OF_THE_RUN}
        return settings_from({**self.policy, **shared}, "policy")

    @property
    def given(self) -> Given:
        return self.first.given

    @cached_property
    def rounds(self) -> Recipe:
        """The recipe of the rounds, without rules and policy."""
        for name in _NOT_IN_RECIPE:
            if name in self.recipe:
                raise SettingsError(f"recipe: {name} is that of the run: leave it out")
        values = {**self.recipe, "seed": self.seed}
        return build_settings(Recipe, values, "recipe", "a setting of a recipe")


class State(TrainerState):
    """Plain values of a saved state."""

    round: int
    first: JsonObject
    """State of the first training, before the first round."""


class ExpertIteration(Trainer):
    """The first training, an iteration at a time, and then a round of search in each iteration."""

    settings_kind = ExpertIterationSettings
    settings: ExpertIterationSettings

    def __init__(self, settings: ExpertIterationSettings) -> None:
        super().__init__(settings)
        try:
            from . import pipeline
        except ImportError as error:
            raise missing(error) from None
        self._pipeline = pipeline
        self.rules = settings.options.rules
        check_value_rules(self.rules)
        self.first = make_trainer(settings.first)
        self.round = 0
        self.files: dict[str, bytes] = {}
        """Files of the policy, the value and the belief network of the last round."""
        self.checkpoint: Checkpoint | None = None
        """The policy of the last round."""

    def iterate(self) -> dict[str, float]:
        if self.first.decisions < self.settings.first.decisions:
            return self._train_first()
        self.round += 1
        with tempfile.TemporaryDirectory() as name:
            self._search(Path(name))
        return {"round": float(self.round)}

    def _train_first(self) -> dict[str, float]:
        metrics = self.first.iterate()
        self.decisions, self.hands = self.first.decisions, self.first.hands
        is_over = self.first.decisions >= self.settings.first.decisions
        return {"round": 0.0, **metrics} if is_over else metrics

    def _search(self, folder: Path) -> None:
        """Play the hands of a round in a folder, and fit networks to them."""
        parts, stage = self._pipeline, self._stage(folder)
        stopwatch = parts.Stopwatch(folder / parts.MINUTES, stage.policy)
        recipe = self.settings.rounds
        work = parts.Work(folder, recipe, self.rules, stopwatch, report=lambda _: None)
        hands = stage.count
        if self.round == 1:
            hands += recipe.hands
            fits = parts.search_network_fits((_VALUE, _BELIEF), recipe, self.rules)
            parts.fit_search_networks(work, fits, parts.hands_to_begin_with(stage))
        parts.fit_policy(work, stage)
        self.decisions += hands * self.rules.stock_cards
        self.hands += hands
        self._take(folder)

    def _stage(self, folder: Path) -> HandsStage:
        """The hands of this round, with the files that they need in a folder."""
        recipe = self.settings.rounds
        rules = folder / "rules.yaml"
        rules.write_text(yaml.safe_dump(self.rules.as_mapping()), encoding="utf-8")
        if self.round == 1:
            write_policy(
                folder / _BEFORE,
                self.first.policy_weights(),
                self.settings.first,
                self.first.network_card(),
                decisions=self.decisions,
                hands=self.hands,
            )
        for name, data in self.files.items():
            name = _BEFORE if name == _POLICY else name
            write_file(folder / f"{name}{WEIGHTS}", data)
        recipe = msgspec.structs.replace(recipe, rules=str(rules))
        count = recipe.target_hands[min(self.round, len(recipe.target_hands)) - 1]
        before = str(folder / _BEFORE)
        return self._pipeline.search_round(folder, recipe, self.round, count, before)

    def _take(self, folder: Path) -> None:
        self.files = {name: (folder / f"{name}{WEIGHTS}").read_bytes() for name in _NETWORKS}
        self.checkpoint = read_checkpoint(folder / _POLICY)

    def policy_weights(self) -> Arrays:
        if self.checkpoint is None:
            return self.first.policy_weights()
        return self.checkpoint.weights

    def network_card(self) -> NetworkCard:
        if self.checkpoint is None:
            return self.first.network_card()
        return self.checkpoint.card.network

    def load_weights(self, weights: Mapping[str, Array]) -> None:
        self.first.load_weights(weights)

    def state(self) -> tuple[Arrays, JsonObject]:
        if self.round:
            arrays, first = {k: np.frombuffer(v, np.uint8) for k, v in self.files.items()}, {}
        else:
            arrays, first = self.first.state()
        state = State(decisions=self.decisions, hands=self.hands, round=self.round, first=first)
        return arrays, msgspec.to_builtins(state)

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        state = convert(plain, State, "trainer")
        if state.round and {*arrays} != {*_NETWORKS}:
            raise ValueError(f"it has {', '.join(arrays)} in place of {', '.join(_NETWORKS)}")
        self.decisions, self.hands, self.round = state.decisions, state.hands, state.round
        if not state.round:
            self.first.restore(arrays, state.first)
            return
        # Nothing but its budget is asked of the first training any more.
        self.first.decisions = self.settings.first.decisions
        with tempfile.TemporaryDirectory() as name:
            for network in _NETWORKS:
                write_file(Path(name, f"{network}{WEIGHTS}"), arrays[network].tobytes())
            self._take(Path(name))

    def close(self) -> None:
        self.first.close()


class EachRound(Callback):
    """Has the first policy evaluated, and that of each round."""

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        if "round" in metrics and run.trainer.decisions < run.settings.decisions:
            run.state.evaluation_due = True
