"""Divergence: NaN, infinite or too large numbers end a run before they are saved."""

from __future__ import annotations

import math

import numpy as np

from ..agents.checkpoints import may_overflow, policy_layers, weight_shapes
from ..agents.checkpoints.schema import NetworkCard
from ..common.schema import short_repr
from ..common.suggestions import type_phrase
from ..common.typing import Arrays
from .algorithms.base import Trainer


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
        try:
            is_finite = math.isfinite(value)
        except (TypeError, ValueError):  # a number of NumPy or torch has no dimensions
            raise TypeError(
                f"{method} returned {short_repr(value)} as {name!r}: a metric is a number"
            ) from None
        if not is_finite:
            raise ArithmeticError(f"{name} became {value} after {decisions:,} decisions")


def finite_policy(trainer: Trainer) -> tuple[Arrays, NetworkCard]:
    """Weights of the policy and their card; ArithmeticError if no agent could play by them."""
    weights, card = trainer.policy_weights(), trainer.network_card()
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
