"""Reports of a made-up result come out as they are known, figure by figure and line by line."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import golden_arena
import pytest

from german_whist.training.arena.intervals import Ratings
from german_whist.training.arena.report import pairings_table, ratings_table
from german_whist.training.arena.results import Pairing, Result, Stages, figures_of, ladder_of
from german_whist.training.arena.texts import duration, milliseconds


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return golden_arena.reports()


def test_every_report_is_known(found: dict[str, str]) -> None:
    assert {path.name for path in golden_arena.KEPT.iterdir()} == found.keys()


@pytest.mark.parametrize("kind", ["txt", "md", "csv", "html"])
@pytest.mark.parametrize("name", ["evaluation", "ladder"])
def test_reports_stay_as_they_are_known(found: dict[str, str], name: str, kind: str) -> None:
    known = (golden_arena.KEPT / f"{name}.{kind}").read_text(encoding="utf-8")
    assert found[f"{name}.{kind}"].splitlines() == known.splitlines()


@pytest.mark.parametrize("name", ["evaluation", "ladder"])
def test_json_stays_as_it_is_known(found: dict[str, str], name: str) -> None:
    known = json.loads((golden_arena.KEPT / f"{name}.json").read_text(encoding="utf-8"))
    assert alike(json.loads(found[f"{name}.json"]), known)


@pytest.mark.parametrize("result", [golden_arena.evaluation(), golden_arena.rungs()])
def test_a_result_is_read_from_its_json(result: Result) -> None:
    assert Result.from_json(json.loads(result.text())) == result


def test_ratings_without_bounds_are_read_from_json() -> None:
    result = golden_arena.rungs()
    assert result.ladder is not None
    elo = [replace(each, low=-math.inf, high=math.inf) for each in result.ladder.ratings.elo]
    ladder = replace(result.ladder, ratings=Ratings(tuple(elo), padded=True))
    unbounded = replace(result, ladder=ladder)
    assert Result.from_json(json.loads(unbounded.text())) == unbounded


@pytest.mark.parametrize("matches", [False, True])
def test_every_figure_is_told_where_its_declaration_says(matches: bool) -> None:
    result = golden_arena.evaluation() if matches else golden_arena.rungs()
    table, row, first = pairings_table(result), result.rows()[0], result.pairings[0]
    cells = dict(zip(table.header, table.rows[0], strict=True))
    shown = {"pairing", "hands", *(["matches"] if matches else [])}
    for name, each in figures_of(Pairing).items():
        assert name in row
        if each.heads[matches] and getattr(first, name) is not None:
            assert cells[each.heads[matches]] == each.text(getattr(first, name))
            assert each.about in table.note
            shown.add(each.heads[matches])
    assert shown == {*table.header}
    assert {*row} >= {f"{prefix}{name}" for name in figures_of(Stages)
                      for prefix in ("", "opponent_")}  # fmt: skip


def alike(one: Any, other: Any) -> bool:
    """Whether two trees of values are the same, but for how a machine rounds."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9)
    return type(one) is type(other) and one == other


def test_a_pairing_turned_twice_is_itself() -> None:
    for pairing in golden_arena.rungs().pairings:
        again = pairing.turned().turned()
        assert alike(again.to_json(), pairing.to_json())


def test_ratings_without_an_anchor_are_around_a_thousand() -> None:
    result = golden_arena.rungs(anchor=None)
    assert result.ladder is not None
    assert sum(elo.value for elo in result.ladder.ratings.elo) / 3 == pytest.approx(1000)
    table = ratings_table(result, result.ladder)
    assert "the mean is set to 1000." in table.note
    assert all(row[2].startswith("± ") for row in table.rows)


def test_players_that_never_met_have_no_ratings() -> None:
    pairings = golden_arena.rungs().pairings
    scores = [golden_arena.scores_of(each) for each in pairings[:1]]
    assert ladder_of(golden_arena.PLAYERS, pairings[:1], scores, None) is None
    assert ladder_of(golden_arena.PLAYERS[:1], (), (), None) is None
    only = ladder_of(golden_arena.PLAYERS[:2], pairings[:1], scores, None)
    assert only is not None
    assert only.ranked()[0][0] == golden_arena.PLAYERS[0]


def test_a_pairing_is_found_from_both_sides_and_one_that_was_not_played_is_not() -> None:
    result = golden_arena.evaluation()
    first, second, third = result.players
    assert result.pairing(first, second) is result.pairings[0]
    turned = result.pairing(second, first)
    assert turned is not None
    assert turned.win_rate.value == pytest.approx(1 - result.pairings[0].win_rate.value)
    assert result.pairing(second, third) is None
    assert result.win_rate(second, third) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0.04, "0.0 s"), (89.9, "89.9 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")),
        (36_000, "10.0 h"),
    ],
)
def test_a_time_span_is_told_in_its_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((None, "–"), (123.456, "123.5"), (10.0, "10.0"), (9.994, "9.99"), (1.0, "1.00")),
        *((0.9994, "0.999"), (0.1, "0.100"), (0.09994, "0.0999"), (0.0, "0.0000")),
    ],
)
def test_milliseconds_have_the_digits_that_count(value: float | None, words: str) -> None:
    assert milliseconds(value) == words


def test_a_forfeit_is_told_in_a_sentence() -> None:
    forfeit = golden_arena.rungs().pairings[2].forfeits[0]
    assert str(forfeit) == (
        "carl played an illegal card and so forfeited 3 hands; the first: deal 7: no such card"
    )
    raised = replace(forfeit, kind="error", hands=1)
    assert str(raised).startswith("carl raised an error and so forfeited 1 hand; ")
