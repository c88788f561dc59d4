# pyright: strict, reportUnsupportedDunderAll=false, reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false
"""German Whist for reinforcement learning: engine, environments, agents, training, a table.

Importing the package registers its environments with Gymnasium and PettingZoo. Public names
are loaded at first use, so neither numba nor torch is imported before it is needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .registration import register_environments

if TYPE_CHECKING:
    from .agents.external.policies import PolicyAgent as PolicyAgent
    from .agents.networks.observe import observe as observe
    from .agents.registry import load_agent as load_agent
    from .engine.batch.results import StepResult as StepResult
    from .engine.cards import KEEP as KEEP
    from .engine.cards import TAKE_BLIND as TAKE_BLIND
    from .engine.cards import TAKE_HIDDEN as TAKE_HIDDEN
    from .engine.cards import Card as Card
    from .engine.cards import card as card
    from .engine.cards import card_set as card_set
    from .engine.cards import cards as cards
    from .engine.cards import cards_of as cards_of
    from .engine.cards import text_of as text_of
    from .engine.game import Game as Game
    from .engine.game import IllegalAction as IllegalAction
    from .engine.observation.layout import LAYOUT as LAYOUT
    from .engine.records import GameRecord as GameRecord
    from .engine.records import RecordError as RecordError
    from .engine.records import append_records as append_records
    from .engine.records import read_records as read_records
    from .engine.records import record_of as record_of
    from .engine.records import write_records as write_records
    from .engine.rules import Match as Match
    from .engine.rules import Rules as Rules
    from .engine.rules import RulesError as RulesError
    from .engine.rules import load_rules as load_rules
    from .engine.rules import named_rules as named_rules
    from .engine.view import View as View
    from .envs import german_whist_v0 as german_whist_v0
    from .envs.self_play import SelfPlayEnv as SelfPlayEnv
    from .evaluation import evaluate as evaluate
    from .evaluation import ladder as ladder
    from .three_player import german_whist_three_v0 as german_whist_three_v0
    from .training.api import train as train
    from .training.api import train_on as train_on
    from .training.experiments.compare import compare as compare
    from .training.experiments.seeds import train_seeds as train_seeds
    from .training.load_policy import load_policy as load_policy

__version__ = "0.1.0"

_NAMES_BY_MODULE = {
    "agents.registry": ["load_agent"],
    "agents.networks.observe": ["observe"],
    "agents.external.policies": ["PolicyAgent"],
    "engine.batch.results": ["StepResult"],
    "engine.cards": [
        "KEEP",
        "TAKE_BLIND",
        "TAKE_HIDDEN",
        "Card",
        "card",
        "card_set",
        "cards",
        "cards_of",
        "text_of",
    ],
    "engine.game": ["Game", "IllegalAction"],
    "engine.observation.layout": ["LAYOUT"],
    "engine.records": [
        "GameRecord",
        "RecordError",
        "record_of",
        "append_records",
        "read_records",
        "write_records",
    ],
    "engine.rules": ["Match", "Rules", "RulesError", "load_rules", "named_rules"],
    "engine.view": ["View"],
    "envs": ["german_whist_v0"],
    "envs.self_play": ["SelfPlayEnv"],
    "evaluation": ["evaluate", "ladder"],
    "three_player": ["german_whist_three_v0"],
    "training.experiments.compare": ["compare"],
    "training.experiments.seeds": ["train_seeds"],
    "training.load_policy": ["load_policy"],
    "training.api": ["train", "train_on"],
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_BY_NAME)]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULE_BY_NAME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


register_environments()
