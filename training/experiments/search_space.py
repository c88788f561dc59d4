"""Settings of a sweep: the search space, Optuna's sampler and pruner, evaluation of the results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
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
    NonNegativeInt,
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
from .benchmark_results import is_solvable
from .foreign_code import check_foreign_code, foreign_code

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
        doc(
            "Number of trials before the space is widened. Trials of other machines and of earlier "
            "sessions count."
        ),
    ] = 20
    trial_seconds: Annotated[
        NonNegative,
        doc(
            "Processor time of a trial in seconds. Before the trial, a short training measures how "
            "many `decisions` fit in. 0: every trial has the `decisions` of the settings."
        ),
    ] = 0.0
    widenings: Annotated[
        NonNegativeInt,
        doc(
            "Largest number of times that the search space is widened. If at least half of the "
            "finalists are at a bound of a setting, the sweep moves this bound and runs more "
            "trials."
        ),
    ] = 1
    widening_trials: Annotated[
        PositiveInt, doc("Number of trials that the sweep runs after each widening.")
    ] = 20
    finalists: Annotated[
        PositiveInt, doc("Number of the best trials that are compared again at the end.")
    ] = 5
    final_seeds: Annotated[
        NonNegativeInt,
        doc(
            "Number of times that each finalist is trained again, with other seeds. The best mean "
            "wins. 0: the trial itself is evaluated on fresh deals."
        ),
    ] = 3
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
        half = objective.margin_of_error
        interval = f" ± {half:.4f}" if half and math.isfinite(half) else ""
        return f"exploitability {-objective.value:.4f}{interval}"


_OF_EVALUATION = ("eval_opponents", "final_eval_opponents", "eval_mode")
"""Settings of trials that a sweep sets itself."""


def load_sweep(path: str | Path) -> Sweep:
    """Load a sweep from a YAML file and check its whole search space."""
    values = read_yaml_mapping(Path(path))
    if isinstance(space := values.get("space"), dict):
        values["space"] = {
            name: _choices(value, f"{path}: space: {name}") for name, value in space.items()
        }
    sweep = build_settings(Sweep, values, str(path), "a part of a sweep")
    for name in _OF_EVALUATION:
        if name in sweep.settings:
            raise SettingsError(
                f"{path}: settings: {name} is {format_value(sweep.settings[name])}, and a sweep "
                "evaluates its trials by its own eval_opponents: leave it out of the settings"
            )
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
    code_of_trials(sweep, base, f"{path}: space")
    import_optuna()
    for name, choices in sweep.space.items():
        try:
            distribution(base, name, choices)
        except ValueError as error:
            raise SettingsError(f"{path}: space: {name}: {error}") from None
    check_foreign_code(base)
    return sweep


def code_of_trials(sweep: Sweep, base: Settings, source: str = "") -> dict[str, str]:
    """SHA-256 of all code of others that a trial of the space may name, by its name.

    `source` is what errors in the values of the space begin with.
    """
    found = foreign_code(base)
    for name, choices in sweep.space.items():
        for value in choices if isinstance(choices, list) else (choices.low, choices.high):
            found |= foreign_code(settings_from({**base.as_mapping(), name: value}, source))
    return found


def convert_space(space: Mapping[str, Any]) -> dict[str, Range | list[Any]]:
    """A space from plain values."""
    return {name: _choices(value, f"space: {name}") for name, value in space.items()}


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


# -- widening

Space = Mapping[str, Range | list[Any]]
_SAMPLER_PACKAGES = {"CmaEs": "cmaes", "GP": "scipy", "QMC": "scipy"}
"""What some of Optuna's samplers need, and it does not install."""
_EDGE = 0.05
"""Part of a range, on its own scale, that counts as its bound."""
_ROUNDING = 1e-9
"""Of a number of steps that is a whole one."""
_STEPS = (0.5, 0.25, 0.125)
"""Parts of its width that a range is widened by; the first that the setting accepts."""


def bounds_reached(space: Space, best: Sequence[JsonObject]) -> dict[str, list[str]]:
    """Bounds, `low` or `high`, that at least half of the best trials are at, by setting.

    A trial is at a bound of a range within 5 % of its width, and at one of a list with its lowest
    or highest number.
    """
    reached: dict[str, list[str]] = {}
    for name, choices in space.items():
        places = [_place(choices, settings[name]) for settings in best if name in settings]
        for bound, place in (("low", 0.0), ("high", 1.0)):
            at_bound = sum(each is not None and abs(each - place) <= _EDGE for each in places)
            if places and 2 * at_bound >= len(best):
                reached.setdefault(name, []).append(bound)
    return reached


def _place(choices: Range | list[Any], value: Any) -> float | None:
    """Where a value is between the bounds, from 0 to 1; None in a list without an order."""
    if isinstance(choices, Range):
        low, high = _ends(choices)
        low, high, at = (_on_scale(choices, each) for each in (low, high, value))
        return (at - low) / (high - low) if high > low else None
    numbers, number = _numbers(choices), _as_number(value)
    if len(numbers) < 2 or number not in numbers:
        return None
    return numbers.index(number) / (len(numbers) - 1)


def _ends(choices: Range) -> tuple[float, float]:
    """The lowest and the highest value of a range: its last step may end below `high`."""
    low, high, step = choices.low, choices.high, choices.step
    if not step:
        return low, high
    return low, round(low + math.floor((high - low) / step + _ROUNDING) * step, 12)


def _on_scale(choices: Range, value: float) -> float:
    return math.log(value) if choices.log else float(value)


def _numbers(choices: list[Any]) -> list[float]:
    """The numbers of a list in order; none if anything else is in it."""
    numbers = [_as_number(value) for value in choices]
    return [] if None in numbers else sorted(number for number in numbers if number is not None)


def _as_number(value: object) -> float | None:
    """A number, also if it is written as 1e-3, which YAML takes for a text; None of other values.

    Settings take such a text for the number, too.
    """
    if isinstance(value, str):
        with suppress(ValueError):
            return float(value)
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def widened(space: Space, base: Settings, reached: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The space with the bounds moved on that were reached, as far as the settings accept it.

    A range grows by half of its width on its own scale, or by a quarter or an eighth; one with a
    step grows by whole steps. A list gets one more number, in the ratio of its last two.
    """
    wider = dict(space)
    for name, bounds in reached.items():
        is_int = type(getattr(base, name, None)) is int
        for bound in bounds:
            for value in _values_beyond(wider[name], bound, is_int=is_int):
                choices = _with_bound(wider[name], bound, value)
                if _accepts(base, name, value, choices):
                    wider[name] = choices
                    break
    return wider


def _accepts(base: Settings, name: str, value: float, choices: Range | list[Any]) -> bool:
    """Whether a setting takes a new bound, and Optuna the choices with it."""
    try:
        settings_from({**base.as_mapping(), name: value})
        distribution(base, name, choices)
    except ValueError:
        return False
    return True


def _values_beyond(choices: Range | list[Any], bound: str, *, is_int: bool) -> list[float]:
    """Values beyond a bound, the furthest first."""
    if isinstance(choices, Range):
        is_high = bound == "high"
        ends = _ends(choices)
        at, sign = (ends[1], 1) if is_high else (ends[0], -1)
        low, high = (_on_scale(choices, each) for each in ends)
        values: list[float] = []
        for part in _STEPS:
            if choices.step:
                # The trials so far have to stay on the grid.
                steps = max(1, round(part * (high - low) / choices.step))
                value = round(at + sign * steps * choices.step, 12)
            else:
                end = (high if is_high else low) + sign * part * (high - low)
                value = _rounded(math.exp(end) if choices.log else end)
            if is_int:
                value = math.ceil(value) if is_high else math.floor(value)
            values.append(value)
        return [value for value in values if sign * value > sign * at]
    numbers = _numbers(choices) if bound == "high" else _numbers(choices)[::-1]
    before, last = numbers[-2:]
    value = _rounded(last * last / before if before and last else 2 * last - before)
    return [round(value) if is_int else value]


def _rounded(value: float) -> float:
    """To three significant digits; whole numbers stay whole."""
    return value if value == round(value) else float(f"{value:.3g}")


def _with_bound(choices: Range | list[Any], bound: str, value: float) -> Range | list[Any]:
    if isinstance(choices, Range):
        return msgspec.structs.replace(choices, **{bound: value})
    return [*choices, value] if bound == "high" else [value, *choices]


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
    (low, high), log, step = _ends(choices), choices.log, choices.step
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
    needed = _SAMPLER_PACKAGES.get(name)
    if needed and find_spec(needed) is None:
        raise ValueError(
            f"sampler is {name!r}, which needs the package {needed}, and it is not installed: "
            f"`pip install {needed}`, or take another sampler"
        )

    class Numbered(sampler):
        def before_trial(self, study: Study, trial: FrozenTrial) -> None:
            secret = secret_of_seed(seed, f"trial {trial.number}")
            sampler.__init__(self, seed=int.from_bytes(secret[:4], "little"))
            super().before_trial(study, trial)

    return Numbered()
