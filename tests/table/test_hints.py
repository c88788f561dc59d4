"""What a hint says agrees with its own figures, and with the rules of the trick."""

from __future__ import annotations

import random
import re
from decimal import ROUND_HALF_UP, Decimal

import pytest

from german_whist import Game, Match
from german_whist.agents.checkpoints.bundled import rules_of_champion
from german_whist.agents.player import Player
from german_whist.engine.rules import load_rules
from german_whist.table import Session, Settings
from german_whist.table.browser.messages import TableContext, table_state
from german_whist.table.game.opponents import Opponents
from german_whist.table.review.analysis import (
    WIN,
    ActionValue,
    AnalysisSettings,
    Analyst,
    PositionValues,
)
from german_whist.table.review.hints import hint_reason
from german_whist.table.text.words import action_symbol, percent

QUICK = AnalysisSettings(search="flat-mc:24,voids,playout=counting")


def positions(rules: str, seed: int) -> list[Game]:
    """A hand played at random, before each of its decisions."""
    game, rng, found = Game(rules, seed), random.Random(seed), []
    while not game.over:
        found.append(game.clone())
        game.play(rng.choice(game.legal()))
    return found


def test_shares_are_rounded_as_the_page_rounds_them() -> None:
    for part in range(257):
        share = 100 * part / 256
        whole = Decimal(share).quantize(Decimal(1), ROUND_HALF_UP)  # what toFixed(0) does
        assert percent(share) == f"{whole} %"


def test_every_figure_of_a_reason_is_that_of_the_card_beside_it() -> None:
    analyst, told = Analyst(load_rules("quick"), QUICK), 0
    for game in positions("quick", 3)[:16]:
        view = game.view(game.turn or 0)
        values = analyst.values(view)
        shown = {action_symbol(each.action): each.value for each in values.cards}
        sentence = hint_reason(view, values)
        for card, figure in re.findall(r"(\S+) wins about (\d+ %)", sentence):
            assert figure == percent(shown[card] or 0.0), sentence
            told += 1
        assert "each" not in sentence
    assert told > 3


def valued(view_of: Game, best: int, others: float = 40.0) -> PositionValues:
    """As though one card were clearly best."""
    cards = [
        ActionValue(action=each, card="", value=60.0 if each == best else others, cost=0.0)
        for each in map(int, view_of.view(view_of.turn or 0).legal())
    ]
    return PositionValues(exact=False, unit=WIN, best=[best], cards=cards)


def test_what_is_said_of_the_prize_does_not_depend_on_the_advice() -> None:
    for rules in ("classic", "no-trump", "open-stock", "draft"):
        for game in positions(rules, 3)[:20]:
            view = game.view(game.turn or 0)
            if len(view.legal()) < 2:
                continue
            ideas = {
                hint_reason(view, valued(game, int(each))).rpartition(" of hands. ")[2]
                for each in view.legal()
            }
            assert len(ideas) == 1
            assert "to be won" not in ideas.pop()


def test_a_network_is_offered_for_the_rules_of_its_card_alone() -> None:
    offered = {each.name: each.plays for each in Opponents().menu()[1]}
    assert offered["champion-1"] == ["classic"]
    trained = [each.name for each in rules_of_champion()]
    assert offered["champion"] in (trained, None)


@pytest.mark.parametrize("rules", ["classic", "draft", "humbug", "race-7"])
def test_hard_plays_rule_sets_of_every_kind(rules: str) -> None:
    offered = Opponents()
    (hard,) = (each for each in offered.menu()[1] if each.name == "hard")
    assert hard.plays is None
    game, agent = Game(rules, 5), offered.make("hard", load_rules(rules), None)
    for _ in range(2):
        action = Player(agent, game.rules, seed=1).choose(game.view(game.turn or 0), 0)
        assert action in game.legal()
        game.play(action)


@pytest.mark.parametrize("match", [None, Match(best_of=1)], ids=str)
def test_after_a_single_hand_no_match_is_over(match: Match | None) -> None:
    session = Session(Settings(load_rules("small-last"), "threshold", match=match, seed=4))
    while not session.over:
        if session.turn is None:
            session.next_hand()
        elif session.agent_to_move:
            session.answer()
        else:
            session.play(session.view(0).legal()[0])
    around = TableContext("", 0, False, None, None, False, None, "")
    told = table_state(session, around)
    assert told.result is not None
    over = "The hand is over" if match is None else "The match is over"
    assert told.said.prompt == over
    assert (match is None) == ("the match" not in told.result.headline)
    assert (match is None) == ("match" not in " ".join(told.said.table).lower())
