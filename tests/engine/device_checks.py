"""Run by `test_device` in numba's CUDA simulator: the kernels play, show and pay as a batch does.

`NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 python tests/engine/device_checks.py classic` prints how
many steps agreed, by rule set and horizon. Without the two variables they play on a GPU.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import numpy as np
import pytest

from german_whist.engine.batch import cuda_kernels
from german_whist.engine.batch.batch import Batch
from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.cuda_backend import SIMULATED, CudaBackend
from german_whist.engine.batch.cuda_kernels import random_actions_of_all, random_hands_kernel
from german_whist.engine.batch.kernels import SHOWN, Moves
from german_whist.engine.batch.results import StepResult
from german_whist.engine.batch.step import EPISODE_OVER
from german_whist.engine.checks import IllegalAction
from german_whist.engine.random_play import random_hands
from german_whist.engine.rng import random_below, stream_state
from german_whist.engine.rules import Rules
from german_whist.envs import SelfPlayEnv

N = 3 if SIMULATED else 100
if SIMULATED:
    # Two blocks, the second with a thread less.
    cuda_kernels.THREADS_OF_BLOCK = 2
    from numba.cuda.simulator.kernelapi import FakeCUDAShared
    from numba.np.numpy_support import as_dtype

    allocating = threading.Lock()

    def shared_array(self: Any, shape: Any, dtype: Any) -> np.ndarray:
        """The array of the calling line, one for all threads of a block.

        The simulator's own function has no lock, so that two threads that ask at the same time may
        each get an array of their own.
        """
        caller = sys._getframe(1)
        line = caller.f_code, caller.f_lineno
        with allocating:
            if line not in self._allocations:
                self._allocations[line] = np.empty(shape, as_dtype(dtype))
            return self._allocations[line]

    FakeCUDAShared.array = shared_array
to_host = CudaBackend().to_host
TINY = Rules(name="tiny", suits=3, ranks=4, hand=3)
TWO_SUITS = Rules(name="two suits", suits=2, ranks=4, hand=2)
DRAFT = Rules(name="tiny draft", suits=2, ranks=4, hand=2, choice=True)


def shown_of(batch: Batch) -> StepResult:
    zeros = batch.backend.zeros
    return StepResult(
        *batch.new_rows(N), batch.turns(), zeros((N, 2), np.float32), zeros(N, np.bool_)
    )


def agree(rules: Any, on_this_side: bool = False, **options: Any) -> int:
    chosen = options_from(rules, **options)
    host, gpu = Batch(chosen, N), Batch(chosen, N, device="cuda")
    if on_this_side:
        gpu.gpu.has_all_endings = False
    host.reset(5)
    gpu.reset(5)
    shown, far_shown = [shown_of(batch) for batch in (host, gpu)]
    host.observe(host.all_games, shown[2], out=shown[:2])
    gpu.observe(gpu.all_games, far_shown[2], out=far_shown[:2])
    actions = gpu.backend.empty(N, np.int64)
    last = 400
    for step in range(last):
        assert (to_host(gpu.games) == host.games).all(), (rules, step)
        for far, near in zip(far_shown, shown, strict=True):
            assert (to_host(far) == near).all(), (rules, step)
        gpu.run(N, random_actions_of_all, np.uint64(step), actions)
        chosen_here = to_host(actions)
        for index in range(N):
            allowed = np.flatnonzero(shown[1][index])
            stream = np.array([stream_state(np.uint64(step), np.uint64(index))], np.uint64)
            assert chosen_here[index] == allowed[random_below(stream, len(allowed))]
        host.step(host.all_games, chosen_here, shown)
        gpu.step(gpu.all_games, gpu.checked_actions(actions), far_shown)
        assert (shown[3] == host.results["rewards"]).all(), (rules, step)
        over = shown[4]
        assert (over == (host.events >= EPISODE_OVER)).all(), (rules, step)
        assert (to_host(gpu.results) == host.results)[over].all(), (rules, step)
        if over.any():
            last = min(last, step + 6)
        if step == last:
            break
    assert last < 400, rules
    check_keeping(host, gpu)
    return last


def check_keeping(host: Batch, gpu: Batch) -> None:
    host_state, gpu_state = host.state(), gpu.state()
    assert all((host_state[name] == gpu_state[name]).all() for name in host_state)
    other = Batch(gpu.options, N, device="cuda")
    other.restore(host_state)
    assert (to_host(other.games) == host.games).all()
    assert (other.views(other.turns()) == host.views(host.turns())).all()
    assert (other.game(1).array == host.game(1).array).all()
    assert (other.reset(None) == host.reset(None)).all()
    assert (to_host(other.games) == host.games).all()


def check_games_are_played_without_showing(rules: Any) -> None:
    options = options_from(rules, horizon="foreplay")
    both = Batch(options, N), Batch(options, N, device="cuda")
    for batch in both:
        batch.reset(2)
    ended = False
    while not ended:
        host, gpu = (batch.observe(batch.all_games, batch.turns())[1] for batch in both)
        assert (host == to_host(gpu)).all()
        chosen = host.argmax(axis=1)
        for batch in both:
            batch.apply_actions(Moves(batch.all_games, batch.backend.to_device(chosen), SHOWN))
        events = both[0].events
        assert (events == to_host(both[1].events)).all()
        ended = bool((events >= EPISODE_OVER).any())
    assert (to_host(both[1].results) == both[0].results).all()


def check_illegal() -> None:
    games = SelfPlayEnv(N, "classic", device="cuda", copy=False)
    now = games.reset(1)
    before, allowed = to_host(games.batch.games), to_host(now.masks)
    actions = allowed.argmax(axis=1)
    actions[1] = allowed[1].argmin()
    games.step(actions)
    after = to_host(games.batch.games)
    played = (after["played"] != before["played"]).any(axis=1)
    assert played.all()
    # The lowest that is legal takes its place.
    assert after["played"][1].sum() == 1 << allowed[1].argmax()
    with pytest.raises(IllegalAction, match="game 1 was not legal"):
        games.batch.check()
    games.batch.check()
    with pytest.raises(IllegalAction, match=rf"shape \({N + 1},\): one for each of {N}"):
        games.step(np.zeros(N + 1, np.int64))
    with pytest.raises(IllegalAction, match="float64: they have to be whole"):
        games.step(np.zeros(N))
    with pytest.raises(IllegalAction, match="that NumPy cannot read"):
        games.step([[1], [1, 2]])


def check_nothing_but_kernels_computes() -> None:
    gpu = Batch(options_from("classic"), N, device="cuda")
    for attempt in (
        lambda: gpu.games["turn"],
        lambda: gpu.legal + gpu.legal,
        lambda: np.flatnonzero(gpu.legal),
    ):
        with pytest.raises(TypeError):
            attempt()


def check_random_play() -> None:
    options = options_from("classic")
    on_device, played = np.zeros(2, np.int64), np.zeros(2, np.int64)
    random_hands_kernel[1, 2]((options.rules_array, on_device, played), np.uint64(3), 7)
    payoffs, actions = random_hands(options.rules, 2, seed=3, first=7)
    assert (on_device == payoffs).all()
    assert played.sum() == actions


def main(rules: list[str]) -> None:
    counts = {name: agree(name, horizon="hand") for name in rules}
    counts["looked up"] = agree(TINY, horizon="foreplay", reward="tricks")
    counts["looked up, low"] = agree(
        Rules(name="tiny", suits=3, ranks=4, hand=3, contract="low"), horizon="foreplay"
    )
    counts["on this side"] = agree(TINY, True, horizon="foreplay")
    counts["match"] = agree(TWO_SUITS, horizon="match", match=2, suit_order="raw")
    counts["draft"] = agree(DRAFT, horizon="hand")
    counts["history"] = agree(TINY, horizon="hand", observation="history")
    check_games_are_played_without_showing(TINY)
    check_illegal()
    if SIMULATED:
        check_nothing_but_kernels_computes()
    check_random_play()
    print(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1:])
