"""Self-play environment of several rule sets, with an equal share of the games each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..engine.batch.batch import STATE_ARRAYS, Array
from ..engine.batch.config import GameOptions, RulesLike, checked_keywords
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
            SelfPlayEnv(span.stop - span.start, rules, threads=threads, device=device, **options)
            for rules, span in zip(loaded, self._spans, strict=True)
        ]
        for part, span in self.parts():
            part.batch.first_game = span.start
        self.actions: int = max(rule_set.actions for rule_set in loaded)
        shapes = [part.options.observation_shape for part in self._parts]
        self._observation_shape = tuple(map(max, zip(*shapes, strict=True)))
        backend = self._parts[0].batch.backend
        # Padding is never written.
        self._new_array = backend.zeros if len({*shapes}) > 1 else backend.empty
        self._buffers = None if copy else self._new_result()
        self.rule_features: npt.NDArray[np.int8] = np.repeat(
            np.array([rule_features(rule_set) for rule_set in loaded]), np.diff(ends), axis=0
        )
        """`(n, features)`: those of each game's rule set."""

    def parts(self) -> Iterator[tuple[SelfPlayEnv, slice]]:
        """The environment of each rule set, and its slice of the games."""
        return zip(self._parts, self._spans, strict=True)

    def reset(self, seed: int | None = None) -> StepResult:
        """Deal every game; rule sets after the first have the deals of derived seeds."""
        return self._each(
            lambda part, k: part.reset(seed if k == 0 or seed is None else _derived_seed(seed, k))
        )

    def observe(self) -> StepResult:
        return self._each(lambda part, _: part.observe())

    def step(self, actions: Any) -> StepResult:
        """Play an action of the seat to move in every game, or in none if one is illegal."""
        first = self._parts[0].batch
        chosen = first.action_array(actions, self.num_envs)
        if first.gpu is None:  # a GPU's steps raise nothing
            for part, span in self.parts():
                part.batch.checked_actions(chosen[span])
        return self._each(lambda part, k: part.step(chosen[self._spans[k]]))

    def _each(self, call: Callable[[SelfPlayEnv, int], StepResult]) -> StepResult:
        """Call every environment, each of which writes to its rows of one result."""
        result = self._buffers or self._new_result()
        for k, (part, span) in enumerate(self.parts()):
            part.buffers = StepResult(*(array[span] for array in result))
            try:
                call(part, k)
            finally:
                part.buffers = None
        return result

    def _new_result(self) -> StepResult:
        new, n = self._new_array, self.num_envs
        return StepResult(
            new((n, *self._observation_shape), np.int8),
            new((n, self.actions), np.int8),
            new(n, np.uint8),
            new((n, 2), np.float32),
            new(n, np.bool_),
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
        return self._each(lambda part, k: part.restore(states[k]))


def _derived_seed(seed: int, k: int) -> int:
    return int.from_bytes(secret_of_seed(seed, f"rules {k}")[:7], "little")


def _suffix(k: int) -> str:
    return f".{k}" if k else ""
