"""German Whist as a PettingZoo AEC environment.

| property | value |
|---|---|
| Import | `from german_whist import german_whist_v0` |
| Agents | `player_0`, `player_1` |
| Actions | `Discrete(52)`, one for each card; 53 in the rule set `draft`, 55 in `humbug` |
| Observations | a dictionary: `observation` (int8 vector, or rows) and `action_mask` (int8) |
| Rewards | what one agent gains, the other loses, except after an illegal action |
| Parallel API | no, because the agents never move at the same time |

In the first stage of a hand, the *foreplay*, two players play tricks to win cards from a stock. In
the second stage, the *endgame*, they play out their hands. `german-whist rules classic` prints the
rules. Each agent observes exactly what its player may know.

```python
env = german_whist_v0.env("classic")
env.reset(seed=42)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    if termination or truncation:
        print(agent, reward)
        env.step(None)
    else:
        env.step(int(observation["action_mask"].argmax()))  # the first legal card
env.close()
```

The loop prints `player_0 1.0` and `player_1 -1.0`.

An episode is a whole hand, as people play it. To train an agent, use a shorter problem:
`german_whist_v0.env(**german_whist.FOREPLAY_OPTIONS)`. An episode then ends when the stock is
empty. The winner is the player who would win the hand if both played the endgame perfectly. This
player gets +1, and the other gets -1; a tie, which some rule sets allow, pays 0. Trumps always come
first in the observation. The same environment is `pettingzoo.make("aec",
"german_whist/german_whist_foreplay_v0")`.

### Actions

| action | meaning |
|---|---|
| 0 to 51 | play this card, or take it from the stock. The number is `suit * 13 + rank`. Suits are \
clubs, diamonds, hearts and spades, from 0 to 3. Ranks run from 0 for the two to 12 for the ace. |
| 52 | take the hidden card of the stock instead of the *upcard*, which lies face up. Only rule \
sets in which the winner of a trick may do so have this action (`draft`). |
| 53, 54 | keep the dealt hand, or put it aside and take a *blind hand*, which nobody has seen. \
Only rule sets in which hands are exchanged have these actions \
([`humbug`](rules.md#humbug)). |

The mask has a 1 for each legal action. An agent that is not to move has no legal actions, so its
mask has only zeros. After the end, both masks have only zeros.

The winner of a trick leads the next one, so the same agent often moves twice in a row. With
`suit_order="trump-first"`, actions and masks number the suits in the same order as the observation.

### Observations

With `observation="vector"`, an observation is an int8 vector of zeros and ones. Its layout is
version [VERSION]:

[SPEC_TABLE]

In rule sets in which hands are exchanged, the vector has more places:

[EXCHANGE_TABLE]

With `observation="history"`, an observation lists the events that the player has seen, in order.
Each event is a row `(kind, who, card, trick)`. The rows after the last event are zeros:

[HISTORY_TABLE]

With `observation="text"`, an observation is a text for [language models](../guide/text.md). The
text before an agent's first action begins with the rules. An action is then an answer in words, or
a number as in the table above. If an answer names no legal action, `infos[agent]["refused"]` says
why, and the same agent is asked again. When none of its `retries` is left, such an answer loses the
episode.

### Rewards and the end

When an episode ends, `termination` is true for both agents. `truncation` is true only after an
illegal action.

| `reward` | what the agent gets | when |
|---|---|---|
| `points` (default) | what the rule set pays for the hand | after each hand |
| `win` | +1 for winning, -1 for losing, 0 for a tie | after the hand, or after the match |
| `margin` | its counting tricks minus those of the opponent | after each hand |
| `tricks` | +1 for its own counting trick, -1 for one of the opponent | after each counting trick |

In play low, where the fewest tricks win, `margin` and `tricks` have the opposite sign.

If an agent plays an illegal action, `env()` ends the episode with PettingZoo's
`TerminateIllegalWrapper`. The agent gets a penalty, so that its return is no better than the worst
legal one. The other agent gets 0 for this step. `raw_env()` raises `IllegalAction` instead, and the
game does not change. Both raise `IllegalAction` if the action is not a whole number in the table of
actions.

At the end, `infos[agent]["result"]` holds the result from the agent's point of view:

| key | value |
|---|---|
| `tricks` | counting tricks of the agent, and of the opponent |
| `points` | points in the match of the agent, and of the opponent; zeros outside of a match |
| `won` | 1 if the agent won, -1 if it lost, 0 after a tie |
| `deal` | number of the deal |

### Deals and states

| call | what is dealt |
|---|---|
| `reset(seed=s)` | deal 0 of the seed `s` |
| `reset()` | the next deal of the seed |
| `reset(options={"number": n})` | deal `n` of the seed |
| `reset(options={"deal": cards, "dealer": seat})` | these cards |

The same seed gives the same deals in `german_whist.Game` and in all environments. If an environment
has `n` games, game `i` plays the deals `i`, `i + n`, `i + 2n` and so on.

List `cards` in the order in which they are dealt: one card to the non-dealer, one to the dealer,
and so on in turn, and then the stock from the top. In rule sets in which hands are exchanged, four
hands get one card each in turn: the first blind hand, the non-dealer, the second blind hand, and
the dealer.

`env.unwrapped.view(agent)` returns a `View`, which holds what the agent's player knows.

`state()` returns the global state: all cards, also the hidden ones, as a vector of the space
`state_space`. Use it only in training, for example for a critic. A policy that reads the state
plays with hidden cards in sight.

### Versions

- v0 is the first version. If a change makes the same seed and actions give other observations,
  rewards or deals, the environment becomes v1.
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
    """The PettingZoo AEC environment of two agents, `player_0` and `player_1`.

    `env()` returns `raw_env()` in PettingZoo's wrappers: an illegal action loses the episode.
    `env.unwrapped` is the `raw_env` inside, with the methods `view(agent)` and `state()`.

    ```python
    env = german_whist_v0.env("classic", reward="win", suit_order="trump-first", horizon="foreplay")
    env.reset(seed=42)
    observation, reward, termination, truncation, info = env.last()
    env.step(int(observation["action_mask"].argmax()))
    ```

    `reward`, `suit_order` and `horizon` have the values of `german_whist.FOREPLAY_OPTIONS` here,
    which we use to train agents.

    All options but the rules are given by name:

    - `rules`: the rule set. Give a name such as `"classic"` (default) or `"draft"`, a `Rules`, a
      mapping of its fields, or the path of a YAML file. The command `german-whist rules` lists the
      names.
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
    - `render_mode`: what `render()` makes. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image as an array. `"svg"`: a drawing as SVG.
    - `render_view`: whose hand a picture shows. `"mover"` (default): the hand of the agent to move.
      `0` or `1`: the hand of the player in this seat. `"open"`: both hands.
    - `retries`: how often a player may answer again in a decision, after an answer that names no
      legal action. When no retry is left, such an answer loses the episode. `None` (default): 2
      times. You can only give a number with `observation="text"`.
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

    The options are those of `env`. After an error of `step` the environment is as it was before;
    after one of `reset`, reset it again.
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
