"""Settings of a training: frozen, checked values from YAML presets and `key=value` words.

A preset is a file of `configs/train/` or one of the user's own; the words of the
command line are read by the same types and refused with the nearest known name.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import yaml

from ..agents.card import CRITICS, NETWORKS, RANKS
from ..engine.files import read_yaml_mapping
from ..engine.rules import load_rules
from ..engine.words import meant
from ..envs.options import Options, options_from

PRECISIONS = ("float32", "mixed")
DEVICES = ("auto", "cpu", "cuda")


class SettingsError(ValueError):
    """A setting that is not known, or a value that does not fit."""


@dataclass(frozen=True)
class Settings:
    """What every trainer is told: what is played, for how long, and where it runs."""

    kind: ClassVar[str] = ""
    fixed: ClassVar[tuple[str, ...]] = (
        *("trainer", "rules", "horizon", "layout", "seed"),
        *("layers", "games", "steps", "init"),
    )
    """What can not change in a run under way."""

    about: str = ""
    init: str = ""
    """A checkpoint whose weights the training begins with: its path, a run's, or `champion`."""
    # What is played and paid.
    rules: Any = "classic"
    reward: str = "win"
    """`win`, `margin`, `tricks` or the rules' own `points`."""
    horizon: str = "foreplay"
    """`foreplay` ends an episode with the exact value of its ending; `hand` plays it out."""
    layout: str = "trump-first"
    # How long, and from which seed.
    decisions: int = 18_000_000
    """The learner's own: in self-play those of both players."""
    minutes: float = 0.0
    """A time limit beside the budget of decisions; 0 for none."""
    seed: int = 1
    # Measuring and keeping.
    measure_every: int = 3_000_000
    """Decisions between measurements and checkpoints."""
    save_every: int = 1_000_000
    """Decisions between saved states, from which a run goes on."""
    yardsticks: tuple[str, ...] = ("threshold",)
    """Who a run is measured against, as is its own past."""
    final_yardsticks: tuple[str, ...] = ()
    """Who the last checkpoint is measured against as well."""
    measure_hands: int = 2_000
    final_hands: int = 10_000
    # The machine.
    device: str = "auto"
    threads: int = 0
    """Threads of torch; 0 for one a core."""
    precision: str = "float32"
    """`mixed` multiplies in bfloat16."""

    def __post_init__(self) -> None:
        _one_of("device", self.device, DEVICES)
        _one_of("precision", self.precision, PRECISIONS)
        for name in ("decisions", "measure_every", "save_every", "measure_hands", "final_hands"):
            _at_least(name, getattr(self, name), 1)
        for name in ("minutes", "seed", "threads"):
            _at_least(name, getattr(self, name), 0)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise SettingsError(f"{each.name} is {value}: it has to be a finite number")
        try:
            _ = self.options
        except ValueError as error:
            raise SettingsError(str(error)) from None

    @cached_property
    def options(self) -> Options:
        """The same for environments: rules, reward, horizon, layout."""
        return options_from(
            load_rules(self.rules), reward=self.reward, horizon=self.horizon, layout=self.layout
        )

    def as_mapping(self) -> dict[str, Any]:
        """Every setting, as a YAML file gives it."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        plain["rules"] = self.options.rules.as_mapping() if not _named(self.rules) else self.rules
        return {
            "trainer": self.kind,
            **{name: list(value) if isinstance(value, tuple) else value
               for name, value in plain.items()},
        }  # fmt: skip

    def as_yaml(self) -> str:
        """The resolved settings as a file."""
        return yaml.safe_dump(self.as_mapping(), sort_keys=False, allow_unicode=True)

    def refuse_idle(self, names: Iterable[str], why: str) -> None:
        """Refuse settings that were given a value of their own and have no effect."""
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in names and value != each.default:
                told = list(value) if isinstance(value, tuple) else value
                raise SettingsError(f"{each.name} is {told!r} and has no effect: {why}")


@dataclass(frozen=True)
class PPOSettings(Settings):
    """The project's own trainer: self-play in which both seats learn."""

    kind: ClassVar[str] = "ppo"
    fixed: ClassVar[tuple[str, ...]] = (
        *Settings.fixed,
        *("ranks", "critic", "network"),
        *("attention_layers", "attention_heads", "attention_width"),
    )

    # The network.
    network: str = "mlp"
    """`attention` reads all that was seen, in order, beside the observation."""
    layers: tuple[int, ...] = (256, 256)
    attention_layers: int = 2
    attention_heads: int = 4
    attention_width: int = 64
    ranks: str = "closed"
    """`closed` shows it every card in play by its rank among those left; or `real` ranks."""
    critic: str = "oracle"
    """`own` has layers of its own; `oracle` has, and sees all cards."""
    # Playing.
    games: int = 4096
    """Games in lockstep."""
    steps: int = 0
    """Decisions a game in each iteration; 0 for one whole episode."""
    pool_games: float = 0.0
    """The share of games in which one seat is played by another out of the pool."""
    opponents: tuple[str, ...] = ()
    """Players that stay in the pool."""
    pool_size: int = 12
    """Earlier selves in the pool, at most."""
    pool_every: int = 1_000_000
    """Decisions between the selves that join the pool."""
    # Learning.
    epochs: int = 1
    minibatch: int = 4096
    learning_rate: float = 1e-3
    learning_rate_end: float = 0.0
    clip: float = 0.2
    discount: float = 1.0
    trace: float = 0.6
    """The lambda of generalised advantages."""
    entropy: float = 0.05
    entropy_end: float = 0.05
    value_weight: float = 0.5
    most_gradient: float = 0.5
    """Gradients are scaled down to this length."""
    average: float = 0.99
    """What the averaged weights, which are the player, keep of themselves at each step."""
    pull: float = 0.0
    """How strongly the policy is pulled towards that of the averaged weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _one_of("network", self.network, NETWORKS)
        _one_of("critic", self.critic, CRITICS)
        _one_of("ranks", self.ranks, RANKS)
        for name in ("games", "epochs", "pool_every", "attention_layers",
                     "attention_heads", "attention_width"):  # fmt: skip
            _at_least(name, getattr(self, name), 1)
        for name in ("steps", "pool_size", "learning_rate_end", "entropy", "entropy_end", "pull"):
            _at_least(name, getattr(self, name), 0)
        for name in ("average", "pool_games"):
            _at_least(name, getattr(self, name), 0)
        _at_most("pool_games", self.pool_games, 1)
        if self.average >= 1:
            raise SettingsError(
                f"average is {self.average}: it has to be below 1, or the player never changes"
            )
        _check_learning(self)
        if not self.learning_rate and not self.learning_rate_end:
            raise SettingsError("learning_rate and learning_rate_end are 0: nothing is learnt")
        self._check_attention()
        self._check_pool()

    def _check_attention(self) -> None:
        if self.network != "attention":
            self.refuse_idle(
                ("attention_layers", "attention_heads", "attention_width"),
                f"network is {self.network!r}; give network=attention, or leave it out",
            )
        elif self.attention_width % self.attention_heads:
            raise SettingsError(
                f"attention_width is {self.attention_width}: it has to divide among "
                f"{self.attention_heads} heads"
            )

    def _check_pool(self) -> None:
        if not self.pool_games:
            self.refuse_idle(
                ("opponents", "pool_size", "pool_every"),
                "pool_games is 0; give the share of games that are played against others, as in "
                "pool_games=0.2, or leave it out",
            )
            return
        if int(self.pool_games * self.games) < 1:
            raise SettingsError(
                f"pool_games is {self.pool_games} and has no effect: of {self.games} games that "
                f"is none; give at least {1 / self.games:.2g}"
            )
        if not self.pool_size:
            self.refuse_idle(("pool_every",), "pool_size is 0; leave it out")
        _check_somebody_joins(self, f"pool_games is {self.pool_games} and has no effect")


@dataclass(frozen=True)
class SB3Settings(Settings):
    """MaskablePPO of sb3-contrib against a growing pool of earlier selves and rule players."""

    kind: ClassVar[str] = "sb3"

    layers: tuple[int, ...] = (256, 256)
    games: int = 256
    steps: int = 52
    """Decisions a game in each iteration."""
    opponents: tuple[str, ...] = ("threshold", "random-exact")
    """Players that stay in the pool."""
    pool_size: int = 8
    pool_every: int = 500_000
    """Decisions between the selves that join the pool."""
    swap_every: int = 100_000
    """Decisions between changes of the opponent."""
    epochs: int = 4
    minibatch: int = 2048
    learning_rate: float = 5e-4
    clip: float = 0.2
    discount: float = 1.0
    trace: float = 0.95
    entropy: float = 0.02
    value_weight: float = 0.5
    most_gradient: float = 0.5
    callbacks: tuple[str, ...] = ()
    """SB3's callbacks as `package.module:object`: ready ones, or what makes one when called."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.callbacks:
            module, _, found = name.partition(":")
            if not module or not found:
                raise SettingsError(f"callbacks has {name!r}: name each as package.module:object")
        for name in ("games", "steps", "epochs", "pool_every", "swap_every"):
            _at_least(name, getattr(self, name), 1)
        _at_least("pool_size", self.pool_size, 0)
        if self.games * self.steps < 2:
            raise SettingsError("games and steps are 1: one decision alone can not be learnt from")
        _check_learning(self)
        if not self.learning_rate:
            raise SettingsError("learning_rate is 0: nothing would be learnt")
        if self.precision != "float32":
            raise SettingsError(f"precision is {self.precision!r}: SB3 learns in float32 alone")
        if not self.pool_size:
            self.refuse_idle(("pool_every",), "pool_size is 0; leave it out")
        _check_somebody_joins(self, "opponents is empty")
        if len(self.opponents) == 1 and (not self.pool_size or self.pool_every >= self.decisions):
            self.refuse_idle(
                ("swap_every",), f"the opponent is {self.opponents[0]!r} all the time; leave it out"
            )


def _check_learning(settings: PPOSettings | SB3Settings) -> None:
    """What both trainers learn by."""
    if settings.minibatch < 2:
        raise SettingsError(
            f"minibatch is {settings.minibatch}: it has to be at least 2, since advantages are "
            "measured by their spread within it"
        )
    for name in ("clip", "most_gradient"):
        if getattr(settings, name) <= 0:
            raise SettingsError(
                f"{name} is {getattr(settings, name)}: it has to be above 0, or nothing is learnt"
            )
    for name in ("learning_rate", "entropy", "value_weight", "discount", "trace"):
        _at_least(name, getattr(settings, name), 0)
    for name in ("discount", "trace"):
        _at_most(name, getattr(settings, name), 1)
    if not settings.layers or min(settings.layers) < 1:
        raise SettingsError(f"layers is {list(settings.layers)}: give the width of each layer")


def _check_somebody_joins(settings: PPOSettings | SB3Settings, what: str) -> None:
    """Refuse a pool that nobody is in and nobody will join."""
    if settings.pool_size and settings.pool_every >= settings.decisions:
        settings.refuse_idle(("pool_size",), "pool_every is not below decisions, so nobody joins")
    if settings.opponents:
        return
    if not settings.pool_size:
        raise SettingsError(f"{what}, and pool_size is 0: name opponents, or nobody is there")
    if settings.pool_every >= settings.decisions:
        raise SettingsError(
            f"{what}: earlier selves join the pool every {settings.pool_every:,} decisions, and "
            f"{settings.decisions:,} is all there are; give a smaller pool_every, or opponents"
        )


TRAINERS: dict[str, type[Settings]] = {each.kind: each for each in (PPOSettings, SB3Settings)}


# -- where settings come from


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
    """The settings of all trainers."""
    return {each.name for kind in TRAINERS.values() for each in fields(kind)}


def load_settings(wanted: str | Path, words: Iterable[str] = ()) -> Settings:
    """A preset by name or from a YAML file, with `key=value` words over it."""
    if str(wanted) in presets():
        path = Path(str(_folder() / f"{wanted}.yaml"))
    elif Path(wanted).suffix in (".yaml", ".yml"):
        path = Path(wanted)
    else:
        near = meant(wanted, presets(), more="others are given by the path of a .yaml file")
        raise SettingsError(f"{str(wanted)!r} is not a preset{near}")
    source = str(path.name if str(wanted) in presets() else path)
    return _with_words(read_yaml_mapping(path), words, source)


def _with_words(values: Mapping[str, Any], words: Iterable[str], source: str) -> Settings:
    """Settings with `key=value` words over them; whichever of the two is wrong is blamed."""
    typed = [*words]
    given = _read_words(typed)
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
        if before[name] != after[name]:
            raise SettingsError(
                f"{name} is {before[name]!r} in this run and can not become {after[name]!r}: begin "
                "another run"
            )
    return changed


def command_of(settings: Settings) -> str:
    """The shortest command that trains with these settings: a preset, and what differs from it."""
    wanted = settings.as_mapping()
    commands: list[list[str]] = []
    for name in presets():
        preset = load_settings(name).as_mapping()
        if preset["trainer"] != wanted["trainer"]:
            continue
        words = words_of(
            {key: value for key, value in wanted.items() if key != "about" and value != preset[key]}
        )
        commands.append(["german-whist", "train", name, *words])
    return shlex.join(min(commands, key=len))


def words_of(values: Mapping[str, Any]) -> list[str]:
    """Settings as words of the command line."""
    return [f"{key}={_written(value)}" for key, value in values.items()]


def _written(value: Any) -> str:
    """A value as a word of the command line gives it."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).split("\n...")[0].strip()


def settings_from(values: Mapping[str, Any], source: str = "settings") -> Settings:
    """Settings from the fields of a file; unknown names and wrong values are refused."""
    try:
        return _settings(dict(values))
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}") from None


def _settings(given: dict[str, Any]) -> Settings:
    kind = given.pop("trainer", "ppo")
    if kind not in TRAINERS:
        raise SettingsError(f"trainer is {kind!r}: it has to be one of {', '.join(TRAINERS)}")
    wanted = TRAINERS[kind]
    known = {each.name: each for each in fields(wanted)}
    for name in given:
        if name not in known:
            near = meant(name, ["trainer", *known])
            raise SettingsError(f"{name!r} is not a setting of the {kind} trainer{near}")
    return wanted(
        **{name: _typed(name, value, known[name].default) for name, value in given.items()}
    )


def _read_words(words: Iterable[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for word in words:
        name, mark, text = word.partition("=")
        if not mark:
            raise SettingsError(f"{word!r} is no setting: write key=value, as in entropy=0.1")
        values[name.strip()] = _read_word(name.strip(), text)
    return values


def _read_word(name: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise SettingsError(f"{name}={text}: the value can not be read") from None
    if isinstance(value, str) and "," in value:
        return [_read_word(name, part) for part in value.split(",")]
    return value


def _typed(name: str, value: Any, default: Any) -> Any:
    """A value as the type of the setting's default, refused if it is another."""
    if name == "rules":
        return value
    if isinstance(default, tuple):
        return _several(name, value, default)
    if isinstance(value, str) and not isinstance(default, str):
        # YAML reads 1e-3 as a word.
        with suppress(ValueError):
            value = float(value.replace("_", ""))
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, int) and isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is not type(default):
        kind = {int: "a whole number", float: "a number", str: "a word"}[type(default)]
        raise SettingsError(f"{name} is {value!r}: it has to be {kind}")
    return value


def _several(name: str, value: Any, default: tuple[Any, ...]) -> tuple[Any, ...]:
    if value is None:
        return ()
    parts = value if isinstance(value, (list, tuple)) else [value]
    example = default[0] if default else ""
    return tuple(_typed(name, part, example) for part in parts)


def _named(rules: Any) -> bool:
    return isinstance(rules, str) and not rules.endswith((".yaml", ".yml"))


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingsError(
            f"{name} is {value!r}: it has to be one of {', '.join(allowed)}"
            + meant(value, allowed, listed=False)
        )


def _at_most(name: str, value: float, most: float) -> None:
    if value > most:
        raise SettingsError(f"{name} is {value}: it has to be at most {most}")


def _at_least(name: str, value: float, least: float) -> None:
    if value < least:
        raise SettingsError(f"{name} is {value}: it has to be at least {least}")
