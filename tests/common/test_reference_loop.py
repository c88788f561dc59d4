"""The reference loop does the same work on every machine."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist.common import reference_loop
from german_whist.common.reference_loop import reference_seconds, reference_work
from german_whist.common.typing import Array

SEED = 88_172_645_463_325_252


def test_reference_loop_multiplies_random_matrices() -> None:
    size, rounds, state, total = 4, 3, SEED, 0
    for _ in range(rounds):
        left, right = np.zeros((2, size, size), int)
        for i in range(size):
            for j in range(size):
                state ^= state << 13 & (1 << 64) - 1
                state ^= state >> 7
                state ^= state << 17 & (1 << 64) - 1
                left[i, j] = (state & 1023) - 512
                right[i, j] = (state >> 10 & 1023) - 512
        total += (left @ right)[-1, -1]
    matrices = [np.zeros((size, size), np.float32) for _ in range(3)]
    assert reference_work(*matrices, np.uint64(SEED), rounds) == total


def test_reference_loop_is_timed_on_the_processor_clock() -> None:
    assert reference_seconds() > 0


def test_reference_loop_is_timed_on_matrices_at_cache_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = list[int]()

    def note(*arguments: Array) -> float:
        starts.extend(matrix.ctypes.data % 64 for matrix in arguments[:3])
        return 0.0

    monkeypatch.setattr(reference_loop, "reference_work", note)
    for _ in range(8):  # of which memory puts one elsewhere by itself
        reference_seconds()
    assert not any(starts)
    assert len(starts) >= 24
