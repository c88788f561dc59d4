"""Base class of trainers: iterations, weights of the policy, saved state.

A new algorithm is one file: a structure of settings, and a subclass of `Trainer`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from ...agents.checkpoints.schema import Count, NetworkCard
from ...common.schema import convert
from ...common.settings import SettingsError
from ...common.suggestions import not_installed
from ...common.threads import usable_threads
from ...common.typing import Array, JsonObject
from ...common.typing import Arrays as Arrays
from ...engine.batch.cuda_backend import NoDevice, check_device
from ..settings import Settings
from .attribute_state import attribute_state, restore_attributes

_PACKAGES = ("torch", "sb3_contrib", "stable_baselines3")


MASK_IGNORED = (
    "the training diverged: logits or Q-values became so large that an illegal action was chosen"
)


class CallbackFailed(Exception):
    """A callback of another package raised; the state is saved."""


class TrainerState(Struct, forbid_unknown_fields=True):
    """Plain values of a saved state; those of a trainer are added in a subclass."""

    decisions: Count
    hands: Count


class Trainer(ABC):
    """Base class of training algorithms: `iterate` trains for a while and returns metrics.

    Write `iterate`, `policy_weights` and `network_card`, and name the attributes that a resumed run
    needs in `state_attributes`. A run then has checkpoints, evaluations and resuming. Train with
    `german_whist.train({"trainer": "mine:Mine"})`. A trainer is made anew when a run is resumed.
    """

    settings_kind: ClassVar[type[Settings]] = Settings
    """Structure of the settings."""
    several_ranks: ClassVar[bool] = False
    """Whether it trains in several processes; then `from_settings` takes `Ranks` as well."""
    state_attributes: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that `state` saves, beside `decisions` and `hands`.

    They hold numbers, arrays and random generators of NumPy, modules and optimizers of torch (but
    not the optimizer's learning rate), or environments that were reset.
    """
    callback_kinds: ClassVar[tuple[type, ...]] = ()
    """Base classes of the callbacks that `add_callback` takes."""

    def __init__(self, settings: Any) -> None:
        self.settings: Any = settings
        self.decisions: int = 0
        """Decisions of the learner so far."""
        self.hands: int = 0
        self.stopped: bool = False
        """Whether a callback of the trainer ended the training before its budget."""

    @classmethod
    def from_settings(cls, settings: Any) -> Trainer:
        """Trainer of a run with these settings."""
        return cls(settings)

    @abstractmethod
    def iterate(self) -> dict[str, float]:
        """Train for one iteration, increase `decisions` and `hands`, and return metrics.

        One that was cut short by the budget or a callback returns none: they would be of the first
        decisions of hands, and curves would end in a spike. So does one that learned nothing. NaN
        or infinity in a metric ends the run, and so does an `ArithmeticError`.
        """

    @abstractmethod
    def policy_weights(self) -> Arrays:
        """Current weights of the policy, and of the critic if `network_card` has one."""

    @abstractmethod
    def network_card(self) -> NetworkCard:
        """Inputs and architecture of the network, for a checkpoint's card."""

    # -- optional

    def state(self) -> tuple[Arrays, JsonObject]:
        """All that the rest of the training depends on: arrays, and values that JSON holds.

        By default the counts and `state_attributes`.
        """
        if not self.state_attributes:
            raise NotImplementedError(
                f"{type(self).__name__} names no state_attributes: name those that a resumed run "
                "needs, as in state_attributes = ('network', 'optimizer'), or write state and "
                "restore"
            )
        arrays, plain = attribute_state(self, self.state_attributes)
        return arrays, {**plain, "decisions": self.decisions, "hands": self.hands}

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        """Restore what `state` gave; raise ValueError if it does not fit."""
        counts = {name: plain.get(name) for name in TrainerState.__struct_fields__}
        state = convert(counts, TrainerState, "trainer")
        restore_attributes(self, self.state_attributes, arrays, plain)
        self.decisions, self.hands = state.decisions, state.hands

    def load_weights(self, weights: Mapping[str, Array]) -> None:
        """Load the weights of a checkpoint, whose shapes fit."""
        raise SettingsError(f"init: the trainer {self.settings.trainer} cannot load weights")

    def add_callback(self, callback: object) -> bool:
        """Add a callback of another kind than a run's; False if the trainer has none such."""
        return False

    def write_extra_files(self, path: Path) -> None:  # noqa: B027
        """Write further files of a checkpoint."""

    def close(self) -> None:  # noqa: B027
        """End the session."""


def torch_device(settings: Settings, games: bool = False) -> str:
    """Device of torch, whose number of threads is set too; `games`: they are played there."""
    try:
        import torch
    except ImportError as error:
        raise missing(error) from None
    # Set by torchrun.
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    torch.set_num_threads(settings.threads or max(1, usable_threads() // processes))
    device = settings.device
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but torch finds no GPU: use device=cpu")
    if device != "cpu" and torch.cuda.is_available():
        try:
            if games:
                check_device()
        except NoDevice:
            if device == "cuda":
                raise
            return "cpu"
        # Each of the processes on a machine has a device of its own.
        return f"cuda:{os.environ['LOCAL_RANK']}" if processes > 1 else "cuda"
    return "cpu"


def missing(error: ImportError) -> Exception:
    """The error to raise instead if a package for training is not installed."""
    if error.name is None or error.name.split(".")[0] not in _PACKAGES:
        return error
    return ValueError(not_installed("training", error.name, "train"))
