"""Bundled weights: which networks the package contains and which rules each one plays.

The classic game has a policy, a value network and a belief network of its own. One policy that
reads rule features plays all other named rule sets. Earlier champions stay as benchmarks.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ...engine.rules import Rules
from ..base import CannotPlay
from .checkpoint import find_checkpoint, join_rule_names, parse_rules, read_card

CHAMPION, FIRST_CHAMPION, SECOND_CHAMPION = "champion", "champion-1", "champion-2"


def _bundled(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.safetensors")


CLASSIC_WEIGHTS, FAMILY_WEIGHTS = map(_bundled, (CHAMPION, "champion-family"))
FIRST_WEIGHTS, SECOND_WEIGHTS = map(_bundled, (FIRST_CHAMPION, SECOND_CHAMPION))
EARLIER_CHAMPIONS = {FIRST_CHAMPION: FIRST_WEIGHTS, SECOND_CHAMPION: SECOND_WEIGHTS}
VALUE_WEIGHTS, BELIEF_WEIGHTS = map(_bundled, ("value", "belief"))


@cache
def _listed(path: Path) -> tuple[Rules, ...]:
    return parse_rules(read_card(path).rules, path)


def rules_of_champion(name: str = CHAMPION) -> tuple[Rules, ...]:
    """Rules that a bundled champion plays, by its cards."""
    if name in EARLIER_CHAMPIONS:
        return _listed(EARLIER_CHAMPIONS[name])
    return tuple(dict.fromkeys(_listed(CLASSIC_WEIGHTS) + _listed(FAMILY_WEIGHTS)))


def champion_for(rules: Rules) -> Path:
    """Weights with which the champion plays these rules, whatever their name."""
    for path in (CLASSIC_WEIGHTS, FAMILY_WEIGHTS):
        if any(map(rules.same_game, _listed(path))):
            return path
    names = join_rule_names(rules_of_champion())
    raise CannotPlay(f"{CHAMPION} plays {names}, and not {rules.name}")


def network_for(rules: Rules, name: str | Path) -> Path:
    """Weights file of a path or name; `champion` depends on the rules.

    A champion's name is the bundled one's: a file of one's own in the current folder that is called
    so is named by a path, as `./champion-2`.
    """
    if str(name) == CHAMPION:
        return champion_for(rules)
    return EARLIER_CHAMPIONS.get(str(name)) or find_checkpoint(name)
