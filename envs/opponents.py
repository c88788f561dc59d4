"""Those who play beside a learner, asked in a batch: what they answer is legal, or told of them."""

from __future__ import annotations

from ..agents.asking import PlayerFault, answer_of
from ..agents.base import Agent, Array
from ..engine.batch import Batch
from ..engine.cards import action_text
from .kernels import first_illegal_answer


def legal_answer(batch: Batch, agent: Agent, views: Array, rng: Array, where: Array) -> Array:
    """What an agent plays in the games of `where`, whose views these are."""
    actions = answer_of(agent, views, rng, where)
    wrong = first_illegal_answer(batch.board, where, actions)
    if wrong >= 0:
        index = int(where[wrong])
        view = batch.view(index, int(batch.records["turn"][index]))
        allowed = ", ".join(action_text(each) for each in view.legal())
        raise PlayerFault(
            f"opponent {agent.name} chose {action_text(int(actions[wrong]))} in game {index}, "
            f"which is not legal: {allowed} are"
        )
    return actions
