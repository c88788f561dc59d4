"""Duels of players that are perfect in the endgame: it is valued instead of played, in a blink."""

from __future__ import annotations

import numpy as np

from german_whist import Games
from german_whist.agents import decision_streams, make_agent
from german_whist.engine.endgame import values


def win_rate(name: str, other: str, deals: int, seed: int, rules: str = "classic") -> float:
    """How often `name` wins, every deal played twice with the seats exchanged; a tie is half."""
    agents = make_agent(name, rules), make_agent(other, rules)
    won = 0.0
    for seat in (0, 1):
        games = Games(rules, deals, seed=seed, deal_anew=False)
        while True:
            going = np.flatnonzero(games.records["drawn"] < games.rules.stock_cards)
            if not len(going):
                break
            turns = games.records["turn"][going]
            for index, agent in enumerate(agents):
                where = going[(turns == seat) == (index == 0)]
                if len(where):
                    views = games.views(indices=where)
                    rng = decision_streams(seed, games.records["number"][where], views)
                    games.step(agent.act(views, rng), where, copy=False)
        won += _ending_wins(games, seat)
    return won / (2 * deals)


def _ending_wins(games: Games, seat: int) -> float:
    won = 0.0
    size = games.rules.hand
    for low in (0, 1):
        records = games.records[games.records["low"] == low]
        if len(records):
            leads = records["leader"] == seat
            taken = values(records["hand"], records["trump"], records["leader"], bool(low))
            mine = np.where(leads, taken, size - taken.astype(int)) + records["tricks"][:, seat]
            others = size + records["tricks"].sum(axis=1) - mine
            more = others > mine if low else mine > others
            won += more.sum() + (mine == others).sum() / 2
    return float(won)
