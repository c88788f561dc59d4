"""Trainers by name: `ppo`, `mmd`, `nfsp`, `mccfr`, `sb3`, or `package.module:object`.

A trainer is named in settings as `trainer: my_module:MyTrainer`; other packages add names
through the entry-point group `german_whist.trainers`.
"""

from __future__ import annotations

from typing import Any

from ...common.plugins import Registry, load_source
from ...common.settings import SettingsError
from ..distributed import SINGLE_RANK, Ranks
from ..settings import Settings
from .base import Trainer, missing

TRAINERS = Registry("german_whist.trainers", "trainer")
# Settings are read, shown and checked without torch.
_BUILT_IN = {
    "ppo": ("ppo:PPO", "settings:PPOSettings", "self-play in which both seats learn"),
    "mmd": ("mmd:MMD", "settings:MMDSettings", "magnetic mirror descent by self-play"),
    "nfsp": ("nfsp:NFSP", "settings:NFSPSettings", "neural fictitious self-play"),
    "mccfr": (
        "mccfr:MCCFR",
        "mccfr:MCCFRSettings",
        "regret minimization in a table, on small decks",
    ),
    "sb3": ("sb3:SB3Trainer", "settings:SB3Settings", "MaskablePPO of sb3-contrib"),
}
for _name, (_trainer, _, _about) in _BUILT_IN.items():
    TRAINERS.add(_name, f"{__package__}.{_trainer}", _about)


def trainer_kind(name: str) -> type[Trainer]:
    try:
        trainer = TRAINERS.find(name)
    except ValueError as error:
        raise SettingsError(f"trainer: {error}") from None
    except ImportError as error:
        raise missing(error) from None
    if not isinstance(trainer, type) or not issubclass(trainer, Trainer):
        raise SettingsError(
            f"trainer: {name} is no trainer: it has to be a subclass of "
            "german_whist.training.Trainer"
        )
    return trainer


def settings_kind(name: str) -> type[Settings]:
    if name in _BUILT_IN:
        return load_source(f"{__package__}.{_BUILT_IN[name][1]}")
    return trainer_kind(name).settings_kind


def own_settings() -> dict[str, type[Settings]]:
    """Settings of the built-in trainers by name."""
    return {name: settings_kind(name) for name in _BUILT_IN}


def make_trainer(
    settings: Settings, ranks: Ranks = SINGLE_RANK, *, parallel: bool = False
) -> Trainer:
    """Trainer of a session; `parallel`: for the saved state of several processes."""
    kind: Any = trainer_kind(settings.trainer)
    if ranks.is_only and not parallel:
        return kind.from_settings(settings)
    if not kind.several_ranks:
        raise SettingsError(
            f"trainer: {settings.trainer} trains in one process, and torchrun started "
            f"{ranks.world_size}: start it without torchrun"
        )
    from .data_parallel import DataParallel

    return DataParallel(kind, settings, ranks)  # type: ignore[arg-type]
