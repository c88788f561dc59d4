"""Sources of typed settings: preset files of the package, YAML files, `key=value` overrides.

Unknown names and invalid values are refused with the nearest match.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from .files import read_yaml_mapping, write_file
from .suggestions import suggest
from .typed_settings import (
    CheckedSettings,
    SettingsError,
    check_unchanged,
    convert_settings,
    format_value,
)

S = TypeVar("S")
T = TypeVar("T", bound=CheckedSettings)


class PresetFiles:
    """Settings files of one kind: presets of the package by name, others by path."""

    def __init__(self, folder: str, what: str) -> None:
        """`folder` lies in the package's `configs`; `what` is the noun for one file in errors."""
        self._folder = Path(str(files(__name__.rsplit(".", 2)[0] + ".configs") / folder))
        self._noun = what

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.yaml"))

    def descriptions(self) -> dict[str, str]:
        return {name: str(self.values(name)[0].get("about", "")) for name in self.names()}

    def values(self, name_or_path: str | Path) -> tuple[dict[str, Any], str]:
        """The fields of a file and its name; `preset` in a file names another one to build on."""
        return self._values(name_or_path, ())

    def _values(
        self, name_or_path: str | Path, including: tuple[str, ...]
    ) -> tuple[dict[str, Any], str]:
        names = self.names()
        if str(name_or_path) in names:
            return read_yaml_mapping(self._folder / f"{name_or_path}.yaml"), f"{name_or_path}.yaml"
        path = Path(name_or_path)
        if path.suffix not in (".yaml", ".yml"):
            hint = suggest(name_or_path, names, more="others are given by the path of a .yaml file")
            raise SettingsError(f"{str(name_or_path)!r} is not {self._noun}{hint}")
        values = read_yaml_mapping(path)
        base = values.pop("preset", None)
        if base is None:
            return values, str(path)
        if not isinstance(base, str):
            raise SettingsError(f"{path}: preset is {base!r}: it has to be a name or a path")
        if base not in names and Path(base).suffix in (".yaml", ".yml"):
            base = str(path.parent / base)
        if base in (*including, str(path)):
            raise SettingsError(f"{path}: preset is {base!r}, which builds on this file in turn")
        try:
            base_values, _ = self._values(base, (*including, str(path)))
        except SettingsError as error:
            raise SettingsError(f"{path}: preset: {error}") from None
        return {**base_values, **values}, str(path)


def two_columns(descriptions: Mapping[str, str]) -> str:
    width = max(map(len, descriptions)) + 2
    return "\n".join(f"{name:<{width}}{about}" for name, about in descriptions.items())


def build_settings(kind: type[T], values: Mapping[str, Any], source: str, what: str) -> T:
    """Build a settings structure from the fields of a file; an error lists all problems.

    Without a `source`, the error is about options just typed.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    unknown = [name for name in values if name not in fields]
    problems = [
        f"{name!r} is not {what}; the setting for that is {replacement!r}"
        if (replacement := kind.other_names.get(name)) in fields
        else f"{name!r} is not {what}{suggest(name, fields, listed=len(unknown) == 1)}"
        for name in unknown
    ]
    missing = [name for name, field in fields.items() if field.required and name not in values]
    problems += [f"has no {name!r}" for name in missing]
    try:
        if problems:
            raise SettingsError("; ".join([*problems, *convert_settings(kind, values)[1]]))
        return kind(**values)
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}" if source else str(error)) from None


def build_with_overrides(
    make: Callable[[dict[str, Any], str], S],
    values: Mapping[str, Any],
    overrides: Mapping[str, Any],
    source: str,
) -> S:
    """Build settings from `values` with `overrides`.

    An error names the file only if the file is wrong by itself.
    """
    try:
        return make({**values, **overrides}, "" if overrides else source)
    except SettingsError:
        # An error of the file by itself is reported first.
        make({**values}, source)
        raise


def keep_settings(path: Path, settings: CheckedSettings, remedy: str) -> None:
    """Write the settings of a new folder; refuse other settings for an old one."""
    if path.exists():
        check_unchanged(path.parent, read_yaml_mapping(path), settings, remedy)
    write_file(path, settings.as_yaml())


def parse_overrides(words: Iterable[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise SettingsError(f"{word!r} is no setting: write key=value, as in ent_coef=0.1")
        values[name.strip()] = _parse_value(name.strip(), text)
    return values


def _parse_value(name: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise SettingsError(f"{name}={text}: the value cannot be read") from None
    if isinstance(value, str) and "," in value:
        return [_parse_value(name, part) for part in value.split(",")]
    return value


def format_overrides(values: Mapping[str, Any]) -> list[str]:
    """Settings as `key=value` words of the command line."""
    return [_format_override(name, value) for name, value in values.items()]


def _format_override(name: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        bare = f"{name}={','.join(map(format_value, value))}"
        with suppress(SettingsError):
            if value and parse_overrides([bare])[name] == [*value]:
                return bare
    return f"{name}={format_value(value)}"


def command_line(
    words: Iterable[str], settings: Mapping[str, Any], defaults: Mapping[str, Any]
) -> str:
    """Command with these words and the settings that differ from the defaults."""
    changed = {
        name: value
        for name, value in settings.items()
        if name != "about" and value != defaults.get(name)
    }
    return shlex.join(["german-whist", *words, *format_overrides(changed)])
