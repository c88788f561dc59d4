"""Nash equilibrium of a small deck: no opponent wins against it on average.

It draws its cards for the stock by the probabilities that `german-whist solve` computed, and
plays endings perfectly. The package contains two solved decks.
"""

from __future__ import annotations

from ...engine.rules import Match, Rules, RulesLike, load_rules, solved_rules
from ...solvers.public_tree import why_no_public_tree
from ..base import CannotPlay
from ..checkpoints import CheckpointError, parse_rules, read_card
from ..networks.policy import NetworkAgent
from .strategy import find_strategy


class NashAgent(NetworkAgent):
    """Plays a Nash equilibrium of a small deck, whose table it finds by the rules."""

    thread_safe = True

    def __init__(
        self, rules: RulesLike = "2x4-h2", path: str | None = None, *, match: Match | None = None
    ) -> None:
        rules, name = load_rules(rules), "nash" if path is None else f"nash:{path}"
        if reason := why_no_public_tree(rules):
            raise CannotPlay(f"nash plays small decks alone, and the rules {rules.name} {reason}")
        try:
            super().__init__(rules, find_strategy(rules, path), match=match, name=name)
        except CheckpointError as error:
            raise CannotPlay(f"nash cannot play: {error}") from None
        if self.card.solution is None:
            raise CannotPlay(
                f"{self.path} is no solution of a deck: `german-whist solve` writes one, and "
                f"network:{self.path} plays this policy"
            )

    @classmethod
    def rules_played(cls, *parameters: str) -> tuple[Rules, ...] | None:
        if not parameters:
            return tuple(filter(cls.plays, solved_rules().values()))
        path = find_strategy(load_rules("classic"), parameters[0])
        return parse_rules(read_card(path).rules, path)

    @staticmethod
    def plays(rules: Rules) -> bool:
        try:
            find_strategy(rules, None)
        except CheckpointError:
            return False
        return True
