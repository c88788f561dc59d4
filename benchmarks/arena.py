"""Hands per second of the arena between rule players, with exact endgames."""

from __future__ import annotations

from itertools import count

from german_whist.agents import make_agent
from german_whist.engine.endgame import tables
from german_whist.engine.rules import load_rules
from german_whist.evaluation.match import MatchConfig, Task, play_chunk, warm_up_match

from .measure import Row, rate

# The arena's own chunk size.
PAIRS = 512
CHUNKS = 8


def run() -> list[Row]:
    rules = load_rules("classic")
    opponent = "value:13"
    players = (make_agent("threshold", rules), make_agent(opponent, rules))
    halves = (players, players)
    note = f"one core, endings of up to {tables().cards} cards from the table"
    config, chunks = MatchConfig(rules, seed=1), count()
    warm_up_match(halves, config)

    def work() -> float:
        for _ in range(CHUNKS):
            task = Task(start=next(chunks) * PAIRS, pairs=PAIRS, trusted_exact=(True, True))
            play_chunk(halves, config, task)
        return 2 * PAIRS * CHUNKS

    name = f"threshold – {opponent}, classic, exact endings"
    return [Row(name, rate(work), "hands/s", 10_000, note=note)]
