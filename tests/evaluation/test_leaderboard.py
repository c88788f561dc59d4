"""The leaderboard's entries hold up: their figures follow from their deals, and deals from play."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from german_whist.agents.registry import make_agent
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.evaluation.protocol import (
    PROTOCOLS,
    SAMPLE,
    Entry,
    Protocol,
    digest_of,
    digits_of,
    entry_file,
    replay,
)
from german_whist.evaluation.results import PlayerDetails
from german_whist.evaluation.statistics import share_estimate

FOLDER = Path(__file__).resolve().parents[2] / "leaderboard"
FAST_MS = 0.02
FILES = sorted(path.name for path in FOLDER.iterdir())


def entry_of(name: str) -> Entry:
    return Entry.from_text((FOLDER / name).read_text("utf-8"))


@cache
def opponents_of(protocol: Protocol) -> tuple[PlayerDetails, ...]:
    return tuple(PlayerDetails.of(name, make_agent(name)) for name in protocol.opponents)


def faults_on_paper(entry: Entry) -> Iterator[str]:
    """What contradicts something else in the entry, or its protocol."""
    protocol, result = entry.protocol, entry.result
    if PROTOCOLS.get(protocol.name) != protocol:
        yield "protocol"
    played = (result.rules, result.match, result.seed, result.key, result.complete, result.until)
    if played != (protocol.rules, None, protocol.seed, protocol.key, True, None):
        yield "options of the run"
    pairings = [(pairing.player, pairing.opponent) for pairing in result.pairings]
    if pairings != [(entry.name, opponent) for opponent in protocol.opponents]:
        yield "players"
    # With their weights: opponents that search have a value and a belief network besides.
    if result.details[1:] != opponents_of(protocol):
        yield "weights of an opponent"
    if {*entry.decks} != {*protocol.decks}:
        yield "decks"
    for pairing, deals in zip(result.pairings, entry.deals, strict=True):
        if not 2 * len(deals) == 2 * pairing.pairs == pairing.hands == protocol.hands:
            yield "number of deals"
        shares = np.array([*map(int, deals)]) / 4
        error = float(shares.std(ddof=1)) / math.sqrt(len(shares))
        share = float(shares.mean())
        expected = share_estimate(share, error, len(shares))
        if astuple(pairing.win_rate) != pytest.approx(astuple(expected)):
            yield f"win rate against {pairing.opponent}"
        # Rules of classic: a win pays 1, a loss takes it.
        if pairing.points.value != pytest.approx(2 * share - 1):
            yield f"points against {pairing.opponent}"


def faults_in_play(entry: Entry, starts: tuple[int, ...] = (0,)) -> Iterator[str]:
    """What is not found again by those who have the player."""
    names = zip(entry.result.players, (entry.player, *entry.protocol.opponents), strict=True)
    details = [PlayerDetails.of(name, make_agent(player)) for name, player in names]
    if entry.result.details != (*details,):
        yield "weights, or who plays endgames"
    for start in starts:
        chunks = replay(entry.player, entry.protocol, start, SAMPLE)
        if start == 0 and digest_of(chunks) != entry.records:
            yield "records of the first deals"
        for deals, chunk in zip(entry.deals, chunks, strict=True):
            if digits_of(chunk.scores) != deals[start : start + SAMPLE]:
                yield f"deals from {start} on"


@pytest.mark.parametrize("file", FILES)
def test_the_figures_of_an_entry_follow_from_its_deals(file: str) -> None:
    entry = entry_of(file)
    assert file == entry_file(entry.name)
    assert [*faults_on_paper(entry)] == []


def with_player(file: str) -> Entry:
    """An entry whose player is here."""
    entry = entry_of(file)
    try:
        make_agent(entry.player)
    except ValueError as error:
        pytest.skip(f"the player is not here: {error}")
    return entry


@pytest.mark.parametrize("file", [file for file in FILES if entry_of(file).ms_a_move < FAST_MS])
def test_the_first_deals_of_a_fast_player_are_played_again(file: str) -> None:
    assert [*faults_in_play(with_player(file))] == []


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
def test_deals_and_decks_of_an_entry_are_played_again(file: str) -> None:
    entry = with_player(file)
    assert [*faults_in_play(entry, (0, *range(50, len(entry.deals[0]), 250)))] == []
    for deck, result in entry.decks.items():
        if result.exploitability is not None:
            again = measure_exploitability(make_agent(entry.player, deck), deck).exploitability
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


def test_deals_that_were_not_played_are_found() -> None:
    entry = entry_of("counting.json")
    reshuffled = replace(entry, deals=tuple("".join(sorted(deals)) for deals in entry.deals))
    assert [*faults_on_paper(reshuffled)] == []
    assert {*faults_in_play(reshuffled)} == {"deals from 0 on"}
    another = replace(reshuffled, player="mine=threshold")
    assert {*faults_in_play(another)} == {"records of the first deals", "deals from 0 on"}
