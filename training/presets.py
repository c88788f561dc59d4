"""Where settings come from: presets, YAML files that may build on them, and `key=value` words.

All are read by the types of the trainer's settings, and refused with the nearest known name.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import inspect

from ..engine.files import read_yaml_mapping
from ..engine.words import meant
from .settings import Settings, SettingsError, written
from .trainers import own_settings, settings_kind

_USUAL = "ppo"


def _folder() -> Any:
    return files(__name__.rsplit(".", 2)[0] + ".configs") / "train"


def presets() -> dict[str, str]:
    """The trainings that come with the package, and what each is for."""
    found: dict[str, str] = {}
    for each in sorted(_folder().iterdir(), key=lambda each: each.name):
        if each.name.endswith(".yaml"):
            values = read_yaml_mapping(Path(str(each)))
            found[each.name.removesuffix(".yaml")] = str(values.get("about", ""))
    return found


def setting_names() -> set[str]:
    """The settings of all trainers that come with the package."""
    return {name for kind in own_settings().values() for name in kind.__struct_fields__}


def load_settings(wanted: str | Path | None, words: Iterable[str] = ()) -> Settings:
    """A preset by name or from a YAML file, with `key=value` words over it.

    Without one the words go over the trainer's own defaults.
    """
    if wanted is None:
        return _with_words({}, words, "settings")
    values, source = preset_values(wanted)
    return _with_words(values, words, source)


def preset_values(wanted: str | Path) -> tuple[dict[str, Any], str]:
    """The values of a preset or a file, and what to call it; a file may build on a preset."""
    return _preset_values(wanted, ())


def _preset_values(wanted: str | Path, above: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    if str(wanted) in presets():
        return read_yaml_mapping(Path(str(_folder() / f"{wanted}.yaml"))), f"{wanted}.yaml"
    path = Path(wanted)
    if path.suffix not in (".yaml", ".yml"):
        near = meant(wanted, presets(), more="others are given by the path of a .yaml file")
        raise SettingsError(f"{str(wanted)!r} is not a preset{near}")
    values = read_yaml_mapping(path)
    base = values.pop("preset", None)
    if base is None:
        return values, str(path)
    if not isinstance(base, str):
        raise SettingsError(f"{path}: preset is {base!r}: it has to be a name or a path")
    if base not in presets() and Path(base).suffix in (".yaml", ".yml"):
        base = str(path.parent / base)
    if base in (*above, str(path)):
        raise SettingsError(f"{path}: preset is {base!r}, which builds on this file in turn")
    try:
        below, _ = _preset_values(base, (*above, str(path)))
    except SettingsError as error:
        raise SettingsError(f"{path}: preset: {error}") from None
    return {**below, **values}, str(path)


def _with_words(values: Mapping[str, Any], words: Iterable[str], source: str) -> Settings:
    """Settings with `key=value` words over them; whichever of the two is wrong is blamed."""
    typed = [*words]
    given = read_words(typed)
    try:
        return settings_from({**values, **given}, shlex.join(typed) or source)
    except SettingsError:
        # A file that is wrong by itself is what is told of.
        settings_from(values, source)
        raise


def changed_settings(settings: Settings, words: Iterable[str]) -> Settings:
    """Settings of a run under way with `key=value` words over them.

    What shapes the network, its memory of the games or what is seen is refused.
    """
    changed = _with_words(settings.as_mapping(), words, "the run")
    before, after = settings.as_mapping(), changed.as_mapping()
    for name in settings.fixed:
        if before.get(name) != after.get(name):
            raise SettingsError(
                f"{name} is {before[name]!r} in this run and can not become {after[name]!r}: begin "
                "another run"
            )
    return changed


def command_of(settings: Settings) -> str:
    """The shortest command that trains with these settings: a preset, and what differs from it."""
    wanted = settings.as_mapping()
    usual = settings_from({"trainer": settings.trainer}).as_mapping()
    bases = [([], {**usual, "trainer": _USUAL})]
    for name in presets():
        preset = load_settings(name).as_mapping()
        if preset["trainer"] == wanted["trainer"]:
            bases.append(([name], preset))
    commands = [
        ["german-whist", "train", *name, *words_of(_apart(wanted, base))] for name, base in bases
    ]
    return shlex.join(min(commands, key=len))


def _apart(wanted: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in wanted.items() if key != "about" and value != base.get(key)
    }


def words_of(values: Mapping[str, Any]) -> list[str]:
    """Settings as words of the command line."""
    return [f"{key}={written(value)}" for key, value in values.items()]


def settings_from(values: Mapping[str, Any], source: str = "settings") -> Settings:
    """Settings from the fields of a file; unknown names and wrong values are refused."""
    try:
        return _settings(values)
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}") from None


def _settings(given: Mapping[str, Any]) -> Settings:
    name = given.get("trainer", _USUAL)
    if not isinstance(name, str):
        raise SettingsError(f"trainer is {name!r}: it has to be a text")
    kind = settings_kind(name)
    known = {each.name: each.type for each in msgspec.structs.fields(kind)}
    for each in given:
        if each not in known:
            near = meant(each, known)
            raise SettingsError(f"{each!r} is not a setting of the {name} trainer{near}")
    read = {each: _as_typed(value, known[each]) for each, value in given.items()}
    return kind(**{**read, "trainer": name})


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
            raise SettingsError(f"{word!r} is no setting: write key=value, as in entropy=0.1")
        values[name.strip()] = _read_word(name.strip(), text)
    return values


def split_seeds(words: Iterable[str]) -> tuple[list[str], list[int] | None]:
    """The words of settings, and the seeds that one of them may name."""
    rest, found = [], None
    for word in words:
        if word.partition("=")[0] != "seeds":
            rest.append(word)
            continue
        value = read_words([word])["seeds"]
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(each, int) for each in found):
            raise SettingsError(f"seeds are {found}: they have to be whole numbers")
    return rest, found


def _read_word(name: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise SettingsError(f"{name}={text}: the value can not be read") from None
    if isinstance(value, str) and "," in value:
        return [_read_word(name, part) for part in value.split(",")]
    return value
