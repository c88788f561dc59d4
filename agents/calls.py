"""Calls of agents with arrays of their own, and errors that name the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..common.plugins import error_location, error_text
from .base import Agent, Array, check_actions, copy_views


class PlayerFault(ValueError):
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
    """Wrapper of an opponent whose errors name it and the source line."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name
        self.rules, self.match, self.record = agent.rules, agent.match, agent.record
        self.reads_tricks, self.keeps_state = agent.reads_tricks, agent.keeps_state
        self.reads_draws, self.thread_safe = agent.reads_draws, agent.thread_safe

    @property
    def perfect_endgame(self) -> bool:
        return self.agent.perfect_endgame

    @property
    def endgame(self) -> str:
        return self.agent.endgame

    def act(self, views: Array, rng: Array, **kwargs: Array) -> Array:
        with _naming(self):
            return self.agent.act(views, rng, **kwargs)

    def reset(self, indices: Array) -> None:
        with _naming(self):
            self.agent.reset(indices)


@contextmanager
def _naming(agent: Agent) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        message = f"opponent {agent.name} raised {error_text(error)} ({error_location(error)})"
        raise PlayerFault(message) from error


def claims_perfect_endgame(agent: Agent) -> bool:
    """`agent.perfect_endgame`, with errors that name the agent."""
    try:
        return bool(agent.perfect_endgame)
    except Exception as error:
        raise PlayerFault(
            f"{agent.name}: perfect_endgame raised {error_text(error)} ({error_location(error)}): "
            "it has to be True or False"
        ) from error
