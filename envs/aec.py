"""What the AEC environments have in common, whatever is played: PettingZoo's side of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gymnasium import spaces
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

from ..engine.batch.batch import checked_action
from ..engine.game import IllegalAction
from ..engine.seeding import checked_seat
from .render.modes import OPEN, painter_for
from .typed_aec import Observation, TypedAEC

_SET_BY_RESET = ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos")


class TableAEC(TypedAEC):
    """An environment of some agents, as PettingZoo keeps it; what is played is told below it."""

    worst: float
    """A loss that no episode exceeds, however it is played by the rules."""
    is_over: bool
    """Whether the episode is over."""

    def __init__(
        self, agents: Sequence[str], seen: Callable[[], spaces.Dict], actions: int,
        render_mode: str | None, render_view: str | int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.render_mode: str | None = render_mode
        self._painter = painter_for(render_mode, self.metadata["render_fps"])
        self._render_view = checked_seat(render_view, (OPEN, *range(len(agents))), "render_view")
        self._actions = actions
        self.possible_agents: list[str] = list(agents)
        self.observation_spaces: dict[str, spaces.Space[Any]] = {each: seen() for each in agents}
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            each: spaces.Discrete(actions) for each in agents
        }
        self.agents: list[str] = []
        # Who is looked for before a reset: `last` then says that nothing has been dealt.
        self.agent_selection: str = agents[0]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _SET_BY_RESET:
                raise AttributeError(f"{name} cannot be accessed before reset")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- spaces

    def observation_space(self, agent: str) -> spaces.Dict:
        """The dict space of observation and mask; the same object every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The discrete space of actions; the same object every time."""
        return self.action_spaces[agent]

    # -- the life cycle

    def _begin(self, options: dict[str, Any] | None) -> dict[str, Any] | None:
        """Nothing is paid, told or ended yet; the options of the reset that mean something."""
        agents = self.possible_agents
        self.agents = list(agents)
        self.rewards: dict[str, float] = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations: dict[str, bool] = dict.fromkeys(agents, False)
        self.truncations: dict[str, bool] = dict.fromkeys(agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        self._skip_agent_selection = None
        if isinstance(options, dict):
            # PettingZoo's own test of the API passes this name, which means nothing.
            return {name: value for name, value in options.items() if name != "options"}
        return options

    def _end(self, agent: str) -> None:
        """The agent's action has ended the episode for all."""
        self.terminations = dict.fromkeys(self.possible_agents, True)
        following = self.possible_agents.index(agent) + 1
        self.agent_selection = self.possible_agents[following % len(self.possible_agents)]
        self._tell_results()

    def _tell_results(self) -> None:
        for seat, agent in enumerate(self.possible_agents):
            self.infos[agent] = {"result": self._result(seat)}

    @abstractmethod
    def _result(self, seat: int) -> dict[str, Any]:
        """How the episode went, as a seat sees it."""

    @abstractmethod
    def abandon(self, offender: str) -> None:
        """Stop the game where it is, lost by whoever acted illegally: nobody is to move now."""

    @abstractmethod
    def paid_to(self, agent: str) -> float:
        """What this episode has paid an agent so far."""

    # -- words

    def _seat(self, agent: str) -> int:
        if agent not in self.possible_agents:
            known = ", ".join(self.possible_agents)
            raise ValueError(f"there is no agent {agent!r}: they are {known}")
        return self.possible_agents.index(agent)

    @abstractmethod
    def _check_dealt(self) -> None:
        """Refuse to go on where nothing is dealt."""

    def _complain_of_no_agents(self) -> None:
        self._check_dealt()
        raise IllegalAction("the episode is over for all agents: call reset() to deal again")

    def check_action(self, action: object) -> int:
        """The action as an int, or a sentence about what is no action of this environment."""
        self._check_dealt()
        number = checked_action(action)
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

    # -- pictures

    def _show_people(self) -> None:
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._painter is not None:
            self._painter.close()


class IllegalActionLoses(TerminateIllegalWrapper[str, Observation, Any]):
    """PettingZoo's wrapper that ends an episode against whoever acts illegally.

    The loss brings the offender's total to the worst result of an episode or
    below, whatever it has been paid already. The others get 0.
    """

    def __init__(self, inner: TableAEC) -> None:
        super().__init__(inner, illegal_reward=-inner.worst)
        self._raw = inner

    def step(self, action: Any) -> None:
        """Play, or end the episode; what is no action at all raises a sentence."""
        raw = self._raw
        mover, was_over = raw.agent_selection, raw.is_over
        if not was_over:
            action = raw.check_action(action)
            self._illegal_value = -raw.worst - max(raw.paid_to(mover), 0.0)
        super().step(action)
        if self._terminated and not was_over:
            raw.abandon(mover)


def no_parallel_env(module: str) -> Callable[[str], Any]:
    """What a module answers when asked for what it does not have."""

    def missing(name: str) -> Any:
        told = f"module {module!r} has no attribute {name!r}"
        if name == "parallel_env":
            title = module.rpartition(".")[2]
            told = (
                f"{title} has no parallel_env, as the players move in turn: use env() or raw_env()"
            )
        raise AttributeError(told)

    return missing
