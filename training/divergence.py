"""Divergence: NaN, infinite or too large numbers end a run before they are saved."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..agents.checkpoints import may_overflow, policy_layers, weight_shapes
from ..agents.checkpoints.schema import NetworkCard
from ..common.typing import Arrays
from .algorithms.base import Trainer


def is_divergence(error: BaseException) -> bool:
    """Whether an exception reports NaN or infinity; other arithmetic errors are faults."""
    faults = ZeroDivisionError, OverflowError
    return isinstance(error, ArithmeticError) and not isinstance(error, faults)


def check_metrics(metrics: Mapping[str, float], decisions: int) -> None:
    """Raise ArithmeticError for a metric that is NaN or infinite."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise ArithmeticError(f"{name} became {value} after {decisions:,} decisions")


def finite_policy(trainer: Trainer) -> tuple[Arrays, NetworkCard]:
    """Weights of the policy and their card; ArithmeticError if no agent could play by them."""
    weights, card = trainer.policy_weights(), trainer.network_card()
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise ArithmeticError(
                f"{name} became NaN or infinite after {trainer.decisions:,} decisions"
            )
    if card.kind == "mlp":
        actions = max(options.rules.actions for options in trainer.settings.all_options)
        for name, shape in weight_shapes(card, actions):
            found = weights[name].shape if name in weights else "missing"
            if found != shape:
                raise ValueError(
                    f"{name} is {found} in what {type(trainer).__name__}.policy_weights() returns, "
                    f"and its network_card() needs {shape}, as (outputs, inputs)"
                )
    if card.kind == "mlp" and may_overflow(policy_layers(weights, card)):
        raise ArithmeticError(
            f"the training diverged: after {trainer.decisions:,} decisions the weights are so "
            "large that outputs of the network may become infinite"
        )
    return weights, card
