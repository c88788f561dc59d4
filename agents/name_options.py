"""Options in agent names: `greedy` or `sample`, who plays endings, the layout."""

from __future__ import annotations

from typing import Any

from ..engine.batch.config import AUTO, exact_horizon
from ..engine.checks import checked_choice
from ..engine.observation.layout import LAYOUTS
from ..engine.rules import Rules
from .perfect_endgame import EndgamePlayer

_GREEDY, _SAMPLE = "greedy", "sample"


def endgame_option(rules: Rules, exact: bool) -> str:
    """Option that swaps policy and solver in endings; empty if no solver plays these rules."""
    if not EndgamePlayer.solves(rules):
        return ""
    return "endgame=network" if exact else "endgame=exact"


def trained_on_endgame(horizon: str, rules: Rules) -> bool:
    """Whether a policy that was trained with this horizon has played endgames of these rules."""
    if horizon == AUTO:
        horizon = exact_horizon(rules)
    return horizon in ("hand", "match")


def parse_name_options(
    words: tuple[str, ...],
    kind: str,
    *,
    layout: bool = False,
    draws: bool = True,
    exact: bool = True,
) -> dict[str, Any]:
    """Parse the option words of an agent name.

    `layout` allows the option `layout` (default None), `draws` allows `greedy` and `sample`, and
    `exact` is the default of who plays endings.
    """
    options: dict[str, Any] = {"sample": False, "exact": exact}
    options |= {"layout": None} if layout else {}
    for word in words:
        name, _, value = word.partition("=")
        if draws and word in (_GREEDY, _SAMPLE):
            options["sample"] = word == _SAMPLE
        elif name == "endgame" and value in ("exact", "network"):
            options["exact"] = value == "exact"
        elif name == "layout" and value and layout:
            options["layout"] = checked_choice("layout", value, LAYOUTS)
        else:
            allowed = [_GREEDY, _SAMPLE] if draws else []
            allowed += ["endgame=exact", "endgame=network"]
            allowed += ["layout=raw", "layout=trump-first"] if layout else []
            raise ValueError(
                f"{word!r} is no option of {kind}: there are {', '.join(allowed[:-1])} and "
                f"{allowed[-1]}"
            )
    return options
