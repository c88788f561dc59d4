"""Typed settings: structures with documented and validated fields, from preset files and words.

Command-line help, `--show`, the settings page and all errors are generated from the declarations.
Unknown names and invalid values are refused with the nearest match.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
import yaml
from msgspec import Meta, Struct, inspect

from .files import read_yaml_mapping, write_file
from .schema import type_text
from .suggestions import suggest
from .typing import JsonObject

Fraction = Annotated[float, Meta(ge=0, le=1)]
NonNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
_COMMENT_WIDTH = 86
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


class SettingsDoNotFit(SettingsError):
    """Settings that do not go together, as a trainer finds when it is made."""


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

    def as_mapping(self) -> JsonObject:
        plain = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: _plain(value) for name, value in plain.items()}

    def as_yaml(self) -> str:
        return yaml.safe_dump(self.as_mapping(), sort_keys=False, allow_unicode=True)


def check_unchanged(
    folder: Path, stored: Mapping[str, object], settings: CheckedSettings, remedy: str
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


S = TypeVar("S")
T = TypeVar("T", bound=CheckedSettings)


class Setting(Struct, frozen=True):
    """One field of settings, as help texts and pages describe it."""

    name: str
    default: object
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
    """Resolved settings as YAML, each below a comment with its description."""
    about = {setting.name: setting.about for setting in list_settings(type(settings))}
    parts = [
        f"{_comment(about[name])}\n{name}: {format_value(value)}\n"
        for name, value in settings.as_mapping().items()
    ]
    return "\n".join(parts)


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, _COMMENT_WIDTH, break_on_hyphens=False)
    return "\n".join(f"# {line}" for line in lines)


def format_value(value: object) -> str:
    """A value in one-line YAML, as the command line takes it."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).split("\n...")[0].strip()


def convert_settings(
    kind: type[CheckedSettings], values: Mapping[str, object]
) -> tuple[dict[str, object], list[str]]:
    """Values of the declared types, from numbers as text too, and a sentence for each wrong one."""
    converted: dict[str, object] = {}
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


def _number(value: object, is_int: bool) -> object:
    """A value as a number without bounds, as errors quote it; what is no number stays."""
    for number in (int, float) if is_int else (float,):
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, number, strict=False)
    return value


def _validation_error(name: str, value: object, expected: object, info: inspect.Type) -> str:
    quoted = "empty" if value is None else repr(_plain(value))
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return (
            f"{name} is {quoted}: its names have to be texts: write on, yes and numbers in quotes"
        )
    hint = ""
    if isinstance(info, inspect.LiteralType):
        hint = suggest(value, map(str, info.values), listed=False)
    return f"{name} is {quoted}: it has to be {type_text(expected)}{hint}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


@cache
def _fields(kind: type[CheckedSettings]) -> dict[str, msgspec.structs.FieldInfo]:
    # msgspec evaluates all annotations anew each time.
    return {field.name: field for field in msgspec.structs.fields(kind)}


@cache
def _types(kind: type[CheckedSettings]) -> dict[str, tuple[type, inspect.Type]]:
    """The declared type of each field, and what msgspec knows of it without its description."""
    types = {name: field.type for name, field in _fields(kind).items()}
    infos = {name: inspect.type_info(expected) for name, expected in types.items()}
    return {name: (types[name], getattr(info, "type", info)) for name, info in infos.items()}


def _about(types: Mapping[str, tuple[type, inspect.Type]], name: str) -> str:
    type_info = inspect.type_info(types[name][0]) if name in types else None
    schema = getattr(type_info, "extra_json_schema", None) or {}
    return schema.get("description", "")


# -- files and words


class PresetFiles:
    """Settings files of one kind: presets of the package by name, others by path."""

    def __init__(self, folder: str | Path, what: str) -> None:
        """`folder` lies in the package's `configs`, or is a whole path.

        `what` is the noun for one file in errors.
        """
        self._folder = Path(str(files(__name__.rsplit(".", 2)[0] + ".configs"))) / folder
        self._noun = what

    def path(self, file_name: str) -> Path:
        """Of another file beside the bundled ones."""
        return self._folder / file_name

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.yaml"))

    def descriptions(self) -> dict[str, str]:
        return {name: str(self.values(name)[0].get("about", "")) for name in self.names()}

    def values(self, name_or_path: str | Path) -> tuple[JsonObject, str]:
        """The fields of a file and its name; `preset` in a file names another one to build on."""
        return self._values(name_or_path, ())

    def _values(
        self, name_or_path: str | Path, including: tuple[str, ...]
    ) -> tuple[JsonObject, str]:
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


def build_settings(kind: type[T], values: Mapping[str, object], source: str, what: str) -> T:
    """Build a settings structure from the fields of a file; an error lists all problems.

    Without a `source`, the error is about options just typed.
    """
    fields = _fields(kind)
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
    make: Callable[[dict[str, object], str], S],
    values: Mapping[str, object],
    overrides: Mapping[str, object],
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
    check_kept_settings(path, settings, remedy)
    write_file(path, settings.as_yaml())


def check_kept_settings(path: Path, settings: CheckedSettings, remedy: str) -> None:
    """Refuse other settings than those that `keep_settings` wrote, if it did."""
    if path.exists():
        try:
            stored = read_yaml_mapping(path)
        except ValueError as error:
            raise SettingsError(f"{error}; {remedy}") from None
        check_unchanged(path.parent, stored, settings, remedy)


def parse_overrides(words: Iterable[str]) -> JsonObject:
    values: JsonObject = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise SettingsError(f"{word!r} is no setting: write key=value, as in ent_coef=0.1")
        values[name.strip()] = _parse_value(name.strip(), text)
    return values


def _parse_value(name: str, text: str) -> object:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise SettingsError(f"{name}={text}: the value cannot be read") from None
    if isinstance(value, str) and "," in value:
        return [_parse_value(name, part) for part in value.split(",")]
    return value


def format_overrides(values: Mapping[str, object]) -> list[str]:
    """Settings as `key=value` words of the command line."""
    return [_format_override(name, value) for name, value in values.items()]


def _format_override(name: str, value: object) -> str:
    if isinstance(value, (list, tuple)):
        bare = f"{name}={','.join(map(format_value, value))}"
        with suppress(SettingsError):
            if value and parse_overrides([bare])[name] == [*value]:
                return bare
    return f"{name}={format_value(value)}"


def command_line(
    words: Iterable[str], settings: Mapping[str, object], defaults: Mapping[str, object]
) -> str:
    """Command with these words and the settings that differ from the defaults."""
    changed = {
        name: value
        for name, value in settings.items()
        if name != "about" and value != defaults.get(name)
    }
    return shlex.join(["german-whist", *words, *format_overrides(changed)])
