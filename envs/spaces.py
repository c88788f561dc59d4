"""Gymnasium spaces of observations and actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ..engine.batch.config import TRAINED_ON, Options


def observation_box(options: Options) -> spaces.Box:
    """The space of one observation without its mask."""
    most = 1 if options.observation == "vector" else 127
    box = spaces.Box(0, most, options.observation_shape, np.int8)
    # Stable-Baselines3 stores this space in its models: `sb3:` players read the options from it.
    setattr(box, TRAINED_ON, options.trained_on())
    return box


def dict_space(options: Options) -> spaces.Dict:
    """The space of an observation with its mask."""
    mask = spaces.Box(0, 1, (options.rules.actions,), np.int8)
    return spaces.Dict({"observation": observation_box(options), "action_mask": mask})


def observation_space(options: Options, mask_in_observation: bool) -> spaces.Space[Any]:
    """The space of one observation, with or without its mask."""
    return dict_space(options) if mask_in_observation else observation_box(options)


def action_space(options: Options) -> spaces.Discrete:
    """The space of actions: card ids, the hidden choice and the exchange."""
    return spaces.Discrete(options.rules.actions)
