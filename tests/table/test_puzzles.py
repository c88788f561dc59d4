"""Puzzles have one right card, tell no hidden one, are graded, and rate their solver."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from plain_endgame import PlainEnding
from serving import Running, Seat, Visitor, running
from test_hidden_cards import cards_in

from german_whist import load_rules
from german_whist.cli import main
from german_whist.commands import puzzles as command
from german_whist.engine.endgame import moves_of
from german_whist.table.rating import Rating
from german_whist.table.review.puzzles import (
    ENDGAME,
    FOREPLAY,
    Puzzle,
    all_puzzles,
    bundled_puzzles,
    fit_rating,
    make_puzzles,
    read_puzzles,
    regrade,
)

SMALL = load_rules("small-last")


def test_some_hundreds_ship_of_both_kinds() -> None:
    found = bundled_puzzles()
    kinds = [each.kind for each in found]
    assert kinds.count(ENDGAME) >= 200
    assert kinds.count(FOREPLAY) >= 20
    assert len({each.id for each in found}) == len(found)
    assert len({(each.kind, each.deal) for each in found}) == len(found)


def test_puzzles_ship_for_beginners_and_for_experts() -> None:
    for kind, bands in ((ENDGAME, 8), (FOREPLAY, 5)):
        ratings = [each.rating for each in bundled_puzzles() if each.kind == kind]
        low, middle, high = quantiles(ratings, n=4)
        assert low < 800 < high - 350
        assert 650 < middle < 1150
        assert len({rating // 100 for rating in ratings}) >= bands


def test_puzzles_are_graded_by_todays_players_and_their_ladder() -> None:
    anew = "german-whist puzzles grade --out table/review/puzzles.jsonl grades them anew"
    for puzzle in bundled_puzzles()[::15]:
        assert regrade(puzzle) == puzzle, anew


def test_an_ending_has_one_card_that_wins_or_saves_the_hand() -> None:
    for puzzle in [each for each in bundled_puzzles() if each.kind == ENDGAME][::12]:
        view = puzzle.position().view(puzzle.position().turn or 0)
        mine, others = view.counting_tricks
        left = len(view.hand)
        paid = {}
        for card, more in moves_of(view).items():
            total = mine + more, others + left - more
            paid[int(card)] = (total[0] > total[1]) - (total[0] < total[1])
        best = max(paid.values())
        assert [card for card, pay in paid.items() if pay == best] == puzzle.position_values().best
        assert min(paid.values()) < best


def test_exact_values_of_small_puzzles_are_those_of_a_plain_search() -> None:
    checked = 0
    for puzzle in bundled_puzzles():
        game = puzzle.position()
        view = game.view(game.turn or 0)
        if puzzle.kind != ENDGAME or len(view.hand) > 4 or view.led is not None:
            continue
        plain = PlainEnding(view.trump)
        theirs = [*view.known, *view.unseen]
        value = plain.value(tuple(map(int, view.hand)), tuple(map(int, theirs)))
        assert value == max(moves_of(view).values())
        checked += 1
    assert checked


def test_the_best_card_of_a_foreplay_puzzle_is_clear_beyond_the_interval() -> None:
    for puzzle in bundled_puzzles():
        if puzzle.kind == FOREPLAY:
            told = puzzle.position_values()
            (best,) = told.best
            others = [each for each in told.cards if each.action != best]
            assert all(each.cost > 2 * each.cost_half_width for each in others)
            assert len(others) >= 2


def test_puzzles_are_made_anew_from_a_seed() -> None:
    def made(seed: int) -> list[Puzzle]:
        return list(make_puzzles(SMALL, seed, 2, 0))

    assert made(1) == made(1) != made(2)
    for puzzle in made(1):
        assert puzzle.position().turn is not None
        assert read_puzzles(line_of(puzzle)) == [puzzle]


def line_of(puzzle: Puzzle) -> bytes:
    return msgspec.json.encode(puzzle) + b"\n"


def test_the_command_adds_to_a_file_and_the_table_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "puzzles.jsonl"
    words = ["puzzles", "make", "--rules", "small-last", "--endgames", "2", "--foreplay", "0"]
    assert main([*words, "--out", str(out)]) == 0
    assert "2 puzzles, 2 of them new" in capsys.readouterr().out
    assert main([*words, "--seed", "7", "--out", str(out)]) == 0
    assert "4 puzzles, 2 of them new" in capsys.readouterr().out
    assert set(all_puzzles(tmp_path)) == {
        each.id for each in (*bundled_puzzles(), *read_puzzles(out.read_bytes()))
    }
    found = read_puzzles(out.read_bytes())
    out.write_bytes(b"".join(line_of(replace(each, rating=0.0)) for each in found))
    assert main(["puzzles", "grade", "--out", str(out)]) == 0
    assert "4 puzzles graded" in capsys.readouterr().out
    assert read_puzzles(out.read_bytes()) == found
    out.write_text("nonsense\n")
    assert main([*words, "--out", str(out)]) == 2
    assert "no file of puzzles" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rules", "endgames", "told"),
    [
        ("race-7", "1", "race-7 has no endings whose exact values are known: give --endgames 0"),
        ("humbug", "1", "are known and no tricks for a stock: name another rule set"),
        ("humbug", "0", "are known and no tricks for a stock: name another rule set"),
    ],
)
def test_puzzles_that_a_rule_set_has_not_are_not_looked_for(
    rules: str, endgames: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["puzzles", "make", "--rules", rules, "--endgames", endgames, "--foreplay", "1"]
    assert main([*words, "--out", str(tmp_path / "puzzles.jsonl")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "puzzles.jsonl").exists()


def test_what_was_found_before_ctrl_c_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> Iterator[Puzzle]:
        yield bundled_puzzles()[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "make_puzzles", stopped)
    out = tmp_path / "puzzles.jsonl"
    with pytest.raises(KeyboardInterrupt):
        command.run(
            Namespace(what="make", rules="classic", seed=0, endgames=9, foreplay=0, out=out)
        )
    assert read_puzzles(out.read_bytes()) == [bundled_puzzles()[0]]


def test_a_grade_is_where_the_players_do_as_well_as_they_did() -> None:
    hard = fit_rating([(500, 0.1, 12), (800, 0.1, 12), (1000, 0.3, 12)])
    easy = fit_rating([(500, 0.6, 12), (800, 0.9, 12), (1000, 1.0, 12)])
    assert easy < 800 < 1000 < hard


def test_a_rating_moves_as_glickman_writes() -> None:
    played = [(Rating(1400, 30), 1), (Rating(1550, 100), 0), (Rating(1700, 300), 0)]
    after = Rating(1500, 200).after(played, min_deviation=0)
    assert round(after.value) == 1464
    assert after.deviation == pytest.approx(151.4, abs=0.05)
    assert Rating(1500, 50).after([], days=1000).deviation == pytest.approx(350)


# -- over HTTP


def answer(visitor: Visitor, puzzle: Puzzle, right: bool = True) -> dict[str, Any]:
    told = puzzle.position_values()
    action = (
        told.best[0]
        if right
        else next(each.action for each in told.cards if each.action not in told.best)
    )
    return visitor.post(f"/api/puzzles/{puzzle.id}/answer", {"action": action})


def test_puzzles_rate_their_solver_once_each_and_count_streaks(visitor: Visitor) -> None:
    visitor.raw("GET", "/")
    first, second, third, *_ = bundled_puzzles()
    found = answer(visitor, first)
    assert found["solved"]
    assert found["change"] > 0
    assert answer(visitor, first, right=False)["change"] == 0
    assert answer(visitor, second)["streak"] == 2
    wrong = answer(visitor, third, right=False)
    assert not wrong["solved"]
    assert wrong["change"] < 0
    told = visitor.get("/api/puzzles")
    assert (told["tried"], told["solved"], told["streak"], told["best_streak"]) == (3, 2, 0, 2)
    assert told["puzzles"] == len(bundled_puzzles())
    assert visitor.get("/api/puzzles/next")["id"] not in {first.id, second.id, third.id}
    assert visitor.ask("GET", "/api/puzzles/nothing")[0] == 404
    illegal = next(card for card in range(52) if card not in wrong["best"])
    told = visitor.get(f"/api/puzzles/{first.id}")
    illegal = next(card for card in range(52) if card not in told["legal"])
    assert visitor.ask("POST", f"/api/puzzles/{first.id}/answer", {"action": illegal})[0] == 422


def test_no_puzzle_tells_a_card_that_its_player_may_not_know(visitor: Visitor) -> None:
    for puzzle in [
        *bundled_puzzles()[::40],
        *(each for each in bundled_puzzles() if each.kind == FOREPLAY),
    ][:24]:
        game = puzzle.position()
        view = game.view(game.turn or 0)
        opened = view.endgame and view.rules.open_endgame
        hidden = set() if opened else {str(card) for card in view.unseen}
        visitor.heard.clear()
        told = visitor.get(f"/api/puzzles/{puzzle.id}")
        answer(visitor, puzzle)
        assert (told["other_hand"] is not None) == opened
        for message in visitor.heard:
            body = message.rpartition("\n")[2].replace(puzzle.id, "")
            assert not cards_in(body) & hidden
        assert "best" not in told
        assert "values" not in told
        line = visitor.ask(
            "POST", f"/api/puzzles/{puzzle.id}/line", {"action": puzzle.position_values().best[0]}
        )
        assert (line[0] == 200) == opened


def test_a_card_is_played_out_against_perfect_defence(visitor: Visitor) -> None:
    puzzle = next(each for each in bundled_puzzles() if each.kind == ENDGAME)
    told = puzzle.position_values()
    view = puzzle.position().view(puzzle.position().turn or 0)
    for card in told.cards:
        line = visitor.post(f"/api/puzzles/{puzzle.id}/line", {"action": card.action})
        mine = int(re.match(r"(\d+)–", line["text"])[1])
        exact = moves_of(view)
        assert mine == view.counting_tricks[0] + next(
            tricks for each, tricks in exact.items() if int(each) == card.action
        )
        assert line["steps"][-1]["phase"] == "over"


def played(visitor: Visitor, **settings: Any) -> Seat:
    """A finished hand whose analysis is done."""
    seat = Seat(visitor, **settings)
    seat.play_on(min)
    while not visitor.get(f"/api/replays/{seat.id}/1/analysis")["ready"]:
        pass
    return seat


def test_mistakes_come_back_as_exercises_without_their_answers(
    service: Running, visitor: Visitor
) -> None:
    seat = played(visitor, rules="small-last", opponent="medium", seed=2)
    analysis = visitor.get(f"/api/replays/{seat.id}/1/analysis")
    own = [each for each in analysis["mistakes"] if each["who"] == 0]
    listed = visitor.get("/api/exercises")
    assert {each["decision"] for each in listed} == {each["n"] for each in own}
    assert own
    assert not any(cards_in(json.dumps({**each, "id": ""})) for each in listed)
    game = service.session(seat.id).game
    while game.actions:
        game.undo()
    actions = [step["action"] for step in visitor.get(f"/api/replays/{seat.id}/1")["steps"]]
    for each in listed:
        path = f"/api/exercises/{seat.id}/1/{each['decision']}"
        at = game.clone()
        for action in actions[: each["decision"]]:
            at.play(action)
        view = at.view(0)
        opened = view.endgame
        visitor.heard.clear()
        problem = visitor.get(path)
        hidden = set() if opened else {str(card) for card in view.unseen}
        body = visitor.heard[0].rpartition("\n")[2].replace(seat.id, "")
        assert not cards_in(body) & hidden
        best = analysis["decisions"][each["decision"]]["best"][0]
        assert best in problem["legal"]
        assert visitor.post(f"{path}/answer", {"action": best})["solved"]
    assert all(each["solved"] for each in visitor.get("/api/exercises"))
    told = visitor.get("/api/statistics")["accuracy"]
    assert told[0]["mistakes"] == len(own)
    other = service.visitor()
    assert other.ask("GET", f"/api/exercises/{seat.id}/1/0")[0] == 404
    assert visitor.ask("GET", f"/api/exercises/{seat.id}/1/999")[0] == 404


def test_the_same_hand_of_two_people_is_an_exercise_for_both(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        found = []
        for _ in range(2):
            visitor = server.visitor()
            played(visitor, rules="small-last", opponent="medium", seed=2)
            found.append([each["decision"] for each in visitor.get("/api/exercises")])
        assert found[0] == found[1] != []


# -- again, back, and claimed


def test_the_same_deal_from_the_other_seat_is_compared_and_not_rated(
    service: Running, visitor: Visitor
) -> None:
    first = Seat(visitor, rules="small-last", opponent="easy", seed=3)
    dealt, dealer = set(first.state["hand"]), first.state["dealer"]
    first.play_on(min)
    rated = len(visitor.get("/api/statistics")["play"])
    assert rated == 1
    again = Seat(visitor, opponent="easy", seed=3, again={"id": first.id, "hand": 1})
    assert first.state["result"]["compared"] == ""
    other = Seat(visitor, opponent="easy", again={"id": first.id, "hand": 1, "swapped": True})
    assert (again.state["dealer"], other.state["dealer"]) == (dealer, 1 - dealer)
    assert not dealt & {*other.state["hand"], *(each["card"] for each in other.state["trick"])}
    for seat in (again, other):
        assert not seat.state["rated"]
        seat.play_on(min)
    # The same cards against the same player, who draws on the same chance, end the same.
    assert again.state["tricks"] == first.state["tricks"]
    assert "as many tricks as" in again.state["result"]["compared"]
    assert "over both seats" in other.state["result"]["compared"]
    assert len(visitor.get("/api/statistics")["play"]) == rated
    stranger = service.visitor()
    body = {"opponent": "easy", "again": {"id": first.id, "hand": 1}}
    assert stranger.ask("POST", "/api/tables", body)[0] == 404


def test_a_deal_is_dealt_by_its_seed_and_number(tmp_path: Path) -> None:
    from german_whist import Game

    with running(tmp_path) as server:
        visitor = server.visitor()
        seat = Seat(visitor, rules="classic", opponent="easy", seed=7, number=5)
        game = Game("classic", 7, 5)
        assert seat.state["dealer"] == game.dealer
        while game.turn != 0:
            game.play(int(seat.state["move"] and _led(seat)))
        assert set(seat.state["hand"]) == {str(card) for card in game.hands[0]}
        status, told = visitor.ask("POST", "/api/tables", {"number": 5})
        assert (status, "deals of a seed" in told["error"]) == (400, True)


def _led(seat: Seat) -> int:
    from german_whist.engine.cards import card

    return int(card(seat.state["trick"][0]["card"]))


def test_a_card_is_taken_back_and_the_hand_is_not_rated(visitor: Visitor) -> None:
    seat = Seat(visitor, rules="small-last", opponent="easy", seed=3)
    assert visitor.ask("POST", f"{seat.path}/take-back", {})[0] == 422
    before = seat.state
    seat.play(seat.state["legal"][0])
    seat.take(visitor.post(f"{seat.path}/take-back"))
    for name in ("hand", "move", "trick", "legal", "upcards", "known_other"):
        assert seat.state[name] == before[name]
    assert not seat.state["rated"]
    seat.play_on(min)
    assert visitor.get("/api/statistics")["play"] == []
    assert visitor.ask("POST", f"{seat.path}/take-back", {})[0] == 422
    _, _, lines = visitor.raw("GET", "/api/statistics/export?form=jsonl")
    assert json.loads(lines)["meta"]["helped"]


def test_a_claim_is_checked_exactly_and_played_out(service: Running, visitor: Visitor) -> None:
    seat = Seat(visitor, rules="small-last", opponent="easy", seed=3)
    body = {"tricks": 7, "move": seat.state["move"]}
    assert "open endgame" in visitor.ask("POST", f"{seat.path}/claim", body)[1]["error"]
    while seat.state["stock_left"] or seat.state["turn"] != 0:
        seat.play(seat.state["legal"][0])
    view = service.session(seat.id).view(0)
    sure, mine = max(moves_of(view).values()), view.counting_tricks[0]
    if sure < len(view.hand):
        body = {"tricks": sure + 1, "move": seat.state["move"]}
        status, told = visitor.ask("POST", f"{seat.path}/claim", body)
        assert (status, "not yours for sure" in told["error"]) == (422, True)
        assert told["state"] == seat.state
    body = {"tricks": sure, "move": seat.state["move"]}
    seat.take(visitor.post(f"{seat.path}/claim", body))
    assert seat.state["phase"] == "over"
    assert seat.state["tricks"][0] == mine + sure


def test_the_first_hand_is_explained_and_counts_for_nothing(visitor: Visitor) -> None:
    seat = Seat(visitor, lesson=True)
    heard = []
    while seat.state["phase"] != "over":
        heard += seat.state["said"]["guide"]
        seat.play(seat.state["legal"][0])
    words = " ".join(heard)
    for part in ("upcard", "trumps", "Lose this trick on purpose", "The stock is gone"):
        assert part in words
    assert visitor.get("/api/statistics")["total"]["hands"] == 0
    assert visitor.get("/api/records") == []
