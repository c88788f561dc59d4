"""Results of a tournament: plain records, written as JSON, CSV and data frames.

Fields annotated with a `Figure` (see `figures`) are computed, mirrored and shown accordingly.
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
from .figures import (
    Figure,
    Tally,
    as_dealer_of,
    as_leader_of,
    as_played_of,
    by_trick,
    complement,
    figures_of,
    hand_win_rate_of,
    mean,
    mean_by_player,
    mean_per_hand,
    ms_a_move_of,
    negate,
    win_rate_of,
)
from .formats import number_with_interval, percent, percent_with_interval
from .statistics import Estimate, Ratings, deal_residuals, fit_ratings, is_connected

RESULT_VERSION = 1
_TIMING = "ms_a_move"
T = TypeVar("T")


@dataclass(frozen=True)
class Stages:
    """One player's play in foreplay and endgame, per hand."""

    upcards: Annotated[float, Figure(mean_by_player(k.UPCARDS_ONE, k.UPCARDS_TWO, k.STAGED, 0.0))]
    """Tricks won in the foreplay, and the upcards with them."""
    thrown: Annotated[float | None, Figure(mean_by_player(k.THROWN_ONE, k.THROWN_TWO, k.ENDINGS))]
    """Endgame tricks lost against perfect play; None where endings have no exact value."""
    perfect: bool
    """Claims perfect endgames, and the audit did not refute it."""
    ms_a_move: Annotated[float | None, Figure(ms_a_move_of)]
    """Milliseconds per decision."""
    moves: int


@dataclass(frozen=True)
class TrickCourse:
    """Player one against player two, trick by trick."""

    tricks_won: Annotated[tuple[float | None, ...], by_trick(k.WON, complement)]
    """Fraction of hands in which player one wins the trick of each number."""
    trumps: Annotated[tuple[float | None, ...], by_trick(k.TRUMPS, negate)]
    """Player one's surplus of trumps as each trick begins."""
    high_cards: Annotated[tuple[float | None, ...], by_trick(k.HIGH_CARDS, negate)]
    """Player one's surplus of queens, kings and aces."""


@dataclass(frozen=True)
class Forfeit:
    """Hands that a player forfeited."""

    player: str
    kind: str
    hands: int
    example: str
    trace: str = ""
    """Traceback of the first error, within the player's own code."""

    def __str__(self) -> str:
        reason = "played an illegal card" if self.kind == "illegal" else "raised an error"
        hands = "1 hand" if self.hands == 1 else f"{self.hands:,} hands"
        return f"{self.player} {reason} and so forfeited {hands}; the first: {self.example}"


@dataclass(frozen=True)
class Pairing:
    """Head-to-head results; every figure is from `player`'s point of view."""

    player: str
    opponent: str
    pairs: int
    """Deals (or matches), each played twice."""
    hands: int
    win_rate: Annotated[
        Estimate,
        Figure(
            win_rate_of,
            complement,
            header="win rate",
            match_header="matches won",
            text=percent_with_interval,
        ),
    ]
    """Of hands, or of matches where matches are played; a tie counts half."""
    as_played: Annotated[
        Estimate | None,
        Figure(as_played_of, complement, header="as played", text=percent_with_interval),
    ]
    """The win rate without variance reduction, where the other figures have it."""
    hand_win_rate: Annotated[
        Estimate,
        Figure(hand_win_rate_of, complement, match_header="hands won", text=percent_with_interval),
    ]
    margin: Annotated[
        Estimate,
        Figure(
            mean_per_hand(k.GAME_MARGIN),
            negate,
            header="margin",
            text=number_with_interval,
            note="Margin: counting tricks a hand.",
        ),
    ]
    """Counting tricks per hand beyond the opponent's; fewer tricks in a low contract."""
    points: Annotated[
        Estimate,
        Figure(
            mean_per_hand(k.GAME_POINTS),
            negate,
            header="points",
            text=number_with_interval,
            note="Points: what the rules pay a hand.",
        ),
    ]
    """Payoff per hand."""
    as_leader: Annotated[
        float,
        Figure(
            as_leader_of,
            complement,
            header="as leader",
            text=percent,
            note="As leader: hands won as non-dealer.",
            mirror_field="as_dealer",
        ),
    ]
    """Win rate as non-dealer, who leads to the first trick."""
    as_dealer: Annotated[
        float,
        Figure(
            as_dealer_of, complement, header="as dealer", text=percent, mirror_field="as_leader"
        ),
    ]
    ending_margin: Annotated[float | None, Figure(mean(k.ENDING_MARGIN, k.ENDINGS), negate)]
    """Margin under perfect endgame play by both: the result of the foreplay."""
    stages: tuple[Stages, Stages]
    course: TrickCourse
    exact_endings: Annotated[bool, Figure(lambda tally: tally.exact)]
    """Endings were not played: their exact value took their place."""
    forfeits: tuple[Forfeit, ...]

    def mirror(self) -> Pairing:
        """The pairing from the opponent's point of view."""
        return replace(
            _mirror(self),
            player=self.opponent,
            opponent=self.player,
            stages=self.stages[::-1],
            course=_mirror(self.course),
        )

    def figures(self) -> dict[str, Any]:
        """Every figure by name, with suffixes `_low` and `_high`, and prefix `opponent_`."""
        row: dict[str, Any] = {"pairs": self.pairs, "hands": self.hands}
        for name in figures_of(Pairing):
            value = getattr(self, name)
            if isinstance(value, Estimate):
                row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
            else:
                row[name] = int(value) if isinstance(value, bool) else value
        names = [name for name in figures_of(Stages) if name != _TIMING]
        for name in (*names, "forfeits", _TIMING):
            for prefix, player in (("", 0), ("opponent_", 1)):
                value = getattr(self.stages[player], name, self._forfeited_hands(player))
                row[f"{prefix}{name}"] = value
        return row

    def _forfeited_hands(self, player: int) -> int:
        name = (self.player, self.opponent)[player]
        return sum(forfeit.hands for forfeit in self.forfeits if forfeit.player == name)

    def to_json(self) -> dict[str, Any]:
        """A mapping for JSON; what depends on the machine is under `timing`."""
        data = _to_builtins(self)
        for forfeit in data["forfeits"]:
            del forfeit["trace"]  # contains paths of one machine
        data["timing"] = [
            {"ms_a_move": stage.pop("ms_a_move"), "moves": stage["moves"]}
            for stage in data["stages"]
        ]
        return data


@dataclass(frozen=True)
class Ladder:
    """Ratings of all players."""

    players: tuple[str, ...]
    ratings: Ratings
    anchor: str | None

    def ranked(self) -> list[tuple[str, Estimate]]:
        rated = zip(self.players, self.ratings.elo, strict=True)
        return sorted(rated, key=lambda player_and_elo: -player_and_elo[1].value)

    def notes(self) -> Iterator[str]:
        if self.ratings.padded:
            yield (
                "A player won or lost everything that ties it to the others: ratings were found "
                "with half a tie added to every pairing."
            )
        if any(math.isinf(elo.half_width) for elo in self.ratings.elo):
            yield "Where Elo has no interval (–), these results tell none: more hands may."


@dataclass(frozen=True)
class PlayerDetails:
    """Who plays a player's endgames, and its checkpoints."""

    name: str
    endgame: str
    """`"exact solver"` or `"own policy"`."""
    endgame_switch: str
    """The option that changes it; empty without one."""
    checkpoints: tuple[ModelFile, ...]
    """The files of its weights."""

    @classmethod
    def of(cls, name: str, agent: Agent) -> PlayerDetails:
        return cls(name, agent.endgame, agent.endgame_switch, agent.checkpoints)

    @property
    def endgame_text(self) -> str:
        """Who plays endgames, and the option that changes it."""
        if not self.endgame_switch:
            return self.endgame
        alternative = OWN_POLICY if self.endgame == EXACT_SOLVER else EXACT_SOLVER
        return f"{self.endgame} ({self.endgame_switch}: {alternative})"

    def __str__(self) -> str:
        weights = f"; weights: {self.checkpoints_text}" if self.checkpoints else ""
        return f"{self.name}: endgame: {self.endgame_text}{weights}"

    @property
    def checkpoints_text(self) -> str:
        return "; ".join(map(str, self.checkpoints))


@dataclass(frozen=True, repr=False)
class Result:
    """The results of `evaluate` or `ladder`."""

    rules: str
    match: str | None
    seed: int
    """Of the deals."""
    key: str
    """Secret of all other random numbers, in hexadecimal: seed and key reproduce the result."""
    players: tuple[str, ...]
    pairings: tuple[Pairing, ...]
    ladder: Ladder | None = None
    details: tuple[PlayerDetails, ...] = ()
    """One for each of `players`."""
    complete: bool = True
    """False when the run was stopped early."""
    signal: int = 0
    """The signal that stopped it; 0 without one."""
    until: float | None = None
    notes: tuple[str, ...] = ()
    command: str | None = None
    machine: str | None = None
    version: str = ""
    seconds: float = 0.0
    workers: int = 1

    def __repr__(self) -> str:
        incomplete = "" if self.complete else ", incomplete"
        lines = [f"Result of {self.rules}, seed {self.seed}{incomplete}"]
        for pairing in self.pairings:
            wins = percent_with_interval(pairing.win_rate)
            games = f"{2 * pairing.pairs:,} {'matches' if self.match else 'hands'}"
            lines.append(f"{pairing.player} against {pairing.opponent}: {wins} of {games}")
        return "\n".join(lines)

    def pairing(self, player: str, opponent: str) -> Pairing | None:
        """The pairing of two players, from the first one's point of view; None if never played."""
        for name in (player, opponent):
            if name not in self.players:
                raise ValueError(f"{name!r} is none of the players {', '.join(self.players)}")
        for pairing in self.pairings:
            if (pairing.player, pairing.opponent) == (player, opponent):
                return pairing
        for pairing in self.pairings:
            if (pairing.player, pairing.opponent) == (opponent, player):
                return pairing.mirror()
        return None

    def win_rate(self, player: str, opponent: str) -> Estimate | None:
        """The first player's win rate against the second."""
        pairing = self.pairing(player, opponent)
        return pairing.win_rate if pairing is not None else None

    def rows(self) -> list[dict[str, Any]]:
        """A row of figures by name for each pairing; None where a figure does not apply."""
        run = {"rules": self.rules, "match": self.match, "seed": self.seed, "key": self.key}
        details = {player.name: player for player in self.details}
        return [
            {
                "player": pairing.player,
                "opponent": pairing.opponent,
                **run,
                **pairing.figures(),
                **{
                    f"{prefix}{name}": getattr(details[player], f"{name}_text")
                    for prefix, player in (("", pairing.player), ("opponent_", pairing.opponent))
                    for name in ("endgame", "checkpoints")
                    if player in details
                },
            }
            for pairing in self.pairings
        ]

    def frame(self) -> Any:
        """`rows()` as a `pandas.DataFrame`."""
        return data_frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """A mapping for JSON."""
        plain = _to_builtins(self)
        names = ("rules", "match", "seed", "key", "until", "complete", "players", "details")
        data: dict[str, Any] = {
            "format": "german-whist arena",
            "version": RESULT_VERSION,
            **{name: plain[name] for name in names},
            "pairings": [pairing.to_json() for pairing in self.pairings],
            "ladder": None,
            "notes": plain["notes"],
            "run": {
                "command": self.command,
                "package": self.version,
                "machine": self.machine,
                "seconds": round(self.seconds, 3),
                "workers": self.workers,
            },
        }
        if self.ladder is not None:
            ranking = self.ladder.ranked()
            data["ladder"] = {
                "anchor": self.ladder.anchor,
                "padded": self.ladder.ratings.padded,
                "elo": [{"player": player, **_to_builtins(elo)} for player, elo in ranking],
            }
        return data

    @staticmethod
    def from_json(data: dict[str, Any]) -> Result:
        """A result from its JSON; tracebacks of errors are not stored there."""
        fields = {**_with_infinite_bounds(data), **data["run"], "version": data["run"]["package"]}
        for pairing in fields["pairings"]:
            for stage, timing in zip(pairing["stages"], pairing["timing"], strict=True):
                stage.update(timing)
        if fields["ladder"] is not None:
            elo = {rating["player"]: rating for rating in fields["ladder"].pop("elo")}
            ratings = {
                "elo": [elo[name] for name in data["players"]],
                "padded": fields["ladder"]["padded"],
            }
            fields["ladder"].update(players=data["players"], ratings=ratings)
        return msgspec.convert(fields, Result)

    def text(self) -> str:
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _to_builtins(value: Any) -> Any:
    """Dataclasses and tuples as mappings and lists; infinity and NaN, which JSON lacks, as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (tuple, list)):
        return [_to_builtins(element) for element in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _to_builtins(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def _with_infinite_bounds(data: Any) -> Any:
    """A copy of JSON data in which missing bounds of intervals are infinite."""

    def restore(fields: dict[str, Any]) -> dict[str, Any]:
        infinite = {"low": -math.inf, "high": math.inf}
        return {**fields, **infinite} if fields.get("low", 0) is None else fields

    return json.loads(json.dumps(data), object_hook=restore)


# -- from tallies


def pairing_from_tally(
    names: tuple[str, str], perfect: tuple[bool, bool], tricks: int, tally: Tally
) -> Pairing:
    """The figures of two players; a hand has so many `tricks`."""
    one, two = (
        Stages(perfect=perfect[player], moves=tally.moves[player], **_values(Stages, tally, player))
        for player in range(SEATS)
    )
    return Pairing(
        player=names[0],
        opponent=names[1],
        pairs=tally.pairs,
        hands=int(tally.sums[k.HANDS]),
        stages=(one, two),
        course=TrickCourse(**_values(TrickCourse, tally, tricks)),
        forfeits=tuple(
            Forfeit(names[fault.player], fault.kind, fault.hands, fault.example, fault.trace)
            for fault in tally.faults
        ),
        **_values(Pairing, tally),
    )


def _values(record: type, *arguments: Any) -> dict[str, Any]:
    return {name: figure.compute(*arguments) for name, figure in figures_of(record).items()}


def _mirror(record: T) -> T:
    figures = figures_of(type(record)).items()
    values = {
        name: figure.mirror(getattr(record, figure.mirror_field or name))
        for name, figure in figures
    }
    return replace(record, **values)  # type: ignore[type-var]


def is_rated_as_played(pairing: Pairing) -> bool:
    """Whether ratings count a pairing with its luck: a win rate without it that may be 0 or 100 %
    or beyond has no rating, or one that is large by accident."""
    reduced = pairing.as_played is not None
    return reduced and (pairing.win_rate.low <= 0 or pairing.win_rate.high >= 1)


def fit_ladder(
    players: tuple[str, ...],
    pairings: tuple[Pairing, ...],
    scores: Sequence[Array],
    anchor: str | None,
) -> Ladder | None:
    """Ratings from the pairings; None unless pairings connect all players.

    `scores` holds for each pairing the games that its player won on each deal, as ratings count
    them.
    """
    count = len(players)
    games, wins = np.zeros((count, count)), np.zeros((count, count))
    indices = [(players.index(p.player), players.index(p.opponent)) for p in pairings]
    for (i, j), deal_scores in zip(indices, scores, strict=True):
        games[i, j] = games[j, i] = SEATS * len(deal_scores)
        wins[i, j] = np.sum(deal_scores, dtype=float)
        wins[j, i] = games[i, j] - wins[i, j]
    if count < 2 or not is_connected(games):
        return None
    anchor_index = players.index(anchor) if anchor is not None else None
    residuals = deal_residuals(count, indices, scores)
    return Ladder(players, fit_ratings(games, wins, residuals, anchor_index), anchor)


def ms_a_move(pairings: Sequence[Pairing]) -> float | None:
    """Mean milliseconds of a decision of the first player of some pairings."""
    stages = [pairing.stages[0] for pairing in pairings]
    moves = sum(stage.moves for stage in stages)
    spent = sum((stage.ms_a_move or 0.0) * stage.moves for stage in stages)
    return spent / moves if moves else None


def sort_by_rating(ladder: Ladder, pairings: tuple[Pairing, ...]) -> tuple[Pairing, ...]:
    """The pairings in the ladder's order, each from the higher player's point of view."""
    rank = {player: number for number, (player, _) in enumerate(ladder.ranked())}
    from_higher = [
        pairing if rank[pairing.player] < rank[pairing.opponent] else pairing.mirror()
        for pairing in pairings
    ]
    return tuple(sorted(from_higher, key=lambda p: (rank[p.player], rank[p.opponent])))
