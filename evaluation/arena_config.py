"""Options of a tournament, checked: what is played, when it ends, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np

from ..agents.registry import common_rules
from ..common.executors import LOCAL, check_backend
from ..common.executors.executor import MAX_WORKERS
from ..common.files import checked_path
from ..engine.checks import check_function, checked_flag
from ..engine.dtypes import SEATS
from ..engine.rng import KEY_BYTES, secret_of_seed
from ..engine.rules import Match, RulesLike, as_match
from .aivat import check_luck
from .chunk_player import AgentSpec, PlayConfig
from .journal import Journal
from .schedule import MAX_PAIRS, RecordWriter, StoppingRule

DEFAULT_HANDS = 10_000


@dataclass(frozen=True)
class ArenaConfig:
    """Checked options of a tournament."""

    play: PlayConfig
    """Options that every worker gets."""
    stopping_rule: StoppingRule
    workers: int
    on: str
    write_record: RecordWriter | None
    journal: Journal | None

    @classmethod
    def of(
        cls,
        agents: Sequence[AgentSpec],
        rules: RulesLike | None = None,
        *,
        hands: int | None = None,
        until: float | None = None,
        match: Match | int | None = None,
        seed: int = 0,
        key: str | None = None,
        workers: int = 1,
        on: str = LOCAL,
        play_out: bool = False,
        reduce_variance: bool = False,
        records: RecordWriter | None = None,
        resume: str | Path | None = None,
        progress: object = None,
    ) -> ArenaConfig:
        """Check the options of `evaluate` and `ladder`, which explain them."""
        if records is not None:
            check_function(records, "records", "each hand's line, as records=lines.append")
        if progress is not None:
            check_function(progress, "progress", "the Arena")
        journal = None if resume is None else Journal(checked_path(resume))
        if journal is not None and key is None:
            key = journal.key
        seed = _checked_int(seed, "seed", 0, 2**64 - 1)
        play = PlayConfig(
            common_rules(agents, rules),
            as_match(match),
            seed,
            secret_of_seed(seed, "arena") if key is None else _key_bytes(key),
            records=records is not None,
            play_out=checked_flag("play_out", play_out),
            reduce_variance=checked_flag("reduce_variance", reduce_variance),
        )
        if play.reduce_variance:
            check_luck(play.rules, play.match)
        config = cls(
            play,
            _stopping_rule(hands, until),
            workers=_checked_int(workers, "workers", 1, MAX_WORKERS),
            on=check_backend(on),
            write_record=records,
            journal=journal,
        )
        if not all(isinstance(agent, (str, Path)) for agent in agents):
            if config.workers > 1:
                raise ValueError(
                    "agents that are objects play in this process alone: give their names, or "
                    "workers=1"
                )
            if journal is not None:
                raise ValueError("a run with agents that are objects cannot be resumed: name them")
        return config


def _checked_int(value: object, name: str, low: int, high: int) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if low <= number <= high:
            return number
    raise ValueError(f"{name} is {value!r}: it has to be a whole number from {low} to {high}")


def _stopping_rule(hands: int | None, until: float | None) -> StoppingRule:
    """The stopping rule; half of the hands are the other half with exchanged seats."""
    if until is not None and not (isinstance(until, Real) and 0 < until < 0.5):
        raise ValueError(f"until is {until!r}: it has to be more than 0 % and less than 50 %")
    if hands is None and until is not None:
        return StoppingRule(MAX_PAIRS, until)
    hands = _checked_int(DEFAULT_HANDS if hands is None else hands, "hands", 1, 2 * MAX_PAIRS)
    if hands % SEATS:
        near = f"{hands - 1} or {hands + 1}" if hands > 1 else "2"
        raise ValueError(
            f"hands is {hands}: every deal is played twice with the seats exchanged, so it has to "
            f"be an even number; give {near}"
        )
    return StoppingRule(hands // SEATS, until)


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
