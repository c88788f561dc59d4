"""Where the games of a batch live on a GPU: its memory, and a thread for each game.

`Batch(options, n, device="cuda")` asks for it. What is shown stays on the device, in arrays that
torch and others take without a copy, by the CUDA array interface:
`torch.as_tensor(observations, device="cuda")`. Needs the extra `cuda`. In numba's simulator all
lies in arrays of NumPy, which only kernels may work with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import config

from ...common.threads import STEP
from ...common.typing import Array
from ..endgame import Tables

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]
_BLOCK = 128
_LAYERS = ("starts", "base", "eleven", "twelve", "thirteen")


class NoDevice(ValueError):
    """There is no GPU that can be used, or what it takes is not installed."""


def check_device() -> None:
    """Refuse to go on without a device, and say what is missing."""
    try:
        from numba import cuda
    except ImportError as error:
        raise NoDevice(
            f"a GPU needs numba-cuda ({error}): pip install 'german-whist[cuda]'"
        ) from None
    if not cuda.is_available():
        told = "" if SIMULATED else str(getattr(cuda, "cuda_error", lambda: "")() or "")
        raise NoDevice(
            f"there is no GPU that numba can use here{told and ': ' + told}: use the CPU, or "
            "install its driver and 'german-whist[cuda]'"
        )


class Device:
    """A GPU, or numba's simulator of one."""

    def __init__(self) -> None:
        check_device()
        self._kept: dict[int, tuple[Array, Any]] = {}
        self._tables: list[Tables] = []
        self._room: dict[str, Any] = {}
        self.knows_all: bool = False
        """Whether every ending is found in the tables that are here; else nobody finds any here."""

    def zeros(self, shape: Any, kind: Any) -> Any:
        """Room on the device, all zeros."""
        return _placed(np.zeros(shape, kind))

    def empty(self, shape: Any, kind: Any) -> Any:
        """Room on the device."""
        if SIMULATED:
            return self.zeros(shape, kind)
        from numba import cuda

        return cuda.device_array(shape, kind)

    def keep(self, array: Array) -> Array:
        """Let an array that never changes travel once; returns it."""
        self._kept[id(array)] = array, _placed(array)
        return array

    def taken(self, array: Any) -> Any:
        """An array on the device: what is there already as it is, others copied."""
        if id(array) in self._kept:
            return self._kept[id(array)][1]
        if isinstance(array, _Simulated):
            return array
        if isinstance(array, np.ndarray):
            return _placed(array)
        if SIMULATED:
            return np.asarray(array).view(_Simulated)
        from numba import cuda

        return cuda.as_cuda_array(array, sync=False)

    def fetched(self, array: Any) -> Array:
        """An array of the device, copied to this side."""
        if isinstance(array, np.ndarray):
            return np.array(array.view(np.ndarray))
        return array.copy_to_host()

    def write(self, array: Any, values: Any) -> None:
        """Overwrite an array of the device with values from this side."""
        fresh = np.empty(array.shape, array.dtype)
        fresh[...] = values
        if SIMULATED:
            array[...] = fresh
        else:
            array.copy_to_device(fresh)

    def run(
        self, size: int, kernel: Callable[..., int], boards: Sequence[Any], *arguments: Any,
        each: int = STEP,
    ) -> int:  # fmt: skip
        """Start a thread for each game, and do not wait; `size` stands for what is not known.

        There is one board: a thread of the device has its workspace in its own memory.
        """
        from .cuda_kernels import one_thread_each

        if size:
            blocks, arrays = self._launched(size, arguments)
            one_thread_each(kernel)[blocks](size, boards[0], arrays)
        return size

    def rows(self, size: int, function: Callable[..., object], *arguments: Any) -> None:
        """Start a thread for each row, and do not wait."""
        from .cuda_kernels import one_row_each

        if size:
            blocks, arrays = self._launched(size, arguments)
            one_row_each(function)[blocks](size, arrays)

    def _launched(
        self, size: int, arguments: tuple[Any, ...]
    ) -> tuple[tuple[int, int], tuple[Any, ...]]:
        """How many blocks of how many threads are launched, and what they are given."""
        return (-(-size // _BLOCK), min(size, _BLOCK)), tuple(map(self._argument, arguments))

    def _argument(self, argument: Any) -> Any:
        """What a kernel is given for an array, a record of arrays, or a number."""
        make = getattr(argument, "_make", None)
        if make is not None:
            return make(map(self._argument, argument))
        return self.taken(argument) if getattr(argument, "shape", ()) else argument

    # -- what is done here without waiting

    def know(self, known: list[Tables], cards: int) -> None:
        """Take tables along, if they hold all endings of so many cards."""
        self.knows_all = all(each.cards >= cards for each in known)
        if self.knows_all:
            self._tables = [_placed_tables(each) for each in known]

    def best(self, boards: Sequence[Any], indices: Array) -> Any:
        """The tricks of the leaders of those games that stand before an ending."""
        from .cuda_kernels import look_up_all

        best = self._kept_room("best", len(boards[0].games), np.int64)
        for tables in self._tables:
            self.run(len(indices), look_up_all, boards, indices, tables, best)
        return best

    def allowed(self, boards: Sequence[Any], actions: Any) -> Any:
        """Actions that can be played; where one of these cannot, that comes to light later."""
        from .cuda_kernels import refuse_all

        n = len(boards[0].games)
        taken = self._kept_room("taken", n, np.int64)
        self.run(n, refuse_all, boards, actions, taken, self._kept_room("refused", n, np.uint8))
        return taken

    def first_refused(self) -> int:
        """The first game in which an action was not legal since the last call; -1 for none."""
        if "refused" not in self._room:
            return -1
        found = np.flatnonzero(self.fetched(self._room["refused"]))
        if not len(found):
            return -1
        self.write(self._room["refused"], 0)
        return int(found[0])

    def _kept_room(self, name: str, n: int, kind: Any) -> Any:
        if name not in self._room:
            self._room[name] = self.zeros(n, kind)
        return self._room[name]


class _Simulated(np.ndarray[Any, Any]):
    """What stands for an array on a device: only kernels go over it, nobody computes with it."""

    __array_ufunc__ = None  # pyright: ignore[reportAssignmentType]

    def __array_function__(self, *told: Any) -> Any:
        raise TypeError(f"this array is on the device: {told[0]}")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            raise TypeError(f"this array is on the device: its field {key}")
        return super().__getitem__(key)


def _placed(array: Array) -> Any:
    """An array on the device, copied there."""
    if SIMULATED:
        return np.array(array).view(_Simulated)
    from numba import cuda

    return cuda.to_device(np.ascontiguousarray(array))


def _placed_tables(tables: Tables) -> Tables:
    """Tables of endings in the device's memory."""
    lay = tables.lay
    moved = {
        name: _placed(each) for name, each in lay._asdict().items() if isinstance(each, np.ndarray)
    }
    layers = {name: _placed(getattr(tables, name)) for name in _LAYERS}
    return tables._replace(lay=lay._replace(**moved), **layers)
