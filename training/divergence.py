"""Divergence: NaN, infinite or too large numbers end a run before they are saved."""

from __future__ import annotations

import math
from contextlib import suppress

import msgspec
import numpy as np

from ..agents.checkpoints import may_overflow, policy_layers, weight_shapes
from ..agents.checkpoints.schema import NetworkCard
from ..common.schema import short_repr
from ..common.suggestions import type_phrase
from ..common.typing import Arrays
from .algorithms.base import Trainer

_RUN_COLUMNS = ("decisions", "hands_played", "seconds", "processor_seconds", "env_steps")
"""What the run itself writes of each iteration."""
_LARGEST_NUMBER = 8
"""Bytes of the largest number that a checkpoint holds."""


def is_divergence(error: BaseException) -> bool:
    """Whether an exception reports NaN or infinity; other arithmetic errors are faults."""
    faults = ZeroDivisionError, OverflowError
    return isinstance(error, ArithmeticError) and not isinstance(error, faults)


def check_metrics(trainer: Trainer, metrics: object) -> None:
    """Refuse what `iterate` returned if it is no dictionary of numbers.

    Raises ArithmeticError for a metric that is NaN or infinite.
    """
    method, decisions = f"{type(trainer).__name__}.iterate()", trainer.decisions
    if not isinstance(metrics, dict):
        raise TypeError(
            f"{method} returned {type_phrase(metrics)}: return a dict of numbers by name, {{}} if "
            "there are none"
        )
    for name, value in metrics.items():
        if not isinstance(name, str):
            raise TypeError(f"{method} returned {short_repr(name)} as the name of a metric")
        if name in _RUN_COLUMNS:
            raise ValueError(
                f"{method} returned a metric called {name!r}, which is a column of the run itself: "
                "give the metric another name"
            )
        try:
            is_finite = math.isfinite(value)
        except (TypeError, ValueError):  # a number of NumPy or torch has no dimensions
            raise TypeError(
                f"{method} returned {short_repr(value)} as {name!r}: a metric is a number"
            ) from None
        if not is_finite:
            raise ArithmeticError(f"{name} became {value} after {decisions:,} decisions")


def check_counts(trainer: Trainer, **before: int) -> None:
    """Refuse counts that are no whole numbers, or below those `before` the iteration."""
    method = f"{type(trainer).__name__}.iterate()"
    for name, least in before.items():
        value = getattr(trainer, name)
        count: int | None = None
        with suppress(TypeError, ValueError, OverflowError):
            count = int(value)
        if count is None or count != value:
            raise ValueError(f"{method} made {name} {short_repr(value)}: count in whole numbers")
        if count < least:
            raise ValueError(
                f"{method} lowered {name} from {least:,} to {count:,}: they are those of the whole "
                "training, so add to them"
            )
        setattr(trainer, name, count)  # NumPy's integers are no JSON


def finite_policy(trainer: Trainer) -> tuple[Arrays, NetworkCard]:
    """Weights of the policy and their card; ArithmeticError if no agent could play by them."""
    returned, card = trainer.policy_weights(), trainer.network_card()
    _check_types(type(trainer).__name__, returned, card)
    # Arithmetic makes numbers of arrays without dimensions, and kinds of arrays have own ways.
    weights = {name: np.asarray(array) for name, array in returned.items()}
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise ArithmeticError(
                f"{name} became NaN or infinite after {trainer.decisions:,} decisions"
            )
    if card.kind != "module":
        actions = max(options.rules.actions for options in trainer.settings.all_options)
        shapes = dict(weight_shapes(card, actions))
        returned = f"in what {type(trainer).__name__}.policy_weights() returns"
        for name, shape in shapes.items():
            found = weights[name].shape if name in weights else "missing"
            if found != shape:
                as_matrix = ", as (outputs, inputs)" if len(shape) == 2 else ""
                raise ValueError(
                    f"{name} is {found} {returned}, and its network_card() needs {shape}{as_matrix}"
                )
        if others := [name for name in weights if name not in shapes]:
            raise ValueError(
                f"{others[0]} is {returned}, and its network_card() has no such array: leave it out"
            )
    if card.kind == "mlp" and may_overflow(policy_layers(weights, card)):
        raise ArithmeticError(
            f"the training diverged: after {trainer.decisions:,} decisions the weights are so "
            "large that outputs of the network may become infinite"
        )
    return weights, card


def _check_types(trainer: str, weights: object, card: object) -> None:
    """Refuse a card that could not be read again, and weights that no checkpoint could hold."""
    method = f"{trainer}.network_card()"
    if not isinstance(card, NetworkCard):
        raise ValueError(f"{method} returned {type_phrase(card)}: return a NetworkCard")
    try:
        msgspec.convert(msgspec.to_builtins(card), NetworkCard)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{method} returned a card that cannot be read again: {error}") from error
    method = f"{trainer}.policy_weights()"
    if not isinstance(weights, dict):
        raise ValueError(f"{method} returned {type_phrase(weights)}: return a dict of arrays")
    # A table may have bytes, and a module whatever its state holds.
    kinds, noun = ("f", "fractions") if card.kind == "mlp" else ("biuf", "numbers")
    for name, array in weights.items():
        if not isinstance(array, (np.ndarray, np.generic)):
            raise ValueError(
                f"{method} returned {type_phrase(array)} as {name!r}: return arrays of NumPy, as "
                "tensor.detach().cpu().numpy() makes of a tensor of torch"
            )
        if array.dtype.kind not in kinds or array.dtype.itemsize > _LARGEST_NUMBER:
            raise ValueError(
                f"{method} returned {name!r} as {array.dtype}: return float32, or other {noun} of "
                "up to 64 bits"
            )
