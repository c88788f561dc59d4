# pyright: strict
"""The rules that some players have in common: a trained one plays those of its card alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..engine.rules import Match, Rules, load_rules
from .base import Agent, CannotPlay
from .checkpoints.bundled import CHAMPION, FIRST_CHAMPION, FIRST_WEIGHTS, rules_of_champion
from .checkpoints.checkpoint import (
    Checkpoint,
    find_checkpoint,
    is_checkpoint,
    names_of,
    read_card,
    rules_wanted,
)
from .registry import agent_names, as_agent, named_player

_USUAL = "classic"


def rules_played_by(player: object) -> tuple[Rules, ...] | None:
    """The rule sets that a player is made for; None where it plays any, or where nobody knows."""
    if isinstance(player, Agent):
        return (player.rules,)
    if not isinstance(player, (str, Path)):
        return None
    text = named_player(str(player))[1]
    name, _, rest = text.partition(":")
    if name == CHAMPION:
        return rules_of_champion()
    if name == FIRST_CHAMPION:
        place = FIRST_WEIGHTS
    elif name == "network":
        place = find_checkpoint(rest.split(",")[0])
    elif name not in agent_names() and is_checkpoint(text.split(",")[0]):
        place = find_checkpoint(text.split(",")[0])
    else:
        return None
    return Checkpoint(place, {}, read_card(place)).rules


def common_rules(players: Iterable[object], wanted: Any = None) -> Rules:
    """The rules that are wanted; without any those that all of these play.

    Those are the classic ones if all do, else what their cards have in common.
    """
    if wanted is not None:
        return rules_wanted(wanted)
    bound = [(_title(player), found) for player in players if (found := rules_played_by(player))]
    usual = load_rules(_USUAL)
    offered = [usual, *(rules for _, found in bound[:1] for rules in found)]
    for rules in offered:
        if all(any(map(rules.same_game, found)) for _, found in bound):
            return rules
    each = "; ".join(dict.fromkeys(f"{title} plays {names_of(found)}" for title, found in bound))
    raise CannotPlay(f"there are no rules that all of these play: {each}")


def load_agent(player: object, rules: Any = None, *, match: Match | None = None) -> Agent:
    """A player, ready to play: by name with its parameters, by a checkpoint's or a run's path.

    An agent, its class, or a function of views and random streams are taken as well. Without
    `rules` the classic ones are played, or those of the checkpoint.

    >>> load_agent("flat-mc:64").name
    'flat-mc:64'
    """
    return as_agent(player, common_rules([player], rules), match=match)


def _title(player: object) -> str:
    return player.name if isinstance(player, Agent) else named_player(str(player))[0]
