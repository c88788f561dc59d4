"""Gymnasium spaces of observations and states."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from ..common.jit.compiler import warm_up
from ..engine.batch.batch import Batch
from ..engine.batch.config import TEXT, Options, options_from
from ..engine.observation.state import state_spec_of
from ..engine.rules import Rules
from .text import text_space


class ObservationBox(spaces.Box):
    """A `Box` that also holds the options of the environment that it was made for.

    Stable-Baselines3 stores the space in its models, where `sb3:` agents read the options.
    """

    def __init__(self, options: Options) -> None:
        super().__init__(
            0, 1 if options.encoding == "vector" else 127, options.observation_shape, np.int8
        )
        self.trained_on = options.trained_on()


def observation_space(options: Options) -> spaces.Box | spaces.Text:
    """The space of one observation without its mask."""
    return text_space() if options.observation == TEXT else observation_box(options)


def observation_box(options: Options) -> ObservationBox:
    """The space of one encoded observation."""
    return ObservationBox(options)


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
