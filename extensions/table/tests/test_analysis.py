"""The analysis of a hand: exact where the endgame is open, and blind to what was not seen."""

from __future__ import annotations

import importlib.util
import json
import random
import re
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import numpy as np
import pytest
from plain_endgame import PlainEnding

from german_whist import Game, View
from german_whist.agents import load_agent
from german_whist.agents.search.base import Estimates, SearchAgent
from german_whist.engine.endgame import moves_of
from german_whist.engine.records import GameRecord, record_of
from german_whist.engine.rules import Rules, load_rules
from german_whist.engine.sampling.determinizations import sample_determinizations
from german_whist.table.review.analysis import (
    FLAT_MC,
    SHRINKAGE,
    THINKER,
    AnalysisSettings,
    AnalysisStopped,
    Analyst,
    analyze,
)
from german_whist.table.review.puzzles import position_before
from german_whist.table.text.words import action_symbol
from support import engine_rules, played_out, random_hand

BENCHMARK = Path(__file__).resolve().parents[1] / "benchmarks/analyst.py"
RESULTS = BENCHMARK.parent / "results/analyst.jsonl"
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
HIDDEN_CARD_SETS = ("classic", "draft", "open-stock", "no-trump", "race-9", "set aside")


def analyzed(*arguments: Any) -> Any:
    return msgspec.to_builtins(analyze(*arguments))


def small(name: str) -> Rules:
    return Rules(name=f"small-{name}", **{**SMALL, **SMALL_SETS[name]})


# -- exact


@pytest.mark.parametrize("name", SMALL_SETS)
def test_endings_have_the_values_of_plain_minimax(name: str) -> None:
    rules = small(name)
    for seed in range(2):
        record = random_hand(rules, seed)
        analysis, game = analyzed(record, QUICK), record.start()
        plain = PlainEnding(game.trump, game.low)
        for decision, action in zip(analysis["decisions"], record.actions, strict=True):
            assert decision["exact"] == (not game.stock and game.phase != "choose")
            if decision["exact"]:
                check_ending(decision, game, plain, rules, analysis["unit"])
            game.play(action)


def check_ending(
    decision: dict[str, Any], game: Game, plain: PlainEnding, rules: Rules, unit: str
) -> None:
    mover = game.turn or 0
    own, other = (tuple(map(int, game.hands[seat])) for seat in (mover, 1 - mover))
    if game.led is None:
        tricks = plain.leads(own, other)
    else:
        replies = plain.replies(int(game.led), other, own)
        tricks = {card: len(own) - lost for card, lost in replies.items()}
    assert {card["action"]: card["tricks"] for card in decision["cards"]} == tricks
    taken, lost = game.counting_tricks[mover], game.counting_tricks[1 - mover]
    for card in decision["cards"]:
        more = card["tricks"]
        pay = plain_pay(rules, game.low, taken + more, lost + len(own) - more)
        assert card["value"] == (50 + 50 * pay if unit == "win %" else pay)


def plain_pay(rules: Rules, low: bool, own: int, other: int) -> int:
    most = max(own, other)
    if own == other:
        return 0
    if rules.pay == "over_book":
        slam = rules.slam_pay is not None and most == rules.counting_tricks
        amount = rules.slam_pay or 0 if slam else max(0, most - rules.effective_book)
    else:
        amount = 1 if rules.pay == "win" else abs(own - other)
    return amount if (own > other) != low else -amount


@pytest.mark.parametrize(
    "name", ["margin", "all-tricks", "club-last", "colour", "no-trump", "draft", "race-7", "humbug"]
)
def test_endings_of_named_sets_have_solver_values(name: str) -> None:
    record = random_hand(name, 3)
    analysis, game = analyzed(record, QUICK), record.start()
    costs, initial = [0.0, 0.0], None
    for decision, action in zip(analysis["decisions"], record.actions, strict=True):
        cost = {card["action"]: card["cost"] for card in decision["cards"]}
        assert min(cost.values()) == 0
        assert decision["best"] == [action for action in cost if cost[action] == 0]
        assert decision["cost"] == cost[decision["action"]]
        if decision["exact"]:
            if game.rules.race is None:
                expected = {int(card): n for card, n in moves_of(game.view()).items()}
                assert {card["action"]: card["tricks"] for card in decision["cards"]} == expected
            best = max(card["value"] for card in decision["cards"])
            if decision["who"] == 1:
                best = 100 - best if analysis["unit"] == "win %" else -best
            initial = best if initial is None else initial
            costs[decision["who"]] += decision["cost"]
        game.play(action)
    assert (initial is None) == (name in ("race-7", "humbug"))
    if initial is not None:
        assert analysis["story"][-1]["expected"] == initial - costs[0] + costs[1]


def test_closed_endings_and_races_are_estimated() -> None:
    for rules in (engine_rules("set aside"), {**SMALL, "race": 3, "contract": "low"}):
        analysis = analyzed(random_hand(rules), QUICK)
        decisions = analysis["decisions"]
        assert any(decision["stage"] == "endgame" for decision in decisions)
        assert not any(decision["exact"] for decision in decisions)
    assert analysis["unit"] == "win %"
    values = [card["value"] for decision in decisions for card in decision["cards"]]
    assert all(value is None or 0 <= value <= 100 for value in values)


# -- estimated


@pytest.mark.parametrize("name", HIDDEN_CARD_SETS)
def test_hidden_cards_change_nothing(name: str) -> None:
    """The same cards seen, others elsewhere: a player's decisions have the same analysis."""
    rules, rng = engine_rules(name), random.Random(name)
    record = random_hand(rules, 0)
    analysis, n = analyzed(record, QUICK), rng.randrange(3, len(record.actions) // 2)
    game = record.start()
    for action in record.actions[:n]:
        game.play(action)
    seat = game.turn or 0
    other_record = another_world(game.view(seat), record, n)
    assert other_record.start().cards_dealt != record.start().cards_dealt
    decisions, others = analysis["decisions"], analyzed(other_record, QUICK)["decisions"]
    for before, after in zip(decisions[:n], others[:n], strict=True):
        assert before["who"] != seat or before == after
    # Decision n is another action in the same position.
    played = {name: decisions[n][name] for name in ("action", "cost", "sure")}
    assert {**others[n], **played} == decisions[n]


def another_world(view: View, record: GameRecord, n: int) -> GameRecord:
    """A hand with the same view before decision `n`, played to its end at random."""
    deal = sample_determinizations(view, 1, seed=9, method="voids")["deal"][
        0, : len(view.rules.deck)
    ].tolist()
    game = Game(view.rules)
    game.deal_cards(deal, record.dealer)
    for action in record.actions[:n]:
        game.play(action)
    assert game.view(view.seat) == view
    return record_of(played_out(game, n))


def test_estimates_of_a_tiny_deck_are_right_on_average() -> None:
    """One trick from the end of the foreplay all determinizations can be solved, by hand."""
    rules = load_rules({"suits": 2, "ranks": 5, "hand": 4, "stock": 2, "pay": "margin"})
    agent = load_agent("flat-mc:20000", rules)
    assert isinstance(agent, SearchAgent)
    game = Game(rules, seed=6)
    game.play(game.legal()[0])
    view = game.view()
    estimates = agent.estimates(view)
    assert estimates is not None
    for action, mean, margin_of_error in zip(
        estimates.actions, estimates.means, estimates.margins_of_error, strict=True
    ):
        assert abs(mean - mean_by_enumeration(view, action)) < 2 * margin_of_error + 1e-9


def mean_by_enumeration(view: View, action: int) -> float:
    """The mean margin after a action_words, over every place where the unseen cards may be."""
    unseen, known, led, upcard = view.unseen, view.opponent_known, view.led, view.upcards[0]
    assert led is not None
    assert (len(unseen), len(known)) == (view.opponent_hand_size + 1, 0)
    wins = action > led if action // 13 == led // 13 else action // 13 == view.trump
    total = 0
    for hidden in unseen:
        other = [card for card in unseen if card != hidden]
        own = [card for card in view.hand if card != action]
        (own if wins else other).append(upcard)
        (other if wins else own).append(hidden)
        plain = PlainEnding(view.trump)
        hands = tuple(map(int, own)), tuple(map(int, other))
        taken = plain.value(*hands) if wins else len(own) - plain.value(*hands[::-1])
        total += 2 * taken - len(own)
    return total / len(unseen)


def test_mistakes_exceed_the_noise_costliest_first() -> None:
    settings = AnalysisSettings(search="flat-mc:250,voids,playout=counting")
    record = random_hand("margin", 5)
    analysis = analyzed(record, settings)
    costs = [mistake["cost"] for mistake in analysis["mistakes"]]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) > 5
    for mistake in analysis["mistakes"]:
        decision = analysis["decisions"][mistake["n"]]
        card = next(c for c in decision["cards"] if c["action"] == decision["action"])
        # A cost that would be printed as 0.0 is no mistake.
        assert mistake["cost"] == card["cost"] > max(card.get("cost_margin_of_error", 0), 0.05)
        view = position_before(record, mistake["n"]).view()
        symbol = action_symbol(decision["action"])
        if view.phase == "follow":
            action_words = f"spent {symbol} on {view.led.symbol}"
        else:
            action_words = (
                f"led {symbol} for {view.upcards[0].symbol}" if view.upcards else f"led {symbol}"
            )
        assert mistake["text"].startswith(
            f"trick {decision['trick']}: seat {mistake['who']} {action_words}; "
        )
    assert {mistake["text"].split()[4] for mistake in analysis["mistakes"]} == {"led", "spent"}


def test_the_search_follows_from_the_rules() -> None:
    searches = {name: Analyst(load_rules(name)).search.name for name in ("classic", "margin")}
    assert searches == {"classic": THINKER, "margin": FLAT_MC}


@pytest.mark.parametrize("beyond", [False, True], ids=["within the noise", "beyond it"])
def test_another_card_is_best_only_beyond_the_noise(beyond: bool, monkeypatch) -> None:
    analyst = Analyst(load_rules("classic"), AnalysisSettings(search="thinker:64"))
    view = Game("classic", seed=1).view()
    own = load_agent("champion").act(view)
    actions = tuple(view.legal())
    ahead, behind = [action for action in actions if action != own][:2]
    batches = np.random.default_rng(1).normal(0, 0.01 if beyond else 1, (32, len(actions)))
    batches -= batches.mean(axis=0)
    batches[:, actions.index(ahead)] += 0.1
    batches[:, actions.index(behind)] -= 0.1
    monkeypatch.setattr(analyst.search, "estimates", lambda *_: Estimates(actions, batches, 32))
    decision = analyst.decision(view, own)
    assert decision.best[0] == (ahead if beyond else own)
    assert (decision.cost > 0) == decision.mistaken == beyond
    cost = {card.action: card.cost for card in decision.cards}
    assert cost[behind] == pytest.approx(10 if beyond else 5)
    assert cost[ahead] == 0
    assert (ahead in decision.best) == (cost[ahead] == 0)


@pytest.fixture(scope="module")
def benchmark() -> Any:
    """The analyst's benchmark, and its published `results`."""
    if not BENCHMARK.exists():
        pytest.skip("not in an installed package")
    spec = importlib.util.spec_from_file_location("analyst", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.results = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    return module


def test_no_trick_of_the_analyst_loses_to_the_champion(benchmark: Any) -> None:
    assert {chunk["search"] for chunk in benchmark.results} == {THINKER}
    rates = re.findall(r"% \| (\d+\.\d+) ± ", benchmark.report(benchmark.results))
    assert len(rates) == 13
    assert min(map(float, rates)) >= 49.8


def test_charges_add_up_to_what_cards_gained(benchmark: Any) -> None:
    """In the hands that gave the factor, and within the interval in those that did not."""
    fitted = [chunk for chunk in benchmark.results if chunk["first"] < benchmark.FITTED]
    sums = [0.0, 0.0]
    for _, deals, total in benchmark.by_trick(fitted):
        sums[0] += benchmark.gained(total, deals)[0]
        sums[1] += benchmark.charged(total, deals, THINKER)[0]
    assert sums[1] == pytest.approx(sums[0], rel=0.01)
    rows = re.findall(
        r"\| (\w+) \| (\S+) ± (\S+) \| (\S+) ±", benchmark.held_out(benchmark.results)
    )
    outside = [
        name
        for name, gain, margin, charge in rows
        if abs(float(gain) - float(charge)) > float(margin)
    ]
    assert [name for name, *_ in rows] == ["8", "9", "10", "11", "12", "all"]
    assert outside == ["11"]


# -- all of it


def test_the_same_record_and_settings_give_the_same_analysis() -> None:
    record = random_hand("draft", 2)
    analysis = analyzed(record, QUICK)
    assert analyzed(record, QUICK) == analysis == json.loads(json.dumps(analysis))
    assert analyzed(record, AnalysisSettings(search=SEARCH, seed=1)) != analysis


def test_the_story_has_a_point_a_trick_and_ends_with_the_result() -> None:
    record = random_hand("margin", 2)
    story = analyzed(record, QUICK)["story"]
    tricks = [point["trick"] for point in story]
    assert tricks == sorted(set(tricks))
    assert (tricks[-1], story[-1]["expected"]) == (len(record.tricks) + 1, record.payoffs[0])
    assert [point["exact"] for point in story] == sorted(point["exact"] for point in story)


def test_progress_is_reported_and_the_analysis_can_be_stopped() -> None:
    record, stop, fractions = random_hand("small-last"), Event(), list[float]()

    def progress(done: float) -> None:
        fractions.append(done)
        if done > 0.5:
            stop.set()

    with pytest.raises(AnalysisStopped, match="after 15 of 28 decisions"):
        analyze(record, QUICK, progress, stop)
    assert fractions == sorted(fractions)
    analyze(record, QUICK, fractions.append, Event())
    assert fractions[-1] == 1


def test_only_a_search_with_a_number_of_samples_values_decisions() -> None:
    for name in ("threshold", "flat-mc:5ms"):
        with pytest.raises(ValueError, match="not a search with a number of samples"):
            Analyst(load_rules("classic"), AnalysisSettings(search=name))


# -- a network's probabilities


def test_a_network_that_does_not_play_the_rules_is_refused() -> None:
    for network, sentence in (("champion-1", "and not margin"), ("threshold", "not a network")):
        with pytest.raises(ValueError, match=sentence):
            Analyst(load_rules("margin"), AnalysisSettings(search=SEARCH, network=network))


@pytest.mark.parametrize(("name", "plays"), [("classic", True), ("set aside", False)])
def test_the_champions_probabilities_are_given_where_it_plays(name: str, plays: bool) -> None:
    rules = engine_rules(name)
    analyst = Analyst(rules, QUICK)
    assert (analyst.network is not None) == plays
    values = msgspec.to_builtins(analyst.values(Game(rules, seed=1).view()))
    probabilities = [card.get("probability", 0.0) for card in values["cards"]]
    assert sum(probabilities) == pytest.approx(float(plays), abs=0.002)


def test_charges_are_what_cards_gained_in_play(monkeypatch) -> None:
    """A measured search charges a fraction of the differences between its estimates."""
    record = random_hand("classic", 3)
    name, shrinkage = "thinker:32", 0.5
    raw = analyzed(record, AnalysisSettings(search=name))["decisions"]
    monkeypatch.setitem(SHRINKAGE, name, shrinkage)
    shrunk = analyzed(record, AnalysisSettings(search=name))["decisions"]
    seen = 0
    for one, other in zip(raw, shrunk, strict=True):
        factor = 1.0 if one["exact"] else shrinkage
        costs = [
            (card["cost"], small["cost"])
            for card, small in zip(one["cards"], other["cards"], strict=True)
        ]
        assert all(small == pytest.approx(factor * cost, abs=2e-3) for cost, small in costs)
        assert (one["best"], one["sure"]) == (other["best"], other["sure"])
        seen += not one["exact"] and any(cost for cost, _ in costs)
        best = next((c["value"] for c in other["cards"] if c["action"] == other["best"][0]), None)
        if best is not None:
            for card in other["cards"]:
                assert card["cost"] == pytest.approx(max(0.0, best - card["value"]), abs=2e-2)
    assert seen > 10
