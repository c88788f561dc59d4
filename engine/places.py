"""Where a batch's games live, and what goes over them: this process's memory and its threads.

`engine/device.py` has the same for a GPU. A batch says what it wants in these words alone, so
that there is one batch, wherever its games are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .threads import Threads

Array = np.ndarray[Any, Any]

DEVICES = ("cpu", "cuda")


class Place(Protocol):
    """What a batch asks of where its games live."""

    def zeros(self, shape: Any, kind: Any) -> Any:
        """Room there, all zeros."""
        ...

    def empty(self, shape: Any, kind: Any) -> Any:
        """Room there."""
        ...

    def keep(self, array: Array) -> Array:
        """The same array, which never changes."""
        ...

    def taken(self, array: Any) -> Any:
        """An array as it is there."""
        ...

    def fetched(self, array: Any) -> Array:
        """An array from there, to read here: copied where it has to be."""
        ...

    def write(self, array: Any, values: Any) -> None:
        """Overwrite an array there with values from here."""
        ...

    def run(self, size: int, kernel: Callable[..., int], *arguments: Any) -> int:
        """Go over `size` games with a compiled function; returns the sum of what it returns.

        After `arguments`, a board and others, it gets a part's number, and where that begins and
        ends. Where nobody waits, `size` stands for a sum that is not known.
        """
        ...


class Host(Threads):
    """This process: arrays of NumPy, and threads."""

    def zeros(self, shape: Any, kind: Any) -> Array:
        """Fresh zeros."""
        return np.zeros(shape, kind)

    def empty(self, shape: Any, kind: Any) -> Array:
        """Fresh room."""
        return np.empty(shape, kind)

    def keep(self, array: Array) -> Array:
        """The array itself."""
        return array

    taken = fetched = keep

    def write(self, array: Array, values: Any) -> None:
        """Overwrite it."""
        array[:] = values
