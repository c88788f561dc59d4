"""Typed settings from where people write them: named files of the package, YAML, `key=value` words.

Whatever is not known or does not fit is refused with a sentence that names the nearest.
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
from msgspec import inspect

from .files import read_yaml_mapping
from .suggestions import meant
from .typed_settings import Checked, SettingsError, misfits, written

S = TypeVar("S")
T = TypeVar("T", bound=Checked)


class Shelf:
    """Files of one kind: those that come with the package by name, others by their path."""

    def __init__(self, folder: str, what: str) -> None:
        """A folder of the package's `configs`, and what one of its files is."""
        self._folder = Path(str(files(__name__.rsplit(".", 2)[0] + ".configs") / folder))
        self._what = what

    def names(self) -> list[str]:
        """Those that come with the package."""
        return sorted(each.stem for each in self._folder.glob("*.yaml"))

    def about(self) -> dict[str, str]:
        """The same, and what each is for."""
        return {name: str(self.values(name)[0].get("about", "")) for name in self.names()}

    def values(self, wanted: str | Path) -> tuple[dict[str, Any], str]:
        """What a file says, and what to call it; one may build on another by `preset`."""
        return self._values(wanted, ())

    def _values(self, wanted: str | Path, above: tuple[str, ...]) -> tuple[dict[str, Any], str]:
        names = self.names()
        if str(wanted) in names:
            return read_yaml_mapping(self._folder / f"{wanted}.yaml"), f"{wanted}.yaml"
        path = Path(wanted)
        if path.suffix not in (".yaml", ".yml"):
            near = meant(wanted, names, more="others are given by the path of a .yaml file")
            raise SettingsError(f"{str(wanted)!r} is not {self._what}{near}")
        values = read_yaml_mapping(path)
        base = values.pop("preset", None)
        if base is None:
            return values, str(path)
        if not isinstance(base, str):
            raise SettingsError(f"{path}: preset is {base!r}: it has to be a name or a path")
        if base not in names and Path(base).suffix in (".yaml", ".yml"):
            base = str(path.parent / base)
        if base in (*above, str(path)):
            raise SettingsError(f"{path}: preset is {base!r}, which builds on this file in turn")
        try:
            below, _ = self._values(base, (*above, str(path)))
        except SettingsError as error:
            raise SettingsError(f"{path}: preset: {error}") from None
        return {**below, **values}, str(path)


def listed(found: Mapping[str, str]) -> str:
    """Names and what each is for, a line each."""
    width = max(map(len, found)) + 2
    return "\n".join(f"{name:<{width}}{about}" for name, about in found.items())


def made(kind: type[T], values: Mapping[str, Any], source: str, what: str) -> T:
    """A structure from the fields of a file, each of which is `what`.

    All that is wrong is told; without a source that is of words that somebody just typed.
    """
    fields = msgspec.structs.fields(kind)
    known = {each.name: each.type for each in fields}
    strange = [each for each in values if each not in known]
    wrong = [
        f"{each!r} is not {what}; the setting for that is {ours!r}"
        if (ours := kind.other_names.get(each)) in known
        else f"{each!r} is not {what}{meant(each, known, listed=len(strange) == 1)}"
        for each in strange
    ]
    wrong += [
        f"has no {each.name!r}" for each in fields if each.required and each.name not in values
    ]
    typed = {each: _as_typed(value, known[each]) for each, value in values.items() if each in known}
    try:
        if wrong:
            raise SettingsError("; ".join([*wrong, *misfits(kind, typed)]))
        return kind(**typed)
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}" if source else str(error)) from None


def made_with_words(
    make: Callable[[dict[str, Any], str], S],
    values: Mapping[str, Any],
    words: Iterable[str],
    source: str,
) -> S:
    """What `make` makes of fields and their source, with `key=value` words over the fields.

    Whichever of the two is wrong is blamed.
    """
    given = read_words(words)
    try:
        return make({**values, **given}, "" if given else source)
    except SettingsError:
        # A file that is wrong by itself is what is told of.
        make({**values}, source)
        raise


def _as_typed(value: Any, kind: Any) -> Any:
    """A value as a setting's type has it, where YAML says it in another way.

    What fits in no way stays as it is, for the check of the settings to tell of.
    """
    about = inspect.type_info(kind)
    if isinstance(about, inspect.Metadata):
        about = about.type
    if isinstance(about, inspect.VarTupleType):
        parts = () if value is None else value if isinstance(value, (list, tuple)) else (value,)
        return tuple(_as_number(part, about.item_type) for part in parts)
    return _as_number(value, about)


def _as_number(value: Any, about: Any) -> Any:
    if isinstance(about, inspect.Metadata):
        about = about.type
    if not isinstance(about, (inspect.IntType, inspect.FloatType)) or isinstance(value, bool):
        return value
    if isinstance(value, str):
        # YAML reads 1e-3 as a word.
        with suppress(ValueError):
            value = float(value.replace("_", ""))
    if isinstance(about, inspect.FloatType):
        return float(value) if isinstance(value, int) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_words(words: Iterable[str]) -> dict[str, Any]:
    """The values of `key=value` words."""
    values: dict[str, Any] = {}
    for word in words:
        name, mark, text = word.partition("=")
        if not mark:
            raise SettingsError(f"{word!r} is no setting: write key=value, as in ent_coef=0.1")
        values[name.strip()] = _read_word(name.strip(), text)
    return values


def _read_word(name: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise SettingsError(f"{name}={text}: the value cannot be read") from None
    if isinstance(value, str) and "," in value:
        return [_read_word(name, part) for part in value.split(",")]
    return value


def words_of(values: Mapping[str, Any]) -> list[str]:
    """Settings as words of the command line."""
    return [_word(name, value) for name, value in values.items()]


def _word(name: str, value: Any) -> str:
    """A setting as people write it: a list by its commas, where that reads the same."""
    if isinstance(value, (list, tuple)):
        bare = f"{name}={','.join(map(written, value))}"
        with suppress(SettingsError):
            if value and read_words([bare])[name] == [*value]:
                return bare
    return f"{name}={written(value)}"


def shortest_command(
    verb: str, wanted: Mapping[str, Any], bases: Iterable[tuple[list[str], Mapping[str, Any]]]
) -> str:
    """The shortest command that comes to these settings from one of some that are named."""
    typed = [[*name, *words_of(_apart(wanted, base))] for name, base in bases]
    return shlex.join(["german-whist", verb, *min(typed, key=len)])


def _apart(wanted: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in wanted.items() if key != "about" and value != base.get(key)
    }
