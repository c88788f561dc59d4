"""Options of everything that steps games, and those that make learning easiest.

Nothing else is imported, so that the environments can be registered at once.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Reward = Literal["points", "win", "margin", "tricks"]
"""What an episode pays."""
SuitOrder = Literal["raw", "trump-first"]
"""The order of suits in observations, actions and masks."""
Horizon = Literal["hand", "foreplay", "match", "auto"]
"""When an episode ends."""
NetworkObservation = Literal["vector", "history"]
"""The form of observations for networks."""
ObservationForm = Literal["vector", "history", "text"]
"""The form of observations of environments with a single game."""


class ForeplayOptions(TypedDict):
    """Type of `FOREPLAY_OPTIONS`."""

    reward: Reward
    suit_order: SuitOrder
    horizon: Horizon


FOREPLAY_OPTIONS: ForeplayOptions = {
    "reward": "win",
    "suit_order": "trump-first",
    "horizon": "foreplay",
}
"""The options to train with: `german_whist_v0.env(**FOREPLAY_OPTIONS)`, and so every environment.

An episode is the foreplay, 13 decisions of a player instead of 26. It pays +1 to the player who
wins the hand when both play the endgame perfectly, and -1 to the other. The trump suit always
comes first, so what is learned in one trump suit serves in all four.

Registered with these options are `german_whist/GermanWhistForeplay-v0` in Gymnasium and
`german_whist/german_whist_foreplay_v0` in PettingZoo.
"""
