"""State of a trainer's attributes by name, for trainers that write no `state` of their own."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...common.suggestions import type_phrase
from ...common.typing import Array, Arrays, JsonObject

_NOT_FINITE = ("nan", "inf", "-inf")


def attribute_state(owner: object, names: tuple[str, ...]) -> tuple[Arrays, JsonObject]:
    """Arrays and plain values of these attributes."""
    arrays: Arrays = {}
    plain: JsonObject = {}
    for name in names:
        try:
            value: Any = getattr(owner, name)
        except AttributeError as error:
            if (error.name, error.obj) != (name, owner):
                raise  # within a property
            raise AttributeError(
                f"{type(owner).__name__} has no attribute {name!r}, which its state_attributes name"
            ) from None
        if isinstance(value, (np.ndarray, np.generic)):
            array = arrays[name] = np.asarray(value)
            if array.dtype.kind == "f" and not np.isfinite(array).all() and array.ndim:
                raise ValueError(
                    f"{name} holds NaN or infinity, and no run goes on from that: keep it finite, "
                    "or write state and restore"
                )
        elif isinstance(value, (int, float)):
            # JSON has neither NaN nor infinity.
            plain[name] = value if math.isfinite(value) else str(value)
        elif isinstance(value, np.random.Generator):
            plain[name] = _without_arrays(value.bit_generator.state)
        else:
            arrays |= _arrays_of(name, value)
    return arrays, plain


def restore_attributes(
    owner: object, names: tuple[str, ...], arrays: Mapping[str, Array], plain: JsonObject
) -> None:
    """Restore what `attribute_state` gave; raise ValueError if it does not fit."""
    for name in names:
        value: Any = getattr(owner, name)
        if isinstance(value, np.ndarray):
            _restore_array(name, value, arrays)
        elif isinstance(value, (int, float, np.generic)):
            saved = arrays.get(name)
            number = _saved_number(name, plain) if saved is None else _scalar(name, saved)
            setattr(owner, name, number)
        elif isinstance(value, np.random.Generator):
            value.bit_generator.state = plain[name]
        else:
            _restore_object(name, value, arrays)


def _restore_array(name: str, array: Array, arrays: Mapping[str, Array]) -> None:
    saved = arrays.get(name)
    if saved is None or saved.shape != array.shape or not np.isfinite(saved).all():
        raise ValueError(f"{name} has to be {array.shape} finite numbers")
    # In place: other attributes may be parts of the same array.
    array[...] = saved


def _saved_number(name: str, plain: JsonObject) -> int | float:
    saved = plain.get(name)
    if saved in _NOT_FINITE:
        return float(saved)
    if not isinstance(saved, (int, float)):
        raise ValueError(f"{name} is {saved!r}: it has to be a number")
    return saved


def _scalar(name: str, saved: Array) -> object:
    """A number of NumPy, of the type that it had."""
    if saved.shape:
        raise ValueError(f"{name} is an array of the shape {saved.shape}: it has to be a number")
    return saved[()]


def _without_arrays(state: Any) -> Any:
    """The state of a random generator with lists in place of arrays."""
    if isinstance(state, Mapping):
        return {name: _without_arrays(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def _arrays_of(name: str, value: Any) -> Arrays:
    """Arrays of a module or an optimizer of torch, or of an environment."""
    if _is_of_torch(value):
        from ..rollout.tensor_state import module_arrays, optimizer_arrays

        if hasattr(value, "param_groups"):
            return optimizer_arrays(f"{name}.", value)
        return module_arrays(f"{name}.", value.state_dict())
    if hasattr(value, "state") and hasattr(value, "restore"):
        return {f"{name}.{key}": array for key, array in value.state().items()}
    raise TypeError(
        f"state_attributes names {name!r}, {type_phrase(value)}: it takes numbers, arrays and "
        "random generators of NumPy, modules and optimizers of torch, and environments; write "
        "state and restore for others"
    )


def _restore_object(name: str, value: Any, arrays: Mapping[str, Array]) -> None:
    if _is_of_torch(value):
        from ..rollout.tensor_state import restore_module, restore_optimizer

        restore = restore_optimizer if hasattr(value, "param_groups") else restore_module
        restore(value, arrays, f"{name}.")
        return
    prefix = f"{name}."
    value.restore(
        {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
    )


def _is_of_torch(value: object) -> bool:
    """Whether a value is a module or an optimizer; without torch nothing is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, (torch.nn.Module, torch.optim.Optimizer))
