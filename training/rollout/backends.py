"""Where a trainer's games, arrays and network are: all on the CPU, or all on a GPU.

The trainer is written once, in arrays that are NumPy's on the CPU and torch's on a GPU. All
differences between the two are in this file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...engine.batch.batch import Backend
from ...engine.batch.cpu_backend import CpuBackend
from ...engine.batch.results import StepResult
from .kernels import draw_chances

Array = Any
"""NumPy's on this side, torch's on a device."""


class _Network:
    """How the network computes on a device."""

    device: torch.device
    precision: str

    def autocast(self) -> torch.autocast:
        """Within it, the network multiplies in bfloat16 where the precision is `mixed`."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "mixed")

    def floats(self, *inputs: Tensor) -> list[Tensor]:
        """Inputs of the network, which are kept as int8, in the numbers that it multiplies."""
        kind = torch.bfloat16 if self.precision == "mixed" else torch.float32
        return [tensor.to(kind) for tensor in inputs]


class Here(_Network):
    """Games on this processor, and the network too."""

    games = "cpu"
    """The device of the games."""

    def __init__(self, precision: str = "float32") -> None:
        self.device, self.precision = torch.device("cpu"), precision
        self.place: Backend = CpuBackend()

    def zeros(self, shape: Any, kind: Any) -> Array:
        """Room for numbers of one of NumPy's kinds."""
        return np.zeros(shape, kind)

    def put(self, array: np.ndarray[Any, Any]) -> Array:
        """An array from this side as one of that side."""
        return array

    def seen(self, now: StepResult) -> StepResult:
        """What games show, in arrays of that side."""
        return now

    def tensor(self, array: Array) -> Tensor:
        """The same memory as a tensor."""
        return torch.from_numpy(array)

    def own(self, tensor: Tensor) -> Array:
        """A tensor as the array that it is."""
        return tensor.numpy()

    def where(self, mask: Array) -> Array:
        """The places that hold something."""
        return np.flatnonzero(mask)

    def chances(self, random: np.random.Generator, count: int) -> Array:
        """So many numbers from 0 to 1."""
        return random.random(count, np.float32)

    def order(self, random: np.random.Generator, count: int) -> Tensor:
        """So many places in a random order."""
        return torch.from_numpy(random.permutation(count))


class There(_Network):
    """Everything on a GPU; only metrics and the games of CPU opponents are copied to the CPU."""

    games = "cuda"

    def __init__(self, device: str, precision: str = "float32") -> None:
        from ...engine.batch.cuda_backend import SIMULATED, CudaBackend

        # What numba's simulator takes for a device's memory is a processor's to torch.
        self.device = torch.device("cpu" if SIMULATED else device)
        self.precision = precision
        if self.device.index:
            from numba import cuda

            cuda.select_device(self.device.index)
            torch.cuda.set_device(self.device)
        self.place: Backend = CudaBackend()

    def zeros(self, shape: Any, kind: Any) -> Array:
        """Of torch."""
        kinds = torch.from_numpy(np.zeros(0, kind)).dtype
        return torch.zeros(shape, dtype=kinds, device=self.device)

    def put(self, array: np.ndarray[Any, Any]) -> Array:
        """A copy on the device."""
        return torch.tensor(array, device=self.device)

    def seen(self, now: StepResult) -> StepResult:
        """What they show, in the same memory."""
        simulated = self.device.type == "cpu"
        found: Any = [
            torch.from_numpy(each.view(np.ndarray)) if simulated
            else torch.as_tensor(each, device=self.device)
            for each in now
        ]  # fmt: skip
        return StepResult(*found)

    def tensor(self, array: Array) -> Tensor:
        """The tensor itself."""
        return array

    def own(self, tensor: Tensor) -> Array:
        """The tensor itself."""
        return tensor

    def where(self, mask: Array) -> Array:
        """The places that hold something; waits for the device."""
        return mask.nonzero().squeeze(1)

    def chances(self, random: np.random.Generator, count: int) -> Array:
        """Drawn on the device, by a key of the generator's."""
        drawn = torch.empty(count, device=self.device)
        self.place.run_rows(count, draw_chances, np.uint64(random.integers(2**63)), drawn)
        return drawn

    def order(self, random: np.random.Generator, count: int) -> Tensor:
        """Drawn on the device, by a seed of the generator's."""
        chance = torch.Generator(self.device).manual_seed(int(random.integers(2**63)))
        return torch.randperm(count, generator=chance, device=self.device)


Side = Here | There


def side_of(device: str, precision: str) -> Side:
    """The backend of a device, by torch's name for it."""
    return Here(precision) if device == "cpu" else There(device, precision)
