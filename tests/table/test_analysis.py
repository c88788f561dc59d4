"""The analysis of a hand: exact where the endgame is open, and blind to what was not seen."""

from __future__ import annotations

import json
import random
from threading import Event
from typing import Any

import msgspec
import numpy as np
import pytest
from plain_endgame import PlainEnding

from german_whist import Game, View, named_rules
from german_whist.agents import make_agent
from german_whist.agents.search.base import SearchAgent
from german_whist.engine.endgame import moves_of
from german_whist.engine.records import GameRecord, record_of
from german_whist.engine.rules import Rules, load_rules
from german_whist.engine.sampling.determinizations import worlds
from german_whist.table.review.analysis import (
    AnalysisSettings,
    AnalysisStopped,
    Analyst,
    analyse,
)
from support import engine_rules

SEARCH = "flat-mc:25,voids,playout=counting"
QUICK = AnalysisSettings(search=SEARCH)
SMALL = {"suits": 3, "ranks": 6, "hand": 5, "stock": 8}
SMALL_SETS = {
    "win": {},
    "margin": {"pay": "margin", "counts": "all"},
    "low": {"contract": "low", "pay": "over_book"},
    "colour": {"contract": "colour", "pay": "margin"},
    "slam": {"pay": "over_book", "slam_pay": 9, "counts": "all"},
    "no trumps": {"trumps": "none", "faced": "after-first"},
    "open choice": {"face_up": 2, "choice": True},
}
UNSEEN_TOO = ("classic", "draft", "open-stock", "no-trump", "colour", "race-9", "set aside")


def told(make: Any) -> Any:
    """What `make` makes, as JSON holds it."""
    return lambda *given: msgspec.to_builtins(make(*given))


analysed = told(analyse)


def small(name: str) -> Rules:
    return Rules(name=f"small-{name}", **{**SMALL, **SMALL_SETS[name]})


def at_random(game: Game, seed: int) -> Game:
    """The game, played to its end at random."""
    chance = random.Random(seed)
    while not game.over:
        game.play(chance.choice(game.legal()))
    return game


def hand(rules: Any, seed: int = 1) -> GameRecord:
    return record_of(at_random(Game(rules, seed=seed), seed))


# -- exact


@pytest.mark.parametrize("name", SMALL_SETS)
def test_endings_are_worth_what_plain_minimax_says(name: str) -> None:
    rules = small(name)
    for seed in range(4):
        record = hand(rules, seed)
        found, game = analysed(record, QUICK), record.start()
        plain = PlainEnding(game.trump, game.low)
        for decision, action in zip(found["decisions"], record.actions, strict=True):
            assert decision["exact"] == (not game.stock and game.phase != "choose")
            if decision["exact"]:
                check_ending(decision, game, plain, rules, found["unit"])
            game.play(action)


def check_ending(
    decision: dict[str, Any], game: Game, plain: PlainEnding, rules: Rules, unit: str
) -> None:
    mover = game.turn or 0
    mine, other = (tuple(map(int, game.hands[seat])) for seat in (mover, 1 - mover))
    if game.led is None:
        tricks = plain.leads(mine, other)
    else:
        replies = plain.replies(int(game.led), other, mine)
        tricks = {card: len(mine) - others for card, others in replies.items()}
    assert {card["action"]: card["tricks"] for card in decision["cards"]} == tricks
    taken, lost = game.counting_tricks[mover], game.counting_tricks[1 - mover]
    for card in decision["cards"]:
        more = card["tricks"]
        paid = plain_pay(rules, game.low, taken + more, lost + len(mine) - more)
        assert card["value"] == (50 + 50 * paid if unit == "win %" else paid)


def plain_pay(rules: Rules, low: bool, mine: int, others: int) -> int:
    most = max(mine, others)
    if mine == others:
        return 0
    if rules.pay == "over_book":
        slam = rules.slam_pay is not None and most == rules.counting_tricks
        amount = rules.slam_pay or 0 if slam else max(0, most - rules.effective_book)
    else:
        amount = 1 if rules.pay == "win" else abs(mine - others)
    return amount if (mine > others) != low else -amount


@pytest.mark.parametrize("name", named_rules())
def test_endings_of_named_sets_are_the_solvers_and_their_costs_add_up(name: str) -> None:
    record = hand(name, 3)
    found, game = analysed(record, QUICK), record.start()
    costs, begun = [0.0, 0.0], None
    for decision, action in zip(found["decisions"], record.actions, strict=True):
        if decision["exact"]:
            if game.rules.race is None:
                expected = {int(card): n for card, n in moves_of(game.view(game.turn or 0)).items()}
                assert {card["action"]: card["tricks"] for card in decision["cards"]} == expected
            best = max(card["value"] for card in decision["cards"])
            sign = 1 if decision["who"] == 0 else -1
            of_0 = best if sign > 0 else 100 - best if found["unit"] == "win %" else -best
            begun = of_0 if begun is None else begun
            costs[decision["who"]] += decision["cost"]
        game.play(action)
    assert (begun is None) == (name in ("race-7", "humbug"))
    if begun is not None:
        assert found["story"][-1]["expected"] == begun - costs[0] + costs[1]


@pytest.mark.parametrize("name", ["classic", "margin", "draft", "set aside", "race-9"])
def test_a_best_card_costs_nothing_and_no_cost_is_below_it(name: str) -> None:
    for decision in analysed(hand(engine_rules(name)), QUICK)["decisions"]:
        costs = {card["action"]: card["cost"] for card in decision["cards"]}
        assert min(costs.values()) == 0
        assert decision["best"] == [action for action in costs if costs[action] == 0]
        assert decision["cost"] == costs[decision["action"]]


def test_endings_that_are_not_open_are_estimated() -> None:
    for rules in (engine_rules("set aside"), {**SMALL, "race": 3, "contract": "low"}):
        decisions = analysed(hand(rules), QUICK)["decisions"]
        assert any(each["stage"] == "endgame" for each in decisions)
        assert not any(each["exact"] for each in decisions)


def test_a_race_is_valued_by_who_wins_it() -> None:
    rules = {**SMALL, "race": 4, "pay": "margin", "counts": "all"}
    found = analysed(hand(rules), QUICK)
    assert found["unit"] == "win %"
    values = [card["value"] for each in found["decisions"] for card in each["cards"]]
    assert all(value is None or 0 <= value <= 100 for value in values)


# -- estimated


@pytest.mark.parametrize("name", UNSEEN_TOO)
def test_what_a_player_did_not_see_changes_nothing(name: str) -> None:
    """The same cards seen, others elsewhere: what this player decided is analysed the same."""
    rules, chance = engine_rules(name), random.Random(name)
    changed = 0
    for seed in range(3):
        record = hand(rules, seed)
        found, at = analysed(record, QUICK), chance.randrange(3, len(record.actions) // 2)
        game = record.start()
        for action in record.actions[:at]:
            game.play(action)
        seat = game.turn or 0
        other = another_world(game.view(seat), record, at)
        changed += other.start().cards_dealt != record.start().cards_dealt
        again = analysed(other, QUICK)
        for before, after in zip(found["decisions"][:at], again["decisions"][:at], strict=True):
            assert before["who"] != seat or before == after
        assert {**again["decisions"][at], **played(found, at)} == found["decisions"][at]
    assert changed == 3


def another_world(view: View, record: GameRecord, at: int) -> GameRecord:
    """A hand that this player could not tell from the record so far, and its own end."""
    deal = worlds(view, 1, seed=9, method="voids")["deal"][0, : len(view.rules.deck)].tolist()
    game = Game(view.rules)
    game.deal_cards(deal, record.dealer)
    for action in record.actions[:at]:
        game.play(action)
    assert game.view(view.seat) == view
    return record_of(at_random(game, at))


def played(analysis: dict[str, Any], n: int) -> dict[str, Any]:
    """The parts of a decision that depend on what was played."""
    return {name: analysis["decisions"][n][name] for name in ("action", "cost", "sure")}


def test_estimates_are_those_that_the_search_plays_by() -> None:
    """In one batch of all worlds the best estimate is the card that `act` plays."""
    for name in ("flat-mc:64", "flat-mc:80,voids,playout=counting"):
        agent = make_agent(name, "all-margin")
        assert isinstance(agent, SearchAgent)
        game, alike, count = Game("all-margin", seed=3), 0, 0
        chance = random.Random(1)
        for number in range(12):
            view = game.view(game.turn or 0)
            found = agent.estimates(view, seed=7)
            if found is not None:
                rng = np.array([number], np.uint64)
                best = found.means[found.actions.index(int(agent.act(view.record.copy(), rng)[0]))]
                count += 1
                alike += found.means.max() - best <= 2 * found.half_widths.max()
            game.play(chance.choice(game.legal()))
        assert alike >= count - 1 > 5


def test_estimates_of_a_tiny_deck_are_right_on_average() -> None:
    """One trick from the end of the foreplay each world can be solved: all of them, by hand."""
    rules = load_rules({"suits": 2, "ranks": 5, "hand": 4, "stock": 2, "pay": "margin"})
    agent = make_agent("flat-mc:20000", rules)
    assert isinstance(agent, SearchAgent)
    game = Game(rules, seed=6)
    game.play(game.legal()[0])
    view = game.view(game.turn or 0)
    found = agent.estimates(view)
    assert found is not None
    for action, mean, half in zip(found.actions, found.means, found.half_widths, strict=True):
        exact = by_listing(game, view, action)
        assert abs(mean - exact) < 2 * half + 1e-9


def by_listing(game: Game, view: View, action: int) -> float:
    """The mean margin after a reply, over every place where the unseen cards may be."""
    unseen, known = view.unseen, view.known
    held = view.other_cards - len(known)
    assert (len(unseen), held) == (view.other_cards + 1, view.other_cards)
    total = 0
    for hidden in unseen:
        theirs = [card for card in (*unseen, *known) if card != hidden]
        mine = [card for card in view.hand if card != action]
        led, up = view.led, view.upcards[0]
        assert led is not None
        wins = action > led if action // 13 == led // 13 else action // 13 == view.trump
        (mine if wins else theirs).append(up)
        (theirs if wins else mine).append(hidden)
        plain = PlainEnding(view.trump)
        hands = tuple(map(int, mine)), tuple(map(int, theirs))
        taken = plain.value(*hands) if wins else len(mine) - plain.value(*hands[::-1])
        total += 2 * taken - len(mine)
    return total / len(unseen)


def test_a_mistake_costs_more_than_the_noise_and_the_dearest_comes_first() -> None:
    found = analysed(
        hand("margin", 5), AnalysisSettings(search="flat-mc:250,voids,playout=counting")
    )
    costs = [each["cost"] for each in found["mistakes"]]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) > 5
    for mistake in found["mistakes"]:
        decision = found["decisions"][mistake["n"]]
        card = next(each for each in decision["cards"] if each["action"] == decision["action"])
        # What would be told as nothing, 0.0 of a point of pay, is no mistake.
        assert mistake["cost"] == card["cost"] > max(card.get("cost_half_width", 0), 0.05)
        assert mistake["text"].startswith(f"trick {decision['trick']}: seat {mistake['who']} ")


# -- all of it


def test_the_same_record_and_settings_give_the_same_analysis() -> None:
    record = hand("draft", 2)
    found = analysed(record, QUICK)
    assert analysed(record, QUICK) == found == json.loads(json.dumps(found))
    assert analysed(record, AnalysisSettings(search=SEARCH, seed=1)) != found


def test_the_story_has_a_point_a_trick_and_ends_with_the_result() -> None:
    record = hand("margin", 2)
    story = analysed(record, QUICK)["story"]
    tricks = [point["trick"] for point in story]
    assert tricks == sorted(set(tricks))
    assert tricks[-1] == len(record.tricks) + 1
    assert story[-1]["expected"] == record.pays[0]
    assert [point["exact"] for point in story] == sorted(point["exact"] for point in story)


def test_progress_is_told_and_it_can_be_stopped() -> None:
    record, stop, told = hand("small-last"), Event(), list[float]()

    def progress(done: float) -> None:
        told.append(done)
        if done > 0.5:
            stop.set()

    with pytest.raises(AnalysisStopped, match="after 15 of 28 decisions"):
        analysed(record, QUICK, progress, stop)
    assert told == sorted(told)
    stop.clear()
    told.clear()
    analysed(record, QUICK, told.append, stop)
    assert told[-1] == 1


def test_only_a_search_by_number_values_decisions() -> None:
    for name in ("threshold", "flat-mc:5ms"):
        with pytest.raises(ValueError, match="no search by number"):
            Analyst(load_rules("classic"), AnalysisSettings(search=name))


def test_hints_and_analysis_agree() -> None:
    game, analyst = Game("classic", seed=8), Analyst(load_rules("classic"), QUICK)
    values = told(analyst.values)(game.view(game.turn or 0))
    decision = told(analyst.decision)(game.view(game.turn or 0), game.legal()[0])
    assert values == {name: decision[name] for name in values}


# -- a network beside it


def test_a_networks_probabilities_stand_beside_the_estimates() -> None:
    settings = AnalysisSettings(search=SEARCH, network="champion-1")
    found = analysed(hand("classic"), settings)
    assert found["network"] == "champion-1"
    for decision in found["decisions"]:
        shares = [card.get("probability") for card in decision["cards"]]
        if decision["exact"]:
            assert set(shares) == {None}
        else:
            assert sum(shares) == pytest.approx(1, abs=0.002)


def test_a_network_that_does_not_play_the_rules_is_refused() -> None:
    settings = AnalysisSettings(search=SEARCH, network="champion-1")
    with pytest.raises(ValueError, match="and not margin"):
        Analyst(load_rules("margin"), settings)
    with pytest.raises(ValueError, match="no network"):
        Analyst(load_rules("margin"), AnalysisSettings(network="threshold"))


def test_the_champions_probabilities_are_told_where_it_plays() -> None:
    for rules in ("classic", engine_rules("set aside")):
        analyst = Analyst(load_rules(rules), QUICK)
        played = analyst.network is not None
        assert played == (rules == "classic")
        game = Game(rules, seed=1)
        cards = told(analyst.values)(game.view(game.turn or 0))["cards"]
        assert all(("probability" in card) == played for card in cards)
