"""Self-play environment: the seat to move in each of `n` games, without an opponent.

Everything is a NumPy array with one row per game, fresh each step, which `torch.from_numpy` wraps
without copying. With `device="cuda"` games and arrays live on a GPU, where
`torch.as_tensor(array, device="cuda")` does so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ..common.jit.compiler import warm_up
from ..engine.batch.batch import STATE_ARRAYS, Array, Batch
from ..engine.batch.config import (
    TEXT,
    Options,
    checked_keywords,
    options_from,
)
from ..engine.batch.results import StepResult
from ..engine.batch.step import NO_EVENT
from ..engine.checks import checked_flag, checked_num_envs, checked_threads, own_array
from ..engine.dtypes import SEATS
from ..engine.game import Game
from ..engine.observation.rule_features import rule_features
from ..engine.options import Horizon, NetworkObservation, Reward, SuitOrder
from ..engine.rng import secret_of_seed
from ..engine.rules import Match, Rules, RulesLike
from ..engine.view import View
from . import step_count
from .spaces import observation_box, state_box, warm_up_states


class SelfPlayEnv:
    """`n` games in which one or two learners play both seats.

    ```python
    env = SelfPlayEnv(1024, "classic", **FOREPLAY_OPTIONS)
    step = env.reset(seed=1)
    step = env.step(step.masks.argmax(axis=1))
    ```

    `german_whist.FOREPLAY_OPTIONS` are the options to train with, and may be left out.

    `reset`, `observe` and `step` return a `StepResult` of arrays with one row per game; there is
    no `info`:

    | field | value |
    |---|---|
    | `observations` | int8, from the seat to move |
    | `masks` | int8, 1 for each legal action |
    | `seats` | the seat to move |
    | `rewards` | float32, `(n, 2)`: each seat's reward of the step |
    | `ended` | whether the step ended an episode; the observation is then of the next one |

    `step(actions, indices)` plays in the games of `indices` alone. `hand_over` marks games whose
    hand ended with the last step, which in a match is not always the episode.

    Of a list of rule sets each gets an equal share of the games. `rule_features`, a row for each
    game, identify its rule set; actions, masks and flat observations are padded to the widest one.

    ```python
    env = SelfPlayEnv(1024, ["classic", "all-tricks"])
    step = env.reset(seed=1)
    inputs = np.concatenate([step.observations, env.rule_features], axis=1)
    ```

    ### Options

    All options but the number of games and the rules are given by name:

    - `num_envs`: the number of games (1024).
    - `rules`: the rule set, or a list of rule sets. A name such as `"classic"` (default) or
      `"draft"`, a `Rules`, a mapping of its fields, or the path of a YAML file.
      `german-whist rules` explains the names.
    - `copy`: `True` (default): every step makes fresh arrays. `False`: every step writes into the
      same arrays, so copy what you keep.
    - `threads`: the number of threads (1) that play parts of the games in parallel. It changes no
      result.
    - `device`: where games and arrays live. `"cpu"` (default). `"cuda"`: on a GPU, where each game
      has a thread. Actions are arrays there, a step does not wait for them, and `batch.check()`
      reports illegal ones.
    - `with_state`: `False` (default); `True`: `states` holds the global state of each game, with
      both hands and the stock, for the training of critics. The rule sets need states of one size.
    - `reward`: what an episode pays. `"points"` (default): the payoff of the rule set. `"win"`: +1
      for winning the hand, or the match, and -1 for losing it. `"margin"`: the difference of
      counting tricks. `"tricks"`: at each counting trick, +1 to the player who takes it and -1 to
      the other (the reverse in play low, where fewer tricks win).
    - `suit_order`: the suits in observations, actions and masks. `"raw"` (default): the real suits.
      `"trump-first"`: trumps come first, so that equivalent suits look alike.
    - `horizon`: when an episode ends. `"hand"` (default): after the hand. `"foreplay"`: when the
      stock is empty, and the exact value of the endgame is paid. `"match"`: after a match of hands.
      `"auto"`: `"foreplay"` in rule sets with exact endgames, `"hand"` in the others.
    - `observation`: the form of observations. `"vector"` (default): int8 of zeros and ones.
      `"history"`: a row for each event, for recurrent networks.
    - `match`: the length of a match, with `horizon="match"`. A number of points, or a `Match`.
      `None` (default): 25 points.
    """

    @checked_keywords()
    def __init__(
        self,
        num_envs: int = 1024,
        rules: RulesLike | Sequence[RulesLike] = "classic",
        *,
        copy: bool = True,
        threads: int = 1,
        device: Literal["cpu", "cuda"] = "cpu",
        with_state: bool = False,
        reward: Reward = "points",
        suit_order: SuitOrder = "raw",
        horizon: Horizon = "hand",
        observation: NetworkObservation = "vector",
        match: Match | int | None = None,
    ) -> None:
        several = isinstance(rules, (list, tuple))
        rule_sets = rules if several else [cast("RulesLike", rules)]
        all_options = [
            options_from(
                rule_set,
                reward=reward,
                suit_order=suit_order,
                horizon=horizon,
                observation=observation,
                match=match,
            )
            for rule_set in rule_sets
        ]
        self.num_envs: int = checked_num_envs(num_envs)
        if not 0 < len(all_options) <= self.num_envs:
            raise ValueError(
                f"num_envs is {num_envs}, and there are {len(all_options)} rule sets: every rule "
                "set needs a game, and there has to be one"
            )
        if any(each.observation == TEXT for each in all_options):
            raise ValueError(
                "observation is 'text', which single environments have: give the texts of "
                "view(index, seat), by german_whist.position_text"
            )
        ends = [self.num_envs * k // len(all_options) for k in range(len(all_options) + 1)]
        checked_threads(threads)
        self.parts: list[tuple[Batch, slice]] = [
            (Batch(option_set, stop - start, threads, device), slice(start, stop))
            for option_set, (start, stop) in zip(all_options, pairwise(ends), strict=True)
        ]
        """The games of each rule set and their rows, hands open: for trainers, not for players."""
        for batch, span in self.parts:
            batch.first_game = span.start
        self.options: Options = all_options[0]
        """Options of the first rule set."""
        self.rules: Rules = self.options.rules
        self.batch: Batch = self.parts[0][0]
        self.actions: int = max(option_set.rules.actions for option_set in all_options)
        widest = max(all_options, key=lambda option_set: option_set.observation_shape)
        self.single_observation_space: spaces.Box = observation_box(widest)
        self.single_action_space: spaces.Discrete = spaces.Discrete(self.actions)
        self.rule_features: npt.NDArray[np.int8] = np.repeat(
            np.array([rule_features(option_set.rules) for option_set in all_options]),
            np.diff(ends),
            axis=0,
        )
        """`(n, features)`: those of each game's rule set."""
        self.states: Array | None = None
        """`(n, size)` int8, with `with_state`: the global state of each game, for training alone.

        As of the last observations, and fresh with each of them, unless `copy` is False.
        """
        self._with_state = checked_flag("with_state", with_state)
        self.state_space: spaces.Box = state_box(self.rules)
        if with_state and any(
            state_box(option_set.rules) != self.state_space for option_set in all_options
        ):
            raise ValueError(
                "with_state is True, and of the rule sets some have an exchange, whose states are "
                "longer: make an environment for each kind"
            )
        backend = self.batch.backend
        same_shape = all(
            option_set.observation_shape == widest.observation_shape for option_set in all_options
        )
        same_shape &= all(option_set.rules.actions == self.actions for option_set in all_options)
        # Padding is never written.
        self._new_array = backend.empty if same_shape else backend.zeros
        self._buffers = None if checked_flag("copy", copy) else self._new_result()
        if device == "cpu":
            warm_up_self_play(self.options.encoding)
            if with_state:
                warm_up_states()

    def _new_result(self) -> StepResult:
        new, n = self._new_array, self.num_envs
        shape = self.single_observation_space.shape
        return StepResult(
            observations=new((n, *shape), np.int8),
            masks=new((n, self.actions), np.int8),
            seats=new(n, np.uint8),
            rewards=new((n, 2), np.float32),
            ended=new(n, np.bool_),
        )

    def _rows(self, result: StepResult) -> Iterator[StepResult]:
        """The rows of a result for each rule set."""
        if len(self.parts) == 1:  # slices would take longer than a step of one game
            yield result
            return
        for _, span in self.parts:
            yield StepResult._make(array[span] for array in result)

    @property
    def hand_over(self) -> npt.NDArray[np.bool_]:
        """`(n,)` bool, the last step ended a hand; in a match not always the episode."""
        events = [batch.backend.to_host(batch.events) for batch, _ in self.parts]
        return np.concatenate(events) != NO_EVENT

    def reset(self, seed: int | None = None) -> StepResult:
        """Deal every game; game `i` of `n` gets deals `i`, `i + n` ... of the seed.

        Rule sets after the first have the deals of derived seeds.
        """
        for k, (batch, _) in enumerate(self.parts):
            batch.reset(seed if k == 0 or seed is None else _derived_seed(seed, k))
        return self.observe()

    def observe(self) -> StepResult:
        """The current observations, with zero rewards and no ends."""
        self.batch.check_ready()
        result = self._buffers or self._new_result()
        for (batch, _), rows in zip(self.parts, self._rows(result), strict=True):
            batch.turns(rows.seats)
            batch.observe(batch.all_games, rows.seats, out=(rows.observations, rows.masks))
            for array in (rows.rewards, rows.ended):
                batch.backend.write(array, 0)
        self._write_states()
        return result

    def _write_states(self) -> None:
        if not self._with_state:
            return
        if self._buffers is None or self.states is None:
            shape = self.num_envs, *self.state_space.shape
            self.states = self.batch.backend.empty(shape, np.int8)
        for batch, span in self.parts:
            batch.global_states(self.states[span])

    def step(self, actions: object, indices: npt.ArrayLike | None = None) -> StepResult:
        """Play an action of the seat to move in every game; ended episodes begin anew.

        With `indices`, one action for each of these games; the others wait. If an action is
        illegal, none is played.
        """
        if indices is not None:
            result = self._step_some(actions, indices)
        else:
            result = self._buffers or self._new_result()
            if len(self.parts) == 1:  # lists and slices take a fifth of a step of one game
                batch = self.batch
                batch.step(batch.all_games, batch.checked_actions(actions), result)
            else:
                self._step_parts(actions, result)
            step_count.own[0] += self.num_envs
        self._write_states()
        return result

    def _step_parts(self, actions: object, result: StepResult) -> None:
        self.batch.check_ready()
        given = self.batch.action_array(actions, self.num_envs)
        chosen = [part.checked_actions(given[span]) for part, span in self.parts]
        for (part, _), own, rows in zip(self.parts, chosen, self._rows(result), strict=True):
            part.step(part.all_games, own, rows)

    def _step_some(self, actions: object, indices: npt.ArrayLike) -> StepResult:
        batch = self.batch
        batch.check_ready()
        if batch.gpu is not None:
            raise ValueError("indices are given, but games on a GPU step together: leave them out")
        games = self._checked_indices(indices)
        chosen = batch.checked_actions(actions, games)
        result = self.observe()
        batch.step(games, chosen, result)
        step_count.own[0] += len(games)
        return result

    def _checked_indices(self, indices: npt.ArrayLike) -> Array:
        if len(self.parts) > 1:
            raise ValueError(
                f"games are stepped by indices, and viewed together, of one rule set, and there "
                f"are {len(self.parts)}: step all of them, or view one by one"
            )
        return self.batch.checked_indices(indices)

    def state(self) -> dict[str, Array]:
        """The complete state as arrays."""
        self.batch.check_ready()
        return {
            f"{name}{_suffix(k)}": array
            for k, (batch, _) in enumerate(self.parts)
            for name, array in batch.state().items()
        }

    def restore(self, state: Mapping[str, Array]) -> StepResult:
        """Continue from a `state`, in an environment of the same options."""
        states = []
        for k, (batch, _) in enumerate(self.parts):
            names = {name: f"{name}{_suffix(k)}" for name in STATE_ARRAYS}
            states.append({name: state[key] for name, key in names.items() if key in state})
            batch.checked_state(states[k], over=False)
        for (batch, _), own in zip(self.parts, states, strict=True):
            batch.restore(own, over=False)
        return self.observe()

    def views(
        self, seats: npt.ArrayLike | None = None, indices: npt.ArrayLike | None = None
    ) -> Array:
        """`VIEW` records of a seat (default: the one to move) in each game, or in `indices`."""
        batch = self.batch
        batch.check_ready()
        games = self._checked_indices(batch.all_games if indices is None else indices)
        seat_of_game = batch.backend.to_host(batch.turns())[games]
        if seats is not None:
            seat_of_game = np.broadcast_to(seats, seat_of_game.shape)
        if seat_of_game.size and not ((seat_of_game >= 0) & (seat_of_game < SEATS)).all():
            raise ValueError("a seat is out of range: seats are 0 and 1")
        return batch.views(own_array(seat_of_game, np.uint8), games)

    def _part_of(self, index: int) -> tuple[Batch, int]:
        for batch, span in self.parts:
            if span.start <= index < span.stop:
                return batch, index - span.start
        raise IndexError(f"there is no game {index}: games run from 0 to {self.num_envs - 1}")

    def game(self, index: int) -> Game:
        """An independent copy of one game."""
        self.batch.check_ready()
        batch, index = self._part_of(index)
        return batch.game(index)

    def view(self, index: int, seat: int) -> View:
        self.batch.check_ready()
        batch, index = self._part_of(index)
        return batch.view(index, seat)


def _derived_seed(seed: int, k: int) -> int:
    return int.from_bytes(secret_of_seed(seed, f"rules {k}")[:7], "little")


def _suffix(k: int) -> str:
    return f".{k}" if k else ""


@step_count.uncounted()
def warm_up_self_play(observation: NetworkObservation) -> None:
    """Compile or load what steps and observes games, so that no step has to."""
    work = partial(_compile_all, observation)
    warm_up(f"self-play ({observation})", "envs", work, seconds=3)


def _compile_all(observation: NetworkObservation) -> None:
    env = SelfPlayEnv(1, "small-last", observation=observation)
    env.step(env.reset(0).masks.argmax(axis=1))
