"""Hands of an evaluation to look at, and their page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.engine.records import GameRecord, write_records
from german_whist.engine.rules import load_rules
from german_whist.evaluation.tournament import evaluate
from german_whist.table.review import hands as looking
from german_whist.table.review.hands import notable_hands
from support import random_hand


@pytest.fixture(scope="module")
def records() -> list[GameRecord]:
    lines: list[str] = []
    rules = load_rules("small-last")
    evaluate("champion", ["random"], rules, hands=12, records=lines.append)
    return [GameRecord.from_line(line) for line in lines]


def test_hands_of_the_worst_deals_come_first(records: list[GameRecord]) -> None:
    hands = notable_hands(records, "champion", None, most=4)
    assert [hand.deal_payoff for hand in hands] == sorted(hand.deal_payoff for hand in hands)
    assert {hand.probability for hand in hands} == {None}
    deals: dict[int, int] = {}
    for record in records:
        seat = cast(list[str], record.meta["players"]).index("champion")
        deals[record.number] = deals.get(record.number, 0) + record.payoffs[seat]
    assert hands[0].deal_payoff == min(deals.values())


def test_deals_against_itself_are_left_out() -> None:
    lines: list[str] = []
    rules = load_rules("small-last")
    evaluate("threshold", ["threshold", "random"], rules, hands=4, records=lines.append)
    hands = notable_hands([GameRecord.from_line(line) for line in lines], "threshold", None)
    assert sorted(hand.number for hand in hands) == [5, 6, 7, 8]


def test_hands_of_others_are_neither_shown_nor_counted(
    records: list[GameRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "MAX_HANDS", 6)
    others = [random_hand("small-last", n, players=["ann", "bob"]) for n in range(4)]
    others.append(random_hand("small-last", 5))
    hands = notable_hands([*others, *records], "champion", None)
    assert sorted(hand.number for hand in hands) == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["threshold"], "name its file by --html"),
        (["threshold", "--html", "page.html"], "threshold meets nobody else in these hands"),
        (["random", "--html", "page.html"], "one of their players, who are ann, bob, threshold"),
        (["ann=threshold", "--html", "page.html"], "ann plays classic and draft in these hands"),
        (["ann=threshold", "--html", "page.html", "--seat", "0"], "choose a hand by --hand"),
        (["ann=threshold", "--html", "page.html", "--analyze"], "choose a hand by --hand"),
    ],
)
def test_notable_refuses_what_it_cannot_show(
    words: list[str], message: str, tmp_path: Path, whist: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hands = [
        random_hand("classic", 1, players=["threshold", "threshold"]),
        random_hand("classic", 1, players=["ann", "bob"]),
        random_hand("draft", 1, players=["ann", "bob"]),
    ]
    write_records(tmp_path / "hands.jsonl", hands)
    assert message in whist("replay", "hands.jsonl", "--notable", *words, status=2).err
    assert not (tmp_path / "page.html").exists()


def test_least_likely_card_is_the_policys_of_the_foreplay(records: list[GameRecord]) -> None:
    policy = cast(NetworkAgent, load_agent("champion", "small-last"))
    hands = notable_hands(records, "champion", policy, most=4)
    lowest = min(hands, key=lambda hand: cast(float, hand.probability))
    decision = lowest.networks.decisions[lowest.step]
    action = records[lowest.number - 1].actions[lowest.step]
    probability = decision.policies[0].probabilities[decision.actions.index(action)]
    assert probability == pytest.approx(lowest.probability, abs=1e-3)
    assert not lowest.replay.steps[lowest.step].before.open
    foreplay = [each for each in lowest.replay.steps if not each.before.open]
    for step in foreplay:
        chosen = lowest.networks.decisions[step.n]
        other = chosen.policies[0].probabilities[chosen.actions.index(step.action)]
        assert other >= probability - 1e-3


def test_notable_hands_of_an_evaluation_are_a_page(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["evaluate", "champion", "--against", "random", "--rules", "small-last"]
    assert main([*words, "--hands", "6", "--records", "hands.jsonl"]) == 0
    assert main(["replay", "hands.jsonl", "--notable", "champion", "--html", "hands.html"]) == 0
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "hands.html").as_uri())
    page.locator(".policies").wait_for()
    hands = page.get_by_label("Hand", exact=True)
    page.get_by_label("Order of the hands").select_option("unlikely")
    shares = [float(text.split()[-2]) for text in hands.locator("option").all_inner_texts()]
    assert shares == sorted(shares)
    first = (
        page.locator(".table-bar small").inner_text(),
        page.locator(".replay-count").inner_text(),
    )
    hands.select_option(index=1)
    second = (
        page.locator(".table-bar small").inner_text(),
        page.locator(".replay-count").inner_text(),
    )
    assert first != second
    assert not complaints
    page.close()
