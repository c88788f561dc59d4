"""Keyword options of everything that steps games, and the ones that make learning easiest.

Nothing else is imported, so that the environments can be registered at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from .rules import Match


class GameOptions(TypedDict, total=False):
    """Keyword options of everything that steps games, beside the rules.

    | option | values, the default first |
    |---|---|
    | `reward` | `points`, `win`, `margin`, `tricks` |
    | `suit_order` | `raw`, the real suits; `trump-first`, suits relabelled, in actions too |
    | `horizon` | `hand`; `foreplay`, which ends when the stock is empty and pays the exact value \
of the ending; `match`; `auto`, which is `foreplay` where endings are exact, else `hand` |
    | `observation` | `vector`, `history`; `text` of single environments, for language models |
    | `match` | with horizon `match`: points to play to (25), or a `Match` |
    """

    reward: str
    suit_order: str
    horizon: str
    observation: str
    match: Match | int | None


FOREPLAY_OPTIONS: GameOptions = {
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
