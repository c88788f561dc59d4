"""Where a trainer computes: its games, arrays and network on the CPU, or all of them on a GPU.

A trainer is written once, in arrays that are NumPy's on the CPU and torch's on a GPU. All
differences between the two are in this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ...engine.batch.batch import Backend
from ...engine.batch.cpu_backend import CpuBackend
from ...engine.batch.results import StepResult
from .cuda_graph import GraphedFunction
from .kernels import Array as Array
from .kernels import draw_uniforms
from .precision import has_bfloat16


class _TorchDevice:
    """Device and precision of the network."""

    device: torch.device
    precision: str

    def autocast(self) -> torch.autocast:
        """Context in which matrices are multiplied in bfloat16 if the precision is `mixed`."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "mixed")

    def cast(self, *inputs: Tensor) -> list[Tensor]:
        """Inputs of the network, stored as int8, in the precision that it computes in."""
        dtype = torch.bfloat16 if self.precision == "mixed" else torch.float32
        return [tensor.to(dtype) for tensor in inputs]


class CpuTrainingBackend(_TorchDevice):
    """Games and network on the CPU."""

    games_device: Literal["cpu", "cuda"] = "cpu"

    def __init__(self, precision: str = "float32") -> None:
        self.device = torch.device("cpu")
        self.precision = precision if has_bfloat16() else "float32"
        self.batch_backend: Backend = CpuBackend()

    def zeros(self, shape: Any, dtype: Any) -> Array:
        """Array of zeros of a dtype of NumPy."""
        return np.zeros(shape, dtype)

    def from_numpy(self, array: np.ndarray) -> Array:
        """Array of this backend with these values."""
        return array

    def from_games(self, result: StepResult) -> StepResult:
        """Result of a step in arrays of this backend."""
        return result

    def to_tensor(self, array: Array) -> Tensor:
        """Tensor on the same memory."""
        return torch.from_numpy(array)

    def from_tensor(self, tensor: Tensor) -> Array:
        """Array on the same memory."""
        return tensor.numpy()

    def uniforms(self, rng: np.random.Generator, count: int) -> Array:
        """Random numbers from [0, 1)."""
        return rng.random(count, np.float32)

    def permutation(self, rng: np.random.Generator, count: int) -> Tensor:
        """Random permutation of the first integers."""
        return torch.from_numpy(rng.permutation(count))

    def scalar(self, value: float) -> Any:
        """A number as a function takes it that `as_graph` returns."""
        return value

    def as_graph(
        self, function: Callable[..., dict[str, Tensor]]
    ) -> Callable[..., dict[str, Tensor]]:
        """The function, which may launch its kernels on a GPU all at once."""
        return function


class CudaTrainingBackend(_TorchDevice):
    """Games and network on a GPU; only metrics are copied."""

    games_device: Literal["cpu", "cuda"] = "cuda"

    def __init__(self, device: str, precision: str = "float32") -> None:
        from ...engine.batch.cuda_backend import SIMULATED, CudaBackend

        # Memory of numba's simulator is CPU memory to torch.
        self.device = torch.device("cpu" if SIMULATED else device)
        self.precision = precision
        if self.device.index:
            from numba import cuda

            cuda.select_device(self.device.index)
            torch.cuda.set_device(self.device)
        self.batch_backend: Backend = CudaBackend()

    def zeros(self, shape: Any, dtype: Any) -> Array:
        torch_dtype = torch.from_numpy(np.zeros(0, dtype)).dtype
        return torch.zeros(shape, dtype=torch_dtype, device=self.device)

    def from_numpy(self, array: np.ndarray) -> Array:
        return torch.tensor(array, device=self.device)

    def from_games(self, result: StepResult) -> StepResult:
        simulated = self.device.type == "cpu"
        tensors: Any = [
            torch.from_numpy(array.view(np.ndarray))
            if simulated
            else torch.as_tensor(array, device=self.device)
            for array in result
        ]
        return StepResult(*tensors)

    def to_tensor(self, array: Array) -> Tensor:
        return array

    def from_tensor(self, tensor: Tensor) -> Array:
        return tensor

    def uniforms(self, rng: np.random.Generator, count: int) -> Array:
        """Random numbers from [0, 1), drawn on the device by a key from the generator."""
        out = torch.empty(count, device=self.device)
        self.batch_backend.run_rows(count, draw_uniforms, np.uint64(rng.integers(2**63)), out)
        return out

    def permutation(self, rng: np.random.Generator, count: int) -> Tensor:
        """Random permutation, drawn on the device by a seed from the generator."""
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**63)))
        return torch.randperm(count, generator=generator, device=self.device)

    def scalar(self, value: float) -> Any:
        return torch.tensor(value, dtype=torch.float32, device=self.device)

    def as_graph(
        self, function: Callable[..., dict[str, Tensor]]
    ) -> Callable[..., dict[str, Tensor]]:
        return GraphedFunction(function) if self.device.type == "cuda" else function


TrainingBackend = CpuTrainingBackend | CudaTrainingBackend


def make_backend(device: str, precision: str) -> TrainingBackend:
    """Backend of a device, by torch's name for it."""
    if device == "cpu":
        return CpuTrainingBackend(precision)
    return CudaTrainingBackend(device, precision)
