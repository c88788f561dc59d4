"""Typed settings: structures whose fields say what they take and do, and are checked at once.

The command line, `--show`, the page of settings and all errors are made from the declarations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import yaml
from msgspec import Meta, Struct

from .schema import wanted_of
from .suggestions import meant

Share = Annotated[float, Meta(ge=0, le=1)]
AtLeastNothing = Annotated[float, Meta(ge=0)]
AboveNothing = Annotated[float, Meta(gt=0)]
# Files of checkpoints are named by their decisions, in twelve digits, by which they are sorted.
_MOST = 10**12 - 1
Whole = Annotated[int, Meta(ge=0, le=_MOST)]
Count = Annotated[int, Meta(ge=1, le=_MOST)]
Hands = Annotated[int, Meta(ge=2, le=_MOST, multiple_of=2)]
"""Hands of a measurement, in which every deal is played twice."""
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Widths = Annotated[tuple[Annotated[int, Meta(ge=1, le=1 << 20)], ...], Meta(min_length=1)]
Names = tuple[str, ...]


def says(about: str, **limits: Any) -> Meta:
    """What a setting does, and between what its values lie, for the `Annotated` type of a field."""
    return Meta(description=about, **limits)


class SettingsError(ValueError):
    """A setting that is not known, or a value that does not fit."""


class Checked(Struct, frozen=True, kw_only=True, dict=True):
    """Settings that are checked against their declared types when they are made."""

    other_names: ClassVar[Mapping[str, str]] = {}
    """Names of other libraries and the setting here that they stand for, for error messages."""

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        if wrong := [*misfits(type(self), values)]:
            raise SettingsError("; ".join(wrong))

    def as_mapping(self) -> dict[str, Any]:
        """Every setting, as a YAML file gives it."""
        plain = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: _plain(value) for name, value in plain.items()}

    def as_yaml(self) -> str:
        """The resolved settings as a file."""
        return yaml.safe_dump(self.as_mapping(), sort_keys=False, allow_unicode=True)


def check_same(
    folder: Path, before: Mapping[str, Any], now: Mapping[str, Any], remedy: str
) -> None:
    """Refuse to go on in a folder with settings that are not its own."""
    for name, old in before.items():
        if name != "about" and old != now.get(name):
            raise SettingsError(
                f"{folder} was begun with {name} {old!r}, and now it is {now.get(name)!r}: {remedy}"
            )


class Setting(Struct, frozen=True):
    """A field of settings, as help and pages tell it."""

    name: str
    default: Any
    """What it is unless it is set; `msgspec.NODEFAULT` where it has to be."""
    about: str
    takes: str


def described(kind: type[Checked]) -> list[Setting]:
    """The fields of settings, in the order of their declaration."""
    inherited = [_types(base) for base in kind.__mro__ if issubclass(base, Checked)]
    return [
        Setting(
            each.name,
            each.default if each.default_factory is msgspec.NODEFAULT else each.default_factory(),
            next(filter(None, (_about(types.get(each.name)) for types in inherited)), ""),
            wanted_of(each.type),
        )
        for each in msgspec.structs.fields(kind)
    ]


def as_help(settings: Checked) -> str:
    """The resolved settings as a YAML file in which every line says what it sets."""
    about = {each.name: each.about for each in described(type(settings))}
    lines = [
        (f"{name}: {written(value)}", about[name]) for name, value in settings.as_mapping().items()
    ]
    width = min(42, max(len(line) for line, _ in lines))
    return "".join(f"{line:<{width}}  # {told}\n" for line, told in lines)


def written(value: Any) -> str:
    """A value as a word of the command line gives it."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).split("\n...")[0].strip()


def misfits(kind: type[Checked], values: Mapping[str, Any]) -> Iterator[str]:
    """Of each value that is not what a setting takes a sentence, with what it does take."""
    for name, taken in _types(kind).items():
        value = values.get(name, msgspec.NODEFAULT)
        if value is msgspec.NODEFAULT:
            continue
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{name} is {value}: it has to be a finite number"
            continue
        try:
            msgspec.convert(value, taken)
        except msgspec.ValidationError:
            yield _misfit(name, value, taken)


def _misfit(name: str, value: Any, kind: Any) -> str:
    """Why a value is none for a setting, in a sentence."""
    told = "empty" if value is None else repr(_plain(value))
    allowed = getattr(msgspec.inspect.type_info(kind), "type", msgspec.inspect.type_info(kind))
    near = ""
    if isinstance(allowed, msgspec.inspect.LiteralType):
        near = meant(value, map(str, allowed.values), listed=False)
    return f"{name} is {told}: it has to be {wanted_of(kind)}{near}"


def _plain(value: Any) -> Any:
    """A value as a YAML file gives it."""
    return list(value) if isinstance(value, tuple) else value


@cache
def _types(kind: type[Checked]) -> dict[str, Any]:
    return {each.name: each.type for each in msgspec.structs.fields(kind)}


def _about(kind: Any) -> str:
    told = msgspec.inspect.type_info(kind)
    extra = getattr(told, "extra_json_schema", None) or {}
    return extra.get("description", "")
