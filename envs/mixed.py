"""Self-play by several rule sets at once: each has its share of the games, all step together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..common.jit.compiler import jit, warm_up
from ..engine.batch.batch import STATE_ARRAYS, Array, action_array
from ..engine.batch.config import GameOptions, RulesLike, checked_keywords
from ..engine.batch.cpu_backend import RowBuffers
from ..engine.batch.results import StepResult
from ..engine.observation.rule_features import rule_features
from ..engine.rng import secret_of_seed
from ..engine.rules import load_rules
from ..engine.seeding import checked_count
from .self_play import SelfPlayEnv

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MixedSelfPlayEnv:
    """`n` games in which a learner plays both seats, as many of each rule set as of the others.

    What tells the rule sets apart is in `rule_features`, a row for each game. Actions, masks
    and flat observations are as wide as the widest rule set has them.

    >>> env = MixedSelfPlayEnv(1024, ["classic", "all-tricks"])
    >>> now = env.reset(seed=1)
    >>> seen = np.concatenate([now.observations, env.rule_features], axis=1)
    """

    @checked_keywords
    def __init__(
        self,
        num_envs: int,
        rules: Sequence[RulesLike],
        *,
        copy: bool = True,
        threads: int = 1,
        device: str = "cpu",
        **options: Unpack[GameOptions],
    ) -> None:
        """The options are those of `SelfPlayEnv`, for every rule set alike."""
        self.num_envs: int = checked_count(num_envs, "num_envs")
        loaded = [load_rules(each) for each in rules]
        if not 0 < len(loaded) <= self.num_envs:
            raise ValueError(
                f"num_envs is {num_envs}, and there are {len(loaded)} rule sets: every rule set "
                "needs a game, and there has to be one"
            )
        ends = [self.num_envs * k // len(loaded) for k in range(len(loaded) + 1)]
        self._spans = [slice(*ends) for ends in pairwise(ends)]
        self._parts = [
            SelfPlayEnv(
                span.stop - span.start, each, copy=copy, threads=threads, device=device, **options
            )
            for each, span in zip(loaded, self._spans, strict=True)
        ]
        self.actions: int = max(each.actions for each in loaded)
        shapes = [part.options.observation_shape for part in self._parts]
        self._seen = tuple(map(max, zip(*shapes, strict=True)))
        self._wide = self._room() if len(loaded) > 1 and not copy else None
        if len(loaded) > 1 and device == "cpu":
            warm_up(
                "self-play by several rule sets", "envs",
                lambda: self._put_beside(self._room(), self._room(), slice(0, 0)),
            )  # fmt: skip
        self.rule_features: npt.NDArray[np.int8] = np.repeat(
            np.array([rule_features(each) for each in loaded]), np.diff(ends), axis=0
        )
        """`(n, places)`: of the rule set of each game."""

    def parts(self) -> Iterator[tuple[SelfPlayEnv, slice]]:
        """The games of each rule set, and where they stand among all."""
        return zip(self._parts, self._spans, strict=True)

    def reset(self, seed: int | None = None) -> StepResult:
        """Deal every game; the first rule set gets the deals of the seed, the others' follow it."""
        return self._together([
            part.reset(seed if k == 0 or seed is None else _following(seed, k))
            for k, part in enumerate(self._parts)
        ])  # fmt: skip

    def look(self) -> StepResult:
        """What the seats to move see now, as if nothing had just been paid or ended."""
        return self._together([part.look() for part in self._parts])

    def step(self, actions: Any) -> StepResult:
        """Play an action in every game, for the seat to move; what ended is dealt anew."""
        chosen = action_array(actions, self.num_envs)
        return self._together([part.step(chosen[span]) for part, span in self.parts()])

    def _together(self, rounds: list[StepResult]) -> StepResult:
        if len(rounds) == 1:
            return rounds[0]
        now = self._wide or self._room()
        for each, span in zip(rounds, self._spans, strict=True):
            self._put_beside(now, each, span)
        return now

    def _room(self) -> StepResult:
        """Room for what all show; what is narrower has zeros behind it."""
        zeros, n = self._parts[0].batch.backend.zeros, self.num_envs
        return StepResult(
            zeros((n, *self._seen), np.int8),
            zeros((n, self.actions), np.int8),
            zeros(n, np.uint8),
            zeros((n, 2), np.float32),
            zeros(n, np.bool_),
        )

    def _put_beside(self, now: StepResult, each: StepResult, span: slice) -> None:
        """Write what some games show to their places among all."""
        target = StepResult(*(array[span] for array in now))
        self._parts[0].batch.backend.run_rows(
            span.stop - span.start, put_rows, _flattened(each), _flattened(target)
        )

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays."""
        return {
            f"{name}{_ending(k)}": array
            for k, part in enumerate(self._parts)
            for name, array in part.state().items()
        }

    def restore(self, state: Mapping[str, Array]) -> StepResult:
        """Go on from what `state` gave, in an environment of the same options."""
        states = [
            {
                name: state[f"{name}{_ending(k)}"]
                for name in STATE_ARRAYS
                if f"{name}{_ending(k)}" in state
            }
            for k in range(len(self._parts))
        ]
        # What does not fit in one part changes nothing in another.
        for part, each in zip(self._parts, states, strict=True):
            part.batch.checked_state(each, over=False)
        return self._together(
            [part.restore(each) for part, each in zip(self._parts, states, strict=True)]
        )


def _flattened(result: StepResult) -> StepResult:
    """The same with one dimension of columns in its observations."""
    shape = result.observations.shape
    flat = result.observations.reshape(shape[0], math.prod(shape[1:]))
    return result._replace(observations=flat)


@jit
def put_rows(
    source: StepResult, target: StepResult, room: RowBuffers, start: int, stop: int
) -> None:
    """Copy some rows of a `StepResult` to one that may have more columns."""
    for index in range(start, stop):
        for column in range(source.observations.shape[1]):
            target.observations[index, column] = source.observations[index, column]
        for column in range(source.masks.shape[1]):
            target.masks[index, column] = source.masks[index, column]
        for seat in range(2):
            target.rewards[index, seat] = source.rewards[index, seat]
        target.seats[index] = source.seats[index]
        target.ended[index] = source.ended[index]


def _following(seed: int, k: int) -> int:
    """The seed of one more rule set, whose deals are other ones."""
    return int.from_bytes(secret_of_seed(seed, f"rules {k}")[:7], "little")


def _ending(k: int) -> str:
    return f".{k}" if k else ""
