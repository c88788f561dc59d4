"""Gymnasium environment of the three-player game: one seat learns, agents play the other two."""

from __future__ import annotations

from collections.abc import Mapping

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from german_whist.agents.base import agent_key
from german_whist.agents.calls import AgentFault
from german_whist.engine.batch.config import checked_keywords
from german_whist.engine.cards import N_CARDS
from german_whist.engine.checks import (
    IllegalAction,
    checked_action,
    checked_choice,
    checked_flag,
    checked_seat,
)
from german_whist.engine.rng import hash_with, random_below, stream_state
from german_whist.envs.illegal import LOSE, RAISE, Illegal, warn_of_illegal_action
from german_whist.envs.options import Info, LearnerObservation, LearnerSeat
from german_whist.envs.render.modes import (
    OPEN,
    SEAT,
    LearnerRenderView,
    RenderFrame,
    RenderMode,
    usable_render_modes,
)
from german_whist.envs.single_agent_batch import RANDOM_SEAT

from .agents import ThreeAgent, agent_for_three, three_stream
from .game import HAND, PLAYERS, ThreeView
from .german_whist_three_v0 import raw_env
from .observation import three_space

_SEATS = np.uint64(0x7365617473)


class GermanWhistThreeEnv(gymnasium.Env[LearnerObservation, int]):
    """One agent learns in the game for three, and agents that you name play the other two seats.

    | property | value |
    |---|---|
    | Make | `gymnasium.make("german_whist/GermanWhistThree-v0", opponents="thrifty")` |
    | Actions | `Discrete(52)`: a card of the learner, or of the dummy if the learner plays it |
    | Observations | the int8 vector of `german_whist_three_v0` |
    | Rewards | the sum of what the learner was paid since its last action |

    ### Options

    - `opponents`: who plays the other two seats. `"random"` (default), `"thrifty"`, or a
      function that takes a view and a random stream. A pair gives the left player and the right
      player different agents.
    - `seat`: the seat of the learner. `"random"` (default): a random seat in each deal. `0`, `1` or
      `2`: always this seat.
    - `mask_in_observation`: `False` (default): an observation is an array. `True`: it is a
      dictionary `{"observation": ..., "action_mask": ...}`.
    - `render_mode`: what `render()` gives. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image. `"svg"`: a drawing.
    - `render_view`: whose hand a picture shows. `"seat"` (default): the learner's. `"open"`: all
      hands.
    - `illegal`: what an illegal action does. `"lose"` (default): the episode ends with the worst
      return. `"raise"`: `step` raises `IllegalAction`.

    ### What info holds

    | key | when | value |
    |---|---|---|
    | `action_mask` | always | int8, 1 for each legal action; zeros after the end |
    | `seat` | always | the learner's seat in this episode |
    | `result` | last step | the same three values as in `german_whist_three_v0` |
    """

    metadata: dict[str, object] = {  # noqa: RUF012 - Gymnasium reads it from the class
        "render_modes": usable_render_modes(),
        "render_fps": 2,
    }

    @checked_keywords()
    def __init__(
        self,
        *,
        opponents: object = "random",
        seat: LearnerSeat = "random",
        mask_in_observation: bool = False,
        render_mode: RenderMode | None = None,
        render_view: LearnerRenderView = "seat",
        illegal: Illegal = "lose",
    ) -> None:
        self._opponents = _opponent_pair(opponents)
        self._fixed_seat = checked_seat(seat, (0, 1, 2, RANDOM_SEAT))
        self.seat: int = 0
        self._mask_in_observation = checked_flag("mask_in_observation", mask_in_observation)
        self._illegal_loses = checked_choice("illegal", illegal, (LOSE, RAISE)) == LOSE
        shown = three_space()
        self.observation_space: spaces.Space[LearnerObservation] = (
            shown if mask_in_observation else shown["observation"]
        )
        self.action_space: spaces.Discrete = (  # pyright: ignore[reportIncompatibleVariableOverride]
            spaces.Discrete(N_CARDS)
        )
        self.render_mode: str | None = render_mode
        self._render_view = checked_seat(render_view, (SEAT, OPEN), "render_view")
        self._table = raw_env(render_mode=render_mode)

    @property
    def opponents(self) -> tuple[ThreeAgent, ThreeAgent]:
        """The agents at the left and at the right; they may be replaced at any time."""
        return self._opponents

    @opponents.setter
    def opponents(self, opponents: object) -> None:
        self._opponents = _opponent_pair(opponents)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[LearnerObservation, Info]:
        """Deal, and let the opponents play until the learner's turn.

        `options` are those of `german_whist_three_v0`: `deal` and `dealer`, or `number`.
        """
        self._game = self._table.deal(seed, options)
        super().reset(seed=None if seed is None else int(seed))
        self._key = agent_key(self._game.seed)
        self.seat = self._drawn_seat() if self._fixed_seat == RANDOM_SEAT else int(self._fixed_seat)
        self._play_others()
        return self._shown()

    def _drawn_seat(self) -> int:
        key = hash_with(np.uint64(self._game.seed), _SEATS)
        stream = np.array([stream_state(np.uint64(key), np.uint64(self._game.number))], np.uint64)
        return int(random_below(stream, PLAYERS))

    def step(self, action: object) -> tuple[LearnerObservation, float, bool, bool, Info]:
        """Play a card, and let the opponents play until the learner's next turn."""
        table, number = self._table, checked_action(action)
        table.check_dealt()
        if table.is_over:
            raise IllegalAction("the episode is over: call reset() to deal again")
        game = self._game
        before = game.payoffs[self.seat]
        # A number that is no action at all raises in play.
        is_illegal = 0 <= number < N_CARDS and not game.legal_set >> number & 1
        if self._illegal_loses and is_illegal:
            warn_of_illegal_action()
            table.stop()
            reward = float(-HAND - max(before, 0))
        else:
            game.play(number)
            self._play_others()
            reward = float(game.payoffs[self.seat] - before)
        observation, info = self._shown()
        if table.is_over:
            info["result"] = table.result_of(self.seat)
        return observation, reward, table.is_over, False, info

    def _play_others(self) -> None:
        game, table = self._game, self._table
        # What fails on its way, by an opponent's fault, leaves nothing to step.
        table.dealt = False
        while (seat := game.mover) is not None and seat != self.seat:
            player = self.opponents[(seat - self.seat) % PLAYERS - 1]
            card = player(game.view(seat), three_stream(self._key, game))
            try:
                game.play(card)
            except IllegalAction as error:
                name = getattr(player, "__name__", type(player).__name__)
                raise AgentFault(f"opponent {name} in seat {seat} chose wrongly: {error}") from None
        table.dealt = True

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal actions as booleans, for MaskablePPO."""
        return self._table.observation_of(self.seat)["action_mask"].astype(np.bool_)

    def view(self) -> ThreeView:
        return self._table.view_of(self.seat)

    def render(self) -> RenderFrame:
        return self._table.paint(self.seat, open_hands=self._render_view == OPEN)

    def close(self) -> None:
        self._table.close()

    def _shown(self) -> tuple[LearnerObservation, Info]:
        if self.render_mode == "human":
            self.render()
        shown = self._table.observation_of(self.seat)
        info = {"action_mask": shown["action_mask"].copy(), "seat": self.seat}
        return shown if self._mask_in_observation else shown["observation"], info


def _opponent_pair(opponents: object) -> tuple[ThreeAgent, ThreeAgent]:
    pair = opponents if isinstance(opponents, (tuple, list)) else (opponents, opponents)
    if len(pair) != PLAYERS - 1:
        raise ValueError(f"opponents are {opponents!r}: it has to be one agent, or two of them")
    return agent_for_three(pair[0]), agent_for_three(pair[1])
