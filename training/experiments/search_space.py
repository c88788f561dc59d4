"""Settings of a sweep: what is tried, in ranges and lists, and how the results are measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from ...common.files import read_yaml_mapping
from ...common.settings_files import build_settings
from ...common.suggestions import suggest
from ...common.typed_settings import (
    CheckedSettings,
    EvenHands,
    Names,
    Positive,
    PositiveInt,
    Seed,
    SettingsError,
    doc,
    format_value,
)
from ..runs.presets import PRESETS, settings_from
from ..settings import Settings
from .optuna_study import optuna_here


class Between(CheckedSettings, frozen=True, kw_only=True):
    """A number to be chosen between two others."""

    low: Annotated[float, doc("The least there may be.")]
    high: Annotated[float, doc("The most.")]
    log: Annotated[bool, doc("Whether orders of magnitude are equally likely.")] = False
    step: Annotated[Positive | None, doc("What lies between two choices.")] = None


class Sweep(CheckedSettings, frozen=True, kw_only=True):
    """What is tried, and how what came of it is measured."""

    preset: Annotated[
        str, doc("What the settings begin with: a preset, or the path of a file.")
    ] = "quick"
    settings: Annotated[dict[str, Any], doc("Settings over it, the same in every trial.")] = (
        msgspec.field(default_factory=dict[str, Any])
    )
    space: Annotated[
        dict[str, Between | list[Any]],
        doc("Settings to be chosen: between `low` and `high`, or out of a list.", min_length=1),
    ]
    against: Annotated[Names, doc("Whom the mean win rate is measured against.", min_length=1)] = (
        "threshold",
    )
    trials: Annotated[
        PositiveInt, doc("In all, those of other machines and of earlier sessions included.")
    ] = 20
    finalists: Annotated[
        PositiveInt,
        doc("How many of the best are measured again, on fresh deals, to choose among them."),
    ] = 4
    hands: Annotated[
        EvenHands, doc("Against each opponent, when the finalists are measured again.")
    ] = 10_000
    sampler: Annotated[str, doc("Optuna's, by name: `TPE`, `Random`, `CmaEs`, `QMC`, `GP`.")] = (
        "TPE"
    )
    pruner: Annotated[
        str,
        doc("Optuna's, by name: `Median`, `Nop`, `Hyperband`, `SuccessiveHalving`, `Percentile`."),
    ] = "Median"
    seed: Annotated[Seed, doc("Of what the sampler draws.")] = 0
    storage: Annotated[
        str, doc("A database's URL or a journal's path; by default a journal in the folder.")
    ] = ""


def load_sweep(path: str | Path) -> Sweep:
    """A sweep from a YAML file, everything in it checked."""
    values = read_yaml_mapping(Path(path))
    if isinstance(space := values.get("space"), dict):
        values["space"] = {
            name: _choice(each, f"{path}: space: {name}") for name, each in space.items()
        }
    found = build_settings(Sweep, values, str(path), "a part of a sweep")
    base = base_settings(found, Path(path).parent)
    known = base.__struct_fields__
    for name, wanted in found.space.items():
        if name not in known:
            raise SettingsError(
                f"{path}: space: {name!r} is not a setting of {base.trainer}{suggest(name, known)}"
            )
        try:
            distribution(base, name, wanted)
        except ValueError as error:
            raise SettingsError(f"{path}: space: {name}: {error}") from None
        whole = isinstance(wanted, Between) and _whole(base, name)
        for choice in wanted if isinstance(wanted, list) else [wanted.low, wanted.high]:
            value = int(choice) if whole else choice
            settings_from({**base.as_mapping(), name: value}, f"{path}: space")
    return found


def _choice(value: Any, source: str) -> Any:
    if isinstance(value, dict):
        return build_settings(Between, value, source, "a part of a range")
    if not isinstance(value, list):
        raise SettingsError(f"{source} is {value!r}: give `low` and `high`, or a list")
    return value


def base_settings(sweep: Sweep, folder: Path) -> Settings:
    """The settings that all trials share; a relative path of a preset starts from `folder`."""
    preset = sweep.preset
    if not Path(preset).is_absolute() and (folder / preset).is_file():
        preset = str(folder / preset)
    measured = {
        "eval_opponents": list(sweep.against), "final_eval_opponents": [],
        "about": "a trial of a sweep",
        "eval_mode": "sync",
    }  # fmt: skip
    values, source = PRESETS.values(preset)
    return settings_from({**values, **measured, **sweep.settings}, source)


def _whole(base: Settings, name: str) -> bool:
    value = getattr(base, name)
    return isinstance(value, int) and not isinstance(value, bool)


def distribution(base: Settings, name: str, wanted: Between | list[Any]) -> Any:
    """Optuna's distribution of a setting; it keeps plain values alone, so the rest as YAML."""
    distributions = optuna_here().distributions
    if isinstance(wanted, list):
        return distributions.CategoricalDistribution([*map(format_value, wanted)])
    if not _whole(base, name):
        return distributions.FloatDistribution(wanted.low, wanted.high, wanted.log, wanted.step)
    return distributions.IntDistribution(
        int(wanted.low), int(wanted.high), wanted.log, int(wanted.step or 1)
    )


def chosen_settings(trial: Any) -> dict[str, Any]:
    """The settings that a trial draws."""
    params: dict[str, Any] = trial.params
    return {
        name: yaml.safe_load(value) if isinstance(value, str) else value
        for name, value in params.items()
    }
