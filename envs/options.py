"""Keyword options of the environments, each documented here or in `engine.batch.config`."""

from __future__ import annotations

import inspect
from typing import Any, TypedDict

from ..engine.options import GameOptions

Info = dict[str, Any]
"""What `reset` and `step` return beside observation and reward; the environments list its keys."""
LearnerObservation = Any
"""What a learner observes: an array; a dictionary of it and its mask with `mask_in_observation`; a
text with the observation `text`."""


class RenderOptions(TypedDict, total=False):
    """Keyword options of every AEC environment.

    | option | values, the default first |
    |---|---|
    | `render_mode` | None, `human`, `ansi`, `rgb_array`, `svg` |
    | `render_view` | `"mover"`, the player to move's view; a seat's number; `"open"`, all hands |
    """

    render_mode: str | None
    render_view: str | int


class TextOptions(TypedDict, total=False):
    """Keyword options of single environments with `observation="text"`.

    | option | values, the default first |
    |---|---|
    | `retries` | 2; with `observation="text"`: answers that name no legal action and are refused \
with a sentence, before one counts as an illegal action |
    """

    retries: int


class LearnerOptions(GameOptions, TextOptions, total=False):
    """Keyword options of every environment with an opponent, beside the rules.

    | option | values, the default first |
    |---|---|
    | `opponent` | `random` or another agent by name, an Agent or its class, \
`f(views, rng) -> actions`, a model of Stable-Baselines3, or an `OpponentPool` of these, which \
draws by a seed of its own |
    | `seat` | `"random"`, drawn with the deal; `0`, `1` |
    | `mask_in_observation` | False; True for `{"observation": ..., "action_mask": ...}` |
    | `render_mode` | None, `human`, `ansi`, `rgb_array`, `svg` |
    | `render_view` | `"seat"`, the learner's view; `"open"`, both hands |
    | `illegal` | what an illegal action does: `"lose"`, the end of the episode; `"raise"` |
    | `costs` | None; of single environments: `"exact"` for the [cost](../guide/text.md#scores) of \
each action played, where it is known; or a search that estimates others, as `"flat-mc:500,voids"` |
    | `with_state` | False; True for the [global state](../guide/vectors.md#the-global-state) of \
each game in the infos, for training alone |
    """

    opponent: object
    seat: int | str
    mask_in_observation: bool
    render_mode: str | None
    render_view: str
    illegal: str
    costs: str | None
    with_state: bool


def options_table(*options: type) -> str:
    """The rows of these options' docstrings as one table."""
    texts = [inspect.getdoc(option_set) or "" for option_set in options]
    head, *rows = [line for text in texts for line in text.splitlines() if line.startswith("|")]
    return "\n".join([head, *(row for row in dict.fromkeys(rows) if row != head)])
