"""Speed of random play and of batch steps on a GPU and on its host, by number of games.

`python -m benchmarks gpu` measures this alone, and prints what is missing without a GPU.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from german_whist.common.threads import usable_threads
from german_whist.engine.batch.batch import Batch
from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.cuda_backend import CudaBackend, NoDevice, check_device
from german_whist.engine.batch.results import RESULT, StepResult
from german_whist.engine.dtypes import GAME
from german_whist.engine.options import Horizon
from german_whist.engine.random_play import random_hands

from .measure import Row, rate, step_rate

SIZES = tuple(2**power for power in range(10, 23, 2))
LARGE_BATCH = 2**20
HANDS = 2**22


def run() -> list[Row]:
    try:
        check_device()
    except NoDevice as error:
        print(f"gpu: {error}", file=sys.stderr)
        return []
    rows = [_random_play(), _random_play_of_host()]
    rows += [_steps(size) for size in SIZES]
    rows += [_steps(LARGE_BATCH, "foreplay"), _steps_of_host()]
    return rows


def _synchronised(work: Any) -> Any:
    from numba import cuda

    def synchronized() -> float:
        count = work()
        cuda.synchronize()
        return count

    synchronized()  # compiles
    return synchronized


def _random_play() -> Row:
    from german_whist.engine.batch import cuda_kernels

    device = CudaBackend()
    rules = device.to_device(options_from("classic").rules_array)
    payoffs, played = device.zeros(HANDS, np.int64), device.zeros(HANDS, np.int64)

    def work() -> float:
        cuda_kernels.random_hands_kernel[HANDS // 128, 128](
            (rules, payoffs, played), np.uint64(1), np.int64(0)
        )
        return 52.0 * HANDS

    speed = rate(_synchronised(work))
    return Row(f"random play, {HANDS:,} hands at once", speed / 1e9, "G card plays/s")


def _random_play_of_host() -> Row:
    from concurrent.futures import ThreadPoolExecutor

    rules, threads = options_from("classic").rules, usable_threads()
    with ThreadPoolExecutor(threads) as pool:

        def work() -> float:
            parts = pool.map(
                lambda part: random_hands(rules, 50_000, first=50_000 * part)[1], range(threads)
            )
            return float(sum(parts))

        speed = rate(work)
    return Row(f"the same on the host's {threads} threads", speed / 1e9, "G card plays/s")


def _step_outputs(games: Batch) -> StepResult:
    empty = games.backend.empty
    views = games.observe(games.all_games, seats := games.turns())
    return StepResult(*views, seats, empty((games.n, 2), np.float32), empty(games.n, np.bool_))


def _steps(size: int, horizon: Horizon = "hand") -> Row:
    from german_whist.engine.batch.cuda_kernels import random_actions_of_all

    options = options_from("classic", horizon=horizon, suit_order="trump-first")
    games = Batch(options, size, device="cuda")
    games.reset(1)
    outputs = _step_outputs(games)
    actions = games.backend.empty(size, np.int64)
    steps = max(26, min(520, 2**24 // size))

    def work() -> float:
        for step in range(steps):
            games.run(size, random_actions_of_all, np.uint64(step), actions)
            games.step(games.all_games, games.checked_actions(actions), outputs)
        return float(steps * size)

    speed = rate(_synchronised(work), 3)
    games.check()
    # Game records are read and written, outputs are written.
    written = sum(array.nbytes for array in outputs) / size
    moved = written + 2 * (GAME.itemsize + RESULT.itemsize)
    note = f"{moved:.0f} bytes a step, {moved * speed / 1e9:.0f} GB/s"
    if horizon == "foreplay":
        assert games.gpu is not None
        note += "; endings " + (
            "in device memory" if games.gpu.has_all_endings else "solved on the host"
        )
    return Row(
        f"steps of {size:,} games, all shown, horizon {horizon}",
        speed / 1e6,
        "M decisions/s",
        note=note,
    )


def _steps_of_host() -> Row:
    size, threads = 2**16, usable_threads()
    games = Batch(options_from("classic", suit_order="trump-first"), size, threads)
    games.reset(1)
    outputs = _step_outputs(games)
    speed = step_rate(lambda actions: games.step(games.all_games, actions, outputs), outputs.masks)
    return Row(
        f"steps of {size:,} games on the host's {threads} threads", speed / 1e6, "M decisions/s"
    )
