"""Those who play beside a learner, asked in a batch: what they answer is legal, or told of them."""

from __future__ import annotations

import numpy as np

from ..agents.base import Agent, Array
from ..agents.calls import PlayerFault, answer_of
from ..engine.batch.batch import Batch
from ..engine.batch.kernels import Board
from ..engine.cards import action_text
from .kernels import first_illegal_answer

# About how many nanoseconds an answer takes, by the cheaper of those that are asked in parts.
_ANSWER = 100


def legal_answer(batch: Batch, agent: Agent, views: Array, rng: Array, where: Array) -> Array:
    """What an agent plays in the games of `where`, whose views these are."""
    actions = np.empty(len(where), np.int64)
    asked = agent, views, rng, where, actions
    if agent.many_at_once:
        wrong = batch.run(len(where), _ask, *asked, each=_ANSWER)
    else:
        wrong = _ask(batch.board, *asked, 0, 0, len(where))
    if wrong:
        wrong = first_illegal_answer(batch.board, where, actions)
        index = int(where[wrong])
        view = batch.view(index, int(batch.records["turn"][index]))
        allowed = ", ".join(action_text(each) for each in view.legal())
        raise PlayerFault(
            f"opponent {agent.name} chose {action_text(int(actions[wrong]))} in game {index}, "
            f"which is not legal: {allowed} are"
        )
    return actions


def _ask(
    board: Board,
    agent: Agent,
    views: Array,
    rng: Array,
    where: Array,
    actions: Array,
    part: int,
    start: int,
    stop: int,
) -> int:
    """Let an agent answer in a part of the games; returns 1 if it may not do so anywhere."""
    some = slice(start, stop)
    actions[some] = answer_of(agent, views[some], rng[some], where[some])
    return int(first_illegal_answer(board, where[some], actions[some]) >= 0)
