"""Ladder configs: agents, rules, number of hands and seed in a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from ..common.settings import (
    CheckedSettings,
    EvenCount,
    Names,
    Positive,
    PositiveInt,
    PresetFiles,
    Seed,
    build_settings,
    doc,
)
from ..common.typing import JsonObject
from ..engine.rules import Match

LADDERS = PresetFiles("arena", "a ladder")
"""The ladders in the package."""


class LadderConfig(CheckedSettings, frozen=True, kw_only=True):
    """A ladder: the file that you give to `ladder` with `--config`."""

    agents: Annotated[Names, doc("Agents of the round robin.")] = ()
    rules: Annotated[
        str | JsonObject | None,
        doc(
            "Rule set to play. By default it is the one that the agents were trained "
            "on, or `classic`."
        ),
    ] = None
    hands: Annotated[EvenCount | None, doc("Number of hands that each pair of agents plays.")] = (
        None
    )
    until: Annotated[
        Positive | None,
        doc(
            "A pairing stops when half of the win rate's 95 % interval is at most "
            "this many percentage points."
        ),
    ] = None
    match: Annotated[
        PositiveInt | None, doc("Play matches to this many points instead of single hands.")
    ] = None
    best_of: Annotated[
        PositiveInt | None,
        doc("Play matches of the best of this many hands instead of single hands."),
    ] = None
    seed: Annotated[Seed | None, doc("Seed of the deals.")] = None
    key: Annotated[
        str | None,
        doc("Seed of all other random numbers, in hexadecimal. By default it follows from `seed`."),
    ] = None
    anchor: Annotated[
        str | None,
        doc("Agent whose rating is set to 1000. By default the mean of all agents is set to 1000."),
    ] = None
    title: Annotated[str, doc("Title of the report.")] = "Ladder"
    about: Annotated[str, doc("Text below the title.")] = ""

    def options(self) -> dict[str, Any]:
        options: dict[str, object] = {"hands": self.hands, "seed": self.seed, "key": self.key}
        if self.until is not None:
            options["until"] = self.until / 100
        if self.match is not None or self.best_of is not None:
            options["match"] = Match(target=self.match, best_of=self.best_of)
        return {name: value for name, value in options.items() if value is not None}


def load_ladder(name: str | Path) -> LadderConfig:
    return ladder_from(*LADDERS.values(name))


def ladder_from(values: Mapping[str, object], source: str) -> LadderConfig:
    """A ladder from the fields of a file; unknown names and wrong values raise `ValueError`."""
    return build_settings(LadderConfig, values, source, "a part of a ladder")
