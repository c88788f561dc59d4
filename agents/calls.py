"""Calls of agents with arrays of their own, and errors that name the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..common.plugins import error_location, error_text
from .base import Agent, Array, check_actions, copy_views


class AgentFault(ValueError):
    """Fault of an agent: an error that it raised, or an answer that is no action."""


def call_agent(agent: Agent, views: Array, rng: Array, indices: Array) -> Array:
    """Actions of an agent, which gets copies of all arrays."""
    own_views, own_rng = copy_views(views), rng.copy()
    if agent.keeps_state:
        answer = agent.act(own_views, own_rng, indices=indices.copy())  # type: ignore[call-arg]
    else:
        answer = agent.act(own_views, own_rng)
    return check_actions(agent, answer, len(views))


class FaultNamingAgent(Agent):
    """Wrapper of an agent whose errors name it and the source line."""

    def __init__(self, agent: Agent, role: str = "opponent") -> None:
        """`role` is what errors call the agent."""
        self.agent, self.name, self.role = agent, agent.name, role
        self.rules, self.match, self.rules_array = agent.rules, agent.match, agent.rules_array
        self.reads_tricks, self.keeps_state = agent.reads_tricks, agent.keeps_state
        self.reads_draws, self.thread_safe = agent.reads_draws, agent.thread_safe

    @property
    def perfect_endgame(self) -> bool:
        return self.agent.perfect_endgame

    @property
    def endgame(self) -> str:
        return self.agent.endgame

    def act(self, views: Array, rng: Array, **kwargs: Array) -> Array:
        with naming_faults(self, self.role):
            return self.agent.act(views, rng, **kwargs)

    def reset(self, indices: Array) -> None:
        with naming_faults(self, self.role):
            self.agent.reset(indices)


@contextmanager
def naming_faults(agent: Agent, role: str) -> Iterator[None]:
    """Context in which an error that the agent raises names it and the source line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        message = f"{role} {agent.name} raised {error_text(error)} ({error_location(error)})"
        raise AgentFault(message) from error


def own_probabilities(agent: Agent) -> Callable[[Array], Array] | None:
    """The agent's method `probabilities`, where it says what `act` plays.

    It does not if the agent is greedy, if a subclass overrides `act` alone, nor if the agent keeps
    state, since its play depends on more than a view.
    """
    with naming_faults(agent, "agent"):
        method: Callable[[Array], Array] | None = getattr(agent, "probabilities", None)
    if agent.keeps_state or agent.greedy or not callable(method):
        return None
    name, own = "probabilities", vars(agent)
    if name in own and getattr(method, "__self__", None) is agent:
        name = method.__name__

    def place(attribute: str) -> int:
        """Where it is defined: 0 for the instance, or the class after so many."""
        classes = enumerate(type(agent).__mro__, 1)
        return 0 if attribute in own else next((i for i, c in classes if attribute in vars(c)), 0)

    return method if place(name) <= place("act") else None


def claims_perfect_endgame(agent: Agent) -> bool:
    """`agent.perfect_endgame`, with errors that name the agent."""
    try:
        return bool(agent.perfect_endgame)
    except Exception as error:
        raise AgentFault(
            f"{agent.name}: perfect_endgame raised {error_text(error)} ({error_location(error)}): "
            "it has to be True or False"
        ) from error
