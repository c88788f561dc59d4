"""Where settings of a training come from: presets, YAML files and `key=value` words.

All are read by the types of the trainer's settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...common.settings_files import (
    PresetFiles,
    build_settings,
    build_with_overrides,
    parse_overrides,
    shortest_command,
)
from ...common.typed_settings import SettingsError
from ..algorithms.registry import own_settings, settings_kind
from ..settings import Settings

_USUAL = "ppo"


PRESETS = PresetFiles("train", "a preset")
"""The trainings that come with the package."""


def setting_names() -> set[str]:
    """The settings of all trainers that come with the package."""
    return {name for kind in own_settings().values() for name in kind.__struct_fields__}


def load_settings(wanted: str | Path | None, words: Iterable[str] = ()) -> Settings:
    """A preset by name or from a YAML file, with `key=value` words over it.

    Without one the words go over the trainer's own defaults.
    """
    if wanted is None:
        return build_with_overrides(settings_from, {}, words, "settings")
    if Path(wanted).suffix == ".py":
        raise SettingsError(
            f"{str(wanted)!r} is no preset: a trainer of your own is named by its module and its "
            f"class, as in trainer={Path(wanted).stem}:MyTrainer"
        )
    values, source = PRESETS.values(wanted)
    typed = [*words]
    try:
        return build_with_overrides(settings_from, values, typed, source)
    except SettingsError as error:
        usual = values.get("trainer", _USUAL)
        other = parse_overrides(typed).get("trainer", usual)
        if other == usual:
            raise
        try:
            build_with_overrides(settings_from, {}, typed, "")
        except SettingsError:
            raise error from None
        raise SettingsError(
            f"{source} is for the trainer {usual}, and its settings do not fit trainer={other}: "
            f"leave out {wanted}"
        ) from None


def changed_settings(settings: Settings, words: Iterable[str]) -> Settings:
    """Settings of a run under way with `key=value` words over them.

    What shapes the network, its memory of the games or what is seen is refused.
    """
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
    """The shortest command that trains with these settings: a preset, and what differs from it."""
    wanted = settings.as_mapping()
    usual = settings_from({"trainer": settings.trainer}).as_mapping()
    bases = [([], {**usual, "trainer": _USUAL})]
    for name in PRESETS.names():
        preset = load_settings(name).as_mapping()
        if preset["trainer"] == wanted["trainer"]:
            bases.append(([name], preset))
    return shortest_command("train", wanted, bases)


def settings_from(values: Mapping[str, Any], source: str = "settings") -> Settings:
    """Settings from the fields of a file; unknown names and wrong values are refused."""
    name = values.get("trainer", _USUAL)
    try:
        if not isinstance(name, str):
            raise SettingsError(f"trainer is {name!r}: it has to be a text")
        kind = settings_kind(name)
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}" if source else str(error)) from None
    what = f"a setting of the {name} trainer"
    return build_settings(kind, {**values, "trainer": name}, source, what)


def split_seeds(words: Iterable[str]) -> tuple[list[str], list[int] | None]:
    """The words of settings, and the seeds that one of them may name."""
    rest, found = [], None
    for word in words:
        if word.partition("=")[0] != "seeds":
            rest.append(word)
            continue
        value = parse_overrides([word])["seeds"]
        found = value if isinstance(value, list) else [value]
        if any(isinstance(each, bool) or not isinstance(each, int) for each in found):
            told = word.partition("=")[2] or "empty"
            raise SettingsError(f"seeds is {told}: give whole numbers, as in seeds=1,2,3")
    return rest, found
