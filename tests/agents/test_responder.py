"""The responder: beliefs that follow from the opponent's play, and wins."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from german_whist import Game, card_set
from german_whist.agents import Player, agent_names, load_agent
from german_whist.agents.base import CannotPlay
from german_whist.agents.search import responder
from german_whist.agents.search.opponent_models import OPPONENT_MODELS, opponent_model
from german_whist.engine.dtypes import VIEW
from german_whist.engine.enumerate_deals import all_deals
from german_whist.engine.play import row
from german_whist.engine.rules import load_rules
from german_whist.evaluation import evaluate
from german_whist.evaluation.exploitability.exact import measure_exploitability
from support import KEY

pytestmark = pytest.mark.usefixtures("few_checked_hands")

DECK = "2x4-h2"


def hands_by_every_deal(game: Game) -> dict[int, float]:
    """Exact distribution of seat 1's hand, over all deals consistent with seat 0's view."""
    start = game.clone()
    while start.actions:
        start.undo()
    deals = all_deals(game.rules).astype(np.int64)
    consistent = (1 << deals[:, 1 - game.dealer : 4 : 2]).sum(axis=1) == card_set(start.hands[0])
    opponent, counts = Player("threshold", DECK), Counter[int]()
    for deal in deals[consistent].tolist():
        twin = Game(DECK)
        twin.deal_cards(deal, game.dealer)
        for action in game.actions:
            if action not in twin.legal() or (
                twin.turn == 1 and opponent.choose(twin.view(1)) != action
            ):
                break
            twin.play(action)
        else:
            if twin.view(0) == game.view(0):
                counts[card_set(twin.hands[1])] += 1
    return {hand: count / sum(counts.values()) for hand, count in counts.items()}


@pytest.mark.parametrize("deal", range(3))
def test_determinizations_follow_likelihood_of_opponents_play(deal: int) -> None:
    opponent, game = Player("threshold", DECK), Game(DECK, seed=deal)
    for _ in range(2):
        game.play(opponent.choose(game.view()) if game.turn == 1 else int(game.legal()[0]))
    expected = hands_by_every_deal(game)
    agent = load_agent("responder:16,against=threshold", DECK)
    assert isinstance(agent, responder.ResponderAgent)
    search, stream = agent._new_search(), np.array([1], np.uint64)
    view = row(np.array(game.view(0).array, VIEW), 0)
    responder._start_search(search, view, stream)
    counts = Counter[int]()
    for _ in range(4000):
        responder._next_determinization(search, view, stream)
        counts[int(search.games["hand"][0, 1])] += 1
    frequencies = {hand: count / 4000 for hand, count in counts.items()}
    for hand in {*expected, *frequencies}:
        assert frequencies.get(hand, 0.0) == pytest.approx(expected.get(hand, 0.0), abs=0.05)


@pytest.mark.parametrize(("name", "lower_bound"), [("threshold", 0.75), ("random-exact", 0.75)])
def test_it_wins_most_of_what_can_be_won_and_no_more(name: str, lower_bound: float) -> None:
    exact = measure_exploitability(load_agent(name, "2x5-h3"), "2x5-h3").exploitability
    player = f"responder:32,against={name}"
    won = evaluate(player, name, "2x5-h3", hands=1200, seed=3, key=KEY).pairings[0].points
    assert lower_bound * exact < won.value < exact + 1.5 * won.margin_of_error


def test_every_player_that_it_knows_can_be_answered() -> None:
    rules = load_rules("classic")
    assert all(opponent_model(name, rules).kind >= 0 for name in OPPONENT_MODELS)
    # And nobody is offered it without a player to answer.
    assert agent_names()["responder"].needs_more
    assert not agent_names()["thinker"].needs_more


@pytest.mark.parametrize(
    ("name", "rules", "message"),
    [
        ("responder:64", "classic", "against=threshold"),
        ("responder:64,against=human", "classic", "has no opponent model"),
        ("responder:64,against=threshold,luck", "classic", "against=AGENT"),
        ("responder:64,against=threshold", "draft", "responder does not play draft"),
        ("responder:64,against=threshold", "humbug", "responder does not play humbug"),
        ("responder:64,against=threshold", "race-9", "responder does not play race-9"),
    ],
)
def test_what_can_not_be_answered_is_refused(name: str, rules: str, message: str) -> None:
    with pytest.raises((ValueError, CannotPlay), match=message):
        load_agent(name, rules)
