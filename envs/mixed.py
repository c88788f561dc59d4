"""Self-play environment of several rule sets, with an equal share of the games each."""

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
    """`n` games in which a learner plays both seats, equally many of each rule set.

    `rule_features`, a row for each game, identify its rule set. Actions, masks and flat
    observations are padded to the widest rule set.

    >>> env = MixedSelfPlayEnv(1024, ["classic", "all-tricks"])
    >>> step = env.reset(seed=1)
    >>> inputs = np.concatenate([step.observations, env.rule_features], axis=1)
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
        self.num_envs: int = checked_count(num_envs, "num_envs")
        loaded = [load_rules(rule_set) for rule_set in rules]
        if not 0 < len(loaded) <= self.num_envs:
            raise ValueError(
                f"num_envs is {num_envs}, and there are {len(loaded)} rule sets: every rule set "
                "needs a game, and there has to be one"
            )
        ends = [self.num_envs * k // len(loaded) for k in range(len(loaded) + 1)]
        self._spans = [slice(*ends) for ends in pairwise(ends)]
        self._parts = [
            SelfPlayEnv(
                span.stop - span.start,
                rule_set,
                copy=copy,
                threads=threads,
                device=device,
                **options,
            )
            for rule_set, span in zip(loaded, self._spans, strict=True)
        ]
        self.actions: int = max(rule_set.actions for rule_set in loaded)
        shapes = [part.options.observation_shape for part in self._parts]
        self._observation_shape = tuple(map(max, zip(*shapes, strict=True)))
        self._combined = self._new_result() if len(loaded) > 1 and not copy else None
        if len(loaded) > 1 and device == "cpu":
            warm_up(
                "self-play by several rule sets", "envs",
                lambda: self._copy_part(self._new_result(), self._new_result(), slice(0, 0)),
            )  # fmt: skip
        self.rule_features: npt.NDArray[np.int8] = np.repeat(
            np.array([rule_features(rule_set) for rule_set in loaded]), np.diff(ends), axis=0
        )
        """`(n, features)`: those of each game's rule set."""

    def parts(self) -> Iterator[tuple[SelfPlayEnv, slice]]:
        """The environment of each rule set, and its slice of the games."""
        return zip(self._parts, self._spans, strict=True)

    def reset(self, seed: int | None = None) -> StepResult:
        """Deal every game; rule sets after the first have the deals of derived seeds."""
        return self._combine([
            part.reset(seed if k == 0 or seed is None else _derived_seed(seed, k))
            for k, part in enumerate(self._parts)
        ])  # fmt: skip

    def observe(self) -> StepResult:
        return self._combine([part.observe() for part in self._parts])

    def step(self, actions: Any) -> StepResult:
        chosen = action_array(actions, self.num_envs)
        return self._combine([part.step(chosen[span]) for part, span in self.parts()])

    def _combine(self, results: list[StepResult]) -> StepResult:
        if len(results) == 1:
            return results[0]
        result = self._combined or self._new_result()
        for part, span in zip(results, self._spans, strict=True):
            self._copy_part(result, part, span)
        return result

    def _new_result(self) -> StepResult:
        zeros, n = self._parts[0].batch.backend.zeros, self.num_envs
        return StepResult(
            zeros((n, *self._observation_shape), np.int8),
            zeros((n, self.actions), np.int8),
            zeros(n, np.uint8),
            zeros((n, 2), np.float32),
            zeros(n, np.bool_),
        )

    def _copy_part(self, result: StepResult, part: StepResult, span: slice) -> None:
        target = StepResult(*(array[span] for array in result))
        self._parts[0].batch.backend.run_rows(
            span.stop - span.start, copy_rows, _flattened(part), _flattened(target)
        )

    def state(self) -> dict[str, Array]:
        return {
            f"{name}{_suffix(k)}": array
            for k, part in enumerate(self._parts)
            for name, array in part.state().items()
        }

    def restore(self, state: Mapping[str, Array]) -> StepResult:
        states = [
            {
                name: state[f"{name}{_suffix(k)}"]
                for name in STATE_ARRAYS
                if f"{name}{_suffix(k)}" in state
            }
            for k in range(len(self._parts))
        ]
        # Check all parts before any is changed.
        for part, part_state in zip(self._parts, states, strict=True):
            part.batch.checked_state(part_state, over=False)
        return self._combine(
            [part.restore(part_state) for part, part_state in zip(self._parts, states, strict=True)]
        )


def _flattened(result: StepResult) -> StepResult:
    shape = result.observations.shape
    flat = result.observations.reshape(shape[0], math.prod(shape[1:]))
    return result._replace(observations=flat)


@jit
def copy_rows(
    source: StepResult, target: StepResult, workspace: RowBuffers, start: int, stop: int
) -> None:
    """Copy rows of a `StepResult` to one that may have more columns."""
    for index in range(start, stop):
        for column in range(source.observations.shape[1]):
            target.observations[index, column] = source.observations[index, column]
        for column in range(source.masks.shape[1]):
            target.masks[index, column] = source.masks[index, column]
        for seat in range(2):
            target.rewards[index, seat] = source.rewards[index, seat]
        target.seats[index] = source.seats[index]
        target.ended[index] = source.ended[index]


def _derived_seed(seed: int, k: int) -> int:
    return int.from_bytes(secret_of_seed(seed, f"rules {k}")[:7], "little")


def _suffix(k: int) -> str:
    return f".{k}" if k else ""
