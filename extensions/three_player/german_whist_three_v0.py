"""German Whist for three players with a dummy, as a PettingZoo AEC environment.

| property | value |
|---|---|
| Import | `from german_whist.three_player import german_whist_three_v0` |
| Agents | `player_0`, `player_1`, `player_2` |
| Actions | discrete, 52 |
| Observations | `{"observation": int8 vector, "action_mask": int8}` |
| Parallel API | no |
| Rewards | add up to 0 over the three agents, except after an illegal card |

The players who lose a trick draw cards that nobody else sees, so each agent knows only a part of
the cards. The [overview](../README.md#the-rules) explains the rules. This loop plays a random hand:

```python
env = german_whist_three_v0.env()
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

### Actions and whose turn it is

An action is a card with the number `suit * 13 + rank`. The suits are in the order clubs, diamonds,
hearts, spades, and a two has the rank 0. The action mask marks the legal cards. For an agent that
is not to move, and after the end, all entries of the mask are 0.

The dummy is not an agent. When the dummy has to play a card, `agent_selection` is the player who
won the eighth trick. The mask of this player then marks the legal cards of the dummy. The places
`turn` in the observation say whose card has to be played.

So one agent can move several times in a row. This happens when it wins a trick as the last player,
and when it plays a card for the dummy before or after its own.

### Observations

An observation is one int8 vector of zeros and ones. The table describes version
[VERSION] of the vector. Observations are relative to the player's seat: *left* is
the next player clockwise, and *right* is
the one after that. Until the eighth trick is over, the cards of the dummy are ordinary cards of the
stock. After that, all three players see them.

[SPEC_TABLE]

### Rewards and the end

Only the last seven tricks, which are played with the dummy, score.
If a player wins such a trick, the rewards of this step
are 2 for the player and -1 for each of the other two. If the dummy wins the trick, all rewards
are 0. The total of a player lies between -7 and 14, and the totals of all three add up to 0. The
episode ends for all agents at once, with `termination`.

At the end, `infos[agent]["result"]` holds the result of the hand, as this agent sees it:

| key | value |
|---|---|
| `tricks` | scoring tricks of the agent, the left player, the right player, and the dummy |
| `payoffs` | payoffs of the three players, in the same order |
| `deal` | number of the deal |

If an agent plays an illegal card, `env()` ends the episode. The agent then has a total of -7 or
less, which is no better than the worst legal result. The other agents get a reward of 0 for this
step, and `truncation` is set for all agents. (PettingZoo's `TerminateIllegalWrapper` does this.)
`raw_env()` raises `IllegalAction` instead, and the game does not change.

### Deals

`reset(seed=s)` starts deal 0 of seed `s`. Every later `reset()` starts the next deal of this seed.
`ThreeGame` has the same deals. You can also choose a deal:

- `reset(options={"number": n})` starts deal `n` of the seed.
- `reset(options={"deal": cards, "dealer": seat})` sets up a deal. The cards are in the order in
  which they are dealt. The first 21 cards go one at a time to the three players, beginning at the
  dealer's left. The stock follows from the top, and its last seven cards are the dummy.

`env.unwrapped.view(agent)` returns the agent's `ThreeView`, which holds all that the agent may
know.

### Versions

- v0 is the first version. If the same seed and actions ever lead to other observations, rewards or
  deals, the new version is called v1.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from german_whist.engine.batch.config import checked_keywords
from german_whist.engine.cards import N_CARDS, action_text
from german_whist.engine.checks import IllegalAction, check_reset_options, checked_seed, fresh_seed
from german_whist.envs.aec import GameAEC, IllegalActionLoses, no_parallel_env
from german_whist.envs.options import Info
from german_whist.envs.render.modes import (
    OPEN,
    AgentRenderView,
    RenderFrame,
    RenderMode,
    usable_render_modes,
    warn_without_render_mode,
)
from german_whist.envs.typed_aec import Observation, Wrapped

from .game import HAND, PLAYERS, ThreeGame, ThreeView
from .observation import THREE_SPEC, mask_for_three, observation_for_three, three_space
from .render import scene_of_three, text_of_three

AGENTS = ("player_0", "player_1", "player_2")

if __doc__:
    __doc__ = __doc__.replace("[VERSION]", str(THREE_SPEC.version)).replace(
        "[SPEC_TABLE]", THREE_SPEC.table()
    )


@checked_keywords()
def env(
    *, render_mode: RenderMode | None = None, render_view: AgentRenderView = "mover"
) -> Wrapped[raw_env]:
    """Make the PettingZoo AEC environment of three agents, `player_0` to `player_2`.

    Returns the environment in PettingZoo's wrappers: an illegal action ends the episode as a loss.
    `env.unwrapped` is the `raw_env` inside, which has the `view` of each agent.

    - `render_mode`: what `render()` gives. `None` (default): nothing. `"human"`: a window.
      `"ansi"`: a text. `"rgb_array"`: an image. `"svg"`: a drawing.
    - `render_view`: whose hand a picture shows. `"mover"` (default): that of the agent to move.
      `0`, `1` or `2`: that seat's. `"open"`: all.
    """
    return Wrapped(IllegalActionLoses(raw_env(render_mode=render_mode, render_view=render_view)))


class raw_env(GameAEC):  # noqa: N801 - the name that PettingZoo asks for
    """The environment of `env()` without wrappers: an illegal action raises `IllegalAction`.

    The options are those of `env`. After an error the environment is as it was before the call.
    """

    metadata: dict[str, object] = {  # noqa: RUF012 - PettingZoo reads it from the class
        "name": "german_whist_three_v0",
        "render_modes": usable_render_modes(),
        "is_parallelizable": False,
        "render_fps": 2,
    }
    worst: float = HAND

    @checked_keywords()
    def __init__(
        self, *, render_mode: RenderMode | None = None, render_view: AgentRenderView = "mover"
    ) -> None:
        super().__init__(AGENTS, three_space, N_CARDS, render_mode, render_view)
        self._game = ThreeGame()
        self._seed: int | None = None
        self.dealt: bool = False
        """Whether a game was dealt: a refused reset leaves nothing to step."""
        self._stopped = False

    # -- reset and step

    def deal(self, seed: int | None, options: Mapping[str, Any] | None = None) -> ThreeGame:
        """Deal as `reset` does, without agents."""
        self.dealt = self._stopped = False
        options = options or {}
        check_reset_options(options)
        number = 0 if self._seed is None or seed is not None else self._game.number + 1
        if options.get("number") is not None:
            number = checked_seed(options["number"], "number")
        if seed is not None:
            self._seed = checked_seed(seed)
        elif self._seed is None:
            self._seed = fresh_seed()
        self._game.deal(self._seed, number)
        deal, dealer = options.get("deal"), options.get("dealer")
        if deal is not None or dealer is not None:
            cards = self._game.cards_dealt if deal is None else deal
            self._game.deal_cards(cards, 0 if dealer is None else dealer)
        self.dealt = True
        return self._game

    def reset(self, seed: int | None = None, options: Mapping[str, object] | None = None) -> None:
        """Deal the first deal of the seed, or without one the next; `options` may set a deal."""
        self.deal(seed, self._begin(options))
        self.agent_selection = self._mover()
        self._render_human()

    def step(self, action: Any) -> None:
        """Play a card for the agent to move; None removes a finished agent."""
        if not self.agents or not self.dealt:
            self.raise_without_agents()
        if self.is_over:
            self._was_dead_step(action)
            return
        number = self.check_action(action)
        game, agent = self._game, self.agent_selection
        if not game.legal_set >> number & 1:
            allowed = ", ".join(map(action_text, game.legal()))
            raise self._illegal(action_text(number), allowed)
        before = game.payoffs
        game.play(number)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = {
            name: float(new - old)
            for name, new, old in zip(AGENTS, game.payoffs, before, strict=True)
        }
        self._accumulate_rewards()
        if game.over:
            self._end(agent)
        else:
            self.agent_selection = self._mover()
        self._render_human()

    def _mover(self) -> str:
        mover = self._game.mover
        assert mover is not None
        return AGENTS[mover]

    def stop(self) -> None:
        """End the game where it stands."""
        self._stopped = True

    def abandon(self, offender: str) -> None:
        """End the game after an illegal action of `offender`."""
        self.stop()
        self._set_results()

    def result_of(self, seat: int) -> Info:
        """Result from a seat: its own first, the others clockwise, the dummy."""
        order = [(seat + place) % PLAYERS for place in range(PLAYERS)]
        tricks, payoffs = self._game.counting_tricks, self._game.payoffs
        return {
            "tricks": np.array([*(tricks[place] for place in order), tricks[PLAYERS]]),
            "payoffs": np.array([payoffs[place] for place in order]),
            "deal": self._game.number,
        }

    _result = result_of

    @property
    def is_over(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._stopped or self._game.over

    def episode_return(self, agent: str) -> float:
        return self._game.payoffs[AGENTS.index(agent)]

    # -- observations

    def view_of(self, seat: int) -> ThreeView:
        """The view of a seat, without legal actions after the end."""
        self.check_dealt()
        view = self._game.view(seat)
        return view._replace(turn=None, legal=0) if self._stopped else view

    def observation_of(self, seat: int) -> Observation:
        view = self.view_of(seat)
        return {"observation": observation_for_three(view), "action_mask": mask_for_three(view)}

    def observe(self, agent: str) -> Observation:
        """Observation of an agent in new arrays; the mask is zero unless it is to move."""
        return self.observation_of(self._seat(agent))

    def view(self, agent: str) -> ThreeView:
        return self.view_of(self._seat(agent))

    def game(self) -> ThreeGame:
        """A deep copy of the game, all cards open."""
        self.check_dealt()
        return copy.deepcopy(self._game)

    def check_dealt(self) -> None:
        if not self.dealt:
            raise IllegalAction("nothing has been dealt yet: call reset() first")

    def paint(self, seat: int, *, open_hands: bool) -> RenderFrame:
        """Render from a seat; with `open_hands` all cards lie open."""
        if self._painter is None:
            warn_without_render_mode()
            return None
        view, hands = self.view_of(seat), self._game.hands if open_hands else None
        if self._painter.mode == "ansi":
            return text_of_three(view, hands)
        return self._painter.draw(scene_of_three(view, hands))

    def render(self) -> RenderFrame:
        return self.paint(self._render_seat(), open_hands=self._render_view == OPEN)


if not TYPE_CHECKING:
    __getattr__ = no_parallel_env(__name__)
