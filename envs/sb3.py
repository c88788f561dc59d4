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
    """Many games against an agent, as a vector of Stable-Baselines3.

    ```python
    env = GermanWhistVecEnv(256, "classic", opponent="threshold", **FOREPLAY_OPTIONS)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=1024).learn(1_000_000)
    ```

    `german_whist.FOREPLAY_OPTIONS` selects the problem to train on. Without these options, the
    environment plays whole hands.

    Actions, observations and rewards are those of `GermanWhist-v0`. When a game ends, the same step
    starts its next episode.

    ### Options

    All options but the number of games and the rules are given by name:

    - `n_envs`: the number of games (default 256).
    - `rules`: the rule set. Give a name such as `"classic"` (default) or `"draft"`, a `Rules`, a
      mapping of its fields, or the path of a YAML file. The command `german-whist rules` lists the
      names.
    - `threads`: the number of threads (default 1) that step the games. It does not change the
      results.
    - `opponent`: who plays the other seat. `"random"` (default), the name of another agent, an
      `Agent` or its class, a function `f(views, rng) -> actions`, a model of Stable-Baselines3, or
      an `OpponentPool`, which draws an opponent for each episode. You can also set the property
      `opponent` at any time.
    - `seat`: the learner's seat. `"random"` (default): drawn for each episode. `0` or `1`: always
      this seat.
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
    - `mask_in_observation`: `False` (default): an observation is an array. `True`: an observation
      is a dictionary `{"observation": ..., "action_mask": ...}`.
    - `illegal`: what an illegal action does. `"lose"` (default): the episode ends, and its return
      is no better than the worst legal one. `"raise"`: the action raises `IllegalAction`, and the
      game does not change.
    - `with_state`: whether infos hold the global state, which shows all hidden cards. `False`
      (default): no. `True`: yes, for example to train a critic.
    - `render_mode`: what `render()` makes. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image as an array. `"svg"`: a drawing as SVG.
    - `render_view`: whose hand a picture shows. `"seat"` (default): the learner's hand. `"open"`:
      both hands.

    ### Infos

    Each game has its own `info`:

    | key | when | value |
    |---|---|---|
    | `episode` | when the game ended | the return `r`, length `l` and time `t` that SB3's \
`Monitor` would add, so you need no `VecMonitor` |
    | `terminal_observation` | when the game ended | the last observation of the episode |
    | `TimeLimit.truncated` | when the game ended | always False |
    | `result` | when the game ended | the same dictionary as in `GermanWhist-v0` |
    | `opponent` | when the game ended, with a pool | index of the opponent in `pool.names` |
    | `state` | with `with_state`; `reset_infos` has it too | the global state; use it only in \
training |

    To get the masks, call `env_method("action_masks")`, or `get_action_masks(env)` of sb3-contrib.
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
