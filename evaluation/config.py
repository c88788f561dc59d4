"""Ladders as YAML files: who plays, by which rules, how long and from which seed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ..common.settings_files import PresetFiles, build_settings
from ..common.typed_settings import (
    CheckedSettings,
    EvenHands,
    Names,
    Positive,
    PositiveInt,
    Seed,
    doc,
)
from ..engine.rules import Match

LADDERS = PresetFiles("arena", "a ladder")
"""The ladders that come with the package."""


class LadderConfig(CheckedSettings, frozen=True, kw_only=True):
    """What `german-whist ladder --config NAME` reads."""

    players: Annotated[Names, doc("Who plays whom.")] = ()
    rules: Annotated[
        str | dict[str, Any] | None,
        doc("A rule set; without one the classic one, or those of the players' checkpoints."),
    ] = None
    hands: Annotated[EvenHands | None, doc("Of each pairing.")] = None
    until: Annotated[Positive | None, doc("How precise the win rate is to be, in %.")] = None
    match: Annotated[PositiveInt | None, doc("Play matches to so many points.")] = None
    best_of: Annotated[PositiveInt | None, doc("Or matches of the best of so many hands.")] = None
    seed: Annotated[Seed | None, doc("Of the deals.")] = None
    key: Annotated[str | None, doc("Of all else that is drawn; without one a new secret.")] = None
    anchor: Annotated[
        str | None, doc("The player whose rating is set to 1000; without one the mean of all is.")
    ] = None
    title: Annotated[str, doc("Above the ladder.")] = "Ladder"
    about: Annotated[str, doc("Below the title.")] = ""

    def options(self) -> dict[str, Any]:
        """The options of the run that are set."""
        found: dict[str, Any] = {"hands": self.hands, "seed": self.seed, "key": self.key}
        if self.until is not None:
            found["until"] = self.until / 100
        if self.match is not None or self.best_of is not None:
            found["match"] = Match(target=self.match, best_of=self.best_of)
        return {name: value for name, value in found.items() if value is not None}


def load_ladder(wanted: str | Path) -> LadderConfig:
    """A ladder by its name, or from a YAML file."""
    return ladder_from(*LADDERS.values(wanted))


def ladder_from(values: dict[str, Any], source: str) -> LadderConfig:
    """A ladder from the fields of a file; unknown names and wrong values are refused."""
    return build_settings(LadderConfig, values, source, "a part of a ladder")
