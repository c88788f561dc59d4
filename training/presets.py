"""Settings of a training from presets, YAML files and `key=value` words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..common.settings_files import (
    PresetFiles,
    build_settings,
    build_with_overrides,
    parse_overrides,
    shortest_command,
)
from ..common.typed_settings import SettingsError
from .algorithms.registry import own_settings, settings_kind
from .settings import Settings

_DEFAULT_TRAINER = "ppo"

PRESETS = PresetFiles("train", "a preset")
"""Bundled trainings."""


def setting_names() -> set[str]:
    """Names of the settings of all bundled trainers."""
    return {name for kind in own_settings().values() for name in kind.__struct_fields__}


def load_settings(preset: str | Path | None, words: Iterable[str] = ()) -> Settings:
    """Load a preset by name or from a YAML file, with `key=value` words over it.

    Without a preset the words override the defaults of the trainer.
    """
    if preset is None:
        return build_with_overrides(settings_from, {}, words, "settings")
    if Path(preset).suffix == ".py":
        raise SettingsError(
            f"{str(preset)!r} is no preset: a trainer of your own is named by its module and its "
            f"class, as in trainer={Path(preset).stem}:MyTrainer"
        )
    values, source = PRESETS.values(preset)
    words = [*words]
    try:
        return build_with_overrides(settings_from, values, words, source)
    except SettingsError as error:
        trainer = values.get("trainer", _DEFAULT_TRAINER)
        other = parse_overrides(words).get("trainer", trainer)
        if other == trainer:
            raise
        try:
            build_with_overrides(settings_from, {}, words, "")
        except SettingsError:
            raise error from None
        raise SettingsError(
            f"{source} is for the trainer {trainer}, and its settings do not fit trainer={other}: "
            f"leave out {preset}"
        ) from None


def changed_settings(settings: Settings, words: Iterable[str]) -> Settings:
    """Settings of a run with `key=value` words over them; refuses changes of `settings.fixed`."""
    changed = build_with_overrides(settings_from, settings.as_mapping(), words, "the run")
    before, after = settings.as_mapping(), changed.as_mapping()
    for name in settings.fixed:
        if before.get(name) != after.get(name):
            raise SettingsError(
                f"{name} is {before[name]!r} in this run and cannot become {after[name]!r}: begin "
                "another run"
            )
    return changed


def command_of(settings: Settings) -> str:
    """The shortest command with these settings: a preset and the settings that differ."""
    values = settings.as_mapping()
    defaults = settings_from({"trainer": settings.trainer}).as_mapping()
    bases = [([], {**defaults, "trainer": _DEFAULT_TRAINER})]
    for name in PRESETS.names():
        preset = load_settings(name).as_mapping()
        if preset["trainer"] == values["trainer"]:
            bases.append(([name], preset))
    return shortest_command("train", values, bases)


def settings_from(values: Mapping[str, Any], source: str = "settings") -> Settings:
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
