"""Base class and wrapper of the AEC environments: PettingZoo's life cycle, without the game."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from gymnasium import spaces
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

from ..engine.checks import IllegalAction, checked_action, checked_seat
from .options import Info
from .render.modes import MOVER, OPEN, AgentRenderView, RenderMode, painter_for
from .typed_aec import Observation, TypedAEC

_SET_BY_RESET = ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos")


class GameAEC(TypedAEC):
    """PettingZoo's attributes and life cycle; subclasses add the game."""

    worst: float
    """Largest possible loss of an episode."""
    is_over: bool
    """Whether the episode is over."""
    _action_form: str = "a whole number"

    def __init__(
        self,
        agents: Sequence[str],
        make_space: Callable[[], spaces.Dict],
        actions: int,
        render_mode: RenderMode | None,
        render_view: AgentRenderView,
    ) -> None:
        super().__init__()
        self.render_mode: str | None = render_mode
        self._painter = painter_for(render_mode, self.metadata["render_fps"])
        views = (MOVER, OPEN, *range(len(agents)))
        self._render_view = checked_seat(render_view, views, "render_view")
        self._actions = actions
        self.possible_agents: list[str] = list(agents)
        self.observation_spaces: dict[str, spaces.Dict] = {agent: make_space() for agent in agents}
        self.action_spaces: dict[str, spaces.Discrete] = {
            agent: spaces.Discrete(actions) for agent in agents
        }
        self.agents: list[str] = []
        # Set before a reset, so that `last` can raise that nothing has been dealt.
        self.agent_selection: str = agents[0]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name in _SET_BY_RESET:
                raise AttributeError(f"{name} cannot be accessed before reset")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- spaces

    def observation_space(self, agent: str) -> spaces.Dict:
        """The dict space of observation and mask; always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The discrete space of actions; always the same object."""
        return self.action_spaces[agent]

    # -- the life cycle

    def _begin(self, options: Mapping[str, object] | None) -> Mapping[str, object] | None:
        """Clear rewards, ends and infos; returns the options of the reset."""
        agents = self.possible_agents
        self.agents = list(agents)
        self.rewards: dict[str, float] = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations: dict[str, bool] = dict.fromkeys(agents, False)
        self.truncations: dict[str, bool] = dict.fromkeys(agents, False)
        self.infos: dict[str, Info] = {agent: {} for agent in agents}
        self._skip_agent_selection = None
        if isinstance(options, dict):
            # PettingZoo's API test passes this name, without a meaning.
            return {name: value for name, value in options.items() if name != "options"}
        return options

    def _end(self, agent: str) -> None:
        self.terminations = dict.fromkeys(self.possible_agents, True)
        next_seat = self.possible_agents.index(agent) + 1
        self.agent_selection = self.possible_agents[next_seat % len(self.possible_agents)]
        self._set_results()

    def _set_results(self) -> None:
        for seat, agent in enumerate(self.possible_agents):
            self.infos[agent] = {"result": self._result(seat)}

    def last(self, observe: bool = True) -> tuple[Observation, float, bool, bool, Info]:
        """Observation, rewards since its last action, ends and info of the agent to move."""
        agent = self.agent_selection
        try:
            return (
                self.observe(agent) if observe else None,  # pyright: ignore[reportReturnType]
                self._cumulative_rewards[agent],
                self.terminations[agent],
                self.truncations[agent],
                self.infos[agent],
            )
        except (AttributeError, KeyError):
            # Asked only now: who plays calls this before each action.
            if not self.agents:
                self.raise_without_agents()
            raise

    @abstractmethod
    def _result(self, seat: int) -> Info:
        """The result of the episode from a seat's point of view."""

    @abstractmethod
    def abandon(self, offender: str) -> None:
        """End the game at once, lost by the agent that acted illegally."""

    @abstractmethod
    def episode_return(self, agent: str) -> float:
        """The sum of an agent's rewards in this episode."""

    # -- errors

    def _seat(self, agent: str) -> int:
        if agent not in self.possible_agents:
            agents = ", ".join(self.possible_agents)
            raise ValueError(f"there is no agent {agent!r}: they are {agents}")
        return self.possible_agents.index(agent)

    @abstractmethod
    def check_dealt(self) -> None:
        """Raise unless a hand is dealt."""

    def raise_without_agents(self) -> None:
        self.check_dealt()
        raise IllegalAction("the episode is over for all agents: call reset() to deal again")

    def check_action(self, action: object) -> int:
        """The action as an int; `IllegalAction` if it is out of range."""
        self.check_dealt()
        number = checked_action(action, self._action_form)
        if not 0 <= number < self._actions:
            raise IllegalAction(
                f"action is {number}: actions run from 0 to {self._actions - 1} with these rules"
            )
        return number

    def _illegal(self, action: str, allowed: str) -> IllegalAction:
        mover = self.agent_selection
        return IllegalAction(
            f"action {action} is not legal for {mover} now: its mask allows {allowed}"
        )

    # -- rendering

    def _render_seat(self) -> int:
        """The seat from which a picture shows the table."""
        if self._render_view == MOVER:
            return self._seat(self.agent_selection)
        return 0 if self._render_view == OPEN else int(self._render_view)

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        if self._painter is not None:
            self._painter.close()


class IllegalActionLoses(TerminateIllegalWrapper[str, Observation, int]):
    """PettingZoo's wrapper that ends an episode against an agent that acts illegally.

    Its penalty brings the agent's return to the worst result of an episode or below,
    whatever its rewards so far. The others get 0.
    """

    def __init__(self, env: GameAEC) -> None:
        super().__init__(env, illegal_reward=-env.worst)
        self._raw = env

    def step(self, action: int | str | None) -> None:
        """Play, or end the episode; an action out of range raises `IllegalAction`."""
        raw = self._raw
        mover, was_over = raw.agent_selection, raw.is_over
        if not was_over:
            action = raw.check_action(action)
            self._illegal_value = -raw.worst - max(raw.episode_return(mover), 0.0)
        super().step(action)  # pyright: ignore[reportArgumentType]  # None once it is over
        if self._terminated and not was_over:
            raw.abandon(mover)


def no_parallel_env(module: str) -> Callable[[str], NoReturn]:
    """A module's `__getattr__` that explains the absence of `parallel_env`."""

    def missing(name: str) -> NoReturn:
        message = f"module {module!r} has no attribute {name!r}"
        if name == "parallel_env":
            title = module.rpartition(".")[2]
            message = (
                f"{title} has no parallel_env, as the players move in turn: use env() or raw_env()"
            )
        raise AttributeError(message)

    return missing
