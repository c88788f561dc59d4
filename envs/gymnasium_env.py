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
    | Actions | as in `german_whist_v0`: `Discrete(52)`, more in `draft` and `humbug` |
    | Observations | int8 vector of zeros and ones, or as `observation` says |
    | Rewards | all that the learner gained since its last action |
    | Ends | `terminated` after the hand, the foreplay or the match; `truncated` is never true |

    `reset` and `step` also play the moves of the opponent, until it is the learner's turn again.

    `german_whist/GermanWhistForeplay-v0` is the environment to train with. It has the options
    `german_whist.FOREPLAY_OPTIONS`: an episode ends when the stock is empty. The reward is +1 if
    the learner would win the hand with perfect play of both players in the endgame, and -1 if the
    opponent would win it. Trumps always come first in the observation.

    ### Options

    All options but the rules are given by name:

    - `rules`: the rule set. Give a name such as `"classic"` (default) or `"draft"`, a `Rules`, a
      mapping of its fields, or the path of a YAML file. The command `german-whist rules` lists the
      names.
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
      one row per event that the player has seen, for recurrent networks. `"text"`: a text, for
      language models.
    - `match`: the length of a match, with `horizon="match"` only. Give a number of points, or a
      number of hands as `german_whist.Match(best_of=5)`. `None` (default): 25 points.
    - `mask_in_observation`: `False` (default): an observation is an array. `True`: an observation
      is a dictionary `{"observation": ..., "action_mask": ...}`.
    - `illegal`: what an illegal action does. `"lose"` (default): the episode ends, and its return
      is no better than the worst legal one. `"raise"`: the action raises `IllegalAction`, and the
      game does not change.
    - `with_state`: whether infos hold the global state, which shows all hidden cards. `False`
      (default): no. `True`: yes, for example to train a critic.
    - `costs`: whether `info` says what each action of yours cost, that is, how much less it gains
      than the best action. `None` (default): no. `"exact"`: yes, where the cost can be computed.
      The [name of a search](../guide/evaluate.md#how-agents-are-named), such as
      `"flat-mc:500,voids"`: yes, and where the cost cannot be computed, this search estimates it,
      here from 500 sampled hands of the opponent.
    - `retries`: how often a player may answer again in a decision, after an answer that names no
      legal action. When no retry is left, such an answer loses the episode. `None` (default): 2
      times. You can only give a number with `observation="text"`.
    - `render_mode`: what `render()` makes. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image as an array. `"svg"`: a drawing as SVG.
    - `render_view`: whose hand a picture shows. `"seat"` (default): the learner's hand. `"open"`:
      both hands.

    ### Info

    | key | when | value |
    |---|---|---|
    | `action_mask` | always | int8: 1 for each legal action; only zeros after the end |
    | `seat` | always | the learner's seat in this episode |
    | `opponent` | with a pool | index of the episode's opponent in `pool.names` |
    | `state` | with `with_state` | the global state, int8; use it only in training |
    | `cost` | after an action, with `costs` | \
[what the action cost](../guide/text.md#scores); NaN if the cost is unknown |
    | `cost_source` | after an action, with `costs` | \
how the cost is known: `exact`, `equilibrium`, `estimated` or `unknown` |
    | `refused` | after a refused answer in words | the sentence that says why |
    | `result` | at the last step | a dictionary: `tricks` and `points` of the learner and of the \
opponent, `won` (1, 0 or -1), and the number of the `deal` |

    With `observation="text"`, observations are texts, and an action is an
    [answer in words](../guide/text.md) or a number. `german_whist/GermanWhistText-v0` has this
    option set.

    By default, an illegal action ends the episode. The last reward then makes the return no better
    than the worst legal one. The first illegal action of a program also prints a warning. If your
    code reads the mask, choose `illegal="raise"`: an illegal action then raises `IllegalAction`,
    and the game does not change. A number outside of the action space always raises an error.
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
    """Many games against an agent, which are stepped together.

    | property | value |
    |---|---|
    | Make | `gymnasium.make_vec("german_whist/GermanWhist-v0", num_envs=4096)` |
    | Make it for training | `gymnasium.make_vec("german_whist/GermanWhistForeplay-v0", 4096)` |
    | Actions, observations, rewards | as in `GermanWhist-v0`, with a row for each game |

    ### Options

    All options but the number of games and the rules are given by name:

    - `num_envs`: the number of games (default 1).
    - `rules`: the rule set. Give a name such as `"classic"` (default) or `"draft"`, a `Rules`, a
      mapping of its fields, or the path of a YAML file. The command `german-whist rules` lists the
      names.
    - `copy`: `True` (default): every step returns new arrays. `False`: every step overwrites the
      same arrays, so copy what you want to keep.
    - `threads`: the number of threads (default 1) that step the games. It does not change the
      results.
    - `autoreset_mode`: when the next episode of a game begins. `"SameStep"` (default): in the step
      that ends the last episode, so this step returns the first observation of the next one.
      `"NextStep"`: in the step after it, which ignores the action for this game. `"Disabled"`: when
      you call `reset(options={"reset_mask": terminations})`. You can also give a member of
      Gymnasium's `AutoresetMode`.
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

    ### Info

    | key | when | value |
    |---|---|---|
    | `action_mask` | always | int8, a row for each game |
    | `seat` | always | the learner's seat in each game |
    | `opponent` | with a pool | index of each game's opponent in `pool.names` |
    | `state` | with `with_state` | the global state, int8, a row for each game |
    | `result` | when a game ended, without `SameStep` | the results of the games, as a \
dictionary of arrays |
    | `final_obs`, `final_info` | when a game ended, with `SameStep` | the last observation and \
info of the episode. The result is in `final_info["result"]`. |

    As in all vectors of Gymnasium, each key has a second array with a `_` before its name, such as
    `_result`. This second array is true for the games that have a value.
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
