"""How trainers are asked: what one of somebody else's does wrong is told by its name and the place.

What every trainer answers is checked here: figures and weights that are numbers, a player that is
what its card says, a state that a file can keep.
"""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..agents.card import NetworkCard
from ..agents.checkpoint import weight_shapes
from ..agents.naming import raised_at, told_error
from ..engine.words import a_kind_of
from .settings import Settings, SettingsError
from .trainer import Arrays, Trainer

_OWN = f"{__name__.partition('.')[0]}."
_FIGURES = "a mapping of figures by name, as in {'entropy': 0.5}"
_MOST_IDLE = 1000
"""Few games may have no decision of the learner's for a while."""
_STATE = "arrays by name, and a mapping of plain values: (arrays, plain)"


class TrainerFault(ValueError):
    """What a trainer did that no trainer may do."""


def is_no_number(error: BaseException) -> bool:
    """Whether a trainer says by it that a number became none; of others it is a fault."""
    faults = ZeroDivisionError, OverflowError
    return isinstance(error, ArithmeticError) and not isinstance(error, faults)


def made_by(kind: Any, *given: Any) -> Trainer:
    """A trainer of a class, made for a session."""
    missing = ", ".join(sorted(kind.__abstractmethods__))
    if missing:
        raise SettingsError(f"trainer: {_name(kind)} lacks {missing}: every trainer has to have it")
    made: Trainer = _guarded(kind, "__init__", kind.made, *given)
    if not hasattr(made, "decisions"):
        raise TrainerFault(
            f"the trainer {_name(kind)} counts no decisions: its __init__ has to call "
            "super().__init__(settings)"
        )
    return made


def asked(trainer: Trainer, method: str, *given: Any) -> Any:
    """What a method of a trainer answers."""
    return _guarded(type(trainer), method, getattr(trainer, method), *given)


def iterated(trainer: Trainer) -> dict[str, float]:
    """The figures of an iteration; one that is no number ends the run."""
    told = asked(trainer, "iterate")
    if not isinstance(told, Mapping):
        raise _answered(trainer, "iterate", told, _FIGURES)
    figures: dict[str, float] = {}
    for name, value in told.items():
        try:
            figures[name] = float(value)
        except (TypeError, ValueError):
            answer = f"{a_kind_of(value)} as {name!r}"
            raise _answered(trainer, "iterate", answer, _FIGURES) from None
        if not math.isfinite(figures[name]):
            raise ArithmeticError(
                f"{name} became {figures[name]} after {trainer.decisions:,} decisions"
            )
    return figures


def check_counting(trainer: Trainer, idle: int) -> None:
    """Refuse to go on after so many iterations in a row by which no decisions were counted."""
    if idle >= _MOST_IDLE:
        raise TrainerFault(
            f"iterate of the trainer {_name(type(trainer))} left self.decisions at "
            f"{trainer.decisions:,} for {idle} times: it has to add how many it has learnt from, "
            "by which a run comes to its end"
        )


def player_of(trainer: Trainer, settings: Settings) -> tuple[Arrays, NetworkCard]:
    """The weights of the player as it is now, and what the card says of them."""
    weights, card = asked(trainer, "player"), asked(trainer, "network_card")
    if not isinstance(card, NetworkCard):
        wanted = "a NetworkCard of german_whist.agents.card"
        raise _answered(trainer, "network_card", card, wanted)
    _check_arrays(trainer, "player", weights, "NumPy arrays of floats by name", "f")
    actions = max(each.rules.actions for each in settings.all_options)
    by_card = dict(weight_shapes(card, actions))
    differ = [
        f"{name} is {weights[name].shape if name in weights else 'missing'} in the one, and "
        f"{by_card.get(name, 'missing')} by the other"
        for name in {**by_card, **weights}
        if name not in weights or weights[name].shape != by_card.get(name)
    ]
    if differ:
        raise TrainerFault(
            f"player() and network_card() of the trainer {_name(type(trainer))} differ: "
            f"{'; '.join(differ)}"
        )
    for name, each in weights.items():
        if not np.isfinite(each).all():
            raise ArithmeticError(f"{name} became none after {trainer.decisions:,} decisions")
    return weights, card


def state_of(trainer: Trainer) -> tuple[Arrays, dict[str, Any]]:
    """Everything that the rest of a training depends on, as a file can keep it."""
    told = asked(trainer, "state")
    if not isinstance(told, tuple) or len(told) != 2:
        raise _answered(trainer, "state", told, _STATE)
    arrays, plain = told
    _check_arrays(trainer, "state", arrays, _STATE, "biuf")
    if not isinstance(plain, Mapping):
        raise _answered(trainer, "state", plain, _STATE)
    for name, value in plain.items():
        try:
            msgspec.json.encode({name: value})
        except (TypeError, ValueError, OverflowError):
            answer = f"{a_kind_of(value)} as {name!r}, which JSON does not hold"
            raise _answered(trainer, "state", answer, _STATE) from None
    return arrays, dict(plain)


def rehearse(trainer: Trainer, settings: Settings) -> None:
    """Ask somebody else's trainer for what a run will keep, before there is a folder for it."""
    if not type(trainer).__module__.startswith(_OWN):
        player_of(trainer, settings)
        state_of(trainer)


def _check_arrays(trainer: Trainer, method: str, found: Any, wanted: str, kinds: str) -> None:
    if not isinstance(found, Mapping):
        raise _answered(trainer, method, found, wanted)
    for name, each in found.items():
        if not isinstance(each, np.ndarray):
            raise _answered(trainer, method, f"{a_kind_of(each)} as {name!r}", wanted)
        if each.dtype.kind not in kinds:
            raise _answered(trainer, method, f"{each.dtype} numbers as {name!r}", wanted)


def _answered(trainer: Trainer, method: str, answer: object, wanted: str) -> TrainerFault:
    told = answer if isinstance(answer, str) else a_kind_of(answer)
    if answer is None:
        told = "None"
    name = _name(type(trainer))
    return TrainerFault(f"{method} of the trainer {name} returned {told}: it has to be {wanted}")


def _guarded(kind: type, method: str, function: Callable[..., Any], *given: Any) -> Any:
    try:
        return function(*given)
    except (Exception, SystemExit) as error:
        ours = type(error).__module__.startswith(_OWN) or kind.__module__.startswith(_OWN)
        if ours or isinstance(error, MemoryError) or is_no_number(error):
            raise
        raise TrainerFault(
            f"the trainer {_name(kind)} raised {told_error(error)} ({_place(kind, error)}) in "
            f"{method}"
        ) from error


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _place(kind: type, error: BaseException) -> str:
    """Where in the trainer's own file an error came up, or else where it was raised."""
    own = inspect.getsourcefile(kind)
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__)
             if own and each.filename == own]  # fmt: skip
    return f"{Path(own).name}:{lines[-1]}" if own and lines else raised_at(error)
