"""A Stable-Baselines3 `VecEnv` over one batch, for MaskablePPO and similar algorithms.

This is the only module of `envs` that imports Stable-Baselines3, and so torch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..common.suggestions import not_installed
from ..engine.batch.batch import Array
from ..engine.batch.config import checked_keywords, options_from
from ..engine.batch.results import result_dicts
from ..engine.checks import state_array
from ..engine.options import Horizon, NetworkObservation, Reward, SuitOrder
from ..engine.rules import Match, RulesLike
from .illegal import Illegal
from .options import (
    OF_SINGLE_ENVIRONMENTS,
    Info,
    LearnerObservation,
    LearnerSeat,
    check_no_text,
)
from .render.modes import LearnerRenderView, RenderMode
from .single_agent_batch import FinishedEpisodes, SingleAgentBatch, SingleAgentMixin

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    sentence = not_installed("GermanWhistVecEnv", error.name, "train")
    raise ModuleNotFoundError(sentence, name=error.name) from error

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

# Attributes for `get_attr`, equal in all environments of a batch.
_ATTRIBUTES = ("render_mode", "rules", "options", "opponent", "action_masks", "spec")


class GermanWhistVecEnv(SingleAgentMixin, VecEnv):
    """`n_envs` games against an agent, as Stable-Baselines3 steps them.

    ```python
    env = GermanWhistVecEnv(256, "classic", opponent="threshold", **FOREPLAY_OPTIONS)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=1024).learn(1_000_000)
    ```

    `german_whist.FOREPLAY_OPTIONS` are the options to train with, and may be left out. Actions,
    observations and rewards are those of `GermanWhistEnv`. When a game ends, the same step begins
    its next episode.

    ### Options

    All options but the number of games and the rules are given by name:

    - `n_envs`: the number of games (256).
    - `rules`: the rule set. A name such as `"classic"` (default) or `"draft"`, a `Rules`, a mapping
      of its fields, or the path of a YAML file. `german-whist rules` explains the names.
    - `threads`: the number of threads (1) that play parts of the games in parallel. It changes no
      result.
    - `opponent`: who plays the other seat. `"random"` (default) or another agent by name, an
      `Agent` or its class, a function `f(views, rng) -> actions`, a model of Stable-Baselines3, or
      an `OpponentPool` of these. `opponent` is also a property that you can set at any time.
    - `seat`: the seat of the learner. `"random"` (default): drawn with each deal. `0` or `1`:
      fixed.
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
    - `mask_in_observation`: `False` (default): an observation is an array. `True`: it is a
      dictionary `{"observation": ..., "action_mask": ...}`.
    - `illegal`: what an illegal action does. `"lose"` (default): it ends the episode with the worst
      return. `"raise"`: it raises `IllegalAction`.
    - `with_state`: `False` (default); `True`: infos hold the global state, with both hands and the
      stock, for the training of critics.
    - `render_mode`: what `render()` gives. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image. `"svg"`: a drawing.
    - `render_view`: whose hand a picture shows. `"seat"` (default): the learner's. `"open"`: both.

    ### Infos

    | key | when | value |
    |---|---|---|
    | `episode` | a game ended | `r`, `l`, `t` of `Monitor`: no `VecMonitor` is needed |
    | `terminal_observation` | a game ended | its last observation |
    | `TimeLimit.truncated` | a game ended | False |
    | `result` | a game ended | as of `GermanWhistEnv` |
    | `opponent` | a game ended, with a pool | index of its opponent in `pool.names` |
    | `state` | with `with_state`, in `reset_infos` too | the global state, for training alone |

    `env_method("action_masks")`, and `get_action_masks(env)` of sb3-contrib, give the masks.
    """

    @checked_keywords(**OF_SINGLE_ENVIRONMENTS)
    def __init__(
        self,
        n_envs: int = 256,
        rules: RulesLike = "classic",
        *,
        threads: int = 1,
        opponent: object = "random",
        seat: LearnerSeat = "random",
        reward: Reward = "points",
        suit_order: SuitOrder = "raw",
        horizon: Horizon = "hand",
        observation: NetworkObservation = "vector",
        match: Match | int | None = None,
        mask_in_observation: bool = False,
        illegal: Illegal = "lose",
        with_state: bool = False,
        render_mode: RenderMode | None = None,
        render_view: LearnerRenderView = "seat",
    ) -> None:
        self.spec: None = None
        options = options_from(
            rules,
            reward=reward,
            suit_order=suit_order,
            horizon=horizon,
            observation=observation,
            match=match,
        )
        check_no_text(options)
        batch = SingleAgentBatch(
            options,
            n_envs,
            opponent,
            seat,
            threads=threads,
            illegal=illegal,
            with_state=with_state,
        )
        spaces = self._set_up(batch, mask_in_observation, render_mode, render_view)
        super().__init__(self._batch.n, *spaces)
        self._actions: np.ndarray | None = None
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._start_time = time.time()

    # -- stepping

    def reset(self) -> LearnerObservation:
        """Deal every game, with the seed of `seed()` and the one dictionary of `set_options()`."""
        seed, options = self._seeds[0], self._options[0]
        differ = any(other != options for other in self._options)
        self._reset_seeds()
        self._reset_options()
        if differ:
            self._batch.batch.ready = False
            raise ValueError(
                "set_options was given other options for some games than for others: a batch "
                "takes one dictionary for all of them"
            )
        self._batch.reset(seed, options)
        self._lengths[:] = 0
        self.reset_infos: list[Info] = self._new_infos()
        return self._observations()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[LearnerObservation, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[Info]]:
        """Play the actions; the opponents move until the learner is to move in all games."""
        step = self._batch.step(self._actions)
        self._lengths += 1
        infos = self._new_infos()
        self._close_episodes(step.finished, infos)
        rewards = step.rewards.astype(np.float32)
        return self._observations(), rewards, step.ended, infos

    def _new_infos(self) -> list[Info]:
        states = self._batch.states
        if states is None:
            return [{} for _ in range(self.num_envs)]
        return [{"state": state} for state in states]

    def _close_episodes(self, finished: FinishedEpisodes, infos: list[Info]) -> None:
        elapsed = round(time.time() - self._start_time, 6)
        indices = finished.indices
        returns = finished.returns.round(6).tolist()
        lengths = self._lengths[indices].tolist()
        results = result_dicts(finished.results)
        no_actions = np.zeros(self.rules.actions, np.int8)
        for row, index in enumerate(indices.tolist()):
            observation = finished.observations[row]
            infos[index] |= {
                "episode": {"r": returns[row], "l": lengths[row], "t": elapsed},
                "terminal_observation": self._observation_of(observation, no_actions.copy()),
                "result": results[row],
                "TimeLimit.truncated": False,
            }
            if self._batch.pool is not None:
                infos[index]["opponent"] = int(finished.opponents[row])
        self._lengths[indices] = 0

    def _observations(self) -> LearnerObservation:
        return self._observation_of(self._batch.observations, self._batch.masks.copy())

    # -- state

    def state(self) -> dict[str, Array]:
        return {**super().state(), "lengths": self._lengths.copy()}

    def restore(self, state: Mapping[str, Array]) -> LearnerObservation:
        lengths = state_array(state, "lengths", self.num_envs)
        if lengths.dtype != self._lengths.dtype or (lengths < 0).any():
            raise ValueError("lengths of the state are not all counts: give what state() returned")
        self._batch.restore(state)
        self._lengths[:] = lengths
        self.reset_infos = self._new_infos()
        return self._observations()

    # -- the VecEnv interface

    def action_masks(self) -> npt.NDArray[np.bool_]:
        return self._batch.legal_masks()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[object]:
        if attr_name not in _ATTRIBUTES:
            raise AttributeError(
                f"the environments have no {attr_name!r}; there are {', '.join(_ATTRIBUTES)}"
            )
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        """Set `opponent`, in all environments at once."""
        every = [*self._get_indices(indices)] == [*range(self.num_envs)]
        if attr_name != "opponent" or not every:
            raise AttributeError(
                f"{attr_name!r} cannot be set: only the opponent can, in all environments at once"
            )
        self.opponent = value

    def env_method(
        self,
        method_name: str,
        *method_args: object,
        indices: VecEnvIndices = None,
        **method_kwargs: object,
    ) -> list[object]:
        """`action_masks` of each environment, or `render`."""
        if method_name == "action_masks":
            masks = self.action_masks()
            return list(masks if indices is None else masks[list(self._get_indices(indices))])
        if method_name == "render":
            games = list(self._get_indices(indices))
            # There is one window.
            games_shown = games[:1] if self.render_mode == "human" else games
            return [self._render_game(index) for index in games_shown]
        raise AttributeError(f"the environments have no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """True for `Monitor`, whose statistics are in `info["episode"]`."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        return [self._render_game(index) for index in range(self.num_envs)]

    def close(self) -> None:
        self._close_window()
