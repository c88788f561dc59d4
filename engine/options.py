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
"""Options for training, which all environments take: `german_whist_v0.env(**FOREPLAY_OPTIONS)`.

An episode ends when the stock is empty, after 13 decisions of each player instead of 26. The reward
is +1 for the player who would win the hand if both played the endgame perfectly, and -1 for the
other player; a tie, which some rule sets allow, pays 0. The trump suit always comes first, so what
is learned with one trump suit also holds for the other suits.

Registered with these options are `german_whist/GermanWhistForeplay-v0` in Gymnasium and
`german_whist/german_whist_foreplay_v0` in PettingZoo.
"""
