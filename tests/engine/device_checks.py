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
from german_whist.engine.batch.batch import Batch, IllegalAction
from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.cuda_backend import Device
from german_whist.engine.batch.cuda_kernels import random_actions_of_all, random_hands_kernel
from german_whist.engine.batch.kernels import ENDED
from german_whist.engine.batch.results import StepResult
from german_whist.engine.random_play import random_hands
from german_whist.engine.rng import below, keyed
from german_whist.engine.rules import Rules
from german_whist.envs import SelfPlayEnv

N = 2
fetched = Device().fetched
TINY = Rules(name="tiny", suits=3, ranks=6, hand=3)


def shown_of(batch: Batch) -> StepResult:
    """Room for what a step shows, with the seats to move, and for what it paid and ended."""
    zeros = batch.place.zeros
    return StepResult(*batch.rows(N), batch.turns(), zeros((N, 2), np.float32), zeros(N, np.bool_))


def agree(rules: Any, on_this_side: bool = False, **options: Any) -> int:
    """Play the same on both to a few steps after an end, and see that all is always the same."""
    chosen = options_from(rules, **options)
    here, there = Batch(chosen, N), Batch(chosen, N, device="cuda")
    if on_this_side:
        there.gpu.knows_all = False
    here.start(5)
    there.start(5)
    shown, far_shown = [shown_of(batch) for batch in (here, there)]
    here.show(here.all, shown[2], out=shown[:2])
    there.show(there.all, far_shown[2], out=far_shown[:2])
    actions = there.place.empty(N, np.int64)
    last = 400
    for step in range(last):
        assert (fetched(there.records) == here.records).all(), (rules, step)
        for far, near in zip(far_shown, shown, strict=True):
            assert (fetched(far) == near).all(), (rules, step)
        there.run(N, random_actions_of_all, np.uint64(step), actions)
        chosen_here = fetched(actions)
        for index in range(N):
            allowed = np.flatnonzero(shown[1][index])
            stream = np.array([keyed(np.uint64(step), np.uint64(index))])
            assert chosen_here[index] == allowed[below(stream, len(allowed))]
        here.step(here.all, chosen_here, shown)
        there.step(there.all, there.checked_actions(actions), far_shown)
        assert (shown[3] == here.results["paid"]).all(), (rules, step)
        over = shown[4]
        assert (over == (here.led_to >= ENDED)).all(), (rules, step)
        assert (fetched(there.results) == here.results)[over].all(), (rules, step)
        if over.any():
            last = min(last, step + 6)
        if step == last:
            break
    assert last < 400, rules
    check_keeping(here, there)
    return last


def check_keeping(here: Batch, there: Batch) -> None:
    """What one keeps the other goes on from, and what is asked of it is the same."""
    kept, theirs = here.state(), there.state()
    assert all((kept[name] == theirs[name]).all() for name in kept)
    other = Batch(there.options, N, device="cuda")
    other.restore(kept)
    assert (fetched(other.records) == here.records).all()
    assert (other.views(other.turns()) == here.views(here.turns())).all()
    assert (other.game(1).record == here.game(1).record).all()
    assert (other.start(None) == here.start(None)).all()
    assert (fetched(other.records) == here.records).all()


def check_games_are_played_without_showing(rules: Any) -> None:
    """`play` plays an action and tells whose episode ended, as on this side."""
    options = options_from(rules, horizon="foreplay")
    both = Batch(options, N), Batch(options, N, device="cuda")
    for batch in both:
        batch.start(2)
    ended = False
    while not ended:
        here, there = (batch.show(batch.all, batch.turns())[1] for batch in both)
        assert (here == fetched(there)).all()
        chosen = here.argmax(axis=1)
        for batch in both:
            batch.play(batch.all, chosen, shown=True)
        led_to = both[0].led_to
        assert (led_to == fetched(both[1].led_to)).all()
        ended = bool((led_to >= ENDED).any())
    assert (fetched(both[1].results) == both[0].results).all()


def check_illegal() -> None:
    """What is not legal is not played, and told."""
    games = SelfPlayEnv(N, "classic", device="cuda", copy=False)
    now = games.reset(1)
    before, allowed = fetched(games.batch.records), fetched(now.masks)
    actions = allowed.argmax(axis=1)
    actions[1] = allowed[1].argmin()
    games.step(actions)
    after = fetched(games.batch.records)
    played = (after["played"] != before["played"]).any(axis=1)
    assert played.all()
    # The lowest that is legal takes its place.
    assert after["played"][1].sum() == 1 << allowed[1].argmax()
    with pytest.raises(IllegalAction, match="game 1 was not legal"):
        games.batch.check()
    games.batch.check()
    with pytest.raises(IllegalAction, match=r"shape \(3,\): one for each of 2"):
        games.step(np.zeros(3, np.int64))
    with pytest.raises(IllegalAction, match="float64: they have to be whole"):
        games.step(np.zeros(2))


def check_nothing_but_kernels_computes() -> None:
    """What stands for memory of a device refuses what a device's arrays could not do."""
    there = Batch(options_from("classic"), N, device="cuda")
    for attempt in (
        lambda: there.records["turn"], lambda: there.legal + there.legal,
        lambda: np.flatnonzero(there.legal),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            attempt()


def check_random_play() -> None:
    """Whole hands in one thread each, beside the engine's own."""
    options = options_from("classic")
    paid, played = np.zeros(2, np.int64), np.zeros(2, np.int64)
    random_hands_kernel[1, 2]((options.rules_record, paid, played), np.uint64(3), 7)
    found, actions = random_hands(options.rules, 2, seed=3, first=7)
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
    check_games_are_played_without_showing(TINY)
    check_illegal()
    check_nothing_but_kernels_computes()
    check_random_play()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
