"""Settings of a sweep: the search space, Optuna's sampler and pruner, evaluation of the results."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import yaml

from ...common.files import read_yaml_mapping
from ...common.settings import (
    CheckedSettings,
    EvenCount,
    Names,
    NonNegative,
    Positive,
    PositiveInt,
    Seed,
    SettingsError,
    build_settings,
    doc,
    format_value,
)
from ...common.suggestions import not_installed
from ...common.typing import JsonObject
from ...engine.rng import secret_of_seed
from ...evaluation.formats import percent_with_interval
from ...evaluation.statistics import Estimate
from ..presets import PRESETS, settings_from
from ..settings import Settings
from .benchmark_report import is_solvable

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

BUDGET = "decisions"
"""The setting that a trial does not sample, but has from its budget in processor time."""


class Range(CheckedSettings, frozen=True, kw_only=True):
    """A range of numbers to search."""

    low: Annotated[float, doc("Smallest value.")]
    high: Annotated[float, doc("Largest value.")]
    log: Annotated[bool, doc("Draw values on a logarithmic scale.")] = False
    step: Annotated[Positive | None, doc("Distance between two neighboring values.")] = None


class Sweep(CheckedSettings, frozen=True, kw_only=True):
    """A sweep: the search space, and how trials are evaluated."""

    preset: Annotated[
        str,
        doc(
            "Preset that every trial starts from, or the path of a YAML file. Empty: "
            "the trainer's defaults."
        ),
    ] = "quick"
    settings: Annotated[
        JsonObject, doc("Settings that replace those of the preset in every trial.")
    ] = msgspec.field(default_factory=JsonObject)
    space: Annotated[
        dict[str, Range | list[Any]],
        doc(
            "Settings to search. Each has a range (`low` and `high`) or a list of values.",
            min_length=1,
        ),
    ]
    eval_opponents: Annotated[
        Names,
        doc(
            "Agents to play against. The sweep maximizes the mean win rate against "
            "them. An empty list minimizes the exact exploitability instead, which "
            "needs a small deck."
        ),
    ] = ("threshold",)
    trials: Annotated[
        PositiveInt,
        doc("Total number of trials. Trials of other machines and of earlier sessions count."),
    ] = 20
    trial_seconds: Annotated[
        NonNegative,
        doc(
            "Processor time of a trial in seconds. The speed of the first iterations "
            "decides how many `decisions` fit in. 0: every trial has the `decisions` "
            "of the settings."
        ),
    ] = 0.0
    finalists: Annotated[
        PositiveInt,
        doc("Number of trials, the best ones, that are evaluated again on fresh deals."),
    ] = 4
    final_eval_hands: Annotated[
        EvenCount, doc("Number of hands that a finalist plays against each opponent.")
    ] = 10_000
    sampler: Annotated[
        Literal["TPE", "Random", "CmaEs", "QMC", "GP"], doc("Name of the Optuna sampler.")
    ] = "TPE"
    pruner: Annotated[
        Literal["Median", "Nop", "Hyperband", "SuccessiveHalving"],
        doc("Name of the Optuna pruner, which stops weak trials early."),
    ] = "Median"
    seed: Annotated[Seed, doc("Random seed of the sampler.")] = 0
    storage: Annotated[
        str,
        doc(
            "Where Optuna keeps the trials: the URL of a database, or the path of a "
            "journal file. Empty: a journal file in the sweep's folder."
        ),
    ] = ""

    def text(self, objective: Estimate) -> str:
        """The objective in words: a mean win rate, or an exploitability, which is negated."""
        if self.eval_opponents:
            return percent_with_interval(objective)
        return f"exploitability {-objective.value:.4f}"


def load_sweep(path: str | Path) -> Sweep:
    """Load a sweep from a YAML file and check its whole search space."""
    values = read_yaml_mapping(Path(path))
    if isinstance(space := values.get("space"), dict):
        values["space"] = {
            name: _choices(value, f"{path}: space: {name}") for name, value in space.items()
        }
    sweep = build_settings(Sweep, values, str(path), "a part of a sweep")
    base = base_settings(sweep, Path(path).parent)
    for options in () if sweep.eval_opponents else base.all_options:
        if not is_solvable(options.rules):
            raise SettingsError(
                f"{path}: eval_opponents is empty, and the exploitability of {options.rules.name} "
                "is not computed: name opponents, or a small deck as the rules"
            )
    if sweep.trial_seconds and BUDGET in sweep.space:
        raise SettingsError(
            f"{path}: trial_seconds is {sweep.trial_seconds:g} and sets the decisions of a trial: "
            "leave one of the two out"
        )
    for name, choices in sweep.space.items():
        for value in choices if isinstance(choices, list) else (choices.low, choices.high):
            settings_from({**base.as_mapping(), name: value}, f"{path}: space")
        try:
            distribution(base, name, choices)
        except ValueError as error:
            raise SettingsError(f"{path}: space: {name}: {error}") from None
    return sweep


def _choices(value: object, source: str) -> Range | list[object]:
    if isinstance(value, dict):
        return build_settings(Range, value, source, "a part of a range")
    if not isinstance(value, list):
        raise SettingsError(f"{source} is {value!r}: give `low` and `high`, or a list")
    return value


def base_settings(sweep: Sweep, folder: Path) -> Settings:
    """The settings that all trials share; `folder` resolves a relative path of a preset."""
    preset = sweep.preset
    if preset and not Path(preset).is_absolute() and (folder / preset).is_file():
        preset = str(folder / preset)
    evaluation = {
        "eval_opponents": list(sweep.eval_opponents),
        "final_eval_opponents": [],
        "eval_mode": "sync",
        "about": "a trial of a sweep",
    }
    values, source = PRESETS.values(preset) if preset else ({}, "settings")
    return settings_from({**values, **evaluation, **sweep.settings}, source)


# -- Optuna


def import_optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise ValueError(not_installed("a sweep", "optuna", "sweep")) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def distribution(base: Settings, name: str, choices: Range | list[object]) -> BaseDistribution:
    """Optuna's distribution of a setting."""
    distributions = import_optuna().distributions
    if isinstance(choices, list):
        # Optuna stores scalars alone, so other values are stored as YAML.
        return distributions.CategoricalDistribution([*map(format_value, choices)])
    low, high, log, step = choices.low, choices.high, choices.log, choices.step
    if type(getattr(base, name, None)) is int:
        return distributions.IntDistribution(int(low), int(high), log, int(step or 1))
    return distributions.FloatDistribution(low, high, log, step)


def trial_settings(trial: Trial | FrozenTrial) -> JsonObject:
    """The settings that a trial sampled, and its budget in decisions where it has its own."""
    sampled = {
        name: yaml.safe_load(value) if isinstance(value, str) else value
        for name, value in trial.params.items()
    }
    budget = trial.user_attrs.get(BUDGET)
    return sampled if budget is None else {**sampled, BUDGET: budget}


def make_pruner(name: str) -> BasePruner:
    return getattr(import_optuna().pruners, f"{name}Pruner")()


def make_sampler(name: str, seed: int) -> BaseSampler:
    """Make a sampler by name that is seeded by the number of each trial.

    Resumed sweeps, and processes that share a storage, thus sample no trial twice.
    """
    sampler = getattr(import_optuna().samplers, f"{name}Sampler")

    class Numbered(sampler):
        def before_trial(self, study: Study, trial: FrozenTrial) -> None:
            secret = secret_of_seed(seed, f"trial {trial.number}")
            sampler.__init__(self, seed=int.from_bytes(secret[:4], "little"))
            super().before_trial(study, trial)

    return Numbered()
