"""A hint's sentence agrees with its figures, and with the rules of the trick."""

from __future__ import annotations

import random
import re
from decimal import ROUND_HALF_UP, Decimal

import pytest
from test_session import play_on

from german_whist import Game, Match
from german_whist.engine.rules import load_rules
from german_whist.table import Session, SessionSettings
from german_whist.table.browser.messages import table_state
from german_whist.table.review.analysis import (
    AnalysisSettings,
    Analyst,
)
from german_whist.table.review.hints import hint_reason
from german_whist.table.text.words import action_symbol, percent

QUICK = AnalysisSettings(search="flat-mc:24,voids,playout=counting")


def positions(rules: str, n: int) -> list[Game]:
    game, rng, games = Game(rules, 3), random.Random(3), []
    while len(games) < n:
        games.append(game.clone())
        game.play(rng.choice(game.legal()))
    return games


def test_percentages_are_rounded_as_the_page_rounds_them() -> None:
    for part in range(257):
        value = 100 * part / 256
        rounded = Decimal(value).quantize(Decimal(1), ROUND_HALF_UP)  # as toFixed(0) does
        assert percent(value) == f"{rounded} %"


def test_every_figure_of_a_reason_is_that_of_the_card_beside_it() -> None:
    analyst, count = Analyst(load_rules("quick"), QUICK), 0
    for game in positions("quick", 16):
        view = game.view()
        position = analyst.values(view)
        values = {action_symbol(card.action): card.value for card in position.cards}
        sentence = hint_reason(view, position)
        for card, figure in re.findall(r"(\S+) probably wins (\d+ %)", sentence):
            assert figure == percent(values[card] or 0.0), sentence
            count += 1
        assert "each" not in sentence
    assert count > 3


@pytest.mark.parametrize("match", [None, Match(best_of=1)], ids=str)
def test_after_a_single_hand_no_match_is_over(match: Match | None) -> None:
    session = Session(SessionSettings(load_rules("small-last"), "threshold", match=match, seed=4))
    play_on(session, random.Random(4))
    state = table_state(session, [], id="", n=0)
    assert state.result is not None
    assert state.texts.prompt == ("The hand is over" if match is None else "The match is over")
    assert (match is None) == ("the match" not in state.result.headline)
    assert (match is None) == ("match" not in " ".join(state.texts.table).lower())
