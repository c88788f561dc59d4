# pyright: strict
"""What a learner is given beside its budget, as comparisons of algorithms state it."""

from __future__ import annotations

from msgspec import Struct

NOT_STATED = "not stated"
OWN_VIEW, HIDDEN_CARDS, NONE = "own view", "hidden cards", "none"
"""What a critic sees: what the player sees, or also the hidden cards; or there is no critic."""
INFORMATION_SETS = "information sets"
"""What a table has a row for; CFR+ counts those that it visits."""
BOTH_SEATS, OWN_SEAT = "both seats", "own seat"
"""Whose decisions are counted: all of self-play, or those of the seat that learns."""


class Given(Struct, frozen=True, kw_only=True):
    """What a learner is given; a trainer's settings say it in their property `given`."""

    critic: str = NOT_STATED
    """What the critic sees while training: `own view`, `hidden cards`, or `none`."""
    observation: str = NOT_STATED
    """What the policy reads: `relative ranks`, `absolute ranks`, `history`, `information sets`."""
    precision: str = NOT_STATED
    """`float32`, or `mixed`, which multiplies in bfloat16."""
    ema: str = NOT_STATED
    """Whether the measured policy is an average of weights over the training: `on` or `off`."""
    decisions: str = NOT_STATED
    """Which decisions are counted: of `both seats`, of its `own seat`, or `information sets`."""


def on_or_off(ema_decay: float) -> str:
    """`Given.ema` of a decay; 0 is no average."""
    return "on" if ema_decay else "off"
