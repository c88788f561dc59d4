"""Ladders as YAML files: who plays, by which rules, how long and from which seed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...engine.files import read_yaml_mapping
from ...engine.rules import Match
from ...engine.words import meant


@dataclass(frozen=True)
class LadderConfig:
    """What `german-whist ladder --config` reads."""

    players: tuple[str, ...] = ()
    rules: Any = None
    """None for the classic ones, or those of the players' checkpoints."""
    hands: int | None = None
    until: float | None = None
    """In percent, as `until: 0.5`."""
    match: int | None = None
    best_of: int | None = None
    seed: int | None = None
    key: str | None = None
    """Of what is drawn beside the deals; left out, a new secret."""
    anchor: str | None = None
    """The player whose rating is set to 1000."""
    title: str = "Ladder"
    about: str = ""

    def options(self) -> dict[str, Any]:
        """The options of the run that are set."""
        found: dict[str, Any] = {"hands": self.hands, "seed": self.seed, "key": self.key}
        if self.until is not None:
            found["until"] = self.until / 100
        if self.match is not None or self.best_of is not None:
            found["match"] = Match(target=self.match, best_of=self.best_of)
        return {name: value for name, value in found.items() if value is not None}


def _folder() -> Any:
    return files(__name__.partition(".")[0] + ".configs") / "arena"


def config_names() -> list[str]:
    """The ladders that come with the package."""
    return sorted(
        each.name.removesuffix(".yaml")
        for each in _folder().iterdir()
        if each.name.endswith(".yaml")
    )


def load_config(wanted: str | Path) -> LadderConfig:
    """A ladder by its name, or from a YAML file."""
    if str(wanted) in config_names():
        path = Path(str(_folder() / f"{wanted}.yaml"))
    elif Path(wanted).suffix in (".yaml", ".yml"):
        path = Path(wanted)
    else:
        near = meant(wanted, config_names(), more="others are given by the path of a .yaml file")
        raise ValueError(f"{str(wanted)!r} is not a ladder{near}")
    return config_from_mapping(read_yaml_mapping(path), str(path))


_TYPES: dict[str, tuple[type, ...]] = {
    "rules": (str, dict), "hands": (int,), "until": (int, float), "match": (int,),
    "best_of": (int,), "seed": (int,), "key": (str,), "anchor": (str,), "title": (str,),
    "about": (str,),
}  # fmt: skip


def config_from_mapping(values: dict[str, Any], source: str) -> LadderConfig:
    """A ladder from the fields of a file; unknown names and wrong values are refused."""
    known = [each.name for each in fields(LadderConfig)]
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{source}: {name!r} is not a part of a ladder{meant(name, known)}")
        if name == "players":
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                raise ValueError(f"{source}: players are {value!r}: a list of names is needed")
        elif isinstance(value, bool) or not isinstance(value, _TYPES[name]):
            kinds = " or ".join(each.__name__ for each in _TYPES[name])
            raise ValueError(f"{source}: {name} is {value!r}: it has to be {kinds}")
    return LadderConfig(**{**values, "players": tuple(values.get("players", ()))})
