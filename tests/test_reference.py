"""The executable specification by itself; the tests of the engine compare it with games."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from german_whist.engine import reference
from german_whist.engine.reference import RULE_SETS, ReferenceGame, ReferenceMatch


def test_reference_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {getattr(node, "module", None) for node in imports} == {
        "__future__",
        "collections.abc",
        "dataclasses",
        "typing",
    }


def test_reference_refuses_illegal_actions_and_deals() -> None:
    rules = RULE_SETS["classic"]
    game = ReferenceGame(rules, rules.deck, dealer=0)
    with pytest.raises(ValueError, match="action 1 is not legal: lead allows"):
        game.play(1)
    with pytest.raises(
        ValueError, match="deal is no permutation of the deck of classic: give each of its 52"
    ):
        ReferenceGame(rules, rules.deck[1:], dealer=0)


def test_reference_match_ends_at_its_target() -> None:
    chance, rules = random.Random(3), RULE_SETS["margin"]
    match = ReferenceMatch(target=10)
    while match.winner is None:
        game = ReferenceGame(rules, chance.sample(rules.deck, 52), match.dealer)
        while legal := game.legal():
            game.play(chance.choice(legal))
        match.add(game.payoffs())
    assert match.totals[match.winner] == max(match.totals) >= 10
