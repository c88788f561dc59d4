"""Settings of a training: frozen, typed, documented where they are declared, and checked at once.

Every field says in its type what it takes and what it does; the command line, `--show`,
the page of settings and all errors are made from that. What every trainer is told stands
here; a trainer adds its own fields in a structure of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import yaml
from msgspec import Meta, Struct

from ..agents.checkpoint import rules_wanted
from ..engine.checking import wanted_of
from ..engine.options import AUTO, Options, options_from
from ..engine.rules import named_rules
from ..engine.words import meant

Share = Annotated[float, Meta(ge=0, le=1)]
AtLeastNothing = Annotated[float, Meta(ge=0)]
AboveNothing = Annotated[float, Meta(gt=0)]
# Files of checkpoints are named by their decisions, in twelve digits, by which they are sorted.
_MOST = 10**12 - 1
_MOST_MINUTES = 10 * 365 * 24 * 60
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
    """Settings of which each is what its type says."""

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


class Settings(Checked, frozen=True, kw_only=True):
    """What every trainer is told: what is played, for how long, and where it runs."""

    fixed: ClassVar[tuple[str, ...]] = (
        *("trainer", "rules", "horizon", "layout", "seed", "layers", "games", "steps", "init"),
    )
    """What can not change in a run under way."""
    several_rules: ClassVar[bool] = False
    """Whether the trainer knows what to do with more than one rule set."""

    trainer: Annotated[str, says("Who trains: by name, or as `package.module:object`.")]
    about: Annotated[str, says("What the training is for, in a line.")] = ""
    init: Annotated[
        str,
        says(
            "A checkpoint whose weights it begins with: its path, a run's, or by name one of the "
            "package's: `champion` (of these rules), `champion-1`."
        ),
    ] = ""
    # What is played and paid.
    rules: Annotated[
        Any,
        says("A rule set: name, YAML file, run or mapping; of our own trainer a list of them."),
    ] = "classic"
    reward: Annotated[
        str,
        says("What an episode pays: `win` (±1), `margin`, `tricks`, or the rules' own `points`."),
    ] = "win"
    horizon: Annotated[
        str,
        says(
            "`foreplay` pays an ending's exact value as it begins; `hand` plays it out; `auto` is "
            "`foreplay` where endings are exact; `match` plays matches to 25 points, and counts "
            "each as a hand."
        ),
    ] = "foreplay"
    layout: Annotated[str, says("How suits are shown: `trump-first`, or `raw`.")] = "trump-first"
    # How long, and from which seed.
    decisions: Annotated[
        Count,
        says("The budget: decisions of the learner, in self-play those of both players."),
    ] = 18_000_000
    minutes: Annotated[
        float, says("A time limit beside the budget; 0 for none.", ge=0, le=_MOST_MINUTES)
    ] = 0.0
    patience: Annotated[
        Whole,
        says("Measurements in a row that may be no better before the run ends; 0 for any number."),
    ] = 0
    seed: Annotated[Seed, says("Of everything that is drawn.")] = 1
    # Measuring and keeping.
    measure_every: Annotated[Count, says("Decisions between measurements and checkpoints.")] = (
        3_000_000
    )
    save_every: Annotated[
        Count, says("Decisions between saved states, from which a run goes on.")
    ] = 1_000_000
    yardsticks: Annotated[Names, says("Who a run is measured against, as is its own past.")] = (
        "threshold",
    )
    final_yardsticks: Annotated[
        Names, says("Who the last checkpoint is measured against as well.")
    ] = ()
    measure_hands: Annotated[Hands, says("Hands against each on the way.")] = 2_000
    final_hands: Annotated[Hands, says("Hands against each at the end.")] = 10_000
    measuring: Annotated[
        Literal["beside", "here"],
        says("Who measures on the way: a process `beside` the training, or it waits `here`."),
    ] = "beside"
    callbacks: Annotated[
        Names,
        says("Who is told of the run: `mlflow`, `wandb`, or `package.module:object`."),
    ] = ()
    # The machine.
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        says("Where torch computes; `ppo` plays its games there too."),
    ] = "auto"
    threads: Annotated[Whole, says("Threads of torch; 0 for one a core.")] = 0
    precision: Annotated[
        Literal["float32", "mixed"],
        says("`mixed` multiplies in bfloat16: twice as fast or more where the device has it."),
    ] = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience and not self.yardsticks:
            raise SettingsError("patience waits for the first yardstick, and yardsticks is empty")
        try:
            _ = self.all_options
        except ValueError as error:
            raise SettingsError(str(error)) from None

    @property
    def options(self) -> Options:
        """The same for environments: rules, reward, horizon, layout; those of the first rules."""
        return self.all_options[0]

    @cached_property
    def all_options(self) -> tuple[Options, ...]:
        """The same for each rule set."""
        listed = _listed(self.rules)
        if not listed:
            raise SettingsError("rules is empty: name a rule set")
        if len(listed) > 1 and not self.several_rules:
            raise SettingsError(
                f"rules is {listed!r}: the trainer {self.trainer} takes one rule set"
            )
        found = [
            options_from(
                rules_wanted(each), reward=self.reward, horizon=self.horizon, layout=self.layout
            )
            for each in listed
        ]
        for k, one in enumerate(found):
            for other in found[:k]:
                if one.rules.name == other.rules.name or one.rules.same_game(other.rules):
                    raise SettingsError(
                        f"rules: {other.rules.name} and {one.rules.name} are the same game, or are "
                        "called the same: give each once, under a name of its own"
                    )
        return tuple(found)

    @property
    def told_horizon(self) -> str:
        """The horizon as a card tells it: `auto` where the rule sets have different ones."""
        found = {each.horizon for each in self.all_options}
        return found.pop() if len(found) == 1 else AUTO

    def as_mapping(self) -> dict[str, Any]:
        """Every setting, as a YAML file gives it."""
        told = [
            each if isinstance(each, str) and each in named_rules() else options.rules.as_mapping()
            for each, options in zip(_listed(self.rules), self.all_options, strict=True)
        ]
        return {**super().as_mapping(), "rules": told if len(told) > 1 else told[0]}


class Setting(Struct, frozen=True):
    """A field of settings, as help and pages tell it."""

    name: str
    default: Any
    """What it is unless it is set; `msgspec.NODEFAULT` where it has to be."""
    about: str
    takes: str


def described(kind: type[Checked]) -> list[Setting]:
    """What can be set for a trainer, in the order of its declaration."""
    usual = _types(Settings)
    return [
        Setting(
            each.name,
            each.default if each.default_factory is msgspec.NODEFAULT else each.default_factory(),
            _about(each.type) or _about(usual.get(each.name)),
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


def _listed(rules: Any) -> list[Any]:
    return list(rules) if isinstance(rules, (list, tuple)) else [rules]
