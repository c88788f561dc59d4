# pyright: reportArgumentType=false
"""The opponent's seat in a batch: whose turn it is, what it sees, and its checked actions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..agents.base import Agent, Array, decision_stream
from ..agents.calls import AgentFault, FaultNamingAgent, call_agent
from ..agents.heuristic.random import RandomAgent, random_action
from ..common.jit.compiler import jit
from ..engine.batch.batch import Batch
from ..engine.batch.kernels import REAL, BatchArrays, advance_game
from ..engine.batch.step import ENDGAME_REACHED, is_legal
from ..engine.cards import action_text
from ..engine.dtypes import OVER
from ..engine.observation.spec import write_mask
from ..engine.play import legal, row
from ..engine.rng import hash_with
from ..engine.view import write_position, write_view

_SEATS = 0x7365617473
# Nanoseconds per action of the fastest agents that act on several threads at once.
_NS_PER_ACTION = 100


@jit
def draw_seats(arrays: BatchArrays, indices: np.ndarray, seats: np.ndarray) -> None:
    """Draw the learner's seat in each game of `indices`, from its deal."""
    key = hash_with(row(arrays.config, 0).seed, np.uint64(_SEATS))
    for index in indices:
        seats[index] = np.int64(hash_with(key, row(arrays.games, index).number) >> np.uint64(63))


LearnerGames = tuple[np.ndarray, np.ndarray]
"""Indices of games, and the learner's seat in every game of the batch."""


@jit
def write_legal(arrays: BatchArrays, masks: np.ndarray, start: int, stop: int) -> int:
    """Write the last action mask of each game."""
    for index in range(start, stop):
        write_mask(masks[index], arrays.legal[index])
    return 0


class PendingDecisions(NamedTuple):
    """Decisions for which an agent is to be queried."""

    indices: np.ndarray
    """Their games."""
    views: np.ndarray
    """`VIEW` records of the seats to move."""
    rng: np.ndarray
    """The random stream of each decision."""


@jit
def write_decisions(
    arrays: BatchArrays,
    shown: tuple[np.ndarray, bool],
    decisions: PendingDecisions,
    start: int,
    stop: int,
) -> int:
    """Write the views and random streams of the seats to move.

    `shown` are the key of the streams, and whether views hold past tricks.
    """
    key, with_tricks = shown
    rules = row(arrays.config, 0).rules
    for position in range(start, stop):
        game, view = row(arrays.games, decisions.indices[position]), row(decisions.views, position)
        if with_tricks:
            write_view(rules, game, np.int64(game.turn), view)
        else:
            write_position(rules, game, np.int64(game.turn), view)
        decisions.rng[position] = decision_stream(key, game.number, game.turn, game)
    return 0


@jit
def play_random(
    arrays: BatchArrays, games: LearnerGames, key: np.ndarray, start: int, stop: int
) -> int:
    """Play as `RandomAgent` until the learner is to move in each of these games.

    Returns the number of games that reached the endgame.
    """
    indices, seats = games
    rules, stream = row(arrays.config, 0).rules, row(arrays.workspace, 0).stream
    endings = 0
    for position in range(start, stop):
        index = indices[position]
        game = row(arrays.games, index)
        while game.turn != seats[index] and game.phase != OVER:
            stream[0] = decision_stream(key, game.number, game.turn, game)
            action = random_action(legal(rules, game), stream)
            if advance_game(arrays, index, action, REAL, False) == ENDGAME_REACHED:
                endings += 1
                break
    return endings


@jit
def first_illegal_action(arrays: BatchArrays, indices: np.ndarray, actions: np.ndarray) -> int:
    """The position of the first illegal action; -1 if all are legal."""
    rules = row(arrays.config, 0).rules
    for position in range(len(indices)):
        if not is_legal(legal(rules, row(arrays.games, indices[position])), actions[position]):
            return position
    return -1


def is_random(agent: Agent) -> bool:
    """Whether `play_random` plays as this agent does."""
    return type(agent.agent if isinstance(agent, FaultNamingAgent) else agent) is RandomAgent


class OpponentGames(NamedTuple):
    """Games of a batch in which one agent is the opponent."""

    agent: Agent
    first_number: int
    """The number by which the agent knows the first game of the batch."""
    indices: Array

    @property
    def numbers(self) -> Array:
        """Fresh array of the numbers by which the agent knows these games."""
        return self.indices + self.first_number


def query_opponent(batch: Batch, games: OpponentGames, decisions: PendingDecisions) -> Array:
    """An agent's actions; an illegal one raises `AgentFault`."""
    agent, numbers = games.agent, games.numbers
    count = len(decisions.indices)
    actions = np.empty(count, np.int64)

    def query(arrays: BatchArrays, start: int, stop: int) -> int:
        rows = slice(start, stop)
        actions[rows] = call_agent(agent, decisions.views[rows], decisions.rng[rows], numbers[rows])
        return int(first_illegal_action(arrays, decisions.indices[rows], actions[rows]) >= 0)

    if agent.thread_safe:
        illegal = batch.run(count, query, cost_ns=_NS_PER_ACTION)
    else:
        illegal = query(batch.arrays, 0, count)
    if illegal:
        illegal = first_illegal_action(batch.arrays, decisions.indices, actions)
        index = int(decisions.indices[illegal])
        view = batch.view(index, int(batch.games["turn"][index]))
        allowed = ", ".join(map(action_text, view.legal()))
        raise AgentFault(
            f"opponent {agent.name} chose {action_text(int(actions[illegal]))} in game {index}, "
            f"which is not legal: {allowed} are"
        )
    return actions
