"""Options in the names of agents: `greedy` or `sample`, who plays endings, the layout."""

from __future__ import annotations

from typing import Any

from ..engine.observation.layout import layout_number
from ..engine.rules import Rules
from .perfect_endgame import EndgamePlayer

_GREEDY, _SAMPLE = "greedy", "sample"


def endgame_word(rules: Rules, exact: bool) -> str:
    """The word that gives endings to the other of policy and solver; empty where none solves."""
    if not EndgamePlayer.solves(rules):
        return ""
    return "endgame=network" if exact else "endgame=exact"


def read_words(
    words: tuple[str, ...],
    kind: str,
    *,
    layout: bool = False,
    draws: bool = True,
    exact: bool = True,
) -> dict[str, Any]:
    """The options that the words of a player's name give; the layout, where one may be given.

    `layout` says whether one may be named (`None` without such a word), `draws` whether the player
    may play its likeliest action or draw, `exact` who plays endings unless a word says so.
    """
    told: dict[str, Any] = {"sample": False, "exact": exact}
    told |= {"layout": None} if layout else {}
    for word in words:
        name, _, value = word.partition("=")
        if draws and word in (_GREEDY, _SAMPLE):
            told["sample"] = word == _SAMPLE
        elif name == "endgame" and value in ("exact", "network"):
            told["exact"] = value == "exact"
        elif name == "layout" and value and layout:
            layout_number(value)
            told["layout"] = value
        else:
            known = [_GREEDY, _SAMPLE] if draws else []
            known += ["endgame=exact", "endgame=network"]
            known += ["layout=raw", "layout=trump-first"] if layout else []
            raise ValueError(
                f"{word!r} is no option of {kind}: there are {', '.join(known[:-1])} and "
                f"{known[-1]}"
            )
    return told
