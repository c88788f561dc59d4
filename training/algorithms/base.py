"""What a trainer is: it iterates, tells its player's weights, and keeps and restores its state.

A new algorithm is one file: a structure of settings, and a class on top of `Trainer`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...agents.checkpoints.schema import NetworkCard
from ...common.threads import usable_threads
from ...common.typed_settings import SettingsError
from ...common.typing import Arrays as Arrays
from ...engine.batch.cuda_backend import NoDevice, check_device
from ..settings import Settings

_PACKAGES = ("torch", "sb3_contrib", "stable_baselines3")


class Diverged(ArithmeticError):
    """Loss or weights became NaN or infinite."""


class Trainer(ABC):
    """What a run asks of a trainer, made anew for each session of it."""

    settings_kind: ClassVar[type[Settings]] = Settings
    """The structure of its settings."""
    several_ranks: ClassVar[bool] = False
    """Whether it trains in several processes at once; then `made` takes its `Ranks` as well."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.decisions = 0
        """The learner's own, so far."""
        self.hands = 0
        self.stopped = False
        """Whether it ended the training before its budget."""

    @classmethod
    def made(cls, settings: Any) -> Trainer:
        """A trainer for a run with these settings."""
        return cls(settings)

    # -- what each has of its own

    @abstractmethod
    def iterate(self) -> dict[str, float]:
        """Train a while, count `decisions` and `hands`, and tell what happened.

        Nothing is told of an iteration that was cut short. A figure that is no number ends the run;
        one that is not told does where `ArithmeticError` is raised.
        """

    @abstractmethod
    def player(self) -> Arrays:
        """The weights of the player as it is now, and of its critic if the card tells of one."""

    @abstractmethod
    def network_card(self) -> NetworkCard:
        """What the card says of the network."""

    @abstractmethod
    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that the rest of the training depends on: arrays, and plain values."""

    @abstractmethod
    def restore(self, arrays: Arrays, plain: dict[str, Any]) -> None:
        """Go on from what `state` gave; whatever does not fit is a ValueError."""

    # -- what most do without

    def begin_with(self, weights: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Begin with the weights of a checkpoint, which fit."""
        raise SettingsError(f"init: the trainer {self.settings.trainer} begins with nothing")

    def adopt(self, callback: object) -> bool:
        """Whether it takes a callback that is not of a run's kind."""
        return False

    def write_beside(self, path: Path) -> None:  # noqa: B027
        """Write what else belongs to a checkpoint."""

    def end(self) -> None:  # noqa: B027
        """The session is over."""


def torch_device(settings: Settings, games: bool = False) -> str:
    """Where torch is to compute, its threads set as the settings ask.

    With `games` they are to be played there too, which takes more than torch.
    """
    try:
        import torch
    except ImportError as error:
        raise missing(error) from None
    # As torchrun sets it.
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    torch.set_num_threads(settings.threads or max(1, usable_threads() // processes))
    device = settings.device
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but torch finds none here: use device=cpu")
    if device != "cpu" and torch.cuda.is_available():
        try:
            if games:
                check_device()
        except NoDevice:
            if device == "cuda":
                raise
            return "cpu"
        # Of the processes that share a machine each has a device of its own.
        return f"cuda:{os.environ['LOCAL_RANK']}" if processes > 1 else "cuda"
    return "cpu"


def missing(error: ImportError) -> Exception:
    """What to say when a package that trains is not there; other errors are as they are."""
    if error.name is None or error.name.split(".")[0] not in _PACKAGES:
        return error
    return ValueError(
        f"training needs {error.name.split('.')[0]}, which is not installed: pip install "
        "'german-whist[train]'"
    )
