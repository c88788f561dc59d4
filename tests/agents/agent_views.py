"""Views of self-play under way, the actions of agents in them, and small networks to write."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from german_whist.agents.base import agent_key, decision_streams
from german_whist.agents.checkpoints.input_names import input_names
from german_whist.engine.observation.layout import LAYOUT_VERSION
from german_whist.engine.rules import load_rules
from german_whist.envs import SelfPlayEnv


def selfplay_views(
    rules: str = "classic", count: int = 64, steps: int = 9, **options: Any
) -> tuple[Any, Any, SelfPlayEnv]:
    """The views after some random steps, the last step's arrays, and the environment."""
    env = SelfPlayEnv(count, rules, **options)
    step = env.reset(seed=3)
    rng = np.random.default_rng(1)
    for _ in range(steps):
        step = env.step((step.masks * rng.random(step.masks.shape)).argmax(1))
    return env.views(), step, env


def streams_of(views: Any) -> Any:
    return decision_streams(agent_key(5), np.arange(len(views)).astype(np.uint64), views)


def act_on(agent: Any, views: Any) -> Any:
    return agent.act(views, streams_of(views))


def network_card(inputs: Any, hidden_sizes: list[int], **changes: Any) -> dict[str, Any]:
    """The card of a network for the classic game."""
    names = input_names(np.asarray(inputs))
    return {
        "network": {"kind": "mlp", "inputs": names, "hidden_sizes": hidden_sizes},
        "actions": 52,
        "layout": "trump-first",
        "layout_version": LAYOUT_VERSION,
        "rules": [load_rules("classic").as_mapping()],
        "horizon": "hand",
        **changes,
    }


def network_weights(*sizes: int) -> dict[str, Any]:
    """Random weights by the sizes of the layers."""
    rng, last = np.random.default_rng(0), len(sizes) - 2
    arrays = {}
    for k, (n, m) in enumerate(pairwise(sizes)):
        name = "policy" if k == last else f"hidden.{k}"
        arrays[f"{name}.weight"] = rng.normal(size=(m, n)).astype(np.float32)
        arrays[f"{name}.bias"] = rng.normal(size=m).astype(np.float32)
    return arrays
