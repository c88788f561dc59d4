"""Hands of an evaluation to look at, and their page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.registry import make_agent
from german_whist.cli import main
from german_whist.engine.records import GameRecord
from german_whist.engine.rules import load_rules
from german_whist.evaluation.tournament import evaluate
from german_whist.table.review import hands as looking
from german_whist.table.review.hands import NotableHand, notable_hands


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


def test_deals_against_itself_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    rules = load_rules("small-last")
    evaluate("threshold", ["threshold", "random"], rules, hands=4, records=lines.append)
    records = [GameRecord.from_line(line) for line in lines]
    hands = notable_hands(records, "threshold", None)
    assert sorted(hand.number for hand in hands) == [5, 6, 7, 8]
    words = ["evaluate", "threshold", "--against", "threshold", "--replays", "hands.html"]
    assert main(words) == 2
    assert "threshold meets itself alone" in capsys.readouterr().err


def test_evaluation_keeps_no_more_hands_than_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def count(records: list[GameRecord], *_: object) -> list[NotableHand]:
        counts.append(len(records))
        return []

    monkeypatch.setattr(looking, "MAX_HANDS", 6)
    monkeypatch.setattr(looking, "notable_hands", count)
    words = ["evaluate", "threshold", "--against", "random", "--hands", "10"]
    for records in ([], ["--records", str(tmp_path / "hands.jsonl")]):
        assert main([*words, *records, "--replays", str(tmp_path / "hands.html")]) == 0
    assert counts == [6, 6]
    assert len((tmp_path / "hands.jsonl").read_text().splitlines()) == 10


def test_least_likely_card_is_the_policys_of_the_foreplay(records: list[GameRecord]) -> None:
    policy = cast(NetworkAgent, make_agent("champion", "small-last"))
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


def test_evaluation_writes_replays_that_its_report_links(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    words = ["evaluate", "champion", "--against", "random", "--rules", "small-last"]
    words += ["--hands", "6", "--html", "report.html", "--replays", "out/hands.html"]
    assert main(words) == 0
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_role("link", name="Replays").click()
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
