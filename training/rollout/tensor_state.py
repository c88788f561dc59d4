"""State of torch's modules and optimizers as arrays by name, for the saved state of a run."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ...common.typing import Array, Arrays


def with_prefix(arrays: Mapping[str, Array], prefix: str) -> Arrays:
    """The arrays whose names have a prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def module_arrays(prefix: str, tensors: Mapping[str, Tensor]) -> Arrays:
    """Tensors of a module's `state_dict` as arrays."""
    return {f"{prefix}{name}": tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def optimizer_arrays(prefix: str, optimizer: torch.optim.Optimizer) -> Arrays:
    """State of each parameter in an optimizer, as arrays."""
    return {
        f"{prefix}{index}.{key}": tensor.cpu().numpy()
        for index, state in optimizer.state_dict()["state"].items()
        for key, tensor in state.items()
    }


def module_tensors(arrays: Mapping[str, Array], prefix: str) -> dict[str, Tensor]:
    """The tensors behind `module_arrays`."""
    return {name: torch.tensor(array) for name, array in with_prefix(arrays, prefix).items()}


def restore_module(module: nn.Module, arrays: Mapping[str, Array], prefix: str) -> None:
    """Load `module_arrays` into a module."""
    module.load_state_dict(module_tensors(arrays, prefix))


def restore_optimizer(
    optimizer: torch.optim.Optimizer, arrays: Mapping[str, Array], prefix: str
) -> None:
    """Load `optimizer_arrays` into an optimizer."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in module_tensors(arrays, prefix).items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
