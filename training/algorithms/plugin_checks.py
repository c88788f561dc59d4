"""Calls of trainers: what one of another package does wrong is told by its name and the place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ParamSpec, TypeVar

import msgspec
import numpy as np

from ...agents.checkpoints.checkpoint import weight_shapes
from ...agents.checkpoints.schema import NetworkCard
from ...common.plugins import error_location, error_text
from ...common.suggestions import type_phrase
from ..settings import Settings
from .base import Arrays, Trainer

P = ParamSpec("P")
T = TypeVar("T")

_OWN = f"{__name__.partition('.')[0]}."
_MOST_IDLE = 1000
"""Few games may have no decision of the learner's for a while."""


class TrainerFault(ValueError):
    """What a trainer did that no trainer may do."""


def is_no_number(error: BaseException) -> bool:
    """Whether a trainer says by it that a number became none; of others it is a fault."""
    faults = ZeroDivisionError, OverflowError
    return isinstance(error, ArithmeticError) and not isinstance(error, faults)


def made_by(kind: Any, *given: Any) -> Trainer:
    """A trainer of a class, made for a session."""
    return _guarded(kind, "__init__", partial(kind.made, *given))


def guarded(method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a trainer's method; an exception of another package's trainer becomes a TrainerFault."""
    kind = type(method.__self__)  # type: ignore[attr-defined]
    return _guarded(kind, method.__name__, partial(method, *args, **kwargs))


def iterated(trainer: Trainer) -> dict[str, float]:
    """The figures of an iteration; one that is no number ends the run."""
    told: Any = guarded(trainer.iterate)
    try:
        figures = {name: float(value) for name, value in told.items()}
    except (AttributeError, TypeError, ValueError):
        wanted = "a mapping of figures by name, as in {'entropy': 0.5}"
        raise _answered(trainer, "iterate", told, wanted) from None
    for name, value in figures.items():
        if not math.isfinite(value):
            raise ArithmeticError(f"{name} became {value} after {trainer.decisions:,} decisions")
    return figures


def check_counting(trainer: Trainer, idle: int) -> None:
    """Refuse to go on after so many iterations in a row by which no decisions were counted."""
    if idle >= _MOST_IDLE:
        raise TrainerFault(
            f"iterate of the trainer {_name(type(trainer))} left self.decisions at "
            f"{trainer.decisions:,} for {idle} times: it has to add how many it has learnt from, "
            "by which a run comes to its end"
        )


def player_of(trainer: Trainer) -> tuple[Arrays, NetworkCard]:
    """The weights of the player as it is now, and what the card says of them."""
    weights, card = guarded(trainer.player), guarded(trainer.network_card)
    for name, each in weights.items():
        if not np.isfinite(each).all():
            raise ArithmeticError(f"{name} became none after {trainer.decisions:,} decisions")
    return weights, card


def rehearse(trainer: Trainer, settings: Settings) -> None:
    """Check the shape of what a trainer of another package gives, before there is a folder."""
    if type(trainer).__module__.startswith(_OWN):
        return
    if not hasattr(trainer, "decisions"):
        raise _answered(trainer, "__init__", None, "one that calls super().__init__(settings)")
    card: Any = guarded(trainer.network_card)
    if not isinstance(card, NetworkCard):
        wanted = "a NetworkCard of german_whist.agents.checkpoints.schema"
        raise _answered(trainer, "network_card", card, wanted)
    weights, state = guarded(trainer.player), guarded(trainer.state)
    shapes = dict(weight_shapes(card, max(each.rules.actions for each in settings.all_options)))
    if not _are_arrays(weights, "f") or {k: v.shape for k, v in weights.items()} != shapes:
        wanted = f"NumPy arrays of floats with the names and shapes of network_card: {shapes}"
        raise _answered(trainer, "player", weights, wanted)
    try:
        arrays, plain = state
        msgspec.json.encode(dict(plain))
        fits = _are_arrays(arrays, "biuf")
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        wanted = "NumPy arrays by name, and a mapping of values that JSON holds: (arrays, plain)"
        raise _answered(trainer, "state", state, wanted)


def _are_arrays(found: Any, kinds: str) -> bool:
    return isinstance(found, Mapping) and all(
        isinstance(each, np.ndarray) and each.dtype.kind in kinds for each in found.values()
    )


def _answered(trainer: Trainer, method: str, answer: object, wanted: str) -> TrainerFault:
    told = "None" if answer is None else type_phrase(answer)
    name = _name(type(trainer))
    return TrainerFault(f"{method} of the trainer {name} returned {told}: it has to be {wanted}")


def _guarded(kind: type, method: str, function: Callable[[], T]) -> T:
    try:
        return function()
    except (Exception, SystemExit) as error:
        ours = type(error).__module__.startswith(_OWN) or kind.__module__.startswith(_OWN)
        if ours or isinstance(error, MemoryError) or is_no_number(error):
            raise
        raise TrainerFault(
            f"the trainer {_name(kind)} raised {error_text(error)} ({error_location(error)}) "
            f"in {method}"
        ) from error


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
