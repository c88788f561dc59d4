"""Gymnasium spaces of observations and states."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from ..common.jit.compiler import warm_up
from ..engine.batch.batch import Batch
from ..engine.batch.config import TEXT, TRAINED_ON, Options, options_from
from ..engine.observation.state import state_spec_of
from ..engine.rules import Rules
from .text import text_space


def observation_space(options: Options) -> spaces.Box | spaces.Text:
    """The space of one observation without its mask."""
    return text_space() if options.observation == TEXT else observation_box(options)


def observation_box(options: Options) -> spaces.Box:
    """The space of one encoded observation."""
    most = 1 if options.encoding == "vector" else 127
    box = spaces.Box(0, most, options.observation_shape, np.int8)
    # Stable-Baselines3 stores this space in its models: `sb3:` agents read the options from it.
    setattr(box, TRAINED_ON, options.trained_on())
    return box


def dict_space(options: Options) -> spaces.Dict:
    """The space of an observation with its mask."""
    mask = spaces.Box(0, 1, (options.rules.actions,), np.int8)
    return spaces.Dict({"observation": observation_space(options), "action_mask": mask})


def state_box(rules: Rules) -> spaces.Box:
    """The space of the global state of one game."""
    return spaces.Box(0, 1, (state_spec_of(rules).size,), np.int8)


def warm_up_states() -> None:
    """Compile or load the encoder of global states, for those who ask for them alone."""

    def encode() -> None:
        batch = Batch(options_from("small-last"), 1)
        batch.reset(0)
        batch.global_states()

    warm_up("global states", "envs", encode, seconds=2)
