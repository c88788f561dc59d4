"""The leaderboard's entries hold up: their figures follow from their deals, and deals from play."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from german_whist.agents.registry import make_agent
from german_whist.evaluation.chunk_player import Task
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.evaluation.protocol import (
    PROTOCOLS,
    SAMPLE,
    Deals,
    Entry,
    FreshDeals,
    Protocol,
    digest_of,
    digits_of,
    entry_file,
    evaluate_fresh,
    evaluate_protocol,
    replay,
    replay_apart,
)
from german_whist.evaluation.results import AgentDetails
from german_whist.evaluation.statistics import win_rate_estimate
from german_whist.evaluation.tournament import seen_deals

FOLDER = Path(__file__).resolve().parents[2] / "leaderboard"
FILES = sorted(path.name for path in FOLDER.iterdir())


def entry_of(name: str) -> Entry:
    return Entry.from_text((FOLDER / name).read_text("utf-8"))


@cache
def opponents_of(protocol: Protocol) -> tuple[AgentDetails, ...]:
    return tuple(AgentDetails.of(name, make_agent(name)) for name in protocol.opponents)


def faults_on_paper(entry: Entry) -> Iterator[str]:
    """What contradicts something else in the entry, or its protocol."""
    protocol, result = entry.protocol, entry.result
    if PROTOCOLS.get(protocol.name) != protocol:
        yield "protocol"
    played = (result.rules, result.match, result.seed, result.key, result.complete, result.until)
    if played != (protocol.rules, None, protocol.seed, protocol.key, True, None):
        yield "options of the run"
    pairings = [(pairing.agent, pairing.opponent) for pairing in result.pairings]
    if pairings != [(entry.name, opponent) for opponent in protocol.opponents]:
        yield "agents"
    # With their weights: opponents that search have a value and a belief network besides.
    if result.details[1:] != opponents_of(protocol):
        yield "weights of an opponent"
    if {*entry.decks} != {*protocol.decks}:
        yield "decks"
    for pairing, deals in zip(result.pairings, entry.deals, strict=True):
        if not 2 * len(deals) == 2 * pairing.pairs == pairing.hands == protocol.hands:
            yield "number of deals"
        win_rates = np.array([*map(int, deals)]) / 4
        error = float(win_rates.std(ddof=1)) / math.sqrt(len(win_rates))
        win_rate = float(win_rates.mean())
        expected = win_rate_estimate(win_rate, error, len(win_rates))
        if astuple(pairing.win_rate) != pytest.approx(astuple(expected)):
            yield f"win rate against {pairing.opponent}"
        # Rules of classic: a win pays 1, a loss takes it.
        if pairing.points.value != pytest.approx(2 * win_rate - 1):
            yield f"points against {pairing.opponent}"
    if entry.fresh is not None:
        if [*map(len, entry.fresh.deals)] != [*map(len, entry.deals)]:
            yield "number of fresh deals"
        elif entry.learnt:
            yield "public deals are won more often than fresh ones"


def drawn_starts(entry: Entry, count: int) -> list[int]:
    """First deals of random samples, other ones at each run of the tests."""
    chunks = len(entry.deals[0]) // SAMPLE
    return [SAMPLE * int(chunk) for chunk in np.random.default_rng().choice(chunks, count)]


def faults_in_play(
    entry: Entry, starts: Sequence[int] = (), apart: Sequence[str] = ()
) -> Iterator[str]:
    """What is not found again by those who have the player.

    `apart` names opponents against whom the halves of deals are played in fresh processes.
    """
    protocol, names = entry.protocol, (entry.agent, *entry.protocol.opponents)
    agents = [make_agent(player) for player in names]
    details = map(AgentDetails.of, entry.result.agents, agents)
    if entry.result.details != (*details,):
        yield "weights, or who plays endgames"
    if {*seen_deals(entry.result.details[0], protocol.seed)} - {*entry.result.notes}:
        yield "trained on the deals of the protocol"
    for kind, deals, wanted in results_of(entry):
        first = [0] if kind == "public" else []
        played = replay(entry.agent, protocol, deals, [*first, *starts])
        if first and digest_of(played.pop(0)) != entry.records:
            yield "records of the first deals"
        for start, chunks in zip(starts, played, strict=True):
            found = [digits_of(chunk.scores) for chunk in chunks]
            if found != [digits[start : start + SAMPLE] for digits in wanted]:
                yield f"{kind} deals from {start} on"
        for opponent in apart:
            digits = wanted[protocol.opponents.index(opponent)]
            again = replay_apart(entry.agent, protocol, deals, starts, opponent)
            if again != [digits[start : start + SAMPLE] for start in starts]:
                yield f"{kind} deals against {opponent}, each half in a fresh process"


def results_of(entry: Entry) -> Iterator[tuple[str, Deals, tuple[str, ...]]]:
    yield "public", entry.protocol.public_deals, entry.deals
    if entry.fresh is not None:
        yield "fresh", entry.fresh_deals(entry.fresh.value), entry.fresh.deals


@pytest.mark.parametrize("file", FILES)
def test_the_figures_of_an_entry_follow_from_its_deals(file: str) -> None:
    entry = entry_of(file)
    assert file == entry_file(entry.name)
    assert [*faults_on_paper(entry)] == []


def with_player(file: str) -> Entry:
    """An entry whose player is here."""
    entry = entry_of(file)
    try:
        make_agent(entry.agent)
    except ValueError as error:
        pytest.skip(f"the player is not here: {error}")
    return entry


def test_entry_repeats_on_deals_drawn_anew() -> None:
    entry = with_player("counting.json")
    assert [*faults_in_play(entry, drawn_starts(entry, 1))] == []


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
def test_entry_repeats_its_deals_and_decks(file: str) -> None:
    entry = with_player(file)
    starts = drawn_starts(entry, 8)
    # Fresh processes take seconds each: another opponent at each run.
    opponent = str(np.random.default_rng().choice(entry.protocol.opponents))
    assert [*faults_in_play(entry, starts, [opponent])] == []
    for deck, result in entry.decks.items():
        if result.exploitability is not None:
            again = measure_exploitability(make_agent(entry.agent, deck), deck).exploitability
            assert result.exploitability == pytest.approx(again, abs=1e-6)


def test_a_figure_that_does_not_follow_is_found() -> None:
    entry = entry_of("counting.json")
    first, *middle, last = entry.result.pairings
    flattered = replace(first, win_rate=first.win_rate.scaled(1, 0.01))
    narrowed = replace(last, win_rate=replace(last.win_rate, low=last.win_rate.value))
    for pairings, told in (
        ((flattered, *middle, last), "win rate against threshold"),
        ((first, *middle, narrowed), "win rate against thinker:64,policy=champion-2"),
    ):
        changed = replace(entry, result=replace(entry.result, pairings=pairings))
        assert [*faults_on_paper(changed)] == [told]
    details = entry.result.details
    other = replace(details[-1], checkpoints=details[0].checkpoints)
    changed = replace(entry, result=replace(entry.result, details=(*details[:-1], other)))
    assert [*faults_on_paper(changed)] == ["weights of an opponent"]
    longer = replace(entry, protocol=replace(entry.protocol, hands=entry.protocol.hands + 2))
    assert [*faults_on_paper(longer)] == ["protocol", *["number of deals"] * 6]


def small_protocol(hands: int) -> Protocol:
    return replace(PROTOCOLS["v1"], hands=hands, opponents=("threshold",), decks=())


@pytest.fixture(scope="module")
def honest() -> Entry:
    """An entry against one fast opponent, with fresh deals by a secret."""
    return evaluate_fresh(evaluate_protocol("counting", small_protocol(2_000)), None)[0]


def reshuffled(entry: Entry) -> tuple[str, ...]:
    return tuple("".join(sorted(deals)) for deals in entry.deals)


def test_deals_that_were_not_played_are_found(honest: Entry) -> None:
    published = replace(entry_of("counting.json"), fresh=None)
    assert [*faults_on_paper(replace(published, deals=reshuffled(published)))] == []
    public = replace(honest, deals=reshuffled(honest), fresh=None)
    assert {*faults_in_play(public, [0])} == {"public deals from 0 on"}
    found = {*faults_in_play(replace(public, agent="mine=threshold"), [0])}
    assert found == {"records of the first deals", "public deals from 0 on"}
    assert honest.fresh is not None
    learnt = replace(honest, fresh=replace(honest.fresh, deals=reshuffled(honest)))
    assert {*faults_in_play(learnt, [0])} == {"fresh deals from 0 on"}


def test_entry_forged_between_known_deals_is_found(honest: Entry) -> None:
    """Real results where earlier tests looked, and the best ones everywhere else."""
    known = {start + place for start in (0, 50, 300, 550, 800) for place in range(SAMPLE)}
    (digits,) = honest.deals
    best = "".join(digit if deal in known else "4" for deal, digit in enumerate(digits))
    forged = replace(honest, deals=(best,))
    found = [*faults_in_play(forged, drawn_starts(forged, 2))]
    assert any(fault.startswith("public deals from ") for fault in found)


def test_learnt_deals_are_told_by_fresh_ones(honest: Entry) -> None:
    public = evaluate_protocol("deceivers:LearntDeals", small_protocol(400))
    entry, _ = evaluate_fresh(public, "any value")
    assert entry.learnt
    assert "public deals are won more often than fresh ones" in [*faults_on_paper(entry)]
    assert not honest.learnt
    assert honest.fresh is not None
    assert honest.fresh.secret
    assert len(honest.fresh.value) == 32


class OneProcess(ThreadPoolExecutor):
    """An executor without processes."""

    def __init__(self, make: Callable[..., Any], setup: object) -> None:
        super().__init__(1)
        self.play = make(setup)

    def submit(self, task: Task) -> Any:  # type: ignore[override]
        return super().submit(self.play, task)


def test_memory_of_a_module_is_told_by_fresh_processes(
    honest: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = evaluate_protocol("deceivers:Remembering", small_protocol(80))
    found = [*faults_in_play(entry, drawn_starts(entry, 8), ["threshold"])]
    assert "public deals against threshold, each half in a fresh process" in found
    monkeypatch.setattr("german_whist.evaluation.protocol.Executor", OneProcess)
    assert [*faults_in_play(honest, drawn_starts(honest, 8), ["threshold"])] == []


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Entry]], str]:
    monkeypatch.syspath_prepend(str(FOLDER.parent / "docs" / "scripts"))
    return import_module("leaderboard").page  # type: ignore[no-any-return]


def test_page_says_which_deals_and_who_can_repeat_them(
    page: Callable[[dict[str, Entry]], str],
) -> None:
    entries = {name: entry_of(name) for name in ("counting.json", "quick.json", "threshold.json")}
    counting = entries["counting.json"]
    low = tuple("".join(str(int(digit) // 2) for digit in digits) for digits in counting.deals)
    entries["counting.json"] = replace(counting, fresh=FreshDeals("x", True, low))
    quick = entries["quick.json"]
    entries["quick.json"] = replace(quick, fresh=FreshDeals("drand 1", False, quick.deals))
    entries["threshold.json"] = replace(entries["threshold.json"], fresh=None)
    rows = {
        line.split("`")[1]: line for line in page(entries).splitlines() if "](../../lead" in line
    }
    assert [*rows] == ["quick", "threshold", "counting"]  # by the mean over fresh deals
    assert "| secret | +" in rows["counting"]
    assert ", **learnt** | " in rows["counting"]
    assert "`quick=runs/quick-1`, unverified | published | +0.0 ± " in rows["quick"]
    assert "threshold.json) | public | – | 34.7 ± 1.0 |" in rows["threshold"]
    named = replace(quick.result, agents=("a|b`<script>", *quick.result.agents[1:]))
    entries["quick.json"] = replace(quick, result=named)
    assert r"[`` a\|b`<script> ``](../../leaderboard/a-b-script-.json)" in page(entries)
