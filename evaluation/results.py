"""Results of a tournament: plain records, written as JSON, CSV and data frames."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, overload

import msgspec
import numpy as np

from ..agents.base import EXACT_SOLVER, OWN_POLICY, Agent, ModelFile
from ..agents.calls import AgentFault
from ..common.serialization import data_frame
from ..common.typing import Array, JsonObject
from ..engine.dtypes import SEATS
from . import kernels as k
from .elo import deal_residuals, fit_ratings, is_connected
from .formats import percent_with_interval
from .statistics import Estimate
from .tally import Tally, as_played_of, hand_win_rate_of, mean_per_hand, win_rate_of

if TYPE_CHECKING:
    import pandas


RESULT_VERSION = 1


@dataclass(frozen=True)
class Stages:
    """One agent's play in foreplay and endgame, per hand."""

    upcards: float
    """Tricks won in the foreplay, and the upcards with them."""
    thrown: float | None
    """Endgame tricks lost against perfect play; None where endings have no exact value."""
    perfect: bool
    """Its endings count as perfect, since the package's own code plays them."""
    ms_a_move: float | None
    """Milliseconds per decision."""
    moves: int


@dataclass(frozen=True)
class TrickCourse:
    """Agent one against agent two, trick by trick."""

    tricks_won: tuple[float | None, ...]
    """Fraction of hands in which agent one wins the trick of each number."""
    trumps: tuple[float | None, ...]
    """Agent one's surplus of trumps as each trick begins."""
    high_cards: tuple[float | None, ...]
    """Agent one's surplus of queens, kings and aces."""

    def mirror(self) -> TrickCourse:
        """The course from agent two's point of view."""
        return TrickCourse(
            _each(lambda won: 1 - won, self.tricks_won),
            _each(lambda surplus: -surplus, self.trumps),
            _each(lambda surplus: -surplus, self.high_cards),
        )


def _each(
    mirror: Callable[[float], float], values: Sequence[float | None]
) -> tuple[float | None, ...]:
    return tuple(None if value is None else mirror(value) for value in values)


@dataclass(frozen=True)
class Forfeit:
    """Hands that an agent forfeited."""

    agent: str
    kind: str
    hands: int
    example: str
    trace: str = ""
    """Traceback of the first error, within the agent's own code."""

    def __str__(self) -> str:
        reason = "played an illegal card" if self.kind == "illegal" else "raised an error"
        hands = "1 hand" if self.hands == 1 else f"{self.hands:,} hands"
        return f"{self.agent} {reason} and so forfeited {hands}; the first: {self.example}"


@dataclass(frozen=True)
class Pairing:
    """Head-to-head results; every metric is from `agent`'s point of view."""

    agent: str
    opponent: str
    pairs: int
    """Deals (or matches), each played twice."""
    hands: int
    win_rate: Estimate
    """Of hands, or of matches where matches are played; a tie counts half."""
    as_played: Estimate | None
    """The win rate without variance reduction, where the other metrics have it."""
    hand_win_rate: Estimate
    margin: Estimate
    """Counting tricks per hand beyond the opponent's; fewer tricks in a low contract."""
    points: Estimate
    """Payoff per hand."""
    as_leader: float
    """Win rate as non-dealer, who leads to the first trick."""
    as_dealer: float
    ending_margin: float | None
    """Margin under perfect endgame play by both: the result of the foreplay."""
    stages: tuple[Stages, Stages]
    course: TrickCourse
    exact_endings: bool
    """Endings were not played: their exact value took their place."""
    forfeits: tuple[Forfeit, ...]

    def mirror(self) -> Pairing:
        """The pairing from the opponent's point of view."""
        one, two = self.stages
        return replace(
            self,
            agent=self.opponent,
            opponent=self.agent,
            win_rate=self.win_rate.scaled(-1, 1),
            as_played=self.as_played and self.as_played.scaled(-1, 1),
            hand_win_rate=self.hand_win_rate.scaled(-1, 1),
            margin=self.margin.scaled(-1),
            points=self.points.scaled(-1),
            as_leader=1 - self.as_dealer,
            as_dealer=1 - self.as_leader,
            ending_margin=None if self.ending_margin is None else -self.ending_margin,
            stages=(two, one),
            course=self.course.mirror(),
        )

    def metrics(self) -> JsonObject:
        """Every metric by name, with suffixes `_low` and `_high`, and prefix `opponent_`."""
        row: JsonObject = {}
        for name, value in vars(self).items():
            if isinstance(value, Estimate):
                row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
            elif value is None or isinstance(value, (int, float)):
                row[name] = int(value) if isinstance(value, bool) else value
        sides = ("", self.agent, self.stages[0]), ("opponent_", self.opponent, self.stages[1])
        for name in ("upcards", "thrown", "forfeits", "ms_a_move"):
            for prefix, agent, stages in sides:
                row[prefix + name] = (
                    self._forfeited_hands(agent) if name == "forfeits" else getattr(stages, name)
                )
        return row

    def _forfeited_hands(self, agent: str) -> int:
        return sum(forfeit.hands for forfeit in self.forfeits if forfeit.agent == agent)

    def to_json(self) -> JsonObject:
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
    """Ratings of all agents."""

    agents: tuple[str, ...]
    elo: tuple[Estimate, ...]
    """With infinite bounds where the results determine no interval."""
    padded: bool
    """Whether half a tie was added to every pairing (`fit_ratings`)."""
    anchor: str | None

    def ranked(self) -> list[tuple[str, Estimate]]:
        rated = zip(self.agents, self.elo, strict=True)
        return sorted(rated, key=lambda agent_and_elo: -agent_and_elo[1].value)

    def notes(self) -> Iterator[str]:
        if self.padded:
            yield (
                "An agent won or lost everything that ties it to the others: ratings were found "
                "with half a tie added to every pairing."
            )
        if any(math.isinf(elo.margin_of_error) for elo in self.elo):
            yield "Where Elo has no interval (–), these results tell none: more hands may."


@dataclass(frozen=True)
class AgentDetails:
    """Who plays an agent's endgames, and its checkpoints."""

    name: str
    endgame: str
    """`"exact solver"` or `"own policy"`."""
    endgame_switch: str
    """The option that changes it; empty without one."""
    checkpoints: tuple[ModelFile, ...]
    """The files of its weights."""

    @classmethod
    def of(cls, name: str, agent: Agent) -> AgentDetails:
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
    agents: tuple[str, ...]
    pairings: tuple[Pairing, ...]
    ladder: Ladder | None = None
    details: tuple[AgentDetails, ...] = ()
    """One for each of `agents`."""
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
            lines.append(f"{pairing.agent} against {pairing.opponent}: {wins} of {games}")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    @property
    def forfeited_all(self) -> tuple[str, ...]:
        """The agents that forfeited hands, and of whose hands none was played to its end."""
        completed, forfeited = Counter[str](), Counter[str]()
        for pairing in self.pairings:
            count = pairing.hands - sum(forfeit.hands for forfeit in pairing.forfeits)
            completed.update({pairing.agent: count, pairing.opponent: count})
            for forfeit in pairing.forfeits:
                forfeited[forfeit.agent] += forfeit.hands
        return tuple(name for name, _ in forfeited.most_common() if not completed[name])

    def forfeits(self, agent: str) -> list[Forfeit]:
        """What an agent forfeited, pairing by pairing."""
        return [
            forfeit
            for pairing in self.pairings
            for forfeit in pairing.forfeits
            if forfeit.agent == agent
        ]

    def pairing(self, agent: str, opponent: str) -> Pairing | None:
        """The pairing of two agents, from the first one's point of view; None if never played."""
        for name in (agent, opponent):
            if name not in self.agents:
                raise ValueError(f"{name!r} is none of the agents {', '.join(self.agents)}")
        for pairing in self.pairings:
            if (pairing.agent, pairing.opponent) == (agent, opponent):
                return pairing
            if (pairing.agent, pairing.opponent) == (opponent, agent):
                return pairing.mirror()
        return None

    def win_rate(self, agent: str, opponent: str) -> Estimate | None:
        """The first agent's win rate against the second."""
        pairing = self.pairing(agent, opponent)
        return pairing.win_rate if pairing is not None else None

    def rows(self) -> list[JsonObject]:
        """A row of metrics by name for each pairing; None where a metric does not apply."""
        run = {"rules": self.rules, "match": self.match, "seed": self.seed, "key": self.key}
        details = {agent.name: agent for agent in self.details}
        return [
            {
                "agent": pairing.agent,
                "opponent": pairing.opponent,
                **run,
                **pairing.metrics(),
                **{
                    f"{prefix}{name}": getattr(details[agent], f"{name}_text")
                    for prefix, agent in (("", pairing.agent), ("opponent_", pairing.opponent))
                    for name in ("endgame", "checkpoints")
                    if agent in details
                },
            }
            for pairing in self.pairings
        ]

    def frame(self) -> pandas.DataFrame:
        """`rows()` as a `pandas.DataFrame`."""
        return data_frame(self.rows())

    def to_json(self) -> JsonObject:
        """A mapping for JSON."""
        plain = _to_builtins(self)
        names = ("rules", "match", "seed", "key", "until", "complete", "agents", "details")
        data: JsonObject = {
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
                "padded": self.ladder.padded,
                "elo": [{"agent": agent, **_to_builtins(elo)} for agent, elo in ranking],
            }
        return data

    @staticmethod
    def from_json(data: JsonObject) -> Result:
        """A result from its JSON; tracebacks of errors are not stored there."""
        fields = {**_with_infinite_bounds(data), **data["run"], "version": data["run"]["package"]}
        for pairing in fields["pairings"]:
            for stage, timing in zip(pairing["stages"], pairing["timing"], strict=True):
                stage.update(timing)
        if fields["ladder"] is not None:
            elo = {rating["agent"]: rating for rating in fields["ladder"].pop("elo")}
            fields["ladder"] |= {
                "agents": data["agents"],
                "elo": [elo[name] for name in data["agents"]],
            }
        return msgspec.convert(fields, Result)

    def text(self) -> str:
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _to_builtins(value: Result | Pairing | Estimate) -> JsonObject:
    """Mappings and lists of JSON; infinity, which JSON lacks, is null."""
    return json.loads(json.dumps(asdict(value)), parse_constant=lambda _: None)


def _with_infinite_bounds(data: JsonObject) -> JsonObject:
    """A copy of JSON data in which missing bounds of intervals are infinite."""

    def restore(fields: JsonObject) -> JsonObject:
        infinite = {"low": -math.inf, "high": math.inf}
        return {**fields, **infinite} if fields.get("low", 0) is None else fields

    return json.loads(json.dumps(data), object_hook=restore)


class EveryHandForfeited(AgentFault):
    """Raised if an agent forfeits every hand by an error, so that nothing is measured.

    The cause is the first error that the agent raised; of an agent in a worker process, an
    exception with the text of its traceback.
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message, result)
        self.result = result
        """All that was played, forfeited hands and those of other agents."""

    def __str__(self) -> str:
        return str(self.args[0])


class AgentTraceback(Exception):
    """An error that an agent raised in another process, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


# -- from tallies


def pairing_from_tally(
    names: tuple[str, str], perfect: tuple[bool, bool], tricks: int, tally: Tally
) -> Pairing:
    """The metrics of two agents; a hand has so many `tricks`."""
    sums = tally.sums
    dealt = sums[k.HANDS] - sums[k.LED_HANDS]
    return Pairing(
        agent=names[0],
        opponent=names[1],
        pairs=tally.pairs,
        hands=int(sums[k.HANDS]),
        win_rate=win_rate_of(tally),
        as_played=as_played_of(tally),
        hand_win_rate=hand_win_rate_of(tally),
        margin=mean_per_hand(tally, k.GAME_MARGIN),
        points=mean_per_hand(tally, k.GAME_POINTS),
        as_leader=_ratio(sums[k.LED_SCORE], 2 * sums[k.LED_HANDS], 0.5),
        as_dealer=_ratio(sums[k.SCORE] - sums[k.LED_SCORE], 2 * dealt, 0.5),
        ending_margin=_ratio(sums[k.ENDING_MARGIN], sums[k.ENDINGS]),
        stages=(_stages(tally, 0, perfect[0]), _stages(tally, 1, perfect[1])),
        course=TrickCourse(
            _means_by_trick(tally, k.WON, tricks),
            _means_by_trick(tally, k.TRUMPS, tricks),
            _means_by_trick(tally, k.HIGH_CARDS, tricks),
        ),
        exact_endings=tally.exact,
        forfeits=tuple(
            Forfeit(names[fault.side], fault.kind, fault.hands, fault.example, fault.trace)
            for fault in tally.faults
        ),
    )


def _stages(tally: Tally, side: int, perfect: bool) -> Stages:
    sums, moves = tally.sums, int(tally.moves[side])
    upcards, thrown = (k.UPCARDS_TWO, k.THROWN_TWO) if side else (k.UPCARDS_ONE, k.THROWN_ONE)
    return Stages(
        upcards=_ratio(sums[upcards], sums[k.STAGED], 0.0),
        thrown=_ratio(sums[thrown], sums[k.ENDINGS]),
        perfect=perfect,
        ms_a_move=_ratio(1000 * tally.seconds[side], moves),
        moves=moves,
    )


def _means_by_trick(tally: Tally, row: int, tricks: int) -> tuple[float | None, ...]:
    played, counts = tally.course[k.PLAYED], tally.course[row]
    # A trick begins in as many hands as the trick before it was played in.
    hands = [played[trick if row == k.WON else max(trick - 1, 0)] for trick in range(tricks)]
    return tuple(_ratio(counts[trick], size) for trick, size in enumerate(hands))


@overload
def _ratio(part: float, total: float) -> float | None: ...
@overload
def _ratio(part: float, total: float, default: float) -> float: ...
def _ratio(part: float, total: float, default: float | None = None) -> float | None:
    """One counter divided by another, or the default where that is zero."""
    return float(part / total) if total else default


def is_rated_as_played(pairing: Pairing) -> bool:
    """Whether ratings count a pairing with its luck: a win rate without it that may be 0 or 100 %
    or beyond has no rating, or one that is large by accident."""
    reduced = pairing.as_played is not None
    return reduced and (pairing.win_rate.low <= 0 or pairing.win_rate.high >= 1)


def fit_ladder(
    agents: tuple[str, ...],
    pairings: tuple[Pairing, ...],
    scores: Sequence[Array],
    anchor: str | None,
) -> Ladder | None:
    """Ratings from the pairings; None unless pairings connect all agents.

    `scores` holds for each pairing the games that its agent won on each deal, as ratings count
    them.
    """
    count = len(agents)
    games, wins = np.zeros((count, count)), np.zeros((count, count))
    indices = [(agents.index(p.agent), agents.index(p.opponent)) for p in pairings]
    for (i, j), deal_scores in zip(indices, scores, strict=True):
        games[i, j] = games[j, i] = SEATS * len(deal_scores)
        wins[i, j] = np.sum(deal_scores, dtype=float)
        wins[j, i] = games[i, j] - wins[i, j]
    if count < 2 or not is_connected(games):
        return None
    anchor_index = agents.index(anchor) if anchor is not None else None
    residuals = deal_residuals(count, indices, scores)
    elo, padded = fit_ratings(games, wins, residuals, anchor_index)
    return Ladder(agents, elo=elo, padded=padded, anchor=anchor)


def ms_a_move(pairings: Sequence[Pairing]) -> float | None:
    """Mean milliseconds of a decision of the first agent of some pairings."""
    stages = [pairing.stages[0] for pairing in pairings]
    moves = sum(stage.moves for stage in stages)
    spent = sum((stage.ms_a_move or 0.0) * stage.moves for stage in stages)
    return spent / moves if moves else None


def sort_by_rating(ladder: Ladder, pairings: tuple[Pairing, ...]) -> tuple[Pairing, ...]:
    """The pairings in the ladder's order, each from the higher agent's point of view."""
    rank = {agent: number for number, (agent, _) in enumerate(ladder.ranked())}
    from_higher = [
        pairing if rank[pairing.agent] < rank[pairing.opponent] else pairing.mirror()
        for pairing in pairings
    ]
    return tuple(sorted(from_higher, key=lambda p: (rank[p.agent], rank[p.opponent])))
