"""The networks that come with the package, and which of them plays what.

The classic game has networks of its own: a policy, what a position is worth, and what is to be
believed of the other's hand. All other named rule sets are played by one network, which is told
the rules. The first champion is kept to measure against.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ...engine.rules import Rules
from ..base import CannotPlay
from .checkpoint import find_checkpoint, names_of, read_card, rules_of

CHAMPION, FIRST_CHAMPION = "champion", "champion-1"


def _bundled(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.safetensors")


CLASSIC_WEIGHTS, FAMILY_WEIGHTS, FIRST_WEIGHTS = map(
    _bundled, (CHAMPION, "champion-family", FIRST_CHAMPION)
)
VALUE_WEIGHTS, BELIEF_WEIGHTS = map(_bundled, ("value", "belief"))


@cache
def _listed(path: Path) -> tuple[Rules, ...]:
    return rules_of(read_card(path).rules, path)


def rules_of_champion() -> tuple[Rules, ...]:
    """What the champion plays, the classic game first."""
    return tuple(dict.fromkeys(_listed(CLASSIC_WEIGHTS) + _listed(FAMILY_WEIGHTS)))


def champion_for(rules: Rules) -> Path:
    """The network with which the champion plays these rules, by whatever name."""
    for path in (CLASSIC_WEIGHTS, FAMILY_WEIGHTS):
        if any(map(rules.same_game, _listed(path))):
            return path
    names = names_of(rules_of_champion())
    raise CannotPlay(f"{CHAMPION} plays {names}, and not {rules.name}")


def network_for(rules: Rules, name: str | Path) -> Path:
    """The network that a path or a name says; `champion` is the one that plays these rules."""
    return champion_for(rules) if str(name) == CHAMPION else find_checkpoint(name)
