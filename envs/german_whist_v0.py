"""German Whist as a PettingZoo AEC environment.

| property | value |
|---|---|
| Import | `from german_whist import german_whist_v0` |
| Agents | `player_0`, `player_1` |
| Actions | discrete, 52; 53 in rule sets with the hidden choice, 55 with an exchange |
| Observations | `{"observation": int8 vector or rows, "action_mask": int8}` |
| Parallel API | no |
| Rewards | of one agent the negative of the other's |

Two players play tricks for the cards of a stock, then the tricks that count; the command
`german-whist rules` explains the rules. An observation contains exactly what that agent may know.

By default the environment is the whole hand, as people play it. To train, use the shorter problem
`german_whist_v0.env(**german_whist.FOREPLAY_OPTIONS)`, which PettingZoo makes by the name
`german_whist/german_whist_foreplay_v0`: the episode ends when the stock is empty, the exact value
of the endgame decides the reward of +1 or -1, and the trump suit comes first.

```python
env = german_whist_v0.env(rules="classic")
env.reset(seed=42)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    if termination or truncation:
        action = None
    else:
        action = env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
env.close()
```

### Actions

| action | meaning |
|---|---|
| 0 to 51 | play that card, or take it from the stock: `suit * 13 + rank`, clubs first, two lowest |
| 52 | take the hidden card; only where the winner chooses between it and the upcard |
| 53, 54 | keep the hand dealt, take the blind one; only where hands are exchanged (`humbug`) |

A mask has 52 places, 53 with the hidden choice, 55 with an exchange.

The winner of a trick leads the next, so an agent often moves twice in a row. A mask is
zero for the agent that is not to move, and after the end. With `suit_order="trump-first"` actions
and masks carry the suits as the observation shows them.

### Observations

`observation="vector"`, version [VERSION], one int8 vector with zeros and ones:

[SPEC_TABLE]

`observation="text"`: a text for [language models](../guide/text.md), with the rules before an
agent's first action. Actions are numbers, or answers in words; after `retries` answers that name no
legal action the next one loses. `infos[agent]["refused"]` says why one was refused.

Rule sets with an exchange append:

[EXCHANGE_TABLE]

`observation="history"`: the events that the player has seen, in order, one row `(kind, who, card,
trick)` per event and zeros after the last:

[HISTORY_TABLE]

### Rewards and the end

An episode ends for both agents at once, with `termination`; nothing is truncated. Rewards
come when they are earned: with the trick, the hand, or the match.

| `reward` | pays |
|---|---|
| `points` (default) | what the rule set pays for the hand |
| `win` | 1 for winning the hand, and with horizon `match` for winning the match |
| `margin` | the difference of counting tricks |
| `tricks` | 1 for every counting trick, as it is taken |

In a low contract the signs of `win`, `margin` and `tricks` are such that fewer tricks are
better.

On an illegal action `env()` ends the episode against the agent by PettingZoo's
`TerminateIllegalWrapper`: the penalty makes its return no better than the worst legal result,
and the other agent gets 0 for that step; `truncation` is then set too. `raw_env()` raises
`IllegalAction` and stays as it was. Actions of a wrong type or out of range raise in both.

At the end `infos[agent]["result"]` is the result from that agent's point of view: `tricks` and
`points`, its own and the opponent's, `won` (1, 0 or -1) and `deal`, the deal's number.

### Deals and states

`reset(seed=s)` gives deal 0 of seed `s`, and every `reset()` after it the next deal; these are
the deals of `Game` and `SelfPlayEnv`. `reset(options={"deal": cards, "dealer": seat})` deals these
cards in the order in which they are dealt: one card to the non-dealer, one to the dealer, and so
on in turn, and then the stock from the top. (With an exchange there are four hands, which get one
card each in turn: first blind, non-dealer, second blind, dealer.)
`{"number": n}` picks a deal of the seed; other names are refused.
`env.unwrapped.view(agent)` is the agent's `View`.

`state()`, of the space `state_space`, is the global state, with both hands and the stock. It is for
training alone, such as a critic's: what plays by it knows hidden cards.

### Versions

- v0: the first. It becomes v1 when the same seed and actions could give other observations,
  rewards or deals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from ..common.jit.compiler import warm_up
from ..common.typing import Array
from ..engine.batch.batch import Batch, actions_text
from ..engine.batch.config import (
    TEXT,
    Options,
    checked_keywords,
    options_from,
)
from ..engine.batch.step import (
    ENDGAME_REACHED,
    EPISODE_OVER,
    NEXT_HAND,
    UNPACKED_STEPS,
    observe_single,
    step_single,
)
from ..engine.cards import as_integer
from ..engine.checks import IllegalAction
from ..engine.game import Game
from ..engine.observation.history import HISTORY_ABOUT
from ..engine.observation.spec import EXCHANGE_SPEC, OBSERVATION_SPEC
from ..engine.options import Horizon, NetworkObservation, ObservationForm, Reward, SuitOrder
from ..engine.rules import Match, Rules, RulesLike
from ..engine.view import View
from . import step_count
from .aec import (
    GameAEC,
    IllegalActionLoses,
    no_parallel_env,
)
from .options import Info
from .render.modes import (
    OPEN,
    AgentRenderView,
    RenderFrame,
    RenderMode,
    usable_render_modes,
    warn_without_render_mode,
)
from .spaces import dict_space, state_box, warm_up_states
from .text import TEXT_OR_NUMBER, Answers, TextObservation, checked_retries
from .typed_aec import Observation, Wrapped

AGENTS = ("player_0", "player_1")

if __doc__:
    __doc__ = (
        __doc__.replace("[VERSION]", str(OBSERVATION_SPEC.version))
        .replace("[SPEC_TABLE]", OBSERVATION_SPEC.table())
        .replace("[EXCHANGE_TABLE]", EXCHANGE_SPEC.table(OBSERVATION_SPEC.size))
        .replace("[HISTORY_TABLE]", HISTORY_ABOUT)
    )


@checked_keywords()
def env(
    rules: RulesLike = "classic",
    *,
    reward: Reward = "points",
    suit_order: SuitOrder = "raw",
    horizon: Horizon = "hand",
    observation: ObservationForm = "vector",
    match: Match | int | None = None,
    render_mode: RenderMode | None = None,
    render_view: AgentRenderView = "mover",
    retries: int | None = None,
) -> Wrapped[raw_env]:
    """Make the PettingZoo AEC environment of two agents, `player_0` and `player_1`.

    Returns the environment in PettingZoo's wrappers: an illegal action ends the episode as a loss.
    `env.unwrapped` is the `raw_env` inside, which has the `view` of each agent and the `state`.

    ```python
    env = german_whist_v0.env("classic", reward="win", suit_order="trump-first", horizon="foreplay")
    env.reset(seed=42)
    observation, reward, termination, truncation, info = env.last()
    env.step(int(observation["action_mask"].argmax()))
    ```

    Those three options are `german_whist.FOREPLAY_OPTIONS`, which we train with.

    All options but the rules are given by name:

    - `rules`: the rule set. A name such as `"classic"` (default) or `"draft"`, a `Rules`, a mapping
      of its fields, or the path of a YAML file. `german-whist rules` explains the names.
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
    - `render_mode`: what `render()` gives. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image. `"svg"`: a drawing.
    - `render_view`: whose hand a picture shows. `"mover"` (default): that of the agent to move. `0`
      or `1`: that seat's. `"open"`: both.
    - `retries`: how many answers in words that name no legal action are refused, before the next
      one loses. With `observation="text"`; `None` (default): 2.
    """
    raw = raw_env(
        rules,
        reward=reward,
        suit_order=suit_order,
        horizon=horizon,
        observation=observation,
        match=match,
        render_mode=render_mode,
        render_view=render_view,
        retries=retries,
    )
    return Wrapped(AnswersAgain(raw) if raw.reads_text else IllegalActionLoses(raw))


class AnswersAgain(IllegalActionLoses):
    """The wrapper for texts: an answer that names no legal action loses after all retries."""

    def step(self, action: int | str | None) -> None:
        raw: Any = self._raw
        mover = raw.agent_selection
        refused: dict[str, str] = {}
        if not raw.is_over:
            try:
                action = raw.check_action(action)
            except IllegalAction:
                if not isinstance(action, str):
                    raise
                refused = {"refused": raw.answers.reason}
                if not raw.answers.exhausted:
                    # The mover has seen its reward: it must not be paid at the next look too.
                    raw.rewards = dict.fromkeys(raw.possible_agents, 0.0)
                    raw._cumulative_rewards[mover] = 0.0
                    raw.infos[mover] = refused
                    self._prev_obs = None
                    return
                action = int(raw.observe(mover)["action_mask"].argmin())
            else:
                raw.infos[mover] = {}
        super().step(action)
        if refused:
            raw.infos[mover] |= refused


class raw_env(GameAEC):  # noqa: N801 - the name that PettingZoo asks for
    """The environment of `env()` without wrappers: an illegal action raises `IllegalAction`.

    The options are those of `env`. After an error the environment is as it was before the call.
    """

    metadata: dict[str, object] = {  # noqa: RUF012 - PettingZoo reads it from the class
        "name": "german_whist_v0",
        "render_modes": usable_render_modes(),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    @checked_keywords()
    def __init__(
        self,
        rules: RulesLike = "classic",
        *,
        reward: Reward = "points",
        suit_order: SuitOrder = "raw",
        horizon: Horizon = "hand",
        observation: ObservationForm = "vector",
        match: Match | int | None = None,
        render_mode: RenderMode | None = None,
        render_view: AgentRenderView = "mover",
        retries: int | None = None,
    ) -> None:
        self.options: Options = options_from(
            rules,
            reward=reward,
            suit_order=suit_order,
            horizon=horizon,
            observation=observation,
            match=match,
        )
        self.reads_text: bool = self.options.observation == TEXT
        if self.reads_text:
            self._action_form = TEXT_OR_NUMBER
        self.answers: Answers = Answers(checked_retries(self.options, retries))
        self.rules: Rules = self.options.rules
        self.worst: float = self.options.max_loss
        super().__init__(
            AGENTS, partial(dict_space, self.options), self.rules.actions, render_mode, render_view
        )
        self._batch = Batch(self.options, 1)
        config, games, suit_orders, results, *_, workspace = self._batch.arrays
        self._arrays = config, games, suit_orders, results, workspace
        self._shape = self.options.observation_shape
        self.state_space: spaces.Box = state_box(self.rules)
        self._next_observation: tuple[Array, Array] | None = None
        self.is_over: bool = False
        kind, horizon = self.options.encoding, self.options.horizon
        in_match = horizon == "match"
        title = f"environment ({kind}{', match' if in_match else ''})"
        warm_up(title, "envs", lambda: _compile_all(kind, in_match), seconds=3)

    # -- the life cycle

    def reset(self, seed: int | None = None, options: Mapping[str, object] | None = None) -> None:
        """Deal. With a seed its first deal, without one the next; `options` may set a deal.

        `options={"deal": cards, "dealer": seat}` deals these cards in the order in
        which they are dealt: one card to the non-dealer, one to the dealer, and so on in turn, and
        then the stock from the top. `"number"` picks a deal of the seed.
        """
        self._next_observation = None
        self._returns = [0.0, 0.0]
        self.answers.accept()
        self.is_over = False
        self._batch.reset(seed, self._begin(options))
        seat = int(self._batch.games["turn"][0])
        self._next_observation = self._encode_for(seat, self._batch.suit_orders)
        self.agent_selection = AGENTS[seat]
        self._render_human()

    def _encode_for(self, seat: int, orders: Array) -> tuple[Array, Array]:
        """A seat's observation and mask; writes their order of suits to `orders`."""
        observation = np.empty(self._shape, np.int8)
        mask = np.empty(self._actions, np.int8)
        configs, games, _, _, workspaces = self._arrays
        observe_single(configs, games, orders, workspaces, seat, observation, mask)
        return observation, mask

    def step(self, action: object) -> None:
        """Play an action of the agent to move; None removes a finished agent."""
        if not self.agents or not self._batch.ready:
            self.raise_without_agents()
        agent = self.agent_selection
        if self.is_over:
            self._was_dead_step(action)  # pyright: ignore[reportArgumentType]  # None is expected
            return
        number = as_integer(action)
        if number is None or not 0 <= number < self._actions:
            number = self.check_action(action)
        observation = np.empty(self._shape, np.int8)
        mask = np.empty(self._actions, np.int8)
        code = step_single(*self._arrays, number, observation, mask)
        if code < 0:
            raise self._why_illegal(number)
        step_count.own[0] += 1
        self.answers.accept()
        step = UNPACKED_STEPS[code]
        self._cumulative_rewards[agent] = 0.0
        if step.event >= EPISODE_OVER:
            if step.event == ENDGAME_REACHED:
                self._batch.events[0] = ENDGAME_REACHED
                self._batch.score_endings(self._batch.all_games)
            self.is_over, self._next_observation = True, None
            self._end(agent)
        else:
            seat = step.seat
            if step.event == NEXT_HAND:
                self._batch.deal_next(self._batch.all_games)
                seat = int(self._batch.games["turn"][0])
                observation, mask = self._encode_for(seat, self._batch.suit_orders)
            self._next_observation = (observation, mask)
            self.agent_selection = AGENTS[seat]
        if step.rewarded or step.event == ENDGAME_REACHED:
            self._add_rewards(*self._batch.results["rewards"][0].tolist())
        else:
            self._add_rewards(0.0, 0.0)
        if self.render_mode == "human":
            self.render()

    def _add_rewards(self, first: float, second: float) -> None:
        rewards, total = self.rewards, self._cumulative_rewards
        rewards["player_0"] = first
        rewards["player_1"] = second
        if first or second:
            total["player_0"] += first
            total["player_1"] += second
            self._returns[0] += first
            self._returns[1] += second

    def abandon(self, offender: str) -> None:
        self._batch.abandon(self._batch.all_games, np.array([AGENTS.index(offender)]))
        self.is_over, self._next_observation = True, None
        self.answers.accept()  # a refused answer's sentence names its player's cards
        self._set_results()

    def _result(self, seat: int) -> Info:
        result = self._batch.results[0]
        own_first = -1 if seat else 1
        return {
            "tricks": result["tricks"][::own_first].copy(),
            "points": result["points"][::own_first].copy(),
            "won": own_first * int(result["won"]),
            "deal": int(result["deal"]),
        }

    def episode_return(self, agent: str) -> float:
        return self._returns[AGENTS.index(agent)]

    # -- observations

    def observe(self, agent: str) -> Observation:
        """Fresh arrays of an agent's observation and mask, which is zero unless it is to move."""
        if self._next_observation is not None and agent == self.agent_selection:
            observation, mask = self._next_observation
            self._next_observation = None
        else:
            self.check_dealt()
            orders = np.empty_like(self._batch.suit_orders)
            observation, mask = self._encode_for(self._seat(agent), orders)
        if self.reads_text:
            # `Observation` is annotated for arrays, which nearly all users read.
            return {"observation": self._text(agent), "action_mask": mask}  # pyright: ignore[reportReturnType]
        return {"observation": observation, "action_mask": mask}

    def _text(self, agent: str) -> TextObservation:
        answers = self.answers if agent == self.agent_selection else Answers(0)
        return answers.observation(self.view(agent))

    def view(self, agent: str) -> View:
        self.check_dealt()
        return self._batch.view(0, self._seat(agent))

    def state(self) -> Array:
        """The global state, with both hands and the stock: a fresh array, for training alone."""
        self.check_dealt()
        warm_up_states()
        return self._batch.global_states()[0]

    def game(self) -> Game:
        """An independent copy of the game, with both hands and the stock open."""
        self.check_dealt()
        return self._batch.game()

    # -- errors

    def check_dealt(self) -> None:
        if not self._batch.ready:
            raise IllegalAction("nothing has been dealt yet: call reset() first")

    def check_action(self, action: object) -> int:
        if isinstance(action, str) and self.reads_text:
            self.check_dealt()
            return self.answers.read(action, self.view(self.agent_selection))
        return super().check_action(action)

    def _why_illegal(self, action: int) -> IllegalAction:
        seat = AGENTS.index(self.agent_selection)
        _, mask = self._encode_for(seat, np.empty_like(self._batch.suit_orders))
        allowed = actions_text(np.flatnonzero(mask).tolist(), self.options)
        return self._illegal(actions_text([action], self.options), allowed)

    # -- rendering

    def render(self) -> RenderFrame:
        """Render the table in the environment's render mode."""
        if self._painter is None:
            warn_without_render_mode()
            return None
        open_hands, seat = self._render_view == OPEN, self._render_seat()
        names = (AGENTS[seat], AGENTS[1 - seat])
        return self._painter.paint(self.game(), seat, names, open_hands=open_hands)


if not TYPE_CHECKING:
    __getattr__ = no_parallel_env(__name__)


@step_count.uncounted()
def _compile_all(observation: NetworkObservation, in_match: bool) -> None:
    horizon: Horizon = "match" if in_match else "hand"
    env = raw_env("small-last", observation=observation, horizon=horizon)
    env.reset(seed=0)
    observed = env.observe(env.agent_selection)
    env.step(int(observed["action_mask"].argmax()))
    env.observe(AGENTS[0])
    if in_match:
        env._batch.deal_next(env._batch.all_games)
