"""Hands per second of the arena between rule agents, with exact and played-out endgames."""

from __future__ import annotations

from german_whist.agents import load_agent
from german_whist.engine.endgame import load_tablebase
from german_whist.engine.rules import load_rules
from german_whist.evaluation.chunk_player import PlayConfig, Task, play_chunk, warm_up_play

from .measure import Row, rate

# The arena's own chunk size.
PAIRS = 512
CHUNKS = 8


def run() -> list[Row]:
    rules = load_rules("classic")
    players = (load_agent("threshold", rules), load_agent("upcard-value", rules))
    opponents_by_half = (players, players)
    note = f"one core, endings of up to {load_tablebase().cards} cards from the table"
    rows = []
    for title, play_out in (("exact endings", False), ("played out", True)):
        config = PlayConfig(rules, seed=1, play_out=play_out)
        warm_up_play(opponents_by_half, config)
        chunk = iter(range(1 << 30))

        def work(config: PlayConfig = config, chunk=chunk) -> float:
            for _ in range(CHUNKS):
                start = next(chunk) * PAIRS
                play_chunk(opponents_by_half, config, Task(start=start, pairs=PAIRS))
            return 2 * PAIRS * CHUNKS

        name = f"threshold – upcard-value, classic, {title}"
        rows.append(Row(name, rate(work), "hands/s", note=note))
    return rows
