"""Where a batch's games live, and what goes over them: this process's memory and its threads.

`engine/batch/cuda_backend.py` has the same for a GPU. A batch says what it wants in these words
alone, so that there is one batch, wherever its games are.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...common.threads import Threads
from ...common.typing import Array
from ..observation.layout import LONGEST_OBSERVATION

DEVICES = ("cpu", "cuda")


class Room(NamedTuple):
    """Room for whoever goes over rows, which would have to be asked for again at each."""

    observation: Any
    """int8, as many places as there can be."""
    numbers: Any
    """64 float64."""


MOST_NUMBERS = 64
LARGE = 1 << 25
"""From so many bytes on, memory that is asked for comes from the system, which clears all of it:
that took longer than playing and showing the games it was for."""
MOST_RETURNED = 2
"""How many of them wait to be lent again: what a step shows goes back before the next but one."""


class _Lent:
    """Memory for an array, which goes back when neither it nor a part of it is held any more."""

    def __init__(self, memory: Array, returned: deque[Array]) -> None:
        self.__array_interface__ = memory.__array_interface__
        # What outlives the games keeps no other memory of theirs.
        self._memory, self._returned = memory, weakref.ref(returned)

    def __del__(self) -> None:
        returned = self._returned()
        if returned is not None:
            returned.append(self._memory)


class Host(Threads):
    """This process: arrays of NumPy, and threads. `Device` has the same methods."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._room: Room | None = None
        # So many in all, whatever their shapes: some of the games have any number of rows.
        self._returned: deque[Array] = deque(maxlen=MOST_RETURNED)

    def zeros(self, shape: Any, kind: Any) -> Any:
        """Room there, all zeros."""
        return np.zeros(shape, kind)

    def empty(self, shape: Any, kind: Any) -> Any:
        """Room there that nobody holds."""
        kind = np.dtype(kind)
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        if size * kind.itemsize < LARGE:
            return np.empty(shape, kind)
        for _ in range(len(self._returned)):
            memory = self._returned.popleft()
            if (memory.shape, memory.dtype) == (shape, kind):
                break
            self._returned.append(memory)
        else:
            memory = np.empty(shape, kind)
        return np.asarray(_Lent(memory, self._returned))

    def keep(self, array: Array) -> Array:
        """The same array, which never changes."""
        return array

    def taken(self, array: Any) -> Any:
        """An array as it is there."""
        return array

    def fetched(self, array: Any) -> Array:
        """An array from there, to read here: copied where it has to be."""
        return array

    def write(self, array: Any, values: Any) -> None:
        """Overwrite an array there with values from here."""
        array[:] = values

    def rows(self, size: int, function: Callable[..., object], *arguments: Any) -> None:
        """Go over `size` rows with a compiled function.

        After `arguments` it gets a `Room`, and where its part of the rows begins and ends.
        """
        if self._room is None:
            observation = np.zeros(LONGEST_OBSERVATION, np.int8)
            self._room = Room(observation, np.zeros(MOST_NUMBERS))
        function(*arguments, self._room, 0, size)
