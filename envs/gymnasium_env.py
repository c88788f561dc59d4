"""German Whist for Gymnasium: one seat is the learner's, the other an agent's.

`GermanWhistEnv` is a single environment, `GermanWhistVectorEnv` many at once over
one batch; both are thin readers of `Against`, so they play the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..engine.batch.batch import VECTOR_RESET_OPTIONS, Array, checked_action
from ..engine.batch.config import (
    GameOptions,
    RulesLike,
    checked_keywords,
)
from ..engine.batch.results import result_dicts
from ..engine.view import View
from .render.modes import RENDER_MODES, SEAT, warn_without_render_mode
from .single_agent_batch import RANDOM_SEAT, Opposed, Outcome

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _checked_mode(mode: object) -> AutoresetMode:
    known = {each.value: each for each in AutoresetMode}
    if isinstance(mode, AutoresetMode):
        return mode
    if isinstance(mode, str) and mode in known:
        return known[mode]
    raise ValueError(
        f"autoreset_mode is {mode!r}: it has to be an AutoresetMode or one of {', '.join(known)}"
    )


class GermanWhistEnv(Opposed, gymnasium.Env[Any, Any]):
    """One game against an agent.

    | property | value |
    |---|---|
    | Make | `gymnasium.make("german_whist/GermanWhist-v0", opponent="threshold")` |
    | Actions | `Discrete(52)`, as of `german_whist_v0`; more where a rule set has more |
    | Observations | int8 vector of zeros and ones, or rows of a history; with the mask as a dict |
    | Rewards | all that the learner was paid since its last action |
    | Ends | `terminated` after the hand, the foreplay, or the match; nothing is truncated |

    One seat is the learner's; the opponent plays the other, and has answered before `step` and
    `reset` return.

    ### Options

    | option | values |
    |---|---|
    | `opponent` | an agent by name, an Agent or its class, or `f(views, rng) -> actions` |
    | `seat` | `0`, `1`, or `"random"` (default): drawn with the deal |
    | `mask_in_observation` | True for `{"observation": ..., "action_mask": ...}` |
    | `render_mode` | `human`, `ansi`, `rgb_array`, `svg` |
    | `render_view` | `"seat"`, what the learner may know, or `"open"`, both hands |
    | others | those of `german_whist_v0`, such as `rules`, `reward`, `horizon` and `layout` |

    ### What info holds

    | key | when | value |
    |---|---|---|
    | `action_mask` | always | int8, 1 for each legal action; zeros after the end |
    | `seat` | always | the learner's seat in this episode |
    | `result` | last step | `tricks`, `points`: own, the other's; `won`: 1, 0, -1; `deal` |

    An illegal action raises `IllegalAction` with a sentence, and nothing changes.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium reads it from the class
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
    }

    @checked_keywords
    def __init__(
        self,
        rules: RulesLike = "classic",
        *,
        opponent: object = "random",
        seat: int | str = RANDOM_SEAT,
        mask_in_observation: bool = False,
        render_mode: str | None = None,
        render_view: str = SEAT,
        **options: Unpack[GameOptions],
    ) -> None:
        shown, actions = self._sit_down(
            1, rules, options, opponent, seat, mask_in_observation, render_mode, render_view,
            autoreset=AutoresetMode.DISABLED,
        )  # fmt: skip
        self.observation_space: spaces.Space[Any] = shown
        self.action_space: spaces.Discrete = actions  # pyright: ignore[reportIncompatibleVariableOverride]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Deal; the opponent plays first if it is its turn.

        `options` are those of `german_whist_v0`: `deal` and `dealer`, or `number`.
        """
        self._against.reset(seed, options)
        super().reset(seed=None if seed is None else int(seed))
        self._show_people()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a card; the opponent answers until it is the learner's turn again."""
        outcome = self._against.step(np.reshape(checked_action(action), 1))
        self._show_people()
        over, info = bool(outcome.ended[0]), self._info()
        if over:
            info["result"] = result_dicts(outcome.results)[0]
        return self._observation(), float(outcome.rewards[0]), over, False, info

    def restore(self, state: Mapping[str, Array]) -> tuple[Any, dict[str, Any]]:
        """Go on from what `state` gave, in an environment of the same options."""
        self._against.restore(state)
        return self._observation(), self._info()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions as booleans, as MaskablePPO asks for them."""
        return self._against.masks[0].astype(np.bool_)

    @property
    def seat(self) -> int:
        """The learner's seat in this episode."""
        return int(self._against.seats[0])

    def view(self) -> View:
        """All that the learner may know, as a `View`."""
        return self._against.batch.view(0, self.seat)

    def render(self) -> Any:
        """The table in the environment's render mode; nothing without one."""
        if self._painter is None:
            warn_without_render_mode()
        return self._picture(0)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._close_window()

    def _show_people(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _observation(self) -> Any:
        return self._shown(self._against.observations[0].copy(), self._against.masks[0].copy())

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._against.masks[0].copy(), "seat": int(self._against.seats[0])}


class GermanWhistVectorEnv(Opposed, VectorEnv[Any, Any, Any]):
    """Many games against an agent, stepped at once over one batch.

    | property | value |
    |---|---|
    | Make | `gymnasium.make_vec("german_whist/GermanWhist-v0", num_envs=4096)` |
    | Actions, observations, rewards | those of `GermanWhistEnv`, a row for each game |

    ### Options

    | option | values |
    |---|---|
    | `copy` | False hands out the same arrays step after step instead of fresh ones |
    | `threads` | play the games in parts at once, which changes nothing else |
    | `autoreset_mode` | an `AutoresetMode` or its value: when the next episode begins |
    | others | those of `GermanWhistEnv` |

    `SameStep` (default): the same step shows the next episode. `NextStep`: the next step begins it,
    whatever its action. `Disabled`: it waits for `reset(options={"reset_mask": terminations})`.

    ### What info holds

    | key | when | value |
    |---|---|---|
    | `action_mask` | always | int8, a row for each game |
    | `seat` | always | the learner's seat in each game |
    | `final_obs`, `final_info` | `SameStep`, a game ended | its last sight, and what it told |
    | `result` | a game ended | a row for each game, `_tricks` and so on say in which |
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium reads it from the class
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    @checked_keywords
    def __init__(
        self,
        num_envs: int = 1,
        rules: RulesLike = "classic",
        *,
        opponent: object = "random",
        seat: int | str = RANDOM_SEAT,
        mask_in_observation: bool = False,
        copy: bool = True,
        threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        render_view: str = SEAT,
        **options: Unpack[GameOptions],
    ) -> None:
        mode = _checked_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self._copy = copy
        shown, actions = self._sit_down(
            num_envs, rules, options, opponent, seat, mask_in_observation, render_mode,
            render_view, copy=copy, threads=threads, autoreset=mode,
        )  # fmt: skip
        self.single_observation_space: spaces.Space[Any] = shown
        self.single_action_space: spaces.Discrete = actions  # pyright: ignore[reportIncompatibleVariableOverride]
        self.num_envs: int = self._against.n
        self.observation_space: spaces.Space[Any] = batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space: spaces.Space[Any] = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Deal every game; game `i` of `n` gets deals `i`, `i + n` ... of the seed.

        With `options={"reset_mask": mask}` only the games where it is True go on to their
        next deal.
        """
        self._against.reset(seed, options, VECTOR_RESET_OPTIONS)
        super().reset(seed=None if seed is None else int(seed))
        return self._observations(), self._info()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play an action in every game; the opponents answer until the learner is to move."""
        outcome = self._against.step(actions)
        info = self._info()
        if len(outcome.ended_indices):
            if self._against.autoreset is AutoresetMode.SAME_STEP:
                self._add_final(info, outcome)
            else:
                self._add_result(info, outcome)
        truncations = np.zeros(self.num_envs, np.bool_)
        return self._observations(), outcome.rewards, outcome.ended, truncations, info

    def restore(self, state: Mapping[str, Array]) -> tuple[Any, dict[str, Any]]:
        """Go on from what `state` gave, in an environment of the same options."""
        self._against.restore(state)
        return self._observations(), self._info()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions of every game as booleans."""
        return self._against.legal_masks()

    def render(self) -> tuple[Any, ...] | None:
        """Each table in the environment's render mode; `human` shows the first in a window."""
        if self._painter is None:
            warn_without_render_mode()
            return None
        where = range(1 if self.render_mode == "human" else self.num_envs)
        pictures = [self._picture(index) for index in where]
        return None if self.render_mode == "human" else tuple(pictures)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        self._close_window()

    def _observations(self) -> Any:
        masks = self._against.masks
        return self._shown(self._against.observations, masks.copy() if self._copy else masks)

    def _info(self) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, np.bool_)
        return {
            "action_mask": self._against.masks,
            "_action_mask": everywhere,
            "seat": self._against.seats.copy(),
            "_seat": everywhere.copy(),
        }

    def _add_result(self, info: dict[str, Any], outcome: Outcome) -> None:
        """How the episodes that ended did, as Gymnasium keeps nested infos."""
        result: dict[str, Any] = {}
        for name, seen in outcome.results.items():
            rows = np.zeros((self.num_envs, *seen.shape[1:]), seen.dtype)
            rows[outcome.ended_indices] = seen
            result[name], result[f"_{name}"] = rows, outcome.ended.copy()
        info["result"], info["_result"] = result, outcome.ended.copy()

    def _add_final(self, info: dict[str, Any], outcome: Outcome) -> None:
        """The last observations and infos of episodes that ended, as Gymnasium keeps them."""
        no_actions = np.zeros((self.num_envs, self.rules.actions), np.int8)
        last = np.full(self.num_envs, None, object)
        for index, seen in zip(outcome.ended_indices, outcome.final_observations, strict=True):
            last[index] = self._shown(seen, no_actions[index].copy())
        ended = outcome.ended
        info["final_obs"], info["_final_obs"] = last, ended.copy()
        info["final_info"] = {
            "action_mask": no_actions,
            "_action_mask": ended.copy(),
            "seat": np.where(ended, outcome.seats, 0),
            "_seat": ended.copy(),
        }
        self._add_result(info["final_info"], outcome)
        info["_final_info"] = ended.copy()
