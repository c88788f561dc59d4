"""Time of a decision of rule agents, searches and the champion."""

from __future__ import annotations

import time

import numpy as np

from german_whist.agents import Agent, Player, agent_key, decision_streams, load_agent
from german_whist.engine.endgame import load_tablebase
from german_whist.engine.game import Game
from german_whist.envs import SelfPlayEnv

from .measure import Row, rate

RULES = ("random", "threshold", "upcard-value", "counting", "champion")
SEARCHES = (
    "flat-mc:16",
    "flat-mc:64",
    "flat-mc:256",
    "flat-mc:64,voids,playout=counting",
    "thinker:64",
    "thinker:256",
)


def foreplay_views(deals: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Views and random streams of all foreplay decisions in deals between two `threshold`s."""
    games, agent = SelfPlayEnv(deals, "classic", copy=False), load_agent("threshold")
    games.reset(seed)
    views, streams = [], []
    for _ in range(26):
        views.append(games.views())
        streams.append(decision_streams(agent_key(seed), games.batch.games["number"], views[-1]))
        games.step(agent.act(views[-1], streams[-1]))
    return np.concatenate(views), np.concatenate(streams)


def decisions_per_second(agent: Agent, deals: int) -> float:
    views, streams = foreplay_views(deals)

    def work() -> float:
        agent.act(views, streams)
        return len(views)

    work()
    return rate(work)


def unbatched_milliseconds() -> float:
    """Milliseconds per decision of the champion for single views, as at a table."""
    player, game = Player(load_agent("champion")), Game("classic", seed=1)
    views = []
    while game.phase != "over" and game.turn is not None:
        views.append(game.view(game.turn))
        game.play(game.legal()[0])
    views = [view for view in views if not view.endgame]

    def work() -> float:
        for view in views:
            player.choose(view)
        return len(views)

    work()
    return 1e3 / rate(work)


def run() -> list[Row]:
    cards = load_tablebase().cards
    rows = [
        Row(
            f"{name}, a foreplay decision", 1e9 / decisions_per_second(load_agent(name), 2000), "ns"
        )
        for name in RULES
    ]
    note = f"one core, endings of up to {cards} cards from the table"
    for name in SEARCHES:
        milliseconds = 1e3 / decisions_per_second(load_agent(name), 4)
        rows.append(Row(f"{name}, a foreplay decision", milliseconds, "ms", note=note))
    rows.append(Row("champion, a single decision", unbatched_milliseconds(), "ms"))
    start = time.perf_counter()
    load_agent("counting")
    rows.append(Row("making an agent, compiled", 1e3 * (time.perf_counter() - start), "ms"))
    return rows
