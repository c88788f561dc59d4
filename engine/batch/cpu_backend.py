"""CPU backend of a batch: memory of this process and its threads.

`engine/batch/cuda_backend.py` has the same interface for a GPU, so there is one `Batch`.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...common.threads import ThreadPool
from ...common.typing import Array
from ..observation.spec import MAX_OBSERVATION_SIZE

DEVICES = ("cpu", "cuda")
Shape = int | tuple[int, ...]
"""Number of rows, or all dimensions, of an array to allocate."""


class RowBuffers(NamedTuple):
    """Scratch buffers for a function over rows, allocated once."""

    observation: Array
    """int8, of the longest observation."""
    floats: Array
    """`N_FLOATS` float64."""


N_FLOATS = 64
LARGE_BYTES = 1 << 25
"""Size in bytes from which memory comes from the system, which clears all of it: that took longer
than stepping and observing the games."""
MAX_POOLED = 2
"""Size of the pool: the arrays of a step return before the next step but one."""


class _PooledArray:
    """Array memory that returns to the pool when no array refers to it any more."""

    def __init__(self, memory: Array, returned: deque[Array]) -> None:
        self.__array_interface__ = memory.__array_interface__
        # A weak reference: an array that outlives its backend must not keep the pool alive.
        self._memory, self._pool = memory, weakref.ref(returned)

    def __del__(self) -> None:
        returned = self._pool()
        if returned is not None:
            returned.append(self._memory)


class CpuBackend(ThreadPool):
    """Backend with NumPy arrays and threads."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._buffers: RowBuffers | None = None
        # One pool for all shapes: observations of some of the games have any number of rows.
        self._pool: deque[Array] = deque(maxlen=MAX_POOLED)

    def zeros(self, shape: Shape, kind: npt.DTypeLike) -> Array:
        return np.zeros(shape, kind)

    def empty(self, shape: Shape, kind: npt.DTypeLike) -> Array:
        """An uninitialized array; large ones reuse memory that nobody refers to."""
        kind = np.dtype(kind)
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        if size * kind.itemsize < LARGE_BYTES:
            return np.empty(shape, kind)
        for _ in range(len(self._pool)):
            memory = self._pool.popleft()
            if (memory.shape, memory.dtype) == (shape, kind):
                break
            self._pool.append(memory)
        else:
            memory = np.empty(shape, kind)
        return np.asarray(_PooledArray(memory, self._pool))

    def constant(self, array: Array) -> Array:
        """Register an array that never changes."""
        return array

    def to_device(self, array: Array) -> Array:
        return array

    def to_host(self, array: Array) -> Array:
        return array

    def write(self, array: Array, values: Array | int) -> None:
        array[:] = values

    def run_rows(self, size: int, function: Callable[..., object], *arguments: object) -> None:
        """Run a compiled function over `size` rows.

        After `arguments` it gets a `RowBuffers`, and the start and stop of its rows.
        """
        if self._buffers is None:
            observation = np.zeros(MAX_OBSERVATION_SIZE, np.int8)
            self._buffers = RowBuffers(observation, np.zeros(N_FLOATS))
        function(*arguments, self._buffers, 0, size)
