# pyright: strict
"""Rules that given agents have in common: a trained agent plays only those of its card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..engine.rules import Match, Rules, load_rules
from .base import Agent, CannotPlay
from .checkpoints.bundled import CHAMPION, EARLIER_CHAMPIONS, rules_of_champion
from .checkpoints.checkpoint import (
    find_checkpoint,
    is_checkpoint,
    join_rule_names,
    parse_rules,
    read_card,
    resolve_rules,
)
from .registry import agent_names, as_agent, named_player

_DEFAULT_RULES = "classic"


def rules_of_player(player: object) -> tuple[Rules, ...] | None:
    """Rule sets that a player is limited to; None if it plays any, or if this is unknown."""
    if isinstance(player, Agent):
        return (player.rules,)
    if not isinstance(player, (str, Path)):
        return None
    text = named_player(str(player))[1]
    name, _, parameters = text.partition(":")
    if name == CHAMPION:
        return rules_of_champion()
    if name in EARLIER_CHAMPIONS:
        path = EARLIER_CHAMPIONS[name]
    elif name == "network":
        path = find_checkpoint(parameters.split(",")[0])
    elif name not in agent_names() and is_checkpoint(text.split(",")[0]):
        path = find_checkpoint(text.split(",")[0])
    else:
        return None
    return parse_rules(read_card(path).rules, path)


def common_rules(players: Iterable[object], rules: Any = None) -> Rules:
    """The given rules, or else the first rule set that all players play, classic preferred."""
    if rules is not None:
        return resolve_rules(rules)
    bound = [
        (_player_name(player), listed) for player in players if (listed := rules_of_player(player))
    ]
    first_listed = bound[0][1] if bound else ()
    for candidate in (load_rules(_DEFAULT_RULES), *first_listed):
        if all(any(map(candidate.same_game, listed)) for _, listed in bound):
            return candidate
    every_set = [rules for _, listed in bound for rules in listed]
    played = "; ".join(
        dict.fromkeys(
            f"{title} plays {join_rule_names(listed, every_set)}" for title, listed in bound
        )
    )
    raise CannotPlay(f"there are no rules that all of these play: {played}")


def load_agent(player: object, rules: Any = None, *, match: Match | int | None = None) -> Agent:
    """Load an agent by its name with parameters, or by the path of a checkpoint or run.

    Also takes an `Agent`, its class, or a function of views and random streams. The default of
    `rules` is classic, or the rules of the checkpoint.

    >>> load_agent("flat-mc:64").name
    'flat-mc:64'
    """
    if match is None and isinstance(player, Agent):
        match = player.match
    return as_agent(player, common_rules([player], rules), match=match)


def _player_name(player: object) -> str:
    return player.name if isinstance(player, Agent) else named_player(str(player))[0]
