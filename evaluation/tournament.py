"""Tournaments: some agents against one or all others, to a number of hands or a precision.

The walk: `Arena.play` takes chunks of deals from a `Schedule`, has a `ChunkPlayer` play them, in
this process or in workers, and gives the tallies back to the schedule; `results` turns them into
metrics.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ..agents.base import Agent
from ..agents.checkpoints import WEIGHTS, read_fields
from ..agents.registry import common_rules, parse_agent_name
from ..common.executors import (
    LOCAL,
    MAX_WORKERS,
    Executor,
    InProcessExecutor,
    WorkersLost,
    check_backend,
)
from ..common.progress import Progress
from ..common.signals import END_SIGNALS, SignalGuard
from ..common.suggestions import suggest
from ..common.typing import Array
from ..engine.batch.config import RulesLike
from ..engine.dtypes import SEATS
from ..engine.rng import KEY_BYTES, secret_of_seed
from ..engine.rules import Match, as_match
from .aivat import check_luck
from .chunk_player import (
    AgentSpec,
    Chunk,
    ChunkPlayer,
    PlayConfig,
    Task,
    chunk_worker,
    has_exact_endings,
)
from .formats import percent_with_interval
from .journal import Journal
from .packing import pack
from .results import (
    AgentDetails,
    Ladder,
    Pairing,
    Result,
    fit_ladder,
    is_rated_as_played,
    pairing_from_tally,
    sort_by_rating,
)
from .schedule import MAX_PAIRS, Limits, PairingProgress, RecordWriter, Schedule

if TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULT_HANDS = 10_000


class ArenaOptions(TypedDict, total=False):
    """Options of `Arena`, `evaluate` and `ladder`.

    `hands` is the number of hands of each pairing (matches, where a match is played), an even
    number, since half of them have the seats exchanged. With `until` a pairing stops as soon as
    the margin of error of the win rate (95 %) is no larger, and `hands` is the limit.
    `seed` is the seed of the deals and `key`, 32 hexadecimal digits, of all other random numbers:
    by default it follows from the seed; the result contains it. `on` says where the workers are:
    `local` processes, or a Ray cluster, as `ray` or `ray://HOST:PORT`. `play_out` plays endings
    where their exact value could take their place. `reduce_variance` takes the luck of the stock
    out of win rates, margins and points (AIVAT). `resume` is a file that keeps every chunk, from
    which the same run is resumed. `records` is called with each hand's record line.
    """

    hands: int | None
    until: float | None
    match: Match | int | None
    seed: int
    key: str | None
    workers: int
    on: str
    play_out: bool
    reduce_variance: bool
    records: RecordWriter | None
    resume: Path | None


class Arena:
    """A tournament; `evaluate` and `ladder` make one and play it.

    `pairings` are pairs of indices into `agents`. An agent written `NAME=AGENT` is reported as
    NAME. Without `rules` the classic ones are played, or those of the agents' checkpoints.
    """

    def __init__(
        self,
        agents: Sequence[AgentSpec],
        pairings: Sequence[tuple[int, int]],
        rules: RulesLike | None = None,
        *,
        anchor: str | None = None,
        rated: bool = False,
        **options: Unpack[ArenaOptions],
    ) -> None:
        _check_options("Arena", options)
        resume, key = options.get("resume"), options.get("key")
        self._journal = None if resume is None else Journal(resume)
        if self._journal is not None and key is None:
            key = self._journal.key
        seed = _checked_int(options.get("seed", 0), "seed", 0, 2**64 - 1)
        self.config = PlayConfig(
            common_rules(agents, rules),
            as_match(options.get("match")),
            seed,
            secret_of_seed(seed, "arena") if key is None else _key_bytes(key),
            records=options.get("records") is not None,
            play_out=options.get("play_out", False),
            reduce_variance=options.get("reduce_variance", False),
        )
        if self.config.reduce_variance:
            check_luck(self.config.rules, self.config.match)
        self.limits = _limits(options.get("hands"), options.get("until"))
        self.workers = _checked_int(options.get("workers", 1), "workers", 1, MAX_WORKERS)
        self.on = check_backend(options.get("on", LOCAL))
        if self.workers > 1 and not _are_names(agents):
            raise ValueError(
                "agents that are objects play in this process alone: give their names, or workers=1"
            )
        self._specs = [(agents[i], agents[j]) for i, j in pairings]
        # Made here even where workers play: an error of an agent is raised before anything starts.
        self._chunk_player = ChunkPlayer(self._specs, self.config)
        pairs = [self._chunk_player.agent_pairs(index)[0] for index in range(len(pairings))]
        self.names = _names(agents, pairings, pairs)
        agent_of = dict(zip(chain(*pairings), chain(*pairs), strict=True))
        self.details = tuple(
            AgentDetails.of(name, agent_of[i]) for i, name in enumerate(self.names)
        )
        self._rated, self._anchor = rated, anchor
        if rated:
            _check_ladder(self.names, anchor)
        if self._journal is not None:
            if not _are_names(agents):
                raise ValueError("a run with agents that are objects cannot be resumed: name them")
            self._journal.begin(self._identity([*agents], pairings))
        self.schedule = Schedule(
            [
                PairingProgress(
                    (self.names[i], self.names[j]), (has_exact_endings(one), has_exact_endings(two))
                )
                for (i, j), (one, two) in zip(pairings, pairs, strict=True)
            ],
            self.limits,
            journal=self._journal,
            write_record=options.get("records"),
        )
        self._replaced = 0
        """Number of workers that died."""
        self._stopped_by = ""
        """Why the run ended early; empty if it did not."""
        self._signal = 0
        self._began = time.monotonic()

    def _identity(self, agents: list[str], pairings: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Everything that must be equal in a run that resumes from a file."""
        config = self.config
        return {
            "agents": agents,
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
        """Play to the end; Ctrl-C ends it early, with the results so far."""
        self._began = time.monotonic()
        complete = False
        # Signals that would end the process outright are left alone.
        handled = [number for number in END_SIGNALS if callable(signal.getsignal(number))]
        with SignalGuard(handled) as signals:
            try:
                with signals.immediate(), self._executor() as executor:
                    try:
                        for task, chunk in executor.results(self.schedule.next_task):
                            self.schedule.add(task, chunk)
                            if progress is not None:
                                progress(self)
                            if signals.received is not None:
                                raise KeyboardInterrupt
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
                interrupted = self._signal == signal.SIGINT
                name = "Ctrl-C" if interrupted else signal.Signals(self._signal).name
                self._stopped_by = f"stopped by {name}"
        self.schedule.write_records()
        return self._result(complete)

    def _executor(self) -> Executor[Task, Chunk] | InProcessExecutor[Task, Chunk]:
        if self.workers == 1 and self.on == LOCAL:
            return InProcessExecutor(self._chunk_player.play)
        agents, files = pack(chain.from_iterable(self._specs), self.on)
        return Executor(chunk_worker, (self.config, agents), self.workers, self.on, files=files)

    # -- results so far

    @property
    def hands(self) -> int:
        """Hands played so far (matches, where a match is played)."""
        return SEATS * sum(pairing.tally.pairs for pairing in self.schedule.pairings)

    def pairing(self, played: PairingProgress) -> Pairing:
        tricks = self.config.rules.tricks
        return pairing_from_tally(played.agents, played.perfect, tricks, played.tally)

    def _started(self) -> list[PairingProgress]:
        return [pairing for pairing in self.schedule.pairings if pairing.tally.pairs]

    def scores(self) -> list[Array]:
        """For each pairing with results, the games that its agent won on each deal."""
        return [np.concatenate(played.scores) for played in self._started()]

    def _rated_scores(self, pairings: Sequence[Pairing]) -> list[Array]:
        """The scores for ratings: without luck, but as played where `is_rated_as_played`."""
        rated = self.scores()
        if self.config.reduce_variance:
            for number, played in enumerate(self._started()):
                if not is_rated_as_played(pairings[number]):
                    rated[number] = rated[number] - np.concatenate(played.luck)
        return rated

    def status(self) -> str:
        """The pairing in play with its result so far, and the number of hands in all."""
        hands = f"{self.hands:,} {'matches' if self.config.match else 'hands'}"
        started = self._started()
        in_play = [played for played in started if not played.done] or started
        if not in_play:
            return hands
        # Of several pairings the one whose result is least certain.
        pairing = max(
            map(self.pairing, in_play), key=lambda pairing: pairing.win_rate.margin_of_error
        )
        win_rate = percent_with_interval(pairing.win_rate)
        return f"{pairing.agent} – {pairing.opponent} {win_rate}, {hands}"

    def _result(self, complete: bool) -> Result:
        pairings = tuple(map(self.pairing, self._started()))
        ladder: Ladder | None = None
        if self._rated:
            ladder = fit_ladder(self.names, pairings, self._rated_scores(pairings), self._anchor)
        if ladder is not None:
            pairings = sort_by_rating(ladder, pairings)
        config = self.config
        return Result(
            rules=config.rules.name,
            match=str(config.match) if config.match else None,
            seed=config.seed,
            key=config.key.hex(),
            agents=self.names,
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
        if self._stopped_by:
            resume = (
                ""
                if self._journal is None
                else (f"; the same command goes on from {self._journal.path}")
            )
            yield f"The run is not complete: {self._stopped_by}{resume}."
        for details in self.details:
            yield from seen_deals(details, self.config.seed)
        if self._journal is not None and self._journal.fault:
            yield f"{self._journal.path} could not be written to the end: {self._journal.fault}."
        if any(pairing.exact_endings for pairing in pairings):
            yield (
                "Where both agents are perfect in the endgame it was not played: its exact value, "
                "the result of perfect play, took its place."
            )
        if self.config.reduce_variance:
            yield (
                "Win rate, margin and points are without the luck of the stock, which is zero on "
                "average; the win rate with it is under as played."
            )
            yield from _notes_on_reduced(pairings, ladder is not None)
        if self._replaced:
            count = self._replaced
            died = "A worker process" if count == 1 else f"{count} worker processes"
            yield f"{died} died; the deals were played again."
        if ladder is not None:
            yield from ladder.notes()
        for pairing in self.schedule.pairings:
            if pairing.tally.always_level:
                yield (
                    f"{' and '.join(pairing.agents)} came out level on every deal, as agents "
                    "do that make the same choices in every hand: nothing was measured."
                )
        if self.limits.until is not None and not self._stopped_by:
            until, hands = self.limits.until, SEATS * self.limits.pairs
            if any(pairing.win_rate.margin_of_error > until for pairing in pairings):
                yield f"{hands:,} hands a pairing did not reach {until:.2%}."
        forfeits = [forfeit for pairing in pairings for forfeit in pairing.forfeits]
        yield from (f"{forfeit}." for forfeit in forfeits)
        if forfeits and self.config.records:
            yield "Forfeited hands have no record."


def seen_deals(details: AgentDetails, seed: int) -> Iterator[str]:
    """A sentence for each network that was trained on the deals of a seed, by its card."""
    for model in details.checkpoints:
        path = Path(model.file)
        if path.suffix != WEIGHTS or not path.exists():
            continue  # networks of the package, and files that do not name their seed
        card = read_fields(path)
        settings, hands = card.get("settings"), card.get("hands")
        if isinstance(settings, dict) and settings.get("seed") == seed:
            count = f"{hands:,} " if isinstance(hands, int) else ""
            yield (
                f"{details.name} was trained with seed {seed}, that of the deals played here: the "
                f"{count}hands of its training began with them."
            )


def _notes_on_reduced(pairings: Sequence[Pairing], rated: bool) -> Iterator[str]:
    """What to know of win rates without luck that reach 0 or 100 %."""
    beyond = [pairing for pairing in pairings if is_rated_as_played(pairing)]
    if not beyond:
        return
    names = ", ".join(f"{pairing.agent} – {pairing.opponent}" for pairing in beyond)
    ratings = " Ratings count these as played." if rated else ""
    yield (
        f"Less luck, a win rate or its interval can reach beyond 0 or 100 % ({names}): the true "
        f"one lies within, and more hands bring the estimate there.{ratings}"
    )


def show_on(progress: Progress) -> Callable[[Arena], None]:
    """A callback that shows a tournament on a progress bar."""

    def show(arena: Arena) -> None:
        if progress.due():
            progress.update(arena.schedule.fraction_done(), arena.status())

    return show


# -- checks of the options


def _are_names(agents: Sequence[AgentSpec]) -> bool:
    return all(isinstance(agent, str) for agent in agents)


def _checked_int(value: object, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}: it has to be a whole number from {low} to {high}")
    return value


def _limits(hands: int | None, until: float | None) -> Limits:
    """The stopping rule; half of the hands are the other half with exchanged seats."""
    if until is not None and not 0 < until < 0.5:
        raise ValueError(f"until is {until}: it has to be more than 0 % and less than 50 %")
    if hands is None and until is not None:
        return Limits(MAX_PAIRS, until)
    hands = _checked_int(DEFAULT_HANDS if hands is None else hands, "hands", 1, 2 * MAX_PAIRS)
    if hands % SEATS:
        near = f"{hands - 1} or {hands + 1}" if hands > 1 else "2"
        raise ValueError(
            f"hands is {hands}: every deal is played twice with the seats exchanged, so it has to "
            f"be an even number; give {near}"
        )
    return Limits(hands // SEATS, until)


def _key_bytes(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except (TypeError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(
            f"key is {text!r}: it has to be {2 * KEY_BYTES} hexadecimal digits, as results "
            "contain; leave it out for a new one"
        )
    return key


def _names(
    agents: Sequence[AgentSpec],
    pairings: Sequence[tuple[int, int]],
    pairs: Sequence[tuple[Agent, Agent]],
) -> tuple[str, ...]:
    """The names of the agents: those on the command line, or their agents'."""
    names = [parse_agent_name(agent)[0] if isinstance(agent, str) else "" for agent in agents]
    for indices, pair in zip(pairings, pairs, strict=True):
        for index, made in zip(indices, pair, strict=True):
            names[index] = names[index] or made.name
    owners = dict(zip(names, agents, strict=True))
    for name, agent in zip(names, agents, strict=True):
        if isinstance(agent, str) and owners[name] != agent:
            raise ValueError(f"{name} is what {owners[name]} and {agent} are called: name one anew")
    return tuple(names)


def _check_ladder(names: tuple[str, ...], anchor: str | None) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} stands twice in the ladder: each agent once")
    if anchor is not None and anchor not in names:
        raise ValueError(f"anchor is {anchor!r}: it has to be one of {', '.join(names)}")


# -- the two kinds of tournaments


def _check_options(function: str, options: Mapping[str, object]) -> None:
    for name in options:
        if name not in ArenaOptions.__annotations__:
            near = suggest(name, ArenaOptions.__annotations__)
            raise TypeError(f"{function}() has no option {name!r}{near}")


def evaluate(
    agent: AgentSpec,
    against: AgentSpec | Sequence[AgentSpec],
    rules: RulesLike | None = None,
    *,
    progress: Callable[[Arena], None] | None = None,
    **options: Unpack[ArenaOptions],
) -> Result:
    """Play one agent against one or more others; options of `Arena`.

    >>> evaluate("threshold", "random", hands=200).pairings[0].win_rate.value > 0.9
    True
    """
    _check_options("evaluate", options)
    opponents = list(against) if isinstance(against, (list, tuple)) else [against]
    pairings = [(0, index) for index in range(1, len(opponents) + 1)]
    return Arena([agent, *opponents], pairings, rules, **options).play(progress)


def ladder(
    agents: Sequence[AgentSpec],
    rules: RulesLike | None = None,
    *,
    progress: Callable[[Arena], None] | None = None,
    anchor: str | None = None,
    **options: Unpack[ArenaOptions],
) -> Result:
    """Play a round robin, and rate the agents; options of `Arena`."""
    _check_options("ladder", options)
    if len(agents) < 2:
        raise ValueError("a ladder needs two agents or more")
    pairings = list(combinations(range(len(agents)), 2))
    return Arena(agents, pairings, rules, anchor=anchor, rated=True, **options).play(progress)
