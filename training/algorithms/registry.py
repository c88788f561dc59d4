"""Trainers by name: `ppo`, `mmd`, `nfsp`, `cfr`, `sb3`, or `package.module:object`.

A trainer is named in settings as `trainer: my_module:MyTrainer`; other packages add names
through the entry-point group `german_whist.trainers`.
"""

from __future__ import annotations

from typing import Any

from ...common.plugins import Registry, load_source
from ...common.typed_settings import SettingsError
from ..distributed import ALONE, Ranks
from ..settings import Settings
from .base import Trainer, missing
from .plugin_checks import made_by

TRAINERS = Registry("german_whist.trainers", "trainer")
_SETTINGS: dict[str, str] = {}
"""Settings that can be read, shown and checked without torch, of the trainers that are here."""


def _own(name: str, trainer: str, settings: str, about: str) -> None:
    TRAINERS.add(name, f"{__package__}.{trainer}", about)
    _SETTINGS[name] = f"{__package__}.{settings}"


_own("ppo", "ppo:PPO", "settings:PPOSettings", "self-play in which both seats learn")
_own("mmd", "mmd:MMD", "settings:MMDSettings", "magnetic mirror descent by self-play")
_own("nfsp", "nfsp:NFSP", "settings:NFSPSettings", "neural fictitious self-play")
_own("cfr", "cfr:CFR", "cfr:CFRSettings", "regret minimisation in a table, on small decks")
_own("sb3", "sb3:SB3Trainer", "settings:SB3Settings", "MaskablePPO of sb3-contrib")


def trainer_kind(name: str) -> type[Trainer]:
    """The trainer with this name."""
    try:
        found = TRAINERS.find(name)
    except ValueError as error:
        raise SettingsError(f"trainer: {error}") from None
    except ImportError as error:
        raise missing(error) from None
    if not isinstance(found, type) or not issubclass(found, Trainer):
        raise SettingsError(
            f"trainer: {name} is no trainer: it has to be a class on top of "
            "german_whist.training.algorithms.base.Trainer"
        )
    return found


def settings_kind(name: str) -> type[Settings]:
    """The structure of the settings of a trainer."""
    if name in _SETTINGS:
        return load_source(_SETTINGS[name])
    return trainer_kind(name).settings_kind


def own_settings() -> dict[str, type[Settings]]:
    """The settings of the trainers that come with the package."""
    return {name: settings_kind(name) for name in _SETTINGS}


def make_trainer(settings: Settings, ranks: Ranks = ALONE) -> Trainer:
    """The trainer that some settings are for."""
    kind: Any = trainer_kind(settings.trainer)
    if ranks.alone:
        return made_by(kind, settings)
    if not kind.several_ranks:
        raise SettingsError(
            f"trainer: {settings.trainer} trains in one process, and torchrun started "
            f"{ranks.world}: begin it without torchrun"
        )
    return made_by(kind, settings, ranks)
