"""A course of study, from hands to networks: what the thinker knows, made in one folder.

Its parts follow each other: a policy plays hands; networks of worth and of beliefs are fitted
to them; more hands are played with advice; and a policy learns from that. What is there
already is left as it is, and a part that was broken off goes on, so the same command makes
everything, and makes it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ...engine.files import read_yaml_mapping, written_whole
from ...engine.words import meant

SETTINGS = "settings.yaml"


class CourseError(ValueError):
    """A setting that is not known, or a value that does not fit."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What is studied, and how much of it."""

    about: str = ""
    rules: str = "classic"
    policy: str = ""
    """The checkpoint that plays the hands and is to be improved; empty for the champion."""
    seed: int = 1
    hands: int = 4_000_000
    astray: float = 0.06
    """How often a card is played at random."""
    late: str = ""
    """Who plays the last tricks for the stock, by name, as `thinker:8`; empty for the policy."""
    late_tricks: int = 4
    """How many tricks those are."""
    worth: str = ""
    """A network of worth to go on from; empty for a new one."""
    beliefs: str = ""
    """A network of beliefs to go on from; empty for a new one."""
    worth_layers: tuple[int, ...] = (256, 64)
    worth_epochs: float = 2.0
    worth_rate: float = 0.001
    trace: float = 0.8
    """How far what a hand came to reaches back past the network's own word."""
    belief_layers: tuple[int, ...] = (256, 128)
    belief_epochs: float = 0.4
    belief_rate: float = 0.002
    advised: int = 1_000_000
    """Hands with advice."""
    policy_epochs: float = 2.0
    policy_rate: float = 0.0003
    pull: float = 0.01
    """What a unit of relative entropy to the old policy costs, in pay."""

    def __post_init__(self) -> None:
        for name in ("hands", "advised", "late_tricks"):
            _must(name, getattr(self, name), getattr(self, name) >= 0, "at least 0")
        for name in ("astray", "trace"):
            _must(name, getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")
        for name in _ABOVE_NOTHING:
            _must(name, getattr(self, name), getattr(self, name) > 0, "above 0")


_ABOVE_NOTHING = (
    *("worth_epochs", "belief_epochs", "policy_epochs", "pull"),
    *("worth_rate", "belief_rate", "policy_rate"),
)


def _must(name: str, value: object, fits: bool, what: str) -> None:
    if not fits:
        raise CourseError(f"{name} is {value}: it has to be {what}")


def courses() -> dict[str, str]:
    """The presets, and what each is about."""
    folder = files("german_whist.configs") / "study"
    found = sorted(each.name.removesuffix(".yaml") for each in folder.iterdir())
    return {name: load_course(name).about for name in found}


def load_course(wanted: str, words: Iterable[str] = ()) -> Course:
    """A course from a preset or a file, with `key=value` words over it."""
    path = Path(wanted)
    if path.suffix not in (".yaml", ".yml"):
        path = Path(str(files("german_whist.configs") / "study" / f"{wanted}.yaml"))
        if not path.exists():
            raise CourseError(f"{wanted!r} is no course of study{meant(wanted, courses())}")
    values: dict[str, Any] = read_yaml_mapping(path)
    for word in words:
        name, mark, text = word.partition("=")
        if not mark:
            raise CourseError(f"{word!r} is no setting: write key=value, as in hands=100000")
        values[name] = _read(text)
    return course_from(values, wanted)


def _read(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise CourseError(f"{text!r} can not be read as a value") from None


def course_from(values: Mapping[str, Any], source: str) -> Course:
    """A course from the fields of a file; unknown names and wrong values are refused."""
    names = [each.name for each in msgspec.structs.fields(Course)]
    for name in values:
        if name not in names:
            raise CourseError(f"{source}: {name!r} is no setting of a study{meant(name, names)}")
    try:
        return msgspec.convert(dict(values), Course, strict=False)
    except (msgspec.ValidationError, CourseError) as error:
        raise CourseError(f"{source}: {error}") from None


def as_yaml(course: Course) -> str:
    """The settings as a file."""
    return yaml.safe_dump(msgspec.to_builtins(course), sort_keys=False, allow_unicode=True)


def keep_settings(folder: Path, course: Course) -> None:
    """Write the settings of a folder, or refuse those that are not the folder's own."""
    path = folder / SETTINGS
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(path, "w") as file:
            file.write(as_yaml(course))
        return
    kept = course_from(read_yaml_mapping(path), str(path))
    for each in msgspec.structs.fields(Course):
        before, now = getattr(kept, each.name), getattr(course, each.name)
        if before != now and each.name != "about":
            raise CourseError(
                f"{folder} was begun with {each.name} {before!r}, and now it is {now!r}: go on "
                "with its own settings, or study in another folder"
            )
