"""How players are asked, wherever they sit: with arrays of their own, and their faults by name."""

from __future__ import annotations

from ..common.plugins import error_location, error_text
from .base import Agent, Array, checked_answer, copied


class PlayerFault(ValueError):
    """What a player did that no player may do."""


def answer_of(agent: Agent, views: Array, rng: Array, indices: Array) -> Array:
    """What an agent plays; nothing that it gets is a part of what others read."""
    seen, streams = copied(views), rng.copy()
    if agent.keeps_state:
        answer = agent.act(seen, streams, indices=indices.copy())  # type: ignore[call-arg]
    else:
        answer = agent.act(seen, streams)
    return checked_answer(agent, answer, len(views))


class Named(Agent):
    """Another agent, whose errors name it and the place."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name
        self.rules, self.match, self.record = agent.rules, agent.match, agent.record
        self.reads_tricks, self.keeps_state = agent.reads_tricks, agent.keeps_state
        self.reads_draws, self.many_at_once = agent.reads_draws, agent.many_at_once

    @property
    def perfect_endgame(self) -> bool:
        """As the other says."""
        return self.agent.perfect_endgame

    @property
    def endgame(self) -> str:
        """As the other says."""
        return self.agent.endgame

    def act(self, views: Array, rng: Array, **more: Array) -> Array:
        """Whatever the other answers."""
        try:
            return self.agent.act(views, rng, **more)
        except (Exception, SystemExit) as error:
            raise _fault(self.agent, error) from error

    def reset(self, indices: Array) -> None:
        """Tell the other."""
        try:
            self.agent.reset(indices)
        except (Exception, SystemExit) as error:
            raise _fault(self.agent, error) from error


def _fault(agent: Agent, error: BaseException) -> PlayerFault:
    return PlayerFault(
        f"opponent {agent.name} raised {error_text(error)} ({error_location(error)})"
    )


def claims_perfection(agent: Agent) -> bool:
    """Whether an agent says that it plays every open ending perfectly."""
    try:
        return bool(agent.perfect_endgame)
    except Exception as error:
        raise PlayerFault(
            f"{agent.name}: perfect_endgame raised {error_text(error)} "
            f"({error_location(error)}): it "
            "has to be True or False"
        ) from error
