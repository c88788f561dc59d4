"""What an arena run found, as plain values that can be printed, drawn and written as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...engine.state import SEATS
from ..frames import frame_of
from . import kernels as k
from .play import Setting, Tally
from .statistics import (
    Estimate,
    Ratings,
    fit_ratings,
    mean_estimate,
    ratio,
    share_estimate,
    tied_together,
)

RESULT_VERSION = 1


@dataclass(frozen=True)
class Stages:
    """What one player did in the two stages, per hand."""

    upcards: float
    """Tricks of the foreplay won, and the upcards with them."""
    thrown: float | None
    """Tricks thrown away in the endgame against perfect play; None where endings have no value."""
    perfect: bool
    """Perfect in open endgames, as the player itself says and a sample did not refute."""
    ms_a_move: float | None
    """Milliseconds for each decision asked of it."""
    moves: int


@dataclass(frozen=True)
class Course:
    """Where in the hand the margin arises: player one against two, trick by trick."""

    tricks_won: tuple[float | None, ...]
    """Player one's share of the tricks of each number, as far as they were played."""
    trumps: tuple[float | None, ...]
    """How many more trumps player one held as each trick began."""
    high_cards: tuple[float | None, ...]
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
    win_rate: Estimate
    """Of hands, or of matches where matches were played; a tie counts half."""
    hand_win_rate: Estimate
    margin: Estimate
    """Counting tricks more than the opponent, a hand; fewer in a low contract."""
    points: Estimate
    """What a hand pays."""
    as_leader: float
    """Share of hands won as non-dealer, who leads to the first trick."""
    as_dealer: float
    ending_margin: float | None
    """The margin that perfect play from the endgame's beginning gives: what the foreplay won."""
    stages: tuple[Stages, Stages]
    course: Course
    exact_endings: bool
    """Endings were not played: their exact value took their place."""
    forfeits: tuple[Forfeit, ...]
    score_variance: float
    """Of the sum of `2 * pairs` results, for ratings."""

    def turned(self) -> Pairing:
        """The same seen from the opponent."""
        course = self.course
        return replace(
            self,
            player=self.opponent,
            opponent=self.player,
            win_rate=self.win_rate.scaled(-1, 1),
            hand_win_rate=self.hand_win_rate.scaled(-1, 1),
            margin=self.margin.scaled(-1),
            points=self.points.scaled(-1),
            as_leader=1 - self.as_dealer,
            as_dealer=1 - self.as_leader,
            ending_margin=None if self.ending_margin is None else -self.ending_margin,
            stages=(self.stages[1], self.stages[0]),
            course=Course(
                tuple(None if each is None else 1 - each for each in course.tricks_won),
                tuple(None if each is None else -each for each in course.trumps),
                tuple(None if each is None else -each for each in course.high_cards),
            ),
        )

    def figures(self) -> dict[str, Any]:
        """Every figure by name, intervals by their ends."""
        mine, theirs = self.stages
        found: dict[str, Any] = {"pairs": self.pairs, "hands": self.hands}
        for name in ("win_rate", "hand_win_rate", "margin", "points"):
            each: Estimate = getattr(self, name)
            found |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
        return found | {
            "as_leader": self.as_leader,
            "as_dealer": self.as_dealer,
            "ending_margin": self.ending_margin,
            "exact_endings": int(self.exact_endings),
            "upcards": mine.upcards,
            "opponent_upcards": theirs.upcards,
            "thrown": mine.thrown,
            "opponent_thrown": theirs.thrown,
            "forfeits": self._forfeited(self.player),
            "opponent_forfeits": self._forfeited(self.opponent),
            "ms_a_move": mine.ms_a_move,
            "opponent_ms_a_move": theirs.ms_a_move,
        }

    def _forfeited(self, player: str) -> int:
        return sum(each.hands for each in self.forfeits if each.player == player)

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
    complete: bool = True
    """False when the run was stopped before its end."""
    interrupted: bool = False
    """Whether it was Ctrl-C that stopped it."""
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
        return [
            {"player": each.player, "opponent": each.opponent, **told, **each.figures()}
            for each in self.pairings
        ]

    def frame(self) -> Any:
        """The same as a `pandas.DataFrame`."""
        return frame_of(self.rows())

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
            "pairings": [each.to_json() for each in self.pairings],
            "ladder": None,
            "notes": list(self.notes),
            "run": {
                "command": self.command,
                "machine": self.machine,
                "seconds": round(self.seconds, 3),
                "workers": self.workers,
            },
        }
        if self.ladder is not None:
            told["ladder"] = {
                "anchor": self.ladder.anchor,
                "padded": self.ladder.ratings.padded,
                "elo": [
                    {"player": player, **elo.to_json()} for player, elo in self.ladder.ranked()
                ],
            }
        return told

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


# -- from tallies


def pairing_of(
    names: tuple[str, str], perfect: tuple[bool, bool], setting: Setting, tally: Tally
) -> Pairing:
    """The figures of two players out of what was counted."""
    sums, pairs = tally.sums, tally.pairs
    hands = int(sums[k.HANDS])
    dealt = hands - int(sums[k.LED_HANDS])
    endings = int(sums[k.ENDINGS])
    share, error = _per_pair(tally, k.RESULT)
    hand_share, hand_error = _per_hand(tally, k.GAME_SCORE)
    return Pairing(
        player=names[0],
        opponent=names[1],
        pairs=pairs,
        hands=hands,
        win_rate=share_estimate(share, error, pairs),
        hand_win_rate=share_estimate(hand_share / 2, hand_error / 2, pairs),
        margin=mean_estimate(*_per_hand(tally, k.GAME_MARGIN), pairs),
        points=mean_estimate(*_per_hand(tally, k.GAME_POINTS), pairs),
        as_leader=_share(sums[k.LED_SCORE], 2 * sums[k.LED_HANDS]),
        as_dealer=_share(sums[k.SCORE] - sums[k.LED_SCORE], 2 * dealt),
        ending_margin=float(sums[k.ENDING_MARGIN] / endings) if endings else None,
        stages=(
            _stages(tally, 0, perfect[0], k.UPCARDS_ONE, k.THROWN_ONE),
            _stages(tally, 1, perfect[1], k.UPCARDS_TWO, k.THROWN_TWO),
        ),
        course=_course(setting, tally),
        exact_endings=tally.exact,
        forfeits=tuple(
            Forfeit(names[fault.player], fault.kind, fault.hands, fault.example, fault.trace)
            for fault in tally.faults
        ),
        score_variance=(SEATS * pairs * error) ** 2 if pairs > 1 else SEATS * pairs / 4,
    )


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.5


def _per_pair(tally: Tally, what: int) -> tuple[float, float]:
    """The share of results won over the pairs, with its standard error."""
    most = 2 * SEATS
    x, xx = float(tally.totals[what]), float(tally.moments[what, what])
    pairs = tally.pairs
    return ratio(pairs, x, most * pairs, xx, most * x, most**2 * pairs)


def _per_hand(tally: Tally, what: int) -> tuple[float, float]:
    """A figure a hand, with the standard error that the pairs give it."""
    totals, moments, h = tally.totals, tally.moments, k.GAME_HANDS
    return ratio(
        tally.pairs, *(float(each) for each in (totals[what], totals[h])),
        *(float(each) for each in (moments[what, what], moments[what, h], moments[h, h])),
    )  # fmt: skip


def _stages(tally: Tally, player: int, perfect: bool, upcards: int, thrown: int) -> Stages:
    staged, endings = int(tally.sums[k.STAGED]), int(tally.sums[k.ENDINGS])
    moves = tally.moves[player]
    return Stages(
        upcards=float(tally.sums[upcards] / staged) if staged else 0.0,
        thrown=float(tally.sums[thrown] / endings) if endings else None,
        perfect=perfect,
        ms_a_move=1000 * tally.seconds[player] / moves if moves else None,
        moves=moves,
    )


def _course(setting: Setting, tally: Tally) -> Course:
    played = tally.course[k.PLAYED].astype(float)
    tricks = setting.rules.tricks
    won = tally.course[k.WON]

    def held(row: int) -> tuple[float | None, ...]:
        # As many hands came to the beginning of a trick as had the trick before it.
        lead = tally.course[row]
        begun = [played[max(trick - 1, 0)] for trick in range(tricks)]
        return tuple(
            float(lead[trick] / begun[trick]) if begun[trick] else None for trick in range(tricks)
        )

    return Course(
        tricks_won=tuple(
            float(won[trick] / played[trick]) if played[trick] else None for trick in range(tricks)
        ),
        trumps=held(k.TRUMPS),
        high_cards=held(k.HIGH_CARDS),
    )


def ladder_of(
    players: tuple[str, ...], pairings: tuple[Pairing, ...], anchor: str | None
) -> Ladder | None:
    """Ratings out of the pairings, or None while some players have not met."""
    count = len(players)
    games, scores, spread = (np.zeros((count, count)) for _ in range(3))
    for each in pairings:
        i, j = players.index(each.player), players.index(each.opponent)
        both = SEATS * each.pairs
        games[i, j] = games[j, i] = both
        scores[i, j] = each.win_rate.value * both
        scores[j, i] = both - scores[i, j]
        spread[i, j] = spread[j, i] = each.score_variance
    if count < 2 or not tied_together(games):
        return None
    place = players.index(anchor) if anchor is not None else None
    return Ladder(players, fit_ratings(games, scores, spread, place), anchor)


def strongest_first(ladder: Ladder, pairings: tuple[Pairing, ...]) -> tuple[Pairing, ...]:
    """The pairings of a ladder in its order, each seen from the higher player."""
    place = {player: number for number, (player, _) in enumerate(ladder.ranked())}
    seen = [
        each if place[each.player] < place[each.opponent] else each.turned() for each in pairings
    ]
    return tuple(sorted(seen, key=lambda each: (place[each.player], place[each.opponent])))
