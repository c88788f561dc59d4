"""Settings of a training from presets, YAML files and `key=value` words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..common.settings import (
    PresetFiles,
    SettingsError,
    build_settings,
    build_with_overrides,
    command_line,
    parse_overrides,
)
from .algorithms.registry import own_settings, settings_kind
from .settings import Settings

_DEFAULT_TRAINER = "ppo"

PRESETS = PresetFiles("train", "a preset")
"""Bundled trainings."""


def setting_names() -> set[str]:
    """Names of the settings of all bundled trainers."""
    return {name for kind in own_settings().values() for name in kind.__struct_fields__}


def load_settings(preset: str | Path | None, words: Iterable[str] = (), **changes: Any) -> Settings:
    """Load a preset by name or from a YAML file, with `key=value` words and `changes` over it.

    Without a preset they override the defaults of the trainer.
    """
    overrides = {**parse_overrides(words), **changes}
    if preset is None:
        return build_with_overrides(settings_from, {}, overrides, "settings")
    if Path(preset).suffix == ".py":
        raise SettingsError(
            f"{str(preset)!r} is no preset: a trainer of your own is named by its module and its "
            f"class, as in trainer={Path(preset).stem}:MyTrainer"
        )
    values, source = PRESETS.values(preset)
    try:
        return build_with_overrides(settings_from, values, overrides, source)
    except SettingsError:
        trainer = values.get("trainer", _DEFAULT_TRAINER)
        other = overrides.get("trainer", trainer)
        if other == trainer or not _fit_alone(overrides):
            raise
        raise SettingsError(
            f"{source} is for the trainer {trainer}, and its settings do not fit trainer={other}: "
            f"leave out {preset}"
        ) from None


def _fit_alone(overrides: Mapping[str, object]) -> bool:
    try:
        settings_from(overrides)
    except SettingsError:
        return False
    return True


def changed_settings(settings: Settings, words: Iterable[str], **changes: Any) -> Settings:
    """Settings of a run with changes over them; refuses changes of `settings.fixed`."""
    before, overrides = settings.as_mapping(), {**parse_overrides(words), **changes}
    changed = build_with_overrides(settings_from, before, overrides, "the run")
    after = changed.as_mapping()
    for name in settings.fixed:
        if before.get(name) != after.get(name):
            raise SettingsError(
                f"{name} is {before[name]!r} in this run and cannot become {after[name]!r}: begin "
                "another run"
            )
    return changed


def command_of(settings: Settings) -> str:
    """Command that trains with these settings, for a run that no command began."""
    defaults = settings_from({"trainer": settings.trainer}).as_mapping()
    return command_line(["train"], settings.as_mapping(), {**defaults, "trainer": None})


def settings_from(values: Mapping[str, object], source: str = "settings") -> Settings:
    """Settings from a mapping; refuses unknown names and wrong values."""
    name = values.get("trainer", _DEFAULT_TRAINER)
    try:
        if not isinstance(name, str):
            raise SettingsError(f"trainer is {name!r}: it has to be a text")
        kind = settings_kind(name)
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}" if source else str(error)) from None
    return build_settings(
        kind, {**values, "trainer": name}, source, f"a setting of the {name} trainer"
    )


def split_seeds(words: Iterable[str]) -> tuple[list[str], list[int] | None]:
    """The `key=value` words without `seeds=...`, and its seeds, if it is there."""
    remaining, seeds = [], None
    for word in words:
        if word.partition("=")[0] != "seeds":
            remaining.append(word)
            continue
        value = parse_overrides([word])["seeds"]
        seeds = value if isinstance(value, list) else [value]
        if any(type(seed) is not int for seed in seeds):
            text = word.partition("=")[2] or "empty"
            raise SettingsError(f"seeds is {text}: give whole numbers, as in seeds=1,2,3")
    return remaining, seeds
