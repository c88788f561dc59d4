"""CUDA backend of a batch: device memory, and one thread per game.

Used by `Batch(options, n, device="cuda")`; needs the extra `cuda`. Observations stay on the device
in arrays with the CUDA array interface, which torch takes without a copy:
`torch.as_tensor(observations, device="cuda")`. In numba's simulator device arrays are NumPy arrays
that only kernels may use. Device arrays are annotated as `Array`: they have its shape, dtype and
indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from numba import config

from ...common.suggestions import install_hint, not_installed
from ...common.threads import STEP_NS
from ...common.typing import Array
from ..endgame import Tablebase
from .cpu_backend import Shape
from .kernels import TRICKS_OF_LEADER, BatchArrays, Moves, step_all

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]
_BLOCK = 128
_LAYERS = ("starts", "base", "eleven", "twelve", "thirteen")


class NoDevice(ValueError):
    """No usable GPU, or its packages are not installed."""


def check_device() -> None:
    try:
        from numba import cuda
    except ImportError as error:
        raise NoDevice(f"{not_installed('a GPU', 'numba-cuda', 'cuda')}: {error}") from None
    if not cuda.is_available():
        reason = "" if SIMULATED else str(getattr(cuda, "cuda_error", lambda: "")() or "")
        raise NoDevice(
            f"there is no GPU that numba can use here{reason and ': ' + reason}: use the CPU, or "
            f"install its driver and {install_hint('cuda')}"
        )


class CudaBackend:
    """Backend with arrays on a GPU, or in numba's simulator of one."""

    def __init__(self) -> None:
        check_device()
        self._constants: dict[int, tuple[Array, Array]] = {}
        self._tablebases: list[Tablebase] = []
        self._buffers: dict[str, Array] = {}
        self.has_all_endings: bool = False
        """Whether the tablebases there hold all endgames; otherwise they are not used."""

    def zeros(self, shape: Shape, kind: npt.DTypeLike) -> Array:
        return _copied(np.zeros(shape, kind))

    def empty(self, shape: Shape, kind: npt.DTypeLike) -> Array:
        if SIMULATED:
            return self.zeros(shape, kind)
        from numba import cuda

        # numba's annotation has the type of its default, float64.
        return cuda.device_array(shape, kind)  # pyright: ignore[reportArgumentType]

    def constant(self, array: Array) -> Array:
        """Copy an array that never changes to the device, once; returns it."""
        self._constants[id(array)] = array, _copied(array)
        return array

    def to_device(self, array: Any) -> Array:
        """The array on the device; host arrays are copied."""
        if id(array) in self._constants:
            return self._constants[id(array)][1]
        if isinstance(array, _SimulatedArray):
            return array
        if isinstance(array, np.ndarray):
            return _copied(array)
        if SIMULATED:
            return np.asarray(array).view(_SimulatedArray)
        if getattr(array, "__cuda_ndarray__", False):
            return array
        from numba import cuda

        return cuda.as_cuda_array(array, sync=False)

    def is_device_array(self, array: object) -> bool:
        """Whether an array is in device memory: one of numba, or a tensor."""
        return isinstance(array, _SimulatedArray) or hasattr(array, "__cuda_array_interface__")

    def to_host(self, array: Array) -> Array:
        if isinstance(array, np.ndarray):
            return np.array(array.view(np.ndarray))
        return array.copy_to_host()

    def write(self, array: Any, values: Array | int) -> None:
        fresh = np.empty(array.shape, array.dtype)
        fresh[...] = values
        if SIMULATED:
            array[...] = fresh
        else:
            array.copy_to_device(fresh)

    def run(
        self,
        size: int,
        function: Callable[..., int],
        thread_arrays: Sequence[BatchArrays],
        *arguments: object,
        cost_ns: int = STEP_NS,
    ) -> int:
        """Launch a thread for each game, asynchronously; returns `size` in place of the count.

        There is one tuple of arrays: the workspace of a device thread is in its local memory.
        """
        from .cuda_kernels import THREADS_OF_BLOCK, one_thread_each, step_block

        if not size:
            return 0
        launch_shape, arrays = self._launch_arguments(size, arguments)
        launch = one_thread_each(function)
        if function is step_all and arrays[1].observations.ndim == 2:
            _, step = arrays
            launch = step_block(step.observations.shape[1], step.masks.shape[1])
            launch_shape = -(-size // THREADS_OF_BLOCK), min(size, THREADS_OF_BLOCK)
        launch[launch_shape](size, thread_arrays[0], arrays)
        return size

    def run_rows(self, size: int, function: Callable[..., object], *arguments: object) -> None:
        """Launch a thread for each row, asynchronously."""
        from .cuda_kernels import one_row_each

        if size:
            launch_shape, arrays = self._launch_arguments(size, arguments)
            one_row_each(function)[launch_shape](size, arrays)

    def _launch_arguments(
        self, size: int, arguments: tuple[object, ...]
    ) -> tuple[tuple[int, int], tuple[Any, ...]]:
        return (-(-size // _BLOCK), min(size, _BLOCK)), tuple(map(self._device_argument, arguments))

    def _device_argument(self, argument: object) -> object:
        if isinstance(argument, tuple):
            make = getattr(argument, "_make", tuple)
            return make(map(self._device_argument, argument))
        return self.to_device(argument) if getattr(argument, "shape", ()) else argument

    # -- kernels instead of checks on the host

    def load_tablebases(self, tablebases: list[Tablebase], cards: int) -> None:
        """Copy tablebases to the device, if they hold all endgames of `cards` cards."""
        self.has_all_endings = all(tablebase.cards >= cards for tablebase in tablebases)
        if self.has_all_endings:
            self._tablebases = [_copied_tablebase(tablebase) for tablebase in tablebases]

    def best_tricks(self, thread_arrays: Sequence[BatchArrays], indices: Array) -> Moves:
        """Tricks of the leader in those of these games that have reached the endgame."""
        from .cuda_kernels import look_up_all

        best = self._named_buffer("best", len(thread_arrays[0].games), np.int64)
        moves = Moves(indices, best, TRICKS_OF_LEADER)
        for tablebase in self._tablebases:
            self.run(len(indices), look_up_all, thread_arrays, moves, tablebase)
        return moves

    def replace_illegal(self, thread_arrays: Sequence[BatchArrays], actions: Array) -> Array:
        """The actions, with illegal ones replaced by legal ones and reported by the next check."""
        from .cuda_kernels import refuse_all

        n = len(thread_arrays[0].games)
        actions_to_play = self._named_buffer("taken", n, np.int64)
        refused = self._named_buffer("refused", n, np.uint8)
        self.run(n, refuse_all, thread_arrays, (actions, actions_to_play, refused))
        return actions_to_play

    def first_illegal(self) -> int:
        """First game with an illegal action since the last call; -1 for none."""
        if "refused" not in self._buffers:
            return -1
        illegal = np.flatnonzero(self.to_host(self._buffers["refused"]))
        if len(illegal):
            self.write(self._buffers["refused"], 0)
        return int(illegal[0]) if len(illegal) else -1

    def _named_buffer(self, name: str, n: int, kind: npt.DTypeLike) -> Array:
        if name not in self._buffers:
            self._buffers[name] = self.zeros(n, kind)
        return self._buffers[name]


class _SimulatedArray(Array):
    """Array of the simulator: only kernels may read it."""

    __array_ufunc__ = None  # pyright: ignore[reportAssignmentType]

    def __array_function__(self, *arguments: object) -> NoReturn:
        raise TypeError(f"this array is on the device: {arguments[0]}")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            raise TypeError(f"this array is on the device: its field {key}")
        return super().__getitem__(key)


def _copied(array: Array) -> Array:
    if SIMULATED:
        return np.array(array).view(_SimulatedArray)
    from numba import cuda

    return cuda.to_device(np.ascontiguousarray(array))


def _copied_tablebase(tablebase: Tablebase) -> Tablebase:
    scheme = tablebase.scheme
    arrays = {
        name: _copied(array)
        for name, array in scheme._asdict().items()
        if isinstance(array, np.ndarray)
    }
    layers = {name: _copied(getattr(tablebase, name)) for name in _LAYERS}
    return tablebase._replace(scheme=scheme._replace(**arrays), **layers)
