"""Typed settings: structures with documented and validated fields.

Command-line help, `--show`, the settings page and all errors are generated from the declarations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import yaml
from msgspec import Meta, Struct, inspect

from .schema import type_text
from .suggestions import suggest

Fraction = Annotated[float, Meta(ge=0, le=1)]
NonNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
# Counts in names of files have twelve digits, so that they sort.
_MAX_COUNT = 10**12 - 1
NonNegativeInt = Annotated[int, Meta(ge=0, le=_MAX_COUNT)]
PositiveInt = Annotated[int, Meta(ge=1, le=_MAX_COUNT)]
EvenCount = Annotated[int, Meta(ge=2, le=_MAX_COUNT, multiple_of=2)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
LayerSizes = Annotated[tuple[Annotated[int, Meta(ge=1, le=1 << 20)], ...], Meta(min_length=1)]
Names = tuple[str, ...]


def doc(about: str, **limits: Any) -> Meta:
    """Description and bounds of a setting, for the `Annotated` type of a field."""
    return Meta(description=about, **limits)


class SettingsError(ValueError):
    """An unknown setting, or an invalid value."""


class CheckedSettings(Struct, frozen=True, kw_only=True, dict=True):
    """Base class of settings: values are validated against the declared types."""

    other_names: ClassVar[Mapping[str, str]] = {}
    """Setting that corresponds to a name of another library, for error messages."""

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        converted, problems = convert_settings(type(self), values)
        if problems:
            raise SettingsError("; ".join(problems))
        for name, value in converted.items():
            msgspec.structs.force_setattr(self, name, value)

    def as_mapping(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: _plain(value) for name, value in plain.items()}

    def as_yaml(self) -> str:
        return yaml.safe_dump(self.as_mapping(), sort_keys=False, allow_unicode=True)


def check_unchanged(
    folder: Path, stored: Mapping[str, Any], settings: CheckedSettings, remedy: str
) -> None:
    """Refuse to resume in a folder with other settings than its own."""
    current = settings.as_mapping()
    for name in stored:
        if name not in current:
            raise SettingsError(
                f"{folder} was begun with {name} {stored[name]!r}, which is no setting here: name "
                "another folder, or use the command and the version that began it"
            )
    # What an older version could not set had the effect of the default.
    fields = list_settings(type(settings))
    defaults = {field.name: _plain(field.default) for field in fields}
    for name, value in current.items():
        began = stored.get(name, defaults[name])
        if name != "about" and began != value:
            raise SettingsError(
                f"{folder} was begun with {name} {began!r}, and now it is {value!r}: {remedy}"
            )


class Setting(Struct, frozen=True):
    """One field of settings, as help texts and pages describe it."""

    name: str
    default: Any
    """`msgspec.NODEFAULT` if the setting is required."""
    about: str
    takes: str


def list_settings(kind: type[CheckedSettings]) -> list[Setting]:
    """Fields of a settings class in the order of declaration."""
    inherited = [_types(base) for base in kind.__mro__ if issubclass(base, CheckedSettings)]
    return [
        Setting(
            field.name,
            field.default
            if field.default_factory is msgspec.NODEFAULT
            else field.default_factory(),
            next(filter(None, (_about(types, field.name) for types in inherited)), ""),
            type_text(field.type),
        )
        for field in msgspec.structs.fields(kind)
    ]


def commented_yaml(settings: CheckedSettings) -> str:
    """Resolved settings as YAML, each line commented with its description."""
    about = {setting.name: setting.about for setting in list_settings(type(settings))}
    lines = [
        (f"{name}: {format_value(value)}", about[name])
        for name, value in settings.as_mapping().items()
    ]
    width = min(42, max(len(line) for line, _ in lines))
    return "".join(f"{line:<{width}}  # {description}\n" for line, description in lines)


def format_value(value: Any) -> str:
    """A value in one-line YAML, as the command line takes it."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).split("\n...")[0].strip()


def convert_settings(
    kind: type[CheckedSettings], values: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Values of the declared types, from numbers as text too, and a sentence for each wrong one."""
    converted: dict[str, Any] = {}
    problems: list[str] = []
    for name, (expected, info) in _types(kind).items():
        if name not in values:
            continue
        value = values[name]
        if isinstance(info, inspect.VarTupleType) and not isinstance(value, (list, tuple)):
            value = () if value is None else (value,)
        if isinstance(info, (inspect.IntType, inspect.FloatType)):
            value = _number(value, is_int=isinstance(info, inspect.IntType))
        if isinstance(value, float) and not math.isfinite(value):
            problems.append(f"{name} is {value}: it has to be a finite number")
            continue
        try:
            converted[name] = msgspec.convert(value, expected, strict=False)
        except msgspec.ValidationError:
            problems.append(_validation_error(name, value, expected, info))
    return converted, problems


def _number(value: Any, is_int: bool) -> Any:
    """A value as a number without bounds, as errors quote it; what is no number stays."""
    for number in (int, float) if is_int else (float,):
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, number, strict=False)
    return value


def _validation_error(name: str, value: Any, expected: Any, info: Any) -> str:
    quoted = "empty" if value is None else repr(_plain(value))
    hint = ""
    if isinstance(info, inspect.LiteralType):
        hint = suggest(value, map(str, info.values), listed=False)
    return f"{name} is {quoted}: it has to be {type_text(expected)}{hint}"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@cache
def _types(kind: type[CheckedSettings]) -> dict[str, tuple[Any, Any]]:
    """The declared type of each field, and what msgspec knows of it without its description."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    infos = {name: inspect.type_info(expected) for name, expected in types.items()}
    return {name: (types[name], getattr(info, "type", info)) for name, info in infos.items()}


def _about(types: Mapping[str, tuple[Any, Any]], name: str) -> str:
    type_info = inspect.type_info(types[name][0]) if name in types else None
    schema = getattr(type_info, "extra_json_schema", None) or {}
    return schema.get("description", "")
