"""What modules and optimisers of torch hold, as arrays by name, to be kept and gone on from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import torch
from safetensors.numpy import save
from torch import Tensor, nn

from ...common.typing import Array, Arrays


def digest_of(arrays: Mapping[str, Array]) -> str:
    """SHA-256 of names and numbers: it differs where a single bit does."""
    return hashlib.sha256(
        save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    ).hexdigest()


def part_of(arrays: Mapping[str, Array], start: str) -> Arrays:
    """Those whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def of_tensors(start: str, tensors: Mapping[str, Tensor]) -> Arrays:
    """Tensors by name, as those of a module's state."""
    return {f"{start}{name}": each.detach().cpu().numpy() for name, each in tensors.items()}


def of_optimizer(start: str, optimizer: torch.optim.Optimizer) -> Arrays:
    """What an optimiser keeps of each parameter."""
    return {
        f"{start}{place}.{key}": np.atleast_1d(tensor.cpu().numpy())
        for place, kept in optimizer.state_dict()["state"].items()
        for key, tensor in kept.items()
    }


def tensors_in(arrays: Mapping[str, Array], start: str) -> dict[str, Tensor]:
    """The tensors behind `of_tensors`."""
    return {name: torch.tensor(array) for name, array in part_of(arrays, start).items()}


def restore_module(module: nn.Module, arrays: Mapping[str, Array], start: str) -> None:
    """Let a module go on from `of_tensors` of its state."""
    module.load_state_dict(tensors_in(arrays, start))


def restore_optimizer(
    optimizer: torch.optim.Optimizer, arrays: Mapping[str, Array], start: str
) -> None:
    """Let an optimiser go on from `of_optimizer`."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, each in tensors_in(arrays, start).items():
        place, _, key = name.partition(".")
        state.setdefault(int(place), {})[key] = each.reshape(()) if key == "step" else each
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
