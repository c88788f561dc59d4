"""Checks of what trainers return; a fault in another package's is reported by name and place."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

import numpy as np

from ...agents.checkpoints import may_overflow, policy_layers, weight_shapes
from ...agents.checkpoints.schema import NetworkCard
from ...common.plugins import error_location, error_text
from ...common.schema import short_repr
from ...common.suggestions import type_phrase
from ...common.typing import JsonObject
from ..settings import Settings
from .base import Arrays, Trainer

_OWN = f"{__name__.partition('.')[0]}."
_MAX_IDLE = 1000
"""Iterations in a row without a decision: few games may have none of the learner's for a while."""


class TrainerFault(ValueError):
    """A trainer of another package failed, or returned what it must not."""


def is_divergence(error: BaseException) -> bool:
    """Whether an exception reports NaN or infinity; other arithmetic errors are faults."""
    faults = ZeroDivisionError, OverflowError
    return isinstance(error, ArithmeticError) and not isinstance(error, faults)


@contextmanager
def naming_faults(trainer: type) -> Generator[None]:
    """Report an exception in another package's trainer by its name, method and place."""
    try:
        yield
    except (Exception, SystemExit) as error:
        own = type(error).__module__.startswith(_OWN) or trainer.__module__.startswith(_OWN)
        method = None if own else method_of(trainer, error)
        if method is None or isinstance(error, MemoryError) or is_divergence(error):
            raise
        raise TrainerFault(
            f"the trainer {_name(trainer)} raised {error_text(error)} ({error_location(error)}) in "
            f"{method}"
        ) from error


def method_of(kind: type, error: BaseException) -> str | None:
    """The method of an object of a class in which an exception was raised, if it was in one."""
    for frame, _ in walk_tb(error.__traceback__):
        if isinstance(frame.f_locals.get("self"), kind):
            return frame.f_code.co_name
        if frame.f_locals.get("cls") is kind:
            return "__init__"
    return None


def checked_metrics(trainer: Trainer) -> dict[str, float]:
    """Metrics of an iteration; NaN or infinity is an ArithmeticError."""
    result: Any = trainer.iterate()
    check_counts(trainer)
    try:
        metrics = {name: float(value) for name, value in result.items()}
    except (AttributeError, TypeError, ValueError):
        expected = "a mapping of metrics by name, as in {'entropy': 0.5}"
        raise _wrong_result(trainer, "iterate", result, expected) from None
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise ArithmeticError(f"{name} became {value} after {trainer.decisions:,} decisions")
    return metrics


def check_counts(trainer: Trainer) -> None:
    """Make a trainer's counts plain integers, also of NumPy's; refuse what is no count."""
    for name in ("decisions", "hands"):
        value: Any = getattr(trainer, name, None)
        try:
            count = operator.index(value)
        except TypeError:
            count = -1
        if count < 0:
            raise TrainerFault(
                f"self.{name} of the trainer {_name(type(trainer))} is {short_repr(value)}: it has "
                "to be a whole number of at least 0"
            )
        setattr(trainer, name, count)


def check_progress(trainer: Trainer, idle: int) -> None:
    """Raise after too many iterations in a row (`idle`) that counted no decisions."""
    if idle >= _MAX_IDLE:
        raise TrainerFault(
            f"iterate of the trainer {_name(type(trainer))} left self.decisions at "
            f"{trainer.decisions:,} for {idle} times: it has to add the decisions that it learnt "
            "from, or a run would never end"
        )


def checked_policy(trainer: Trainer) -> tuple[Arrays, NetworkCard]:
    """Weights of the policy and their card; those that no agent could read are an error.

    It is an ArithmeticError, as for every training that diverged.
    """
    weights, card = trainer.policy_weights(), trainer.network_card()
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise ArithmeticError(
                f"{name} became NaN or infinite after {trainer.decisions:,} decisions"
            )
    if card.kind == "mlp" and may_overflow(policy_layers(weights, card)):
        raise ArithmeticError(
            f"the training diverged: after {trainer.decisions:,} decisions the weights are so "
            "large that outputs of the network may become infinite"
        )
    return weights, card


def checked_state(trainer: Trainer) -> tuple[Arrays, JsonObject]:
    """Arrays and plain values of a trainer's state, NumPy's numbers among them as Python's."""
    state: Any = trainer.state()
    try:
        arrays, plain = state
        plain = json.loads(json.dumps(dict(plain), default=_number, allow_nan=False))
        if _are_arrays(arrays):
            return arrays, plain
    except (TypeError, ValueError):
        pass
    expected = "NumPy arrays by name, and a mapping of values that JSON holds: (arrays, plain)"
    raise _wrong_result(trainer, "state", state, expected)


def _number(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type_phrase(value)} is no value of JSON")


def check_results(trainer: Trainer, settings: Settings) -> None:
    """Check the types and shapes of what another package's trainer returns, before a run exists."""
    if type(trainer).__module__.startswith(_OWN):
        return
    if not hasattr(trainer, "decisions"):
        raise _wrong_result(trainer, "__init__", None, "one that calls super().__init__(settings)")
    card: Any = trainer.network_card()
    if not isinstance(card, NetworkCard):
        expected = "a NetworkCard of german_whist.agents.checkpoints.schema"
        raise _wrong_result(trainer, "network_card", card, expected)
    check_counts(trainer)
    weights = trainer.policy_weights()
    n_actions = max(options.rules.actions for options in settings.all_options)
    shapes = dict(weight_shapes(card, n_actions))
    if not _are_arrays(weights, "f") or {k: v.shape for k, v in weights.items()} != shapes:
        expected = f"NumPy arrays of floats with the names and shapes of network_card: {shapes}"
        raise _wrong_result(trainer, "policy_weights", weights, expected)
    checked_state(trainer)


def _are_arrays(arrays: object, kinds: str = "biuf") -> bool:
    return isinstance(arrays, Mapping) and all(
        isinstance(array, np.ndarray) and array.dtype.kind in kinds for array in arrays.values()
    )


def _wrong_result(trainer: Trainer, method: str, result: object, expected: str) -> TrainerFault:
    returned = "None" if result is None else type_phrase(result)
    name = _name(type(trainer))
    return TrainerFault(
        f"{method} of the trainer {name} returned {returned}: it has to be {expected}"
    )


def _name(trainer: type) -> str:
    return f"{trainer.__module__}:{trainer.__qualname__}"
