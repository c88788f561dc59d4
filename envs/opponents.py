"""Those who play beside a learner, asked in a batch: what they answer is legal, or told of them."""

from __future__ import annotations

import numpy as np

from ..agents.base import Agent, Array
from ..agents.calls import PlayerFault, answer_of
from ..engine.batch.batch import Batch
from ..engine.batch.kernels import BatchArrays
from ..engine.cards import action_text
from .kernels import Waiting, first_illegal_answer

# About how many nanoseconds an answer takes, by the cheaper of those that are asked in parts.
_ANSWER = 100


def legal_answer(batch: Batch, agent: Agent, waiting: Waiting) -> Array:
    """The actions that an agent chooses in the games that wait for it."""
    count = len(waiting.indices)
    actions = np.empty(count, np.int64)
    if agent.many_at_once:
        wrong = batch.run(count, _ask, agent, waiting, actions, cost_ns=_ANSWER)
    else:
        wrong = _ask(batch.arrays, agent, waiting, actions, 0, count)
    if wrong:
        wrong = first_illegal_answer(batch.arrays, waiting.indices, actions)
        index = int(waiting.indices[wrong])
        view = batch.view(index, int(batch.records["turn"][index]))
        allowed = ", ".join(action_text(each) for each in view.legal())
        raise PlayerFault(
            f"opponent {agent.name} chose {action_text(int(actions[wrong]))} in game {index}, "
            f"which is not legal: {allowed} are"
        )
    return actions


def _ask(
    arrays: BatchArrays, agent: Agent, waiting: Waiting, actions: Array, start: int, stop: int
) -> int:
    """Let an agent answer in a part of the games; returns 1 if an answer is not legal."""
    rows = slice(start, stop)
    indices = waiting.indices[rows]
    actions[rows] = answer_of(agent, waiting.views[rows], waiting.rng[rows], indices)
    return int(first_illegal_answer(arrays, indices, actions[rows]) >= 0)
