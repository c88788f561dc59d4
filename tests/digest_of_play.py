"""Digests of random play by rule set, to compare compiled code with plain Python.

Run as a script it prints them as JSON; imported, `digests` gives the same here.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys

import numpy as np

from german_whist.agents.networks.value import outcome_payoffs
from german_whist.common.jit.compiler import COMPILED
from german_whist.engine.game import Game
from german_whist.engine.observation.history import histories, history_rows
from german_whist.engine.rng import random_below, random_fraction, stream_state
from german_whist.engine.rules import Match, load_rules
from german_whist.engine.sampling.determinizations import METHODS, sample_determinizations
from support import EVERY_SET, dealt, engine_rules


def _digest_of_streams() -> str:
    digest = hashlib.sha256()
    for seed, number in ((0, 0), (1, 2), (2**64 - 1, 2**64 - 1), (2**63, 5)):
        stream = np.array([stream_state(np.uint64(seed), np.uint64(number))], np.uint64)
        for n in (1, 2, 3, 52, 1000, 2**31, 2**32 - 1):
            digest.update(str(int(random_below(stream, n))).encode())
            digest.update(float(random_fraction(stream)).hex().encode())
    return digest.hexdigest()


def _digest_of_game(name: str) -> str:
    """One hand with everything that a single game shows, an action taken back now and then."""
    rng = random.Random(name)
    digest = hashlib.sha256()
    rules = engine_rules(name)
    game = Game(rules, seed=2**64 - 3, number=5)
    while not game.over:
        for seat in (0, 1):
            view = game.view(seat)
            digest.update(view.array.tobytes())
            digest.update(repr(view.legal()).encode())
        rows, orders = histories(rules.array(), view.array, history_rows(rules), True)
        digest.update(rows.tobytes() + orders.tobytes())
        digest.update(repr(game).encode())
        game.play(rng.choice(game.legal()))
        if rng.random() < 0.1:
            game.undo()
    digest.update(game.array.tobytes() + repr(game.payoffs).encode())
    return digest.hexdigest()


def _digest_of_batch(name: str, suit_order: str, match: Match | None) -> str:
    """Two games stepped together, some of them alone, into a second hand."""
    rng = np.random.default_rng(sum(name.encode()))
    digest = hashlib.sha256()
    games = dealt(engine_rules(name), 2, seed=77, suit_order=suit_order, match=match)
    step = games.observe()
    hands = 0
    while hands < 2:
        actions = (step.masks * (1 + rng.random(step.masks.shape))).argmax(axis=1)
        if rng.random() < 0.1:
            step = games.step(actions[1:2], np.array([1]))
            hands += int(games.hand_over[1])
        else:
            step = games.step(actions)
            hands += int(games.hand_over.sum())
        for array in (*step[:4], games.hand_over, step.ended):
            digest.update(array.tobytes())
        digest.update(games.batch.games.tobytes())
    digest.update(games.views().tobytes())
    return digest.hexdigest()


def _digest_of_determinizations(method: str) -> str:
    """Determinizations behind a view in which the other has failed to follow suit."""
    game = Game("classic", seed=9)
    while not (game.view(game.turn or 0).void_draws or game.over):
        game.play(game.legal()[0])
    return hashlib.sha256(
        sample_determinizations(game.view(game.turn or 0), 4, 3, method).tobytes()
    ).hexdigest()


def digests(short: bool = False) -> dict[str, str]:
    """A digest for each rule set and way of play; half as many of batches if it is to be short."""
    result = {"streams": _digest_of_streams()}
    result |= {
        f"determinizations, {method}": _digest_of_determinizations(method) for method in METHODS
    }
    for place, name in enumerate(EVERY_SET):
        match = Match(best_of=3) if place % 3 == 0 else None
        suit_order = ("raw", "trump-first")[place % 2]
        result[f"game of {name}"] = _digest_of_game(name)
        if place % 8 in (0, 5) or (place % 4 < 2 and not short):
            result[f"batch of {name}, {suit_order}"] = _digest_of_batch(name, suit_order, match)
    return result


if __name__ == "__main__":
    payoffs = outcome_payoffs(load_rules("classic")).tolist()
    json.dump({"compiled": COMPILED, "digests": digests(short=True), "pays": payoffs}, sys.stdout)
