"""Helpers of the environment tests: option sets, and walks through environments."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np

from german_whist import named_rules, observe
from german_whist.engine.observation.history import histories, history_rows
from support import ODD

# PettingZoo's api_test imports an old name of PettingZoo's own connect four.
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "The old environment creation API", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test

NAMES = list(named_rules())
# Rule sets of 52, 53 and 55 actions; the last has a longer observation.
SHAPES = ["classic", "draft", "humbug"]

# Every value of every option, in few combinations, for rule sets that bring them out.
OPTIONS: list[dict[str, Any]] = [
    {"rules": "classic", "reward": "tricks", "layout": "trump-first"},
    {"rules": "all-tricks", "reward": "tricks", "observation": "history"},
    {"rules": "club-last", "reward": "win"},
    {"rules": "colour", "reward": "margin", "layout": "trump-first", "observation": "history"},
    {"rules": "small-all", "horizon": "match", "match": 10},
    {"rules": "small-last", "horizon": "match", "reward": "win", "layout": "trump-first"},
    {"rules": "small-all", "horizon": "match", "reward": "tricks", "observation": "history"},
    {"rules": "quick", "horizon": "foreplay"},
    {"rules": "all-margin", "horizon": "foreplay", "reward": "tricks", "layout": "trump-first"},
    {"rules": "draft", "horizon": "foreplay", "reward": "win", "observation": "history"},
    {"rules": ODD["low"], "horizon": "foreplay", "reward": "margin"},
    {"rules": ODD["low race"], "reward": "tricks"},
    {"rules": ODD["set aside"], "layout": "trump-first"},
    {"rules": ODD["blind"]},
]


def label(options: dict[str, Any]) -> str:
    return "-".join(
        value if isinstance(value, str) else "own" for value in map(_plain, options.values())
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


def suits_shown(env: Any, agent: str) -> np.ndarray[Any, Any]:
    options, view = env.options, env.view(agent)
    if options.observation == "vector":
        return observe(view, layout=options.layout, match=options.match).orders[0]
    record, rows = options.rules.record(options.match), history_rows(options.rules)
    return histories(record, view.record, rows, options.layout == "trump-first")[1][0]


def pick(mask: np.ndarray[Any, Any], rng: np.random.Generator) -> int:
    legal = np.flatnonzero(mask)
    return int(legal[rng.integers(len(legal))])


def picks(masks: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return np.array([pick(mask, rng) for mask in masks])


class OnlyLegal(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Wrapper that maps every action to a legal one, for checkers that sample actions."""

    def step(self, action: Any) -> Any:
        legal = np.flatnonzero(self.env.get_wrapper_attr("action_masks")())
        return self.env.step(int(legal[action % len(legal)]))


__all__ = [
    "NAMES",
    "OPTIONS",
    "SHAPES",
    "OnlyLegal",
    "api_test",
    "label",
    "pick",
    "picks",
    "render_test",
    "seed_test",
    "suits_shown",
]
