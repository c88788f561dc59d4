"""German Whist for Gymnasium: a learner in one seat, an agent in the other.

`GermanWhistEnv` is a single environment and `GermanWhistVectorEnv` a vector over one batch;
both step a `SingleAgentBatch`, so they play the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..engine.batch.batch import Array
from ..engine.batch.config import TEXT, Options, checked_keywords, options_from
from ..engine.batch.results import result_dicts
from ..engine.cards import N_CARDS
from ..engine.checks import VECTOR_RESET_OPTIONS, IllegalAction, checked_action
from ..engine.options import Horizon, NetworkObservation, ObservationForm, Reward, SuitOrder
from ..engine.rules import Match, RulesLike
from ..engine.view import View
from .illegal import Illegal
from .options import (
    OF_SINGLE_ENVIRONMENTS,
    Info,
    LearnerObservation,
    LearnerSeat,
    check_no_text,
)
from .render.modes import (
    LearnerRenderView,
    RenderFrame,
    RenderMode,
    usable_render_modes,
    warn_without_render_mode,
)
from .single_agent_batch import FinishedEpisodes, LearnerStep, SingleAgentBatch, SingleAgentMixin
from .text import TEXT_OR_NUMBER, Answers, checked_retries, text_space

if TYPE_CHECKING:
    from ..agents.costs import CostModel


def _checked_mode(mode: object) -> AutoresetMode:
    modes = {member.value: member for member in AutoresetMode}
    if isinstance(mode, AutoresetMode):
        return mode
    if isinstance(mode, str) and mode in modes:
        return modes[mode]
    raise ValueError(
        f"autoreset_mode is {mode!r}: it has to be an AutoresetMode or one of {', '.join(modes)}"
    )


def _cost_model(options: Options, costs: str) -> CostModel:
    from ..agents.costs import CostModel  # loads what no other option needs

    return CostModel(options.rules, None if costs == "exact" else costs)


def _with_masks(columns: Mapping[str, object], games: Array) -> Info:
    """An info dictionary of a vector: each column, and under `_name` the games that have it."""
    pairs = (((name, column), (f"_{name}", games.copy())) for name, column in columns.items())
    return dict(itertools.chain(*pairs))


class GermanWhistEnv(SingleAgentMixin, gymnasium.Env[LearnerObservation, int | str]):
    """One game against an agent.

    | property | value |
    |---|---|
    | Make | `gymnasium.make("german_whist/GermanWhist-v0", opponent="threshold")` |
    | Actions | `Discrete(52)`, as of `german_whist_v0`; more where a rule set has more |
    | Observations | int8 vector of zeros and ones, or rows of a history; with the mask as a dict |
    | Rewards | the sum since the learner's last action |
    | Ends | `terminated` after the hand, the foreplay, or the match; nothing is truncated |

    The opponent moves within `step` and `reset`, until the learner is to move.

    `german_whist/GermanWhistForeplay-v0` is the same environment with the options to train with,
    `german_whist.FOREPLAY_OPTIONS`: the episode ends when the stock is empty, the exact value of
    the endgame decides the reward of +1 or -1, and the trump suit comes first.

    ### Options

    All options but the rules are given by name:

    - `rules`: the rule set. A name such as `"classic"` (default) or `"draft"`, a `Rules`, a mapping
      of its fields, or the path of a YAML file. `german-whist rules` explains the names.
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
      `"history"`: a row for each event, for recurrent networks. `"text"`: words, for language
      models.
    - `match`: the length of a match, with `horizon="match"`. A number of points, or a `Match`.
      `None` (default): 25 points.
    - `mask_in_observation`: `False` (default): an observation is an array. `True`: it is a
      dictionary `{"observation": ..., "action_mask": ...}`.
    - `illegal`: what an illegal action does. `"lose"` (default): it ends the episode with the worst
      return. `"raise"`: it raises `IllegalAction`.
    - `with_state`: `False` (default); `True`: infos hold the global state, with both hands and the
      stock, for the training of critics.
    - `costs`: what `info` says about the cost of each action of yours. `None` (default): nothing.
      `"exact"`: the cost where it is known. A search such as `"flat-mc:500,voids"`: estimates too.
    - `retries`: how many answers in words that name no legal action are refused, before the next
      one loses. With `observation="text"`; `None` (default): 2.
    - `render_mode`: what `render()` gives. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image. `"svg"`: a drawing.
    - `render_view`: whose hand a picture shows. `"seat"` (default): the learner's. `"open"`: both.

    ### Info

    | key | when | value |
    |---|---|---|
    | `action_mask` | always | int8, 1 for each legal action; zeros after the end |
    | `seat` | always | the learner's seat in this episode |
    | `opponent` | with a pool | index of the episode's opponent in `pool.names` |
    | `state` | with `with_state` | the global state, int8, for training alone |
    | `cost`, `cost_source` | after a step, with `costs` | \
[what the action cost](../guide/text.md#scores), and how that is known |
    | `refused` | an answer in words was refused | the sentence that says why |
    | `result` | last step | `tricks`, `points`: own, the other's; `won`: 1, 0, -1; `deal` |

    With `observation="text"`, or as `german_whist/GermanWhistText-v0`, observations are texts and
    actions are answers in words, [as language models give them](../guide/text.md); numbers count
    too.

    An illegal action ends the episode as a loss, by a reward that brings the return to the worst
    of an episode or below; the first of a process warns. With `illegal="raise"`, for learners that
    read the mask, it raises `IllegalAction` with a sentence, and nothing changes. A number that is
    no action at all always raises.
    """

    metadata: dict[str, object] = {  # noqa: RUF012 - Gymnasium reads it from the class
        "render_modes": usable_render_modes(),
        "render_fps": 2,
    }

    @checked_keywords()
    def __init__(
        self,
        rules: RulesLike = "classic",
        *,
        opponent: object = "random",
        seat: LearnerSeat = "random",
        reward: Reward = "points",
        suit_order: SuitOrder = "raw",
        horizon: Horizon = "hand",
        observation: ObservationForm = "vector",
        match: Match | int | None = None,
        mask_in_observation: bool = False,
        illegal: Illegal = "lose",
        with_state: bool = False,
        costs: str | None = None,
        retries: int | None = None,
        render_mode: RenderMode | None = None,
        render_view: LearnerRenderView = "seat",
    ) -> None:
        options = options_from(
            rules,
            reward=reward,
            suit_order=suit_order,
            horizon=horizon,
            observation=observation,
            match=match,
        )
        self._costs: CostModel | None = None if costs is None else _cost_model(options, costs)
        self._answers = Answers(checked_retries(options, retries))
        batch = SingleAgentBatch(
            options,
            1,
            opponent,
            seat,
            autoreset=AutoresetMode.DISABLED,
            illegal=illegal,
            with_state=with_state,
        )
        observation_space, actions = self._set_up(
            batch, mask_in_observation, render_mode, render_view
        )
        reads_text = options.observation == TEXT
        self.observation_space: spaces.Space[LearnerObservation] = observation_space
        self.action_space: spaces.Space[Any] = text_space() if reads_text else actions

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[LearnerObservation, Info]:
        """Deal; the opponent moves first if it is to lead.

        `options` are those of `german_whist_v0`: `deal` and `dealer`, or `number`.
        """
        self._batch.reset(seed, options)
        self._answers.accept()
        super().reset(seed=None if seed is None else int(seed))
        self._render_human()
        return self._observation(), self._info()

    def step(self, action: object) -> tuple[LearnerObservation, float, bool, bool, Info]:
        """Play an action; the opponent moves until it is the learner's turn again."""
        refused: dict[str, str] = {}
        if isinstance(action, str) and self.options.observation == TEXT:
            action = self._read(action)
            if action is None:
                refused = {"refused": self._answers.reason}
                if not self._answers.exhausted:
                    return self._observation(), 0.0, False, False, {**self._info(), **refused}
                action = int(self._batch.masks[0].argmin())
        reads_text = self.options.observation == TEXT
        number = checked_action(action, TEXT_OR_NUMBER if reads_text else "a whole number")
        self._answers.accept()
        cost = self._cost_of(number)
        step = self._batch.step(np.reshape(number, 1))
        self._render_human()
        over, info = bool(step.ended[0]), {**self._info(), **cost, **refused}
        if over:
            info["result"] = result_dicts(step.finished.results)[0]
        return self._observation(), float(step.rewards[0]), over, False, info

    def _cost_of(self, action: int) -> Info:
        """What `info` holds of the cost of an action, if costs are asked for."""
        if self._costs is None or self._batch.over[0] or not self._batch.batch.ready:
            return {}
        costs = self._costs.of(self.view())
        if costs is None:
            return {"cost": np.nan, "cost_source": "unknown"}
        if 0 <= action < N_CARDS:
            suit, rank = divmod(action, 13)
            action = 13 * int(self._batch.batch.suit_orders[0][suit]) + rank
        return {"cost": costs.costs.get(action, np.nan), "cost_source": costs.source}

    def _read(self, answer: str) -> int | None:
        """The action of an answer; None for one that names no legal action."""
        batch = self._batch
        batch.batch.check_ready()
        if batch.over[0]:  # a step says so
            return 0
        try:
            return self._answers.read(answer, self.view())
        except IllegalAction:
            if batch.illegal_raises:
                raise
            return None

    def restore(self, state: Mapping[str, Array]) -> tuple[LearnerObservation, Info]:
        """Continue from a `state`, in an environment of the same options."""
        self._batch.restore(state)
        self._answers.accept()
        return self._observation(), self._info()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The action mask as booleans, for MaskablePPO."""
        return self._batch.masks[0].astype(np.bool_)

    @property
    def seat(self) -> int:
        """The learner's seat in this episode."""
        return int(self._batch.seats[0])

    def view(self) -> View:
        self._batch.batch.check_ready()
        return self._batch.batch.view(0, self.seat)

    def render(self) -> RenderFrame:
        """Render the table in the environment's render mode."""
        if self._painter is None:
            warn_without_render_mode()
        return self._render_game(0)

    def close(self) -> None:
        self._close_window()

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _observation(self) -> LearnerObservation:
        # Texts are not in the annotations: nearly all users read arrays.
        observation: Any = self._batch.observations[0].copy()
        if self.options.observation == TEXT:
            observation = self._answers.observation(self.view())
        return self._observation_of(observation, self._batch.masks[0].copy())

    def _info(self) -> Info:
        batch = self._batch
        info: Info = {
            "action_mask": batch.masks[0].copy(),
            "seat": int(batch.seats[0]),
        }
        if batch.pool is not None:
            info["opponent"] = int(batch.opponents[0])
        if batch.states is not None:
            info["state"] = batch.states[0].copy()
        return info


class GermanWhistVectorEnv(SingleAgentMixin, VectorEnv[LearnerObservation, Array, Array]):
    """Many games against an agent, stepped at once over one batch.

    | property | value |
    |---|---|
    | Make | `gymnasium.make_vec("german_whist/GermanWhist-v0", num_envs=4096)`, or with \
`GermanWhistForeplay-v0` |
    | Actions, observations, rewards | those of `GermanWhistEnv`, a row for each game |

    ### Options

    All options but the number of games and the rules are given by name:

    - `num_envs`: the number of games (1).
    - `rules`: the rule set. A name such as `"classic"` (default) or `"draft"`, a `Rules`, a mapping
      of its fields, or the path of a YAML file. `german-whist rules` explains the names.
    - `copy`: `True` (default): every step makes fresh arrays. `False`: every step writes into the
      same arrays, so copy what you keep.
    - `threads`: the number of threads (1) that play parts of the games in parallel. It changes no
      result.
    - `autoreset_mode`: when the next episode of a game begins. `"SameStep"` (default): in the step
      that ends the last one, which returns the new observation. `"NextStep"`: in the next step,
      whatever its action. `"Disabled"`: by `reset(options={"reset_mask": terminations})`.
      Gymnasium's `AutoresetMode` has the same values.
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

    ### Info

    | key | when | value |
    |---|---|---|
    | `action_mask` | always | int8, a row for each game |
    | `seat` | always | the learner's seat in each game |
    | `opponent` | with a pool | index of each game's opponent in `pool.names` |
    | `state` | with `with_state` | the global state, int8, a row for each game |
    | `final_obs`, `final_info` | `SameStep`, a game ended | its last observation and info |
    | `result` | a game ended | a row for each game, `_tricks` and so on say in which |
    """

    metadata: dict[str, object] = {  # noqa: RUF012 - Gymnasium reads it from the class
        "render_modes": usable_render_modes(),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    @checked_keywords(**OF_SINGLE_ENVIRONMENTS)
    def __init__(
        self,
        num_envs: int = 1,
        rules: RulesLike = "classic",
        *,
        copy: bool = True,
        threads: int = 1,
        autoreset_mode: AutoresetMode
        | Literal["SameStep", "NextStep", "Disabled"] = AutoresetMode.SAME_STEP,
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
        mode = _checked_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self._copy = copy
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
            num_envs,
            opponent,
            seat,
            copy=copy,
            threads=threads,
            autoreset=mode,
            illegal=illegal,
            with_state=with_state,
        )
        observation_space, actions = self._set_up(
            batch, mask_in_observation, render_mode, render_view
        )
        self.single_observation_space: spaces.Space[LearnerObservation] = observation_space
        self.single_action_space: spaces.Discrete = actions  # pyright: ignore[reportIncompatibleVariableOverride]
        self.num_envs: int = self._batch.n
        self.observation_space: spaces.Space[LearnerObservation] = batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space: spaces.Space[Array] = batch_space(
            self.single_action_space, self.num_envs
        )

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[LearnerObservation, Info]:
        """Deal every game; game `i` of `n` gets deals `i`, `i + n` ... of the seed.

        With `options={"reset_mask": mask}` only games where it is True begin their next
        episode.
        """
        self._batch.reset(seed, options, VECTOR_RESET_OPTIONS)
        super().reset(seed=None if seed is None else int(seed))
        return self._observations(), self._info()

    def step(self, actions: object) -> tuple[LearnerObservation, Array, Array, Array, Info]:
        """Play an action in every game; the opponents move until the learner is to move."""
        step = self._batch.step(actions)
        info = self._info()
        if len(step.finished.indices):
            if self._batch.autoreset is AutoresetMode.SAME_STEP:
                self._add_final(info, step)
            else:
                self._add_result(info, step)
        truncations = np.zeros(self.num_envs, np.bool_)
        return self._observations(), step.rewards, step.ended, truncations, info

    def restore(self, state: Mapping[str, Array]) -> tuple[LearnerObservation, Info]:
        self._batch.restore(state)
        return self._observations(), self._info()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        return self._batch.legal_masks()

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Render each game in the environment's render mode; `human` shows the first one."""
        if self._painter is None:
            warn_without_render_mode()
            return None
        indices = range(1 if self.render_mode == "human" else self.num_envs)
        frames = [self._render_game(index) for index in indices]
        return None if self.render_mode == "human" else tuple(frames)

    def close_extras(self, **kwargs: object) -> None:
        self._close_window()

    def _observations(self) -> LearnerObservation:
        masks = self._batch.masks
        return self._observation_of(self._batch.observations, masks.copy() if self._copy else masks)

    def _info(self) -> Info:
        batch = self._batch
        columns = {"action_mask": batch.masks, "seat": batch.seats.copy()}
        if batch.pool is not None:
            columns["opponent"] = batch.opponents.copy()
        if batch.states is not None:
            columns["state"] = batch.states
        return _with_masks(columns, np.ones(self.num_envs, np.bool_))

    def _add_result(self, info: Info, step: LearnerStep) -> None:
        """Add the results of ended episodes in Gymnasium's format of nested infos."""
        finished = step.finished
        result = {name: self._column(finished, rows) for name, rows in finished.results.items()}
        info |= _with_masks({"result": _with_masks(result, step.ended)}, step.ended)

    def _column(self, finished: FinishedEpisodes, rows: Array) -> Array:
        """A row for each game: those of finished episodes, and zeros."""
        column = np.zeros((self.num_envs, *rows.shape[1:]), rows.dtype)
        column[finished.indices] = rows
        return column

    def _add_final(self, info: Info, step: LearnerStep) -> None:
        """Add the last observations and infos of ended episodes in Gymnasium's format."""
        finished = step.finished
        no_actions = np.zeros((self.num_envs, self.rules.actions), np.int8)
        final_observations = np.full(self.num_envs, None, object)
        for index, row in zip(finished.indices.tolist(), finished.observations, strict=True):
            if self._mask_in_observation:
                row = self._observation_of(row, no_actions[index].copy())
            final_observations[index] = row
        columns = {"action_mask": no_actions, "seat": self._column(finished, finished.seats)}
        if self._batch.pool is not None:
            columns["opponent"] = self._column(finished, finished.opponents)
        final_info = _with_masks(columns, step.ended)
        self._add_result(final_info, step)
        final = {"final_obs": final_observations, "final_info": final_info}
        info |= _with_masks(final, step.ended)
