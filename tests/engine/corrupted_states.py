"""Batches stepped one game at a time, and played on from states with some field overwritten.

Run as a script, without the compiler, it plays on from a few: plain Python raises an IndexError
where compiled code would write into another game.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from german_whist.engine.batch.batch import Batch
from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.kernels import SHOWN, Moves
from german_whist.engine.dtypes import GAME, OVER
from german_whist.engine.rules import Match
from support import engine_rules

Array = np.ndarray[Any, Any]


class WaitingBatch(Batch):
    def __init__(self, rules: Any, n: int, seed: int, **options: Any) -> None:
        if "match" in options:
            options.setdefault("horizon", "match")
        super().__init__(options_from(rules, **options), n)
        self.reset(seed)
        self.masks()

    def masks(self) -> Array:
        return self.observe(self.all_games, self.turns())[1]

    def play_on(self, actions: Array, indices: Array | None = None) -> None:
        where = self.all_games if indices is None else indices
        self.apply_actions(Moves(where, self.checked_actions(actions, where), SHOWN))
        self.masks()

    def go_on(self, rng: np.random.Generator) -> None:
        """Deal where a hand is over, and play random cards."""
        over = np.flatnonzero(self.games["phase"] == OVER)
        if len(over):
            self.begin_next(over)
        masks = self.masks()
        self.play_on((masks * rng.random(masks.shape)).argmax(axis=1))


def played(rules: Any, steps: int, seed: int = 1, n: int = 3, **options: Any) -> WaitingBatch:
    games = WaitingBatch(engine_rules(rules), n, seed, **options)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        games.go_on(rng)
    return games


def corrupted(records: Array, rng: random.Random) -> str:
    record = records[rng.randrange(len(records)) :][:1]
    field = rng.choice([name for name in GAME.names or () if name != "spare"])
    numbers = record[field].reshape(-1)
    place, limits = rng.randrange(len(numbers)), np.iinfo(numbers.dtype)
    near = int(numbers[place]) + rng.choice((-1, 1, 2))
    bit = int(numbers[place]) ^ 1 << rng.randrange(8 * numbers.itemsize - 1)
    value = rng.choice((near, bit, rng.randint(limits.min, limits.max), rng.randrange(60)))
    numbers[place] = min(max(value, limits.min), limits.max)
    record[field] = numbers.reshape(record[field].shape)
    return field


def play_on_from_corrupted_states(rules: str, trials: int, **options: Any) -> tuple[int, int]:
    """Corrupt states and continue from the accepted ones; counts refused and accepted states."""
    rng = random.Random(f"{rules} {options}")
    accepted = 0
    for trial in range(trials):
        games = played(rules, rng.randrange(60), seed=trial, **options)
        state = games.state()
        field = corrupted(state["records"].view(GAME), rng)
        try:
            games.restore(state)
        except ValueError:
            continue
        accepted += 1
        for _ in range(2000):
            masks = games.masks()
            going = np.flatnonzero(games.games["phase"] != OVER)
            if not len(going):
                break
            assert masks[going].any(axis=1).all(), field
            games.play_on(masks[going].argmax(axis=1), going)
        assert (games.games["phase"] == OVER).all(), field
        tricks, most = games.games["tricks"].astype(int), games.rules.counting_tricks
        if games.rules.race is None and options.get("horizon") != "foreplay":
            assert (tricks.sum(axis=1) == most).all(), field
        # All is as play leaves it at the end.
        games.restore(games.state())
        games.begin_next(games.all_games)
        assert (games.games["phase"] != OVER).all()
    return trials - accepted, accepted


FUZZED: list[tuple[str, dict[str, Any]]] = [
    ("classic", {}),
    ("small-last", {"horizon": "foreplay"}),
    ("draft", {"match": Match(target=3)}),
    ("humbug", {}),
    ("race with a draft", {}),
    ("low", {"match": Match(best_of=3)}),
]

if __name__ == "__main__":
    counts = [
        play_on_from_corrupted_states(rules, 3, **options)
        for rules, options in (FUZZED[1], FUZZED[3], FUZZED[4])
    ]
    print(*map(sum, zip(*counts, strict=True)))
