"""Gymnasium spaces of observations."""

from __future__ import annotations

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
