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
from ..common.schema import short_repr
from ..common.suggestions import type_phrase
from ..engine.batch.batch import STATE_ARRAYS, Array, Batch
from ..engine.batch.config import (
    TEXT,
    Options,
    checked_keywords,
    options_from,
)
from ..engine.batch.results import StepResult
from ..engine.batch.step import NO_EVENT
from ..engine.cards import as_integer
from ..engine.checks import (
    check_state,
    checked_flag,
    checked_num_envs,
    checked_threads,
    own_array,
)
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
    """Many games in which your code plays both seats.

    ```python
    env = SelfPlayEnv(1024, "classic", **FOREPLAY_OPTIONS)
    step = env.reset(seed=1)
    step = env.step(step.masks.argmax(axis=1))  # the first legal card in each game
    ```

    `german_whist.FOREPLAY_OPTIONS` selects the problem to train on. Without these options, the
    environment plays whole hands.

    `reset`, `observe` and `step` return a `StepResult`. Its fields are arrays with a row for each
    game, and there is no `info`:

    | field | value |
    |---|---|
    | `observations` | int8: what the player to move sees |
    | `masks` | int8: 1 for each action that this player may choose |
    | `seats` | the seat of this player |
    | `rewards` | float32 of shape `(n, 2)`: what each seat gained in this step |
    | `ended` | whether this step ended an episode. The observation is then the first one of the \
next episode. |

    - `step(actions, indices)` steps only the games in `indices`.
    - `env.hand_over` is true for each game whose hand ended with the last step. In a match, a hand
      can end before the episode does.

    You can train one network on several rule sets. If you give a list, each rule set gets an equal
    share of the games. `env.rule_features` has a row for each game: the
    [features of its rule set](observation.md#the-rules), which tell the network what it plays.
    Observations and masks have the size of the largest rule set, and the smaller ones are padded
    with zeros.

    ```python
    env = SelfPlayEnv(1024, ["classic", "all-tricks"])
    step = env.reset(seed=1)
    inputs = np.concatenate([step.observations, env.rule_features], axis=1)
    ```

    ### Options

    All options but the number of games and the rules are given by name:

    - `num_envs`: the number of games (default 1024).
    - `rules`: the rule set, or a list of rule sets. Give a rule set as a name such as `"classic"`
      (default) or `"draft"`, a `Rules`, a mapping of its fields, or the path of a YAML file. The
      command `german-whist rules` lists the names.
    - `copy`: `True` (default): every step returns new arrays. `False`: every step overwrites the
      same arrays, so copy what you want to keep.
    - `threads`: the number of threads (default 1) that step the games. It does not change the
      results.
    - `device`: where the games and the arrays are. `"cpu"` (default): in memory. `"cuda"`: on an
      NVIDIA GPU, with a thread for each game. A step then returns before the GPU has finished it.
      An illegal action is replaced by a legal one, and the next call of `env.batch.check()` raises
      the error.
    - `with_state`: whether `env.states` holds the global state of each game, which shows all
      hidden cards. `False` (default): no. `True`: yes, for example to train a critic. If you give
      several rule sets, their states must have the same size.
    - `reward`: what an episode pays. `"points"` (default): what the rule set pays for each hand.
      `"win"`: +1 for winning the hand and -1 for losing it. With `horizon="match"`, it is the match
      that counts. `"margin"`: the player's counting tricks minus the opponent's, after each hand.
      `"tricks"`: +1 for each counting trick that the player takes, and -1 for each one that the
      opponent takes. In play low, where the fewest tricks win, `"margin"` and `"tricks"` have the
      opposite sign.
    - `suit_order`: how observations, actions and masks number the suits. `"raw"` (default): clubs,
      diamonds, hearts, spades. `"trump-first"`: trumps come first, and the player's own cards
      decide the order of the other suits. Positions that differ only in their suits then look the
      same.
    - `horizon`: when an episode ends. `"hand"` (default): after the hand. `"foreplay"`: when the
      stock is empty; the reward then includes what the rest of the hand pays if both players play
      it perfectly. `"match"`: after a match of several hands. `"auto"`: `"foreplay"` in rule sets
      whose endgames can be solved exactly, and `"hand"` in the others.
    - `observation`: the form of observations. `"vector"` (default): zeros and ones. `"history"`:
      one row per event that the player has seen, for recurrent networks.
    - `match`: the length of a match, with `horizon="match"` only. Give a number of points, or a
      number of hands as `german_whist.Match(best_of=5)`. `None` (default): 25 points.
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
        check_state(state)
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

    def _part_of(self, game: int) -> tuple[Batch, int]:
        index = as_integer(game)
        if index is None:
            raise TypeError(f"game is {short_repr(game)}, {type_phrase(game)}: give its number")
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
