"""Run by `test_device` in numba's CUDA simulator: the kernels play, show and pay as a batch does.

`NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 python tests/engine/device_checks.py` prints how many
steps agreed, by rule set and horizon.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from german_whist import named_rules
from german_whist.engine.batch import Batch, IllegalAction
from german_whist.engine.device import DeviceBatch, fetched
from german_whist.engine.episodes import ENDED
from german_whist.engine.options import options_from
from german_whist.engine.rollout import random_hands
from german_whist.engine.rules import Rules
from german_whist.engine.streams import below, keyed

N = 2
TINY = Rules(name="tiny", suits=3, ranks=6, hand=3)


def agree(rules: Any, on_this_side: bool = False, **options: Any) -> int:
    """Play the same on both to a few steps after an end, and see that all is always the same."""
    chosen = options_from(rules, **options)
    here, there = Batch(chosen, N), DeviceBatch(chosen, N)
    if on_this_side:
        there.looks_up, there._tables = False, []
    here.start(5)
    seen = there.start(5)
    observations, masks = here.rows(N)
    seats = here.turns()
    here.show(here.all, seats, out=(observations, masks))
    actions, last = np.zeros(N, np.int64), 400
    for step in range(last):
        assert (there.games() == here.records).all(), (rules, step)
        assert (seen.observations == observations.reshape(N, -1)).all(), (rules, step)
        assert (seen.masks == masks).all(), (rules, step)
        assert (seen.seats == seats).all(), (rules, step)
        there.random_actions(step, actions)
        for index in range(N):
            allowed = np.flatnonzero(masks[index])
            stream = np.array([keyed(np.uint64(step), np.uint64(index))])
            assert actions[index] == allowed[below(stream, len(allowed))]
        here.step(here.all, actions, observations, masks, seats)
        seen = there.step(actions)
        assert (seen.rewards == here.rewards).all(), (rules, step)
        assert (seen.ended == (here.led_to >= ENDED)).all(), (rules, step)
        results = there.results()
        assert (results == here.results)[seen.ended].all(), (rules, step)
        if seen.ended.any():
            last = min(last, step + 6)
        if step == last:
            break
    assert last < 400, rules
    check_keeping(here, there)
    return last


def check_keeping(here: Batch, there: DeviceBatch) -> None:
    """What one keeps the other goes on from."""
    kept, theirs = here.state(), there.state()
    assert all((kept[name] == theirs[name]).all() for name in kept)
    other = DeviceBatch(there.options, N)
    other.restore(kept)
    assert (other.games() == here.records).all()
    assert (other.board.seen.masks == there.board.seen.masks).all()


def check_illegal() -> None:
    """What is not legal is not played, and told."""
    there = DeviceBatch(options_from("classic"), N)
    there.start(1)
    before = there.games()
    allowed = fetched(there.board.seen.masks)
    actions = allowed.argmax(axis=1)
    actions[1] = allowed[1].argmin()
    there.step(actions)
    assert (there.games()[1] == before[1]).all()
    assert (there.games()[0] != before[0]).any()
    with pytest.raises(IllegalAction, match="game 1 was not legal"):
        there.check()
    there.check()


def check_random_play() -> None:
    """Whole hands in one thread each, beside the engine's own."""
    from german_whist.engine import cuda_kernels

    there = DeviceBatch(options_from("classic"), 1)
    rules = there.options.rules_record
    paid, played = np.zeros(2, np.int64), np.zeros(2, np.int64)
    cuda_kernels.random_hands_kernel[1, 2](rules, np.uint64(3), 7, paid, played)
    found, actions = random_hands(there.rules, 2, seed=3, first=7)
    assert (paid == found).all()
    assert played.sum() == actions


def main() -> None:
    """All of it."""
    found = {name: agree(name, horizon="hand") for name in named_rules()}
    found["looked up"] = agree(TINY, horizon="foreplay", reward="tricks")
    found["looked up, low"] = agree(
        Rules(name="tiny", suits=3, ranks=6, hand=3, contract="low"), horizon="foreplay"
    )
    found["on this side"] = agree(TINY, True, horizon="foreplay")
    found["match"] = agree(TINY, horizon="match", match=3, layout="raw")
    found["history"] = agree(TINY, horizon="hand", observation="history")
    check_illegal()
    check_random_play()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
