"""A Stable-Baselines3 `VecEnv` over one batch, for MaskablePPO and its kin.

Importing this module imports Stable-Baselines3, and so torch; nothing else in the
environments does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..common.suggestions import not_installed
from ..engine.batch.batch import Array, state_array
from ..engine.batch.config import (
    GameOptions,
    RulesLike,
    checked_keywords,
)
from ..engine.batch.results import result_dicts
from .render.modes import SEAT
from .single_agent_batch import RANDOM_SEAT, Opposed, Outcome

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise not_installed(error.name, "train") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

# What `get_attr` finds; the environments of a batch have these in common.
_ATTRIBUTES = ("render_mode", "rules", "options", "opponent", "action_masks", "spec")


class GermanWhistVecEnv(Opposed, VecEnv):
    """`n_envs` games against an agent, as Stable-Baselines3 steps them.

    ```python
    env = GermanWhistVecEnv(256, "classic", opponent="threshold")
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=1024).learn(1_000_000)
    ```

    Options, actions, observations and rewards are those of `GermanWhistEnv`; `threads` play the
    games in parts at once. Games that end are dealt anew in the same step.

    ### What infos hold

    | key | when | value |
    |---|---|---|
    | `episode` | a game ended | `r`, `l`, `t`, as `Monitor` tells them: no `VecMonitor` is needed |
    | `terminal_observation` | a game ended | its last sight |
    | `TimeLimit.truncated` | a game ended | False |
    | `result` | a game ended | as of `GermanWhistEnv` |

    `env_method("action_masks")`, and `get_action_masks(env)` of sb3-contrib, give the masks.
    """

    @checked_keywords
    def __init__(
        self,
        n_envs: int = 256,
        rules: RulesLike = "classic",
        *,
        opponent: object = "random",
        seat: int | str = RANDOM_SEAT,
        mask_in_observation: bool = False,
        render_mode: str | None = None,
        render_view: str = SEAT,
        threads: int = 1,
        **options: Unpack[GameOptions],
    ) -> None:
        """The options are those of `GermanWhistEnv`, and `threads` to play the games on."""
        self.spec: None = None
        spaces = self._sit_down(
            n_envs, rules, options, opponent, seat, mask_in_observation, render_mode, render_view,
            threads=threads,
        )  # fmt: skip
        super().__init__(self._against.n, *spaces)
        self._actions: Any = None
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._began = time.time()

    # -- stepping

    def reset(self) -> Any:
        """Deal every game, with the seed given to `seed` if there was one.

        What `set_options` was given is one for all games, as their seed is.
        """
        seed, wishes = self._seeds[0], self._options[0]
        differ = any(each != wishes for each in self._options)
        self._reset_seeds()
        self._reset_options()
        if differ:
            self._against.batch.ready = False
            raise ValueError(
                "set_options was given other options for some games than for others: a batch "
                "takes one dictionary for all of them"
            )
        self._against.reset(seed, wishes)
        self._returns[:] = 0
        self._lengths[:] = 0
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return self._observations()

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play an action in every game: observations, rewards, ends and infos."""
        self.step_async(actions)
        return self.step_wait()

    def step_wait(
        self,
    ) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the actions; the opponents answer until the learner is to move everywhere."""
        outcome = self._against.step(self._actions)
        self._returns += outcome.rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if len(outcome.ended_indices):
            self._close_episodes(outcome, infos)
        rewards = outcome.rewards.astype(np.float32)
        return self._observations(), rewards, outcome.ended, infos

    def _close_episodes(self, outcome: Outcome, infos: list[dict[str, Any]]) -> None:
        """Monitor statistics and last observations of episodes that ended."""
        elapsed = round(time.time() - self._began, 6)
        where = outcome.ended_indices
        returns = self._returns[where].round(6).tolist()
        lengths = self._lengths[where].tolist()
        results, last = result_dicts(outcome.results), outcome.final_observations
        no_actions = np.zeros(self.rules.actions, np.int8)
        for place, index in enumerate(where.tolist()):
            infos[index] = {
                "episode": {"r": returns[place], "l": lengths[place], "t": elapsed},
                "terminal_observation": self._shown(last[place], no_actions.copy()),
                "result": results[place],
                "TimeLimit.truncated": False,
            }
        self._returns[where] = 0
        self._lengths[where] = 0

    def _observations(self) -> Any:
        return self._shown(self._against.observations, self._against.masks.copy())

    # -- keeping

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays; what an opponent remembers is not among it."""
        told = {"returns": self._returns.copy(), "lengths": self._lengths.copy()}
        return {**super().state(), **told}

    def restore(self, state: Mapping[str, Array]) -> Any:
        """Go on from what `state` gave, in an environment of the same options: observations."""
        returns, lengths = (
            state_array(state, name, self.num_envs) for name in ("returns", "lengths")
        )
        if returns.dtype != self._returns.dtype or not np.isfinite(returns).all():
            raise ValueError("returns of the state are not all numbers: give what state() returned")
        if lengths.dtype != self._lengths.dtype or (lengths < 0).any():
            raise ValueError("lengths of the state are not all counts: give what state() returned")
        self._against.restore(state)
        self._returns[:], self._lengths[:] = returns, lengths
        return self._observations()

    # -- what Stable-Baselines3 asks of environments

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions of every game as booleans."""
        return self._against.legal_masks()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each environment."""
        if attr_name not in _ATTRIBUTES:
            raise AttributeError(
                f"the environments have no {attr_name!r}; there are {', '.join(_ATTRIBUTES)}"
            )
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set `opponent`, for all environments at once."""
        if attr_name != "opponent" or indices is not None:
            raise AttributeError(
                f"{attr_name!r} cannot be set: only the opponent can, in all environments at once"
            )
        self.opponent = value

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """`action_masks` of each environment, or `render`."""
        if method_name == "action_masks":
            masks = self.action_masks()
            return list(masks if indices is None else masks[list(self._get_indices(indices))])
        if method_name == "render":
            where = list(self._get_indices(indices))
            # A window shows one table.
            shown = where[:1] if self.render_mode == "human" else where
            return [self._picture(index) for index in shown]
        raise AttributeError(f"the environments have no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Only `Monitor`, in effect: its statistics are in `info["episode"]`."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A picture of each table."""
        return [self._picture(index) for index in range(self.num_envs)]

    def close(self) -> None:
        """Close the window, if there is one."""
        self._close_window()
