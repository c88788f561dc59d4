"""Results of a tournament, as plain values that can be printed, drawn and written as JSON.

What a field's `Figure` is for, see `figures`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from ..agents.base import EXACT_SOLVER, OWN_POLICY, Agent, ModelFile
from ..common.serialization import data_frame
from ..common.typing import Array
from ..engine.dtypes import SEATS
from . import kernels as k
from .chunks import MatchConfig, Tally
from .figures import (
    as_dealer_of,
    as_leader_of,
    as_played_of,
    by_trick,
    figure,
    figures_of,
    hand_win_rate_of,
    mean,
    mean_a_hand,
    ms_a_move_of,
    negative,
    of_each,
    opposite,
    win_rate_of,
)
from .formats import number_with_reach, percent, percent_with_reach
from .statistics import Estimate, Ratings, fit_ratings, residuals_of_deals, tied_together

RESULT_VERSION = 1
_TIMING = "ms_a_move"
T = TypeVar("T")


@dataclass(frozen=True)
class Stages:
    """What one player did in the two stages, per hand."""

    upcards: Annotated[float, figure(of_each(k.UPCARDS_ONE, k.UPCARDS_TWO, k.STAGED, 0.0))]
    """Tricks of the foreplay won, and the upcards with them."""
    thrown: Annotated[float | None, figure(of_each(k.THROWN_ONE, k.THROWN_TWO, k.ENDINGS))]
    """Tricks thrown away in the endgame against perfect play; None where endings have no value."""
    perfect: bool
    """Perfect in open endgames, as the player itself says and a sample did not refute."""
    ms_a_move: Annotated[float | None, figure(ms_a_move_of)]
    """Milliseconds for each decision asked of it."""
    moves: int


@dataclass(frozen=True)
class Course:
    """Where in the hand the margin arises: player one against two, trick by trick."""

    tricks_won: Annotated[tuple[float | None, ...], by_trick(k.WON, opposite)]
    """Player one's share of the tricks of each number, as far as they were played."""
    trumps: Annotated[tuple[float | None, ...], by_trick(k.TRUMPS, negative)]
    """How many more trumps player one held as each trick began."""
    high_cards: Annotated[tuple[float | None, ...], by_trick(k.HIGH_CARDS, negative)]
    """How many more queens, kings and aces."""


@dataclass(frozen=True)
class Forfeit:
    """Hands that a player forfeited."""

    player: str
    kind: str
    hands: int
    example: str
    trace: str = ""
    """Where the first error was raised in the player's own code."""

    def __str__(self) -> str:
        did = "played an illegal card" if self.kind == "illegal" else "raised an error"
        hands = "1 hand" if self.hands == 1 else f"{self.hands:,} hands"
        return f"{self.player} {did} and so forfeited {hands}; the first: {self.example}"


@dataclass(frozen=True)
class Pairing:
    """One player measured against another; every figure is seen from `player`."""

    player: str
    opponent: str
    pairs: int
    """Deals (or matches) that were played twice."""
    hands: int
    win_rate: Annotated[
        Estimate,
        figure(
            win_rate_of,
            opposite,
            head="win rate",
            in_matches="matches won",
            text=percent_with_reach,
        ),
    ]
    """Of hands, or of matches where matches were played; a tie counts half."""
    as_played: Annotated[
        Estimate | None,
        figure(as_played_of, opposite, head="as played", text=percent_with_reach),
    ]
    """The win rate with the luck of the stock, where that was taken out of the others."""
    hand_win_rate: Annotated[
        Estimate,
        figure(hand_win_rate_of, opposite, in_matches="hands won", text=percent_with_reach),
    ]
    margin: Annotated[
        Estimate,
        figure(
            mean_a_hand(k.GAME_MARGIN),
            negative,
            head="margin",
            text=number_with_reach,
            about="Margin: counting tricks a hand.",
        ),
    ]
    """Counting tricks more than the opponent, a hand; fewer in a low contract."""
    points: Annotated[
        Estimate,
        figure(
            mean_a_hand(k.GAME_POINTS),
            negative,
            head="points",
            text=number_with_reach,
            about="Points: what the rules pay a hand.",
        ),
    ]
    """What a hand pays."""
    as_leader: Annotated[
        float,
        figure(
            as_leader_of,
            opposite,
            head="as leader",
            text=percent,
            about="As leader: hands won as non-dealer.",
            swaps="as_dealer",
        ),
    ]
    """Share of hands won as non-dealer, who leads to the first trick."""
    as_dealer: Annotated[
        float,
        figure(as_dealer_of, opposite, head="as dealer", text=percent, swaps="as_leader"),
    ]
    ending_margin: Annotated[float | None, figure(mean(k.ENDING_MARGIN, k.ENDINGS), negative)]
    """The margin that perfect play from the endgame's beginning gives: what the foreplay won."""
    stages: tuple[Stages, Stages]
    course: Course
    exact_endings: Annotated[bool, figure(lambda tally: tally.exact)]
    """Endings were not played: their exact value took their place."""
    forfeits: tuple[Forfeit, ...]

    def turned(self) -> Pairing:
        """The same seen from the opponent."""
        return replace(
            _turned(self),
            player=self.opponent,
            opponent=self.player,
            stages=self.stages[::-1],
            course=_turned(self.course),
        )

    def figures(self) -> dict[str, Any]:
        """Every figure by name, intervals by their ends; after `opponent_` what is the other's."""
        found: dict[str, Any] = {"pairs": self.pairs, "hands": self.hands}
        for name in figures_of(Pairing):
            each = getattr(self, name)
            if isinstance(each, Estimate):
                found |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
            else:
                found[name] = int(each) if isinstance(each, bool) else each
        names = [each for each in figures_of(Stages) if each != _TIMING]
        for name in (*names, "forfeits", _TIMING):
            for prefix, player in (("", 0), ("opponent_", 1)):
                value = getattr(self.stages[player], name, self._forfeited(player))
                found[f"{prefix}{name}"] = value
        return found

    def _forfeited(self, player: int) -> int:
        name = (self.player, self.opponent)[player]
        return sum(each.hands for each in self.forfeits if each.player == name)

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it; what depends on the machine stands under `timing`."""
        told = _plain(self)
        for forfeit in told["forfeits"]:
            del forfeit["trace"]  # it tells of one machine's folders
        told["timing"] = [
            {"ms_a_move": stage.pop("ms_a_move"), "moves": stage["moves"]}
            for stage in told["stages"]
        ]
        return told


@dataclass(frozen=True)
class Ladder:
    """Ratings of all players."""

    players: tuple[str, ...]
    ratings: Ratings
    anchor: str | None

    def ranked(self) -> list[tuple[str, Estimate]]:
        """The players with their ratings, the strongest first."""
        both = zip(self.players, self.ratings.elo, strict=True)
        return sorted(both, key=lambda each: -each[1].value)

    def notes(self) -> Iterator[str]:
        """What a reader has to know beside the ratings."""
        if self.ratings.padded:
            yield (
                "A player won or lost everything that ties it to the others: ratings were found "
                "with half a tie added to every pairing."
            )
        if any(math.isinf(elo.half_width) for elo in self.ratings.elo):
            yield "Where Elo has no interval (–), these results tell none: more hands may."


@dataclass(frozen=True)
class PlayerDetails:
    """What a player is made of, as reports tell it."""

    name: str
    endgame: str
    """Who plays open endings: `"exact solver"` or `"own policy"`."""
    endgame_switch: str
    """The option that gives them to the other; empty where there is none."""
    checkpoints: tuple[ModelFile, ...]
    """The files of weights that it played with."""

    @property
    def endgame_text(self) -> str:
        """Who plays endings, and the option that changes it."""
        if not self.endgame_switch:
            return self.endgame
        other = OWN_POLICY if self.endgame == EXACT_SOLVER else EXACT_SOLVER
        return f"{self.endgame} ({self.endgame_switch}: {other})"

    def __str__(self) -> str:
        weights = f"; weights: {self.checkpoints_text}" if self.checkpoints else ""
        return f"{self.name}: endgame: {self.endgame_text}{weights}"

    @property
    def checkpoints_text(self) -> str:
        """The files, each with its decisions."""
        return "; ".join(map(str, self.checkpoints))


def details_of(name: str, agent: Agent) -> PlayerDetails:
    """What an agent is made of."""
    return PlayerDetails(name, agent.endgame, agent.endgame_switch, agent.checkpoints)


@dataclass(frozen=True)
class Result:
    """A whole run."""

    rules: str
    match: str | None
    seed: int
    """Of the deals."""
    key: str
    """Of all else that was drawn, in hexadecimal: seed and key make the same result again."""
    players: tuple[str, ...]
    pairings: tuple[Pairing, ...]
    ladder: Ladder | None = None
    details: tuple[PlayerDetails, ...] = ()
    """Of the players, in their order."""
    complete: bool = True
    """False when the run was stopped before its end."""
    signal: int = 0
    """The signal that stopped it, if one did."""
    until: float | None = None
    notes: tuple[str, ...] = ()
    command: str | None = None
    machine: str | None = None
    version: str = ""
    seconds: float = 0.0
    workers: int = 1

    def pairing(self, player: str, opponent: str) -> Pairing | None:
        """The pairing of two players, seen from the first."""
        for each in self.pairings:
            if (each.player, each.opponent) == (player, opponent):
                return each
        for each in self.pairings:
            if (each.player, each.opponent) == (opponent, player):
                return each.turned()
        return None

    def win_rate(self, player: str, opponent: str) -> Estimate | None:
        """How often the first player won against the second."""
        found = self.pairing(player, opponent)
        return found.win_rate if found is not None else None

    def rows(self) -> list[dict[str, Any]]:
        """The figures of every pairing by name, a row each; None for what there is not."""
        told = {"rules": self.rules, "match": self.match, "seed": self.seed, "key": self.key}
        details = {each.name: each for each in self.details}
        return [
            {
                "player": each.player,
                "opponent": each.opponent,
                **told,
                **each.figures(),
                **{
                    f"{prefix}{name}": getattr(details[player], f"{name}_text")
                    for prefix, player in (("", each.player), ("opponent_", each.opponent))
                    for name in ("endgame", "checkpoints")
                    if player in details
                },
            }
            for each in self.pairings
        ]

    def frame(self) -> Any:
        """The same as a `pandas.DataFrame`."""
        return data_frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """The whole run as JSON holds it."""
        told: dict[str, Any] = {
            "format": "german-whist arena",
            "version": RESULT_VERSION,
            "rules": self.rules,
            "match": self.match,
            "seed": self.seed,
            "key": self.key,
            "until": self.until,
            "complete": self.complete,
            "players": list(self.players),
            "details": _plain(self.details),
            "pairings": [each.to_json() for each in self.pairings],
            "ladder": None,
            "notes": list(self.notes),
            "run": {
                "command": self.command,
                "package": self.version,
                "machine": self.machine,
                "seconds": round(self.seconds, 3),
                "workers": self.workers,
            },
        }
        if self.ladder is not None:
            told["ladder"] = {
                "anchor": self.ladder.anchor,
                "padded": self.ladder.ratings.padded,
                "elo": [{"player": player, **_plain(elo)} for player, elo in self.ladder.ranked()],
            }
        return told

    @staticmethod
    def from_json(told: dict[str, Any]) -> Result:
        """A run out of its JSON, to be reported again; traces of errors are not in it."""
        fields = {**_full(told), **told["run"], "version": told["run"]["package"]}
        for pairing in fields["pairings"]:
            for stage, timing in zip(pairing["stages"], pairing["timing"], strict=True):
                stage.update(timing)
        if fields["ladder"] is not None:
            elo = {each["player"]: each for each in fields["ladder"].pop("elo")}
            ratings = {"elo": [elo[name] for name in told["players"]],
                       "padded": fields["ladder"]["padded"]}  # fmt: skip
            fields["ladder"].update(players=told["players"], ratings=ratings)
        return msgspec.convert(fields, Result)

    def text(self) -> str:
        """The JSON as text."""
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """Dataclasses and tuples as mappings and lists; what is not finite as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def _full(told: Any) -> Any:
    """A copy of some JSON in which intervals without bounds have infinite ones."""
    if isinstance(told, list):
        return [_full(each) for each in told]
    if not isinstance(told, dict):
        return told
    found = {name: _full(each) for name, each in told.items()}
    if "low" in found and found["low"] is None:
        found |= {"low": -math.inf, "high": math.inf}
    return found


# -- from tallies


def pairing_of(
    names: tuple[str, str], perfect: tuple[bool, bool], config: MatchConfig, tally: Tally
) -> Pairing:
    """The figures of two players out of what was counted."""
    one, two = (
        Stages(
            perfect=perfect[player], moves=tally.moves[player], **_counted(Stages, tally, player)
        )
        for player in range(SEATS)
    )
    return Pairing(
        player=names[0],
        opponent=names[1],
        pairs=tally.pairs,
        hands=int(tally.sums[k.HANDS]),
        stages=(one, two),
        course=Course(**_counted(Course, tally, config.rules.tricks)),
        forfeits=tuple(
            Forfeit(names[fault.player], fault.kind, fault.hands, fault.example, fault.trace)
            for fault in tally.faults
        ),
        **_counted(Pairing, tally),
    )


def came_out_level(tally: Tally) -> bool:
    """Whether no deal told the players apart, as where both make the same choices in every hand."""
    margin = k.GAME_MARGIN
    return tally.pairs > 1 and not tally.faults and not tally.moments[margin, margin]


def _counted(kind: type, *counted: Any) -> dict[str, Any]:
    return {name: each.of(*counted) for name, each in figures_of(kind).items()}


def _turned(seen: T) -> T:
    """Figures as the other player sees them."""
    told = figures_of(type(seen)).items()
    turned = {name: each.turned(getattr(seen, each.swaps or name)) for name, each in told}
    return replace(seen, **turned)  # type: ignore[type-var]


def ladder_of(
    players: tuple[str, ...],
    pairings: tuple[Pairing, ...],
    scores: Sequence[Array],
    anchor: str | None,
) -> Ladder | None:
    """Ratings out of the pairings, or None while some players have not met.

    `scores` are for each pairing the games that its player won on each deal.
    """
    count = len(players)
    games, won = np.zeros((count, count)), np.zeros((count, count))
    met = [(players.index(each.player), players.index(each.opponent)) for each in pairings]
    for (i, j), each in zip(met, pairings, strict=True):
        both = SEATS * each.pairs
        games[i, j] = games[j, i] = both
        won[i, j] = each.win_rate.value * both
        won[j, i] = both - won[i, j]
    if count < 2 or not tied_together(games):
        return None
    place = players.index(anchor) if anchor is not None else None
    residuals = residuals_of_deals(count, met, scores)
    return Ladder(players, fit_ratings(games, won, residuals, place), anchor)


def strongest_first(ladder: Ladder, pairings: tuple[Pairing, ...]) -> tuple[Pairing, ...]:
    """The pairings of a ladder in its order, each seen from the higher player."""
    place = {player: number for number, (player, _) in enumerate(ladder.ranked())}
    seen = [
        each if place[each.player] < place[each.opponent] else each.turned() for each in pairings
    ]
    return tuple(sorted(seen, key=lambda each: (place[each.player], place[each.opponent])))
