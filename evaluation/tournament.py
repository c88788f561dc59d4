"""Tournaments: some players against one or all others, to a number of hands or a precision.

A `Schedule` gives out chunks of deals, a `MatchPlayer` plays them, in this process or in workers,
and an `Audit` checks the players that claim perfect endings.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ..agents.base import Agent
from ..agents.calls import claims_perfection
from ..agents.common_rules import common_rules
from ..agents.registry import named_player
from ..common.executors import LOCAL, Executor, InProcessExecutor, WorkersLost, check_backend
from ..common.executors.executor import MAX_WORKERS
from ..common.executors.processes import END_SIGNALS
from ..common.progress import Progress
from ..common.signals import SignalGuard
from ..engine.batch.config import RulesLike
from ..engine.dtypes import SEATS
from ..engine.rng import KEY_BYTES, fresh_secret
from ..engine.rules import Match
from .aivat import check_luck
from .audit import Audit
from .chunks import Chunk, MatchConfig, Task
from .formats import percent_with_reach
from .match import MatchPlayer, PlayerSpec, chunk_player
from .packing import packed
from .results import (
    Ladder,
    Pairing,
    Result,
    came_out_level,
    details_of,
    ladder_of,
    pairing_of,
    strongest_first,
)
from .schedule import MOST_PAIRS, Journal, Limits, Records, Schedule

if TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULT_HANDS = 10_000


class ArenaOptions(TypedDict, total=False):
    """Keywords of `evaluate` and `ladder`, which are those of `Arena`."""

    hands: int | None
    until: float | None
    match: Match | None
    seed: int
    key: str | None
    workers: int
    on: str
    play_out: bool
    reduce_variance: bool
    records: Records | None
    resume: Path | None


class Arena:
    """A tournament; `evaluate` and `ladder` make one and play it.

    Without `rules` the classic ones are played, or those of the players' checkpoints. A player
    that is written `NAME=PLAYER` is called so.
    `pairings` names by place in `players` who plays whom. With `hands` every pairing
    plays so many hands (matches, where a match is played), an even number, since half
    of them have the seats exchanged; with `until` it stops as soon
    as half of the win rate's interval is no longer than that, and `hands` is the most
    it plays. `key`, 32 hexadecimal digits, stands for all that is drawn beside the
    deals of the seed; without it a secret is drawn, and kept in the result. `on` says where the
    workers are: `local` processes, or a cluster of Ray, as `ray` or `ray://HOST:PORT`.
    `reduce_variance` takes the luck of the stock out of win rates, margins and points. `resume` is
    a file that keeps what is played, and from which the same run goes on.
    """

    def __init__(
        self,
        players: Sequence[PlayerSpec],
        pairings: Sequence[tuple[int, int]],
        rules: RulesLike | None = None,
        *,
        hands: int | None = None,
        until: float | None = None,
        match: Match | None = None,
        seed: int = 0,
        key: str | None = None,
        workers: int = 1,
        on: str = LOCAL,
        anchor: str | None = None,
        rated: bool = False,
        play_out: bool = False,
        reduce_variance: bool = False,
        records: Records | None = None,
        resume: Path | None = None,
    ) -> None:
        self._journal = None if resume is None else Journal(resume)
        if self._journal is not None and key is None:
            key = self._journal.key
        self.config = MatchConfig(
            common_rules(players, rules), match, _whole(seed, "seed", 0, 2**64 - 1),
            fresh_secret() if key is None else _key_bytes(key),
            records=records is not None, play_out=play_out, reduce_variance=reduce_variance,
        )  # fmt: skip
        if reduce_variance:
            check_luck(self.config.rules, match)
        self.limits = _limits(hands, until)
        self.workers = _whole(workers, "workers", 1, MAX_WORKERS)
        self.on = check_backend(on)
        if self.workers > 1 and not _are_names(players):
            raise ValueError(
                "players that are objects play in this process alone: give their names, or "
                "workers=1"
            )
        self._specs = [(players[i], players[j]) for i, j in pairings]
        # Made here even where workers play: an error of a player is raised before anything starts.
        self._player = MatchPlayer(self._specs, self.config)
        agents = [self._player.halves(place)[0] for place in range(len(pairings))]
        self.names = _names(players, pairings, agents)
        made = dict(zip(chain(*pairings), chain(*agents), strict=True))
        self.details = tuple(details_of(name, made[i]) for i, name in enumerate(self.names))
        self._rated, self._anchor = rated, anchor
        if rated:
            _check_ladder(self.names, anchor)
        if self._journal is not None:
            if not _are_names(players):
                raise ValueError("a run with players that are objects cannot be resumed: name them")
            self._journal.begin(self._identity([*players], pairings))
        self._audit = Audit(self.config)
        self.schedule = Schedule(
            [
                ((self.names[i], self.names[j]), (claims_perfection(one), claims_perfection(two)))
                for (i, j), (one, two) in zip(pairings, agents, strict=True)
            ],
            self.limits, self._audit, rated=rated, journal=self._journal, write_record=records,
        )  # fmt: skip
        self._replaced = 0
        """Workers that died."""
        self._stopped_by = ""
        """Why the run ended before its end; empty where it did not."""
        self._signal = 0
        self._began = time.monotonic()

    def _identity(self, players: list[str], pairings: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Everything that has to be the same in a run that resumes from a file."""
        config = self.config
        return {
            "players": players,
            "details": self.details,
            "pairings": [*pairings],
            "rules": config.rules.as_mapping(),
            "match": str(config.match),
            "seed": config.seed,
            "key": config.key.hex(),
            "hands": SEATS * self.limits.pairs,
            "until": self.limits.until,
            "play_out": config.play_out,
            "records": config.records,
            "reduce_variance": config.reduce_variance,
        }

    def play(self, progress: Callable[[Arena], None] | None = None) -> Result:
        """Play to the end; Ctrl-C ends it early, with what there is."""
        self._began = time.monotonic()
        complete = False
        with SignalGuard(_signals()) as signals:
            try:
                with signals.immediate(), self._executor() as executor:
                    try:
                        self._replay_until_consistent(executor, signals, progress)
                    finally:
                        self._replaced = executor.n_replaced
                complete = True
            except WorkersLost as error:
                self._stopped_by = (
                    f"{error}; with workers=1 all is played in this process, where the cause may "
                    "show"
                )
            except BaseException as error:
                # A compiler that a signal meets may swallow it, or fail with something else.
                if signals.received is None and not isinstance(error, KeyboardInterrupt):
                    raise
                self._signal = signals.received or signal.SIGINT
                name = signal.Signals(self._signal).name
                self._stopped_by = f"stopped by {_KEYS.get(name, name)}"
        self.schedule.write_records(incomplete=True)
        return self._result(complete)

    def _executor(self) -> Executor[Task, Chunk] | InProcessExecutor[Task, Chunk]:
        if self.workers == 1 and self.on == LOCAL:
            return InProcessExecutor(self._player.play)
        players, files = packed(chain.from_iterable(self._specs), self.on)
        return Executor(chunk_player, (self.config, players), self.workers, self.on, files=files)

    def _replay_until_consistent(
        self,
        executor: Executor[Task, Chunk] | InProcessExecutor[Task, Chunk],
        signals: SignalGuard,
        progress: Callable[[Arena], None] | None,
    ) -> None:
        """Play all chunks, until no pairing trusts a player that erred in another."""
        consistent = False
        while not consistent:
            for task, chunk in executor.results(self.schedule.next_task):
                self.schedule.add(task, chunk)
                if progress is not None:
                    progress(self)
                if signals.received is not None:
                    raise KeyboardInterrupt
            consistent = not self.schedule.restart_doubted()

    # -- results so far

    @property
    def hands(self) -> int:
        """Hands played so far (matches, where a match is played)."""
        return SEATS * sum(pairing.tally.pairs for pairing in self.schedule.pairings)

    def pairing(self, place: int) -> Pairing:
        """The figures of a pairing so far."""
        pairing = self.schedule.pairings[place]
        return pairing_of(pairing.players, pairing.trusted_exact, self.config, pairing.tally)

    def status(self) -> str:
        """The pairing in play with its result so far, and how much was played in all."""
        hands = f"{self.hands:,} {'matches' if self.config.match else 'hands'}"
        pairings = self.schedule.pairings
        played = [place for place, pairing in enumerate(pairings) if pairing.tally.pairs]
        in_play = [place for place in played if not pairings[place].done] or played
        if not in_play:
            return hands
        # Of several pairings the one whose result is least certain.
        shown = max(map(self.pairing, in_play), key=lambda pairing: pairing.win_rate.half_width)
        return f"{shown.player} – {shown.opponent} {percent_with_reach(shown.win_rate)}, {hands}"

    def _result(self, complete: bool) -> Result:
        progress = self.schedule.pairings
        played = [place for place, pairing in enumerate(progress) if pairing.tally.pairs]
        pairings = tuple(map(self.pairing, played))
        ladder: Ladder | None = None
        if self._rated:
            scores = [np.concatenate(progress[place].scores) for place in played]
            ladder = ladder_of(self.names, pairings, scores, self._anchor)
        if ladder is not None:
            pairings = strongest_first(ladder, pairings)
        config = self.config
        return Result(
            rules=config.rules.name,
            match=str(config.match) if config.match else None,
            seed=config.seed,
            key=config.key.hex(),
            players=self.names,
            pairings=pairings,
            ladder=ladder,
            details=self.details,
            complete=complete,
            signal=self._signal,
            until=self.limits.until,
            notes=tuple(self._notes(pairings, ladder)),
            seconds=time.monotonic() - self._began,
            workers=self.workers,
        )

    def _notes(self, pairings: tuple[Pairing, ...], ladder: Ladder | None) -> Iterator[str]:
        """What a reader has to know beside the figures."""
        if self._stopped_by:
            yield f"The run is not complete: {self._stopped_by}."
        if self._journal is not None and self._journal.fault:
            yield f"{self._journal.path} could not be written to the end: {self._journal.fault}."
        if any(pairing.exact_endings for pairing in pairings):
            yield (
                "Where both players are perfect in the endgame it was not played: its exact value "
                "took its place, which is what perfect play comes to."
            )
        if self.config.reduce_variance:
            yield (
                "Win rate, margin and points are without the luck of the stock, which is nothing "
                "on average; what was won with it stands under as played."
            )
        yield from self._audit.notes()
        if self._replaced:
            count = self._replaced
            died = "A worker process" if count == 1 else f"{count} worker processes"
            yield f"{died} died; the deals were played again."
        if ladder is not None:
            yield from ladder.notes()
        for pairing in self.schedule.pairings:
            if came_out_level(pairing.tally):
                yield (
                    f"{' and '.join(pairing.players)} came out level on every deal, as players "
                    "do that make the same choices in every hand: nothing was measured."
                )
        if self.limits.until is not None and not self._stopped_by:
            until, hands = self.limits.until, SEATS * self.limits.pairs
            if any(pairing.win_rate.half_width > until for pairing in pairings):
                yield f"{hands:,} hands a pairing did not reach {until:.2%}."
        forfeits = [forfeit for pairing in pairings for forfeit in pairing.forfeits]
        yield from (f"{forfeit}." for forfeit in forfeits)
        if forfeits and self.config.records:
            yield "Forfeited hands have no record."


_KEYS = {"SIGINT": "Ctrl-C"}


def _signals() -> list[int]:
    """Signals that end a run with what there is: those that do not end the process anyway."""
    return [number for number in END_SIGNALS if callable(signal.getsignal(number))]


def show_on(progress: Progress) -> Callable[[Arena], None]:
    """Report a tournament on a progress bar, when an update is due."""

    def show(arena: Arena) -> None:
        if progress.due():
            progress.update(arena.schedule.fraction_done(), arena.status())

    return show


# -- checks of the options


def _are_names(players: Sequence[PlayerSpec]) -> bool:
    return all(isinstance(player, str) for player in players)


def _whole(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is {value!r}: it has to be a whole number from {least} to {most}")
    return value


def _limits(hands: int | None, until: float | None) -> Limits:
    """When a pairing is done; half of the hands are the other half with exchanged seats."""
    if until is not None and not 0 < until < 0.5:
        raise ValueError(f"until is {until}: it has to be more than 0 % and less than 50 %")
    if hands is None and until is not None:
        return Limits(MOST_PAIRS, until)
    hands = _whole(DEFAULT_HANDS if hands is None else hands, "hands", 1, 2 * MOST_PAIRS)
    if hands % SEATS:
        near = f"{hands - 1} or {hands + 1}" if hands > 1 else "2"
        raise ValueError(
            f"hands is {hands}: every deal is played twice with the seats exchanged, so it has to "
            f"be an even number; give {near}"
        )
    return Limits(hands // SEATS, until)


def _key_bytes(text: str) -> bytes:
    """The key that hexadecimal digits write."""
    try:
        key = bytes.fromhex(text)
    except (TypeError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(
            f"key is {text!r}: it has to be {2 * KEY_BYTES} hexadecimal digits, as a result tells "
            "it; leave it out for a new one"
        )
    return key


def _names(
    players: Sequence[PlayerSpec],
    pairings: Sequence[tuple[int, int]],
    agents: Sequence[tuple[Agent, Agent]],
) -> tuple[str, ...]:
    """The names of the players: those that are given, or their agents'."""
    names = [named_player(player)[0] if isinstance(player, str) else "" for player in players]
    for places, pair in zip(pairings, agents, strict=True):
        for place, agent in zip(places, pair, strict=True):
            names[place] = names[place] or agent.name
    last = dict(zip(names, players, strict=True))
    for name, player in zip(names, players, strict=True):
        if isinstance(player, str) and last[name] != player:
            raise ValueError(f"{name} is what {last[name]} and {player} are called: name one anew")
    return tuple(names)


def _check_ladder(names: tuple[str, ...], anchor: str | None) -> None:
    """Refuse a player that stands twice in a ladder, and an anchor that does not play."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} stands twice in the ladder: each player once")
    if anchor is not None and anchor not in names:
        raise ValueError(f"anchor is {anchor!r}: it has to be one of {', '.join(names)}")


# -- the two kinds of tournaments


def evaluate(
    player: PlayerSpec,
    against: PlayerSpec | Sequence[PlayerSpec],
    rules: RulesLike | None = None,
    *,
    progress: Callable[[Arena], None] | None = None,
    **options: Unpack[ArenaOptions],
) -> Result:
    """Measure one player against one or more others; options as of `Arena`.

    >>> evaluate("threshold", "random", hands=200).pairings[0].win_rate.value > 0.9
    True
    """
    several = isinstance(against, (list, tuple))
    opponents = list(against) if several else [against]
    pairings = [(0, place) for place in range(1, len(opponents) + 1)]
    return Arena([player, *opponents], pairings, rules, **options).play(progress)


def ladder(
    players: Sequence[PlayerSpec],
    rules: RulesLike | None = None,
    *,
    progress: Callable[[Arena], None] | None = None,
    anchor: str | None = None,
    **options: Unpack[ArenaOptions],
) -> Result:
    """Let everybody play everybody, and rate them; options as of `Arena`."""
    if len(players) < 2:
        raise ValueError("a ladder needs two players or more")
    pairings = list(combinations(range(len(players)), 2))
    return Arena(players, pairings, rules, anchor=anchor, rated=True, **options).play(progress)
