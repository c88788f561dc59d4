"""Tournaments: some agents against one or all others, to a number of hands or a precision.

`Arena.play` takes chunks of deals from a `Schedule`, has a `ChunkPlayer` play them, in
this process or in workers, and gives the tallies back to the schedule; `results` turns them into
metrics.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations
from pathlib import Path

import numpy as np

from ..agents.checkpoints import WEIGHTS, read_fields
from ..agents.registry import (
    check_agents,
    code_of_agents,
    is_own_code,
    named_code,
    parse_agent_name,
)
from ..common.executors import (
    LOCAL,
    Executor,
    InProcessExecutor,
    WorkersLost,
)
from ..common.jit.side_by_side import compiled_side_by_side
from ..common.progress import Progress
from ..common.signals import END_SIGNALS, SignalGuard
from ..common.typing import Array
from ..engine.batch.config import checked_keywords
from ..engine.dtypes import SEATS
from ..engine.rules import Match, RulesLike
from .arena_config import ArenaConfig
from .chunk_player import (
    AgentSpec,
    Chunk,
    ChunkPlayer,
    Opponents,
    Task,
    chunk_worker,
    compile_play,
    has_exact_endings,
    make_all,
)
from .formats import percent_with_interval
from .packing import pack
from .results import (
    AgentDetails,
    AgentTraceback,
    EveryHandForfeited,
    Ladder,
    Pairing,
    Result,
    fit_ladder,
    is_rated_as_played,
    pairing_from_tally,
    sort_by_rating,
)
from .schedule import PairingProgress, RecordWriter, Schedule


class Arena:
    """A tournament; `evaluate` and `ladder` make one and play it.

    `pairings` are pairs of indices into `agents`. An agent written `NAME=AGENT` is reported as
    NAME.
    """

    def __init__(
        self,
        agents: Sequence[AgentSpec],
        pairings: Sequence[tuple[int, int]],
        config: ArenaConfig,
        *,
        rated: bool = False,
        anchor: str | None = None,
    ) -> None:
        self.config = config
        agents = [str(agent) if isinstance(agent, Path) else agent for agent in agents]
        self._specs = [(agents[i], agents[j]) for i, j in pairings]
        check_agents(agents, config.play.rules)
        if rated and all(isinstance(agent, str) for agent in agents):
            _check_ladder([parse_agent_name(str(agent))[0] for agent in agents], anchor)
        # Made here even where workers play: an error of an agent is raised before anything starts.
        self._chunk_player = ChunkPlayer(self._specs, config.play)
        own = [agent for agent in agents if isinstance(agent, str) and is_own_code(agent)]
        with compiled_side_by_side(partial(make_all, own, [config.play])):
            by_half = map(self._chunk_player.opponents_by_half, range(len(pairings)))
            opponents = [first_half for first_half, _ in by_half]
            compile_play(config.play)
        self.names = _names(agents, pairings, opponents)
        agent_of = dict(zip(chain(*pairings), chain(*opponents), strict=True))
        self.details = tuple(
            AgentDetails.of(name, agent_of[i]) for i, name in enumerate(self.names)
        )
        self._rated, self._anchor = rated, anchor
        if rated:
            _check_ladder(self.names, anchor)
        if config.journal is not None:
            names = [str(agent) for agent in agents]
            modules = [named_code(name).partition(":")[0] for name in names]
            code = code_of_agents(agent_of.values(), modules)
            config.journal.begin(self._identity(names, code, pairings))
        self.schedule = Schedule(
            [
                PairingProgress(
                    (self.names[i], self.names[j]), (has_exact_endings(one), has_exact_endings(two))
                )
                for (i, j), (one, two) in zip(pairings, opponents, strict=True)
            ],
            config.stopping_rule,
            journal=config.journal,
            write_record=config.write_record,
        )
        self._replaced = 0
        """Number of workers that died."""
        self._stopped_by = ""
        """Why the run ended early; empty if it did not."""
        self._signal = 0
        self._began = time.monotonic()

    def _identity(
        self, agents: list[str], code: dict[str, str], pairings: Sequence[tuple[int, int]]
    ) -> dict[str, object]:
        """Everything that must be equal in a run that resumes from a file."""
        config = self.config.play
        return {
            "agents": agents,
            "details": self.details,
            "pairings": [*pairings],
            "rules": config.rules.as_mapping(),
            "match": str(config.match),
            "seed": config.seed,
            "key": config.key.hex(),
            "hands": SEATS * self.config.stopping_rule.pairs,
            "until": self.config.stopping_rule.until,
            "play_out": config.play_out,
            "records": config.records,
            # Agents of the package alone have no code of others.
            **({"code": code} if code else {}),
            "reduce_variance": config.reduce_variance,
        }

    def play(self, progress: Callable[[Arena], None] | None = None) -> Result:
        """Play to the end; Ctrl-C ends it early, with the results so far.

        An agent that forfeited every hand is an error, `EveryHandForfeited`.
        """
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
        result = self._result(complete)
        if complete:
            self._refuse_forfeits(result)
        return result

    def _refuse_forfeits(self, result: Result) -> None:
        """Raise an error for an agent that forfeited every hand, from the error that it raised."""
        for name in result.forfeited_all:
            forfeit, *_ = result.forfeits(name)
            cause: BaseException | None = self._error_of(name)
            if cause is None and forfeit.trace:
                cause = AgentTraceback(forfeit.trace)
            raise EveryHandForfeited(
                f"{name} forfeited every hand, so that nothing was measured: {forfeit.example}; "
                "the `result` of this error has all that was played",
                result,
            ) from cause

    def _error_of(self, name: str) -> BaseException | None:
        """The first error of an agent that played in this process."""
        for (number, side), error in self._chunk_player.errors.items():
            if self.schedule.pairings[number].agents[side] == name:
                return error
        return None

    def _executor(self) -> Executor[Task, Chunk] | InProcessExecutor[Task, Chunk]:
        if self.config.workers == 1 and self.config.on == LOCAL:
            return InProcessExecutor(self._chunk_player.play)
        agents, files = pack(chain.from_iterable(self._specs), self.config.on)
        return Executor(
            chunk_worker,
            (self.config.play, agents),
            self.config.workers,
            self.config.on,
            files=files,
        )

    # -- results so far

    @property
    def hands(self) -> int:
        """Hands played so far (matches, where a match is played)."""
        return SEATS * sum(pairing.tally.pairs for pairing in self.schedule.pairings)

    def pairing(self, played: PairingProgress) -> Pairing:
        tricks = self.config.play.rules.tricks
        return pairing_from_tally(played.agents, played.perfect, tricks, played.tally)

    def _started(self) -> list[PairingProgress]:
        return [pairing for pairing in self.schedule.pairings if pairing.tally.pairs]

    def _rated_scores(self, pairings: Sequence[Pairing]) -> list[Array]:
        """For each pairing with results, the games that its agent won on each deal.

        Without luck where variance is reduced, but as played where `is_rated_as_played`.
        """
        rated = [np.concatenate(played.scores) for played in self._started()]
        if self.config.play.reduce_variance:
            for number, played in enumerate(self._started()):
                if not is_rated_as_played(pairings[number]):
                    rated[number] = rated[number] - np.concatenate(played.luck)
        return rated

    def status(self) -> str:
        """The pairing that is being played, with its result so far, and the hands of all."""
        unit = "matches" if self.config.play.match else "hands"
        started = self._started()
        in_play = [played for played in started if not played.done] or started
        if not in_play:
            return f"{self.hands:,} {unit}"
        # Of several pairings the one whose result is least certain.
        pairing = max(
            map(self.pairing, in_play), key=lambda pairing: pairing.win_rate.margin_of_error
        )
        win_rate = percent_with_interval(pairing.win_rate)
        games = f"{SEATS * pairing.pairs:,} {unit}"
        in_all = f", {self.hands:,} in all" if len(self.schedule.pairings) > 1 else ""
        return f"{pairing.agent} – {pairing.opponent} {win_rate} of {games}{in_all}"

    def _result(self, complete: bool) -> Result:
        pairings = tuple(map(self.pairing, self._started()))
        ladder: Ladder | None = None
        if self._rated:
            ladder = fit_ladder(self.names, pairings, self._rated_scores(pairings), self._anchor)
        if ladder is not None:
            pairings = sort_by_rating(ladder, pairings)
        config = self.config.play
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
            until=self.config.stopping_rule.until,
            notes=tuple(self._notes(pairings, ladder)),
            seconds=time.monotonic() - self._began,
            workers=self.config.workers,
        )

    def _notes(self, pairings: tuple[Pairing, ...], ladder: Ladder | None) -> Iterator[str]:
        play, stopping_rule, journal = (
            self.config.play,
            self.config.stopping_rule,
            self.config.journal,
        )
        if self._stopped_by:
            resume = f"; the same command goes on from {journal.path}" if journal else ""
            yield f"The run is not complete: {self._stopped_by}{resume}."
        for details in self.details:
            yield from seen_deals(details, play.seed)
        if journal is not None and journal.fault:
            yield f"{journal.path} could not be written to the end: {journal.fault}."
        if any(pairing.exact_endings for pairing in pairings):
            yield (
                "Where both agents are perfect in the endgame it was not played: its exact value, "
                "the result of perfect play, took its place."
            )
        if play.reduce_variance:
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
        if stopping_rule.until is not None and not self._stopped_by:
            until, hands = stopping_rule.until, SEATS * stopping_rule.pairs
            if any(pairing.win_rate.margin_of_error > until for pairing in pairings):
                yield f"{hands:,} hands a pairing did not reach {until:.2%}."
        forfeits = [forfeit for pairing in pairings for forfeit in pairing.forfeits]
        yield from (f"{forfeit}." for forfeit in forfeits)
        if forfeits and play.records:
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


def _names(
    agents: Sequence[AgentSpec],
    pairings: Sequence[tuple[int, int]],
    opponents: Sequence[Opponents],
) -> tuple[str, ...]:
    """The names of the agents: those on the command line, or their agents'."""
    names = [parse_agent_name(agent)[0] if isinstance(agent, str) else "" for agent in agents]
    for indices, both in zip(pairings, opponents, strict=True):
        for index, made in zip(indices, both, strict=True):
            names[index] = names[index] or made.name
    owners = dict(zip(names, agents, strict=True))
    for name, agent in zip(names, agents, strict=True):
        if isinstance(agent, str) and owners[name] != agent:
            raise ValueError(f"{name} is what {owners[name]} and {agent} are called: name one anew")
    # Different objects may have one name, such as that of their class.
    taken: dict[str, AgentSpec] = {}
    for place, agent in enumerate(agents):
        number, name = 2, names[place]
        while taken.setdefault(names[place], agent) is not agent and not isinstance(agent, str):
            names[place] = f"{name}-{number}"
            number += 1
    return tuple(names)


def _check_ladder(names: Sequence[str], anchor: str | None) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} stands twice in the ladder: each agent once")
    if anchor is not None and anchor not in names:
        raise ValueError(f"anchor is {anchor!r}: it has to be one of {', '.join(names)}")


# -- the two kinds of tournaments


@checked_keywords()
def evaluate(
    agent: AgentSpec,
    against: AgentSpec | Sequence[AgentSpec],
    rules: RulesLike | None = None,
    *,
    hands: int | None = None,
    until: float | None = None,
    match: Match | int | None = None,
    seed: int = 0,
    key: str | None = None,
    workers: int = 1,
    on: str = "local",
    play_out: bool = False,
    reduce_variance: bool = False,
    records: RecordWriter | None = None,
    resume: str | Path | None = None,
    progress: Callable[[Arena], None] | None = None,
) -> Result:
    """Play one agent against one or more others on the same deals with seats exchanged.

    Returns a `Result`. Its `text()` is the report that the command `evaluate` prints. Each of its
    `pairings` has a `win_rate` with a 95 % interval.

    >>> evaluate("threshold", "random", hands=200).pairings[0].win_rate.value > 0.9
    True

    - `agent`, `against`: agents by name, paths of checkpoints or runs, `Agent` objects or classes,
      or functions. `against` may be a list.
    - `rules`: the rule set. `None` (default): that of the checkpoints, otherwise `"classic"`.
    - `hands`: the number of hands of each pairing, or of matches if matches are played. It has to
      be even, because every deal is played twice, with seats exchanged. `None` (default): 10,000,
      or as many as `until` needs.
    - `until`: stop a pairing when half of the 95 % interval of its win rate is at most this, for
      example 0.01. `None` (default): play all hands.
    - `match`: what is played. `None` (default): single hands. A number of points or a `Match`:
      matches.
    - `seed`: the seed of the deals (0).
    - `key`: 32 hexadecimal digits, the seed of all other random numbers. `None` (default): it is
      computed from `seed`.
    - `workers`: the number of processes (1).
    - `on`: where the processes are. `"local"` (default): on this machine. `"ray"` or
      `"ray://HOST:PORT"`: on a Ray cluster.
    - `play_out`: `False` (default): if the exact solver plays an endgame for both agents, its exact
      value is used. `True`: such endgames are played, too.
    - `reduce_variance`: `True`: the luck of the stock is subtracted from the results, so that
      intervals are narrower (AIVAT). `False` by default.
    - `records`: a function that gets the record of each hand as a line of text.
    - `resume`: a file in which the progress is stored. The same call continues from there.
    - `progress`: a function that is called with the `Arena` from time to time.
    """
    opponents = list(against) if isinstance(against, (list, tuple)) else [against]
    if not opponents:
        raise ValueError("there is no opponent: name one or several after the agent")
    pairings = [(0, index) for index in range(1, len(opponents) + 1)]
    agents = [agent, *opponents]
    config = ArenaConfig.of(
        agents,
        rules,
        hands=hands,
        until=until,
        match=match,
        seed=seed,
        key=key,
        workers=workers,
        on=on,
        play_out=play_out,
        reduce_variance=reduce_variance,
        records=records,
        resume=resume,
        progress=progress,
    )
    return Arena(agents, pairings, config).play(progress)


@checked_keywords()
def ladder(
    agents: Sequence[AgentSpec],
    rules: RulesLike | None = None,
    *,
    anchor: str | None = None,
    hands: int | None = None,
    until: float | None = None,
    match: Match | int | None = None,
    seed: int = 0,
    key: str | None = None,
    workers: int = 1,
    on: str = "local",
    play_out: bool = False,
    reduce_variance: bool = False,
    records: RecordWriter | None = None,
    resume: str | Path | None = None,
    progress: Callable[[Arena], None] | None = None,
) -> Result:
    """Let every agent play every other one, and rate them.

    Returns a `Result`. Its `text()` is the report that the command `ladder` prints, and its
    `ladder.ranked()` lists the agents by Elo rating.

    - `agents`: two or more agents by name, paths of checkpoints or runs, `Agent` objects or
      classes, or functions.
    - `anchor`: the agent that gets the rating 1000. `None` (default): the mean rating is 1000.
    - `rules`: the rule set. `None` (default): that of the checkpoints, otherwise `"classic"`.
    - `hands`: the number of hands of each pairing, or of matches if matches are played. It has to
      be even, because every deal is played twice, with seats exchanged. `None` (default): 10,000,
      or as many as `until` needs.
    - `until`: stop a pairing when half of the 95 % interval of its win rate is at most this, for
      example 0.01. `None` (default): play all hands.
    - `match`: what is played. `None` (default): single hands. A number of points or a `Match`:
      matches.
    - `seed`: the seed of the deals (0).
    - `key`: 32 hexadecimal digits, the seed of all other random numbers. `None` (default): it is
      computed from `seed`.
    - `workers`: the number of processes (1).
    - `on`: where the processes are. `"local"` (default): on this machine. `"ray"` or
      `"ray://HOST:PORT"`: on a Ray cluster.
    - `play_out`: `False` (default): if the exact solver plays an endgame for both agents, its exact
      value is used. `True`: such endgames are played, too.
    - `reduce_variance`: `True`: the luck of the stock is subtracted from the results, so that
      intervals are narrower (AIVAT). `False` by default.
    - `records`: a function that gets the record of each hand as a line of text.
    - `resume`: a file in which the progress is stored. The same call continues from there.
    - `progress`: a function that is called with the `Arena` from time to time.
    """
    if isinstance(agents, str) or not isinstance(agents, Sequence) or len(agents) < 2:
        raise ValueError("a ladder needs two agents or more")
    pairings = list(combinations(range(len(agents)), 2))
    config = ArenaConfig.of(
        agents,
        rules,
        hands=hands,
        until=until,
        match=match,
        seed=seed,
        key=key,
        workers=workers,
        on=on,
        play_out=play_out,
        reduce_variance=reduce_variance,
        records=records,
        resume=resume,
        progress=progress,
    )
    return Arena(agents, pairings, config, rated=True, anchor=anchor).play(progress)
