"""Puzzles have one right card, tell no hidden one, are graded, and rate their solver."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from serving import Client, RunningServer, TableClient
from test_hidden_cards import cards_in

from german_whist import Game, GameRecord, View, load_rules
from german_whist.agents.costs import exact_payoffs
from german_whist.cli import main
from german_whist.engine.cards import card, cards
from german_whist.engine.endgame import moves_of
from german_whist.engine.records import record_of
from german_whist.table.browser import finished_hands, serve_learning
from german_whist.table.commands import puzzles as command
from german_whist.table.rating import Rating
from german_whist.table.review import puzzles as puzzle_review
from german_whist.table.review.analysis import AnalysisSettings, AnalysisStopped, analyze
from german_whist.table.review.puzzles import (
    ENDGAME,
    FOREPLAY,
    Puzzle,
    all_puzzles,
    bundled_puzzles,
    confirm,
    fit_rating,
    make_puzzles,
    position_before,
    read_puzzles,
    regrade,
)
from german_whist.table.review.replay import make_replay
from german_whist.table.review.themes import ending_reason, theme_of
from german_whist.table.review.what_if import what_if
from support import random_hand

SMALL = load_rules("small-last")


ENDINGS, FOREPLAYS = (
    [puzzle for puzzle in bundled_puzzles() if puzzle.kind == kind] for kind in (ENDGAME, FOREPLAY)
)


def view_of(puzzle: Puzzle) -> View:
    return puzzle.position().view()


def test_bundled_puzzles_cover_kinds_and_ratings() -> None:
    puzzles = bundled_puzzles()
    assert len({puzzle.id for puzzle in puzzles}) == len(puzzles)
    assert len({(puzzle.kind, puzzle.deal) for puzzle in puzzles}) == len(puzzles)
    for kind, count, bands in ((ENDINGS, 200, 8), (FOREPLAYS, 60, 5)):
        ratings = [puzzle.rating for puzzle in kind]
        low, middle, high = quantiles(ratings, n=4)
        assert len(ratings) >= count
        assert low < 900
        assert high > 1150
        assert 650 < middle < 1150
        assert len({rating // 100 for rating in ratings}) >= bands


def test_puzzles_are_graded_by_todays_players_and_their_ladder() -> None:
    remedy = (
        "german-whist puzzles grade --out extensions/table/review/puzzles.jsonl grades them anew"
    )
    for puzzle in bundled_puzzles()[::15]:
        assert regrade(puzzle) == puzzle, remedy


def test_an_ending_has_one_card_that_wins_or_saves_the_hand() -> None:
    for puzzle in ENDINGS[::12]:
        view = view_of(puzzle)
        own, other = view.counting_tricks
        margins = {
            int(card): own + more - (other + len(view.hand) - more)
            for card, more in moves_of(view).items()
        }
        payoffs = {card: (margin > 0) - (margin < 0) for card, margin in margins.items()}
        best = max(payoffs.values())
        assert [
            card for card, pay in payoffs.items() if pay == best
        ] == puzzle.position_values().best
        assert min(payoffs.values()) < best


def test_foreplay_puzzle_has_one_best_card_beyond_the_interval() -> None:
    for puzzle in FOREPLAYS:
        values = puzzle.position_values()
        (best,) = values.best
        others = [card for card in values.cards if card.action != best]
        assert all(card.cost > 2 * card.cost_margin_of_error for card in others)
        assert len(others) >= 2


def test_puzzles_are_generated_from_a_seed() -> None:
    def generate(seed: int) -> list[Puzzle]:
        return list(make_puzzles(SMALL, seed, 2, 0))

    puzzles = generate(1)
    assert puzzles == generate(1) != generate(2)
    for puzzle in puzzles:
        assert puzzle.position().turn is not None
        assert read_puzzles(line_of(puzzle)) == [puzzle]


@pytest.mark.parametrize("planted", [False, True], ids=["its card", "another card"])
def test_foreplay_puzzle_stays_if_all_searches_find_its_card(planted: bool) -> None:
    clearest = max(FOREPLAYS, key=lambda puzzle: sorted(cost_of(puzzle))[1])
    values = clearest.values
    if planted:  # the values of its cards, each beside the next card
        rotated = [*values[1:], values[0]]
        values = [(card[0], *other[1:]) for card, other in zip(values, rotated, strict=True)]
    confirmed = confirm(replace(clearest, values=values))
    assert (confirmed is None) == planted
    if confirmed is not None:
        assert confirmed.position_values().best == clearest.position_values().best


def test_candidate_is_dropped_if_the_searches_find_another_card(monkeypatch) -> None:
    puzzle = FOREPLAYS[0]
    values = puzzle.position_values()
    monkeypatch.setattr(puzzle_review, "confirmed_values", lambda _: values)
    candidate = puzzle_review._Candidate(puzzle.position(), values, 1000.0)
    assert puzzle_review._confirm(candidate) == candidate
    other = msgspec.structs.replace(values, best=[values.cards[-1].action, *values.best])
    assert other.best[0] != values.best[0]
    assert puzzle_review._confirm(candidate._replace(values=other)) is None


def cost_of(puzzle: Puzzle) -> list[float]:
    return [card.cost for card in puzzle.position_values().cards]


def line_of(puzzle: Puzzle) -> bytes:
    return msgspec.json.encode(puzzle) + b"\n"


def test_the_command_adds_to_a_file_and_the_table_shows_it(tmp_path, whist) -> None:
    out = tmp_path / "puzzles.jsonl"
    words = ["puzzles", "make", "--rules", "small-last", "--endgames", "2", "--foreplay", "0"]
    assert "2 puzzles, 2 of them new" in whist(*words, "--out", out).out
    assert "4 puzzles, 2 of them new" in whist(*words, "--seed", "7", "--out", out).out
    puzzles = read_puzzles(out.read_bytes())
    assert set(all_puzzles(tmp_path)) == {puzzle.id for puzzle in (*bundled_puzzles(), *puzzles)}
    out.write_bytes(b"".join(line_of(replace(puzzle, rating=0.0)) for puzzle in puzzles))
    assert "4 puzzles graded, 0 removed" in whist("puzzles", "grade", "--out", out).out
    assert read_puzzles(out.read_bytes()) == puzzles
    out.write_text("nonsense\n")
    assert "no file of puzzles" in whist(*words, "--out", out, status=2).err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("race-7 --endgames 1", "has no endings whose exact values are known: give --endgames 0"),
        ("humbug --endgames 1", "are known and no tricks for a stock: name another rule set"),
        ("humbug --endgames 0", "are known and no tricks for a stock: name another rule set"),
    ],
)
def test_puzzles_that_a_rule_set_has_not_are_not_looked_for(
    words: str, sentence: str, tmp_path, whist
) -> None:
    out, options = tmp_path / "puzzles.jsonl", ["--foreplay", "1", "--rules", *words.split()]
    assert sentence in whist("puzzles", "make", "--out", out, *options, status=2).err
    assert not out.exists()


def test_puzzles_found_before_ctrl_c_are_written(tmp_path, monkeypatch) -> None:
    def interrupted(*_: Any) -> Iterator[Puzzle]:
        yield bundled_puzzles()[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "make_puzzles", interrupted)
    out = tmp_path / "puzzles.jsonl"
    assert main(["puzzles", "make", "--out", str(out)]) == 130
    assert read_puzzles(out.read_bytes()) == [bundled_puzzles()[0]]


def test_a_grade_is_where_the_players_do_as_well_as_they_did() -> None:
    hard = fit_rating([(500, 0.1, 12), (800, 0.1, 12), (1000, 0.3, 12)])
    easy = fit_rating([(500, 0.6, 12), (800, 0.9, 12), (1000, 1.0, 12)])
    assert easy < 800 < 1000 < hard
    assert Rating(1500, 50).after([], days=1000).deviation == pytest.approx(350)


# -- over HTTP


def answer(
    client: Client, puzzle: Puzzle, right: bool = True, wrong_at: int = -1
) -> dict[str, Any]:
    """The answer to the last card: right cards, with a wrong one at first or at a decision."""
    game, before = puzzle.position(), list[int]()
    seat, values = game.turn or 0, puzzle.position_values()
    costs = {card.action: card.cost for card in values.cards}
    while True:
        wrong = not right or len(before) == wrong_at
        action = next(card for card, cost in costs.items() if (cost > 0) == wrong)
        body = {"action": action, "before": before}
        result = client.post(f"/api/puzzles/{puzzle.id}/answer", body)
        if not result["steps"]:
            return result
        before.append(action)
        game.play(action)
        assert puzzle_review.play_to_decision(game, seat, game.play)
        assert result["steps"][-1]["legal"] == list(game.legal())
        payoffs = exact_payoffs(game.view()) or {}
        costs = {card: max(payoffs.values()) - pay for card, pay in payoffs.items()}
        assert max(costs.values()) > 0


def n_decisions(puzzle: Puzzle) -> int:
    best = puzzle.position_values().best[0]
    return len(puzzle_review._decisions(puzzle.kind, puzzle.position(), best))


def hidden_cards(view: View) -> set[str]:
    return set() if view.endgame and view.rules.open_endgame else set(map(str, view.unseen))


def test_puzzles_rate_their_solver_once_each_and_count_streaks(client: Client) -> None:
    first, second, third, *_ = bundled_puzzles()
    result = answer(client, first)
    assert result["solved"]
    assert result["change"] > 0
    assert answer(client, first, right=False)["change"] == 0
    assert answer(client, second)["streak"] == 2
    wrong = answer(client, third, right=False)
    assert not wrong["solved"]
    assert wrong["change"] < 0
    stats = client.get("/api/puzzles")
    assert (stats["tried"], stats["solved"], stats["streak"], stats["best_streak"]) == (3, 2, 0, 2)
    assert stats["puzzles"] == len(bundled_puzzles())
    assert client.get("/api/puzzles/next")["id"] not in {first.id, second.id, third.id}
    assert client.request("GET", "/api/puzzles/nothing")[0] == 404
    legal = client.get(f"/api/puzzles/{first.id}")["legal"]
    illegal = next(card for card in range(52) if card not in legal)
    assert client.request("POST", f"/api/puzzles/{first.id}/answer", {"action": illegal})[0] == 422
    day = "/api/puzzles/next?kind=day"
    assert client.get(day)["id"] == client.get(day)["id"]


def test_puzzle_left_after_right_cards_counts_as_failed(client: Client) -> None:
    first, second = sorted(ENDINGS[:60], key=n_decisions)[-2:]
    card = {"action": first.position_values().best[0]}
    for _ in range(2):  # a page that is opened again begins anew
        assert client.post(f"/api/puzzles/{first.id}/answer", card)["steps"]
        client.get(f"/api/puzzles/{first.id}")
    illegal = next(action for action in range(52) if action not in first.position().legal())
    refused = {"action": illegal, "before": [illegal]}
    assert client.request("POST", f"/api/puzzles/{first.id}/answer", refused)[0] == 422
    assert answer(client, second)["solved"]
    stats = client.get("/api/puzzles")
    assert [(each["id"], each["solved"]) for each in stats["history"]] == [
        (second.id, True),
        (first.id, False),
    ]


@pytest.mark.parametrize("path", ["", "/next?kind=day"])
def test_puzzle_under_way_is_not_failed_by_pages_that_open(
    path: str, client: Client, monkeypatch
) -> None:
    puzzle = max(ENDINGS[:60], key=n_decisions)
    monkeypatch.setattr(serve_learning, "all_puzzles", lambda folder: {puzzle.id: puzzle})
    card = {"action": puzzle.position_values().best[0]}
    assert client.post(f"/api/puzzles/{puzzle.id}/answer", card)["steps"]
    client.get(f"/api/puzzles{path}")
    assert answer(client, puzzle)["change"] > 0


def test_a_puzzle_of_several_cards_is_solved_by_all_of_them(client: Client) -> None:
    longest = sorted(ENDINGS[:60], key=n_decisions)[-4:]
    assert n_decisions(longest[0]) > 3
    for puzzle in longest[:2]:
        assert answer(client, puzzle)["change"] > 0
    result = answer(client, longest[2], wrong_at=2)
    assert not result["solved"]
    assert result["change"] < 0
    stats = client.get("/api/puzzles")
    assert [(each["id"], each["solved"]) for each in stats["history"]] == [
        (puzzle.id, solved)
        for puzzle, solved in zip(longest[2::-1], (False, True, True), strict=True)
    ]
    puzzle = longest[3]
    costly = next(card.action for card in puzzle.position_values().cards if card.cost)
    body = {"action": costly, "before": [costly]}
    assert client.request("POST", f"/api/puzzles/{puzzle.id}/line", body)[0] == 409
    assert client.request("POST", f"/api/puzzles/{puzzle.id}/answer", body)[0] == 404
    assert answer(client, puzzle)["change"] == 0
    latest = client.get("/api/puzzles")["history"][0]
    assert (latest["id"], latest["solved"]) == (puzzle.id, False)
    theme, n = next(iter(stats["themes"].items()))
    assert n == sum(puzzle.theme == theme for puzzle in ENDINGS)
    found = client.get(f"/api/puzzles/next?kind={theme}")["id"]
    assert all_puzzles(Path())[found].theme == theme


def test_the_reason_of_an_ending_is_true_of_its_trick() -> None:
    wins, loses = ("cash", "draw", "take", "ruff"), ("duck", "discard", "spare")
    for puzzle in ENDINGS:
        game = puzzle.position()
        (best,) = puzzle.position_values().best
        view, seat = game.view(), game.turn
        game.play(best)
        replies = cards(game.legal()) if view.led is None else []
        ends = [game.clone() for _ in replies or [best]]
        for end, reply in zip(ends, replies, strict=False):
            end.play(int(reply))
        won = {int(end.array["leader"][0]) == seat for end in ends}
        assert theme_of(view, best) == puzzle.theme
        assert won == {True} or puzzle.theme not in wins
        assert won == {False} or puzzle.theme not in loses
        assert False in won or puzzle.theme != "exit"
        suits = {reply.suit for reply in replies}
        assert suits == {view.trump} or puzzle.theme != "draw"
        assert card(best).suit not in suits or puzzle.theme != "force"
        n = moves_of(view)[card(best)]
        assert f"you win {n} of the {len(view.hand)} trick" in ending_reason(view, best, best)


def test_puzzle_names_no_hidden_card(client: Client) -> None:
    for puzzle in [*bundled_puzzles()[::40], *FOREPLAYS][:24]:
        hidden = hidden_cards(view_of(puzzle))
        client.received.clear()
        problem = client.get(f"/api/puzzles/{puzzle.id}")
        answer(client, puzzle)
        assert (problem["other_hand"] is None) == bool(hidden)
        for message in client.received:
            body = message.rpartition("\n")[2].replace(puzzle.id, "")
            assert not cards_in(body) & hidden
        assert not {"best", "values"} & set(problem)
        body = {"action": puzzle.position_values().best[0]}
        status, _ = client.request("POST", f"/api/puzzles/{puzzle.id}/line", body)
        assert (status == 200) == (not hidden)


def test_a_card_is_played_out_against_perfect_defence(client: Client) -> None:
    puzzle, view = ENDINGS[0], view_of(ENDINGS[0])
    answer(client, puzzle)
    for action, tricks in moves_of(view).items():
        line = client.post(f"/api/puzzles/{puzzle.id}/line", {"action": int(action)})
        assert line["text"].startswith(f"{view.counting_tricks[0] + tricks}–")
        assert line["steps"][-1]["phase"] == "over"


def play_and_analyze(client: Client) -> tuple[TableClient, dict[str, Any]]:
    """A finished hand with mistakes, and its analysis."""
    table = TableClient(client, rules="small-last", opponent="medium", seed=2)
    table.finish_hand()
    return table, client.analysis(f"/api/replays/{table.id}/1")


def test_mistakes_come_back_as_exercises_without_their_answers(
    server: RunningServer, client: Client
) -> None:
    table, analysis = play_and_analyze(client)
    own = [mistake["n"] for mistake in analysis["mistakes"] if mistake["who"] == 0]
    exercises = client.get("/api/exercises")
    assert {exercise["decision"] for exercise in exercises} == set(own) != set()
    assert not any(cards_in(json.dumps({**exercise, "id": ""})) for exercise in exercises)
    record = server.store.hands.get(table.id, 1)
    assert record is not None
    for exercise in exercises:
        n = exercise["decision"]
        path = f"/api/exercises/{table.id}/1/{n}"
        view = position_before(GameRecord.from_line(record.record), n).view(0)
        client.received.clear()
        problem = client.get(path)
        body = client.received[0].rpartition("\n")[2].replace(table.id, "")
        assert not cards_in(body) & hidden_cards(view)
        best = analysis["decisions"][n]["best"][0]
        assert best in problem["legal"]
        assert client.post(f"{path}/answer", {"action": best})["solved"]
    assert all(exercise["solved"] for exercise in client.get("/api/exercises"))
    assert client.get("/api/statistics")["accuracy"][0]["mistakes"] == len(own)
    # What a later analysis does not call a mistake is no exercise.
    later = replace(analyze(GameRecord.from_line(record.record)), mistakes=[])
    server.store.progress.store_analysis(table.id, 1, later)
    assert client.get("/api/exercises") == []
    assert client.request("GET", f"/api/exercises/{table.id}/1/999")[0] == 404
    # The same deal, played alike once more, is analyzed once, and is an exercise of its own.
    again, _ = play_and_analyze(client)
    exercises = client.get("/api/exercises")
    assert {(each["id"], each["decision"]) for each in exercises} == {(again.id, n) for n in own}


def test_ending_names_what_its_best_card_does(
    client: Client,
) -> None:
    for puzzle in ENDINGS[:60:12]:
        values = puzzle.position_values()
        best = max(card.value or 0.0 for card in values.cards)
        questions = {100.0: "One card wins the hand", 50.0: "One card saves a tie"}
        path = f"/api/puzzles/{puzzle.id}"
        assert questions.get(best, "Which card saves the most") in client.get(path)["question"]
        answer = client.post(f"{path}/answer", {"action": values.best[0]})
        assert answer["verdict"] == "Right: the only good card."


# -- again, back, and claimed


def test_another_card_changes_a_hand_from_there(client: Client) -> None:
    table = TableClient(client, opponent="threshold", seed=8)
    table.finish_hand()
    played = client.get(f"/api/replays/{table.id}/1")
    step = next(each for each in played["steps"][8:] if len(each["legal"]) > 1)
    n, other = step["n"], next(card for card in step["legal"] if card != step["action"])
    name = f"{table.id}~{n}.{other}"
    line = client.get(f"/api/replays/{name}/1")
    assert line["steps"][:n] == played["steps"][:n]
    assert line["steps"][n] | {"text": "", "won": None, "drew": []} == step | {
        "action": other,
        "card": line["steps"][n]["card"],
        "text": "",
        "won": None,
        "drew": [],
    }
    assert "Champion plays on for both" in line["note"]
    assert played["note"] == ""
    later = next(each for each in line["steps"][n + 1 :] if len(each["legal"]) > 1)
    twice = client.get(f"/api/replays/{name}~{later['n']}.{later['legal'][-1]}/1")
    assert twice["steps"][n]["action"] == other
    assert twice["note"].startswith(line["note"])
    assert twice["note"].count("Champion plays on for both") == 2
    assert twice["steps"][later["n"]]["action"] == later["legal"][-1]
    for wrong in (f"{n}.52", f"{len(played['steps'])}.0"):
        assert client.request("GET", f"/api/replays/{table.id}~{wrong}/1")[0] == 422
    for wrong in ("", "1", "a.b", "1.2" * 9):
        assert client.request("GET", f"/api/replays/{table.id}~{wrong}/1")[0] == 404


@pytest.mark.parametrize(
    ("rules", "n", "action"),
    [
        ("open-stock", 0, "leads A♠"),
        ("open-stock", 2, "takes 5♣"),
        ("humbug", 0, "takes the blind"),
    ],
)
def test_a_changed_hand_says_what_was_done(rules: str, n: int, action: str) -> None:
    game = Game(rules, seed=1)
    while not game.over:
        game.play(game.view().legal()[0])
    record = record_of(game)
    line = what_if(record.to_line(), n, position_before(record, n).view().legal()[-1])
    assert action in GameRecord.from_line(line).meta["note"]


def test_what_an_agent_plays_on_is_no_mistake_of_the_person() -> None:
    record = random_hand("small-last", 3, players=["you", "easy"])
    n = next(k for k in range(4, 20) if len(position_before(record, k).view().legal()) > 1)
    legal = position_before(record, n).view().legal()
    other = next(action for action in legal if action != record.actions[n])
    changed = GameRecord.from_line(what_if(record.to_line(), n, int(other)))
    analysis = analyze(changed, AnalysisSettings(search="flat-mc:12,voids,playout=counting"))
    assert all(mistake.n <= n for mistake in analysis.mistakes)
    steps = make_replay(changed).steps
    assert all(" for " in step.prompt for step in steps[n + 1 :])
    assert not any(" for " in step.prompt for step in steps[: n + 1])


@pytest.mark.parametrize(("seconds", "runs"), [(75, 1), (600, 2)])
def test_analysis_of_a_changed_hand_ends_when_nobody_waits(
    seconds: int, runs: int, client: Client, monkeypatch
) -> None:
    waiting, ended, starts = threading.Event(), threading.Event(), list[GameRecord]()

    def late(record: GameRecord, **options: Any) -> Any:
        starts.append(record)
        waiting.wait(20)
        try:
            return analyze(record, **options)
        finally:
            ended.set()

    clock = SimpleNamespace(monotonic=lambda: seconds * waiting.is_set())
    monkeypatch.setattr(finished_hands, "time", clock)
    monkeypatch.setattr(finished_hands, "analyze", late)
    _, changed = changed_hand(client, seed=seconds)
    assert not client.get(f"{changed}/analysis")["ready"]
    waiting.set()
    assert ended.wait(60)
    assert client.analysis(changed)["decisions"]
    assert len(starts) == runs


def test_stopped_analysis_leaves_a_later_one_of_the_hand(client: Client, monkeypatch) -> None:
    waiting, starts = threading.Event(), list[GameRecord]()

    def late(record: GameRecord, **options: Any) -> Any:
        starts.append(record)
        waiting.wait(20)
        if len(starts) == 1:
            raise AnalysisStopped
        return analyze(record, **options)

    monkeypatch.setattr(finished_hands, "analyze", late)
    monkeypatch.setattr(finished_hands, "_MAX_ANALYSES", 1)
    path, changed = changed_hand(client, seed=12)
    for hand in (changed, path, changed):  # only the last is kept
        client.get(f"{hand}/analysis")
    waiting.set()
    client.analysis(changed)
    assert len(starts) == 3


def changed_hand(client: Client, seed: int) -> tuple[str, str]:
    """The paths of a finished hand, and of that hand with another card."""
    table = TableClient(client, opponent="random", rules="quick", seed=seed)
    table.finish_hand()
    steps = client.get(f"/api/replays/{table.id}/1")["steps"]
    step = next(each for each in steps if len(each["legal"]) > 1)
    other = next(action for action in step["legal"] if action != step["action"])
    return f"/api/replays/{table.id}/1", f"/api/replays/{table.id}~{step['n']}.{other}/1"


@pytest.mark.parametrize("seat", [0, 1])
def test_hand_played_on_from_a_decision_counts_nowhere(client: Client, seat: int) -> None:
    table = TableClient(client, rules="small-last", opponent="random", seed=9)
    table.finish_hand()
    played = client.get(f"/api/replays/{table.id}/1")
    at = next(step for step in played["steps"][9:] if step["who"] == seat)
    before = client.get("/api/statistics")
    again = {"id": table.id, "hand": 1, "swapped": seat == 1, "decision": at["n"]}
    on = TableClient(client, opponent="threshold", replayed_from=again)
    assert sorted(on.state["hand"]) == sorted(at["before"]["hands"][seat])
    assert (on.state["rated"], on.state["turn"], on.state["legal"]) == (False, 0, at["legal"])
    assert client.request("POST", f"{on.path}/take-back")[0] == 422
    on.play(at["legal"][-1])
    on.take(client.post(f"{on.path}/take-back"))
    assert on.state["legal"] == at["legal"]
    on.finish_hand()
    replay = client.get(f"/api/replays/{on.id}/1")
    assert [step["action"] for step in replay["steps"][: at["n"]]] == [
        step["action"] for step in played["steps"][: at["n"]]
    ]
    (note,) = on.state["result"]["notes"]
    assert note.startswith(("The same cards again: ", "With these cards Threshold took ")[seat])
    assert f"The first {at['n']} decisions are those of an earlier hand" in replay["note"]
    client.analysis(f"/api/replays/{on.id}/1")
    assert client.get("/api/statistics") == before
    lines = client.request("GET", "/api/statistics/export")[1].splitlines()
    assert [line.rpartition(",")[2] for line in lines] == ["played_on", "False", "True"]
    again["decision"] = len(played["steps"])
    assert client.request("POST", "/api/tables", {"replayed_from": again})[0] == 400


def test_same_deal_from_other_seat_is_compared_and_not_rated(client: Client) -> None:
    first = TableClient(client, rules="classic", opponent="threshold")
    hand, dealer = set(first.state["hand"]), first.state["dealer"]
    first.play_on(min)
    assert len(client.get("/api/statistics")["play"]) == 1
    again = TableClient(client, opponent="threshold", replayed_from={"id": first.id, "hand": 1})
    (note,) = first.state["result"]["notes"]
    rating = client.get("/api/statistics")["play"][0]["rating"]
    assert note == f"Your rating: about {rating:.0f}, provisional after 1 hand of 10"
    other = TableClient(
        client, opponent="threshold", replayed_from={"id": first.id, "hand": 1, "swapped": True}
    )
    assert (again.state["dealer"], other.state["dealer"]) == (dealer, 1 - dealer)
    assert not hand & set(other.state["hand"])  # the opponent may have led one of these cards
    for table in (again, other):
        assert not table.state["rated"]
        table.play_on(min)
    # Neither draws at random, so the hand ends the same.
    assert again.state["tricks"] == first.state["tricks"]
    assert "as many as before" in again.state["result"]["notes"][0]
    assert "over both seats" in other.state["result"]["notes"][0]
    assert len(client.get("/api/statistics")["play"]) == 1
    body = {"opponent": "threshold", "replayed_from": {"id": "nothing", "hand": 1}}
    assert client.request("POST", "/api/tables", body)[0] == 404


def test_a_deal_is_dealt_by_its_seed_and_number(client: Client) -> None:
    table = TableClient(client, rules="classic", opponent="easy", seed=7, number=5)
    game = Game("classic", 7, 5)
    assert table.state["dealer"] == game.dealer
    if table.state["move"]:
        game.play(int(card(table.state["trick"][0]["card"])))
    assert set(table.state["hand"]) == set(map(str, game.hands[0]))
    assert not table.state["rated"]  # its cards may be known: the hand may be a repeat
    table.play_on(min)
    assert client.get("/api/statistics")["play"] == []
    status, refusal = client.request("POST", "/api/tables", {"number": 5})
    assert (status, "deals of a seed" in refusal["error"]) == (400, True)


def test_a_card_is_taken_back_and_the_hand_is_not_rated(client: Client) -> None:
    table = TableClient(client, rules="classic", opponent="easy")
    assert client.request("POST", f"{table.path}/take-back", {})[0] == 422
    before = table.state
    table.play(table.state["legal"][0])
    table.take(client.post(f"{table.path}/take-back"))
    for name in ("hand", "move", "trick", "legal", "upcards", "known_other"):
        assert table.state[name] == before[name]
    assert not table.state["rated"]
    table.play_on(min)
    given_up = TableClient(client, rules="classic", opponent="easy")
    given_up.play(given_up.state["legal"][0])
    client.post(f"{given_up.path}/take-back")
    client.post(f"{given_up.path}/leave")
    assert client.get("/api/statistics")["play"] == []
    assert client.request("POST", f"{table.path}/take-back", {})[0] == 422
    _, _, lines = client.raw("GET", "/api/statistics/export?form=jsonl")
    assert json.loads(lines)["meta"]["helped"]


@pytest.mark.parametrize("refused", [False, True])
def test_one_claim_is_checked_exactly_and_played_out(
    refused: bool, server: RunningServer, client: Client
) -> None:
    table = TableClient(client, rules="classic", opponent="easy")

    def claim(tricks: int) -> tuple[int, Any]:
        body = {"tricks": tricks, "move": table.state["move"]}
        return client.request("POST", f"{table.path}/claim", body)

    assert "open endgame" in claim(7)[1]["error"]
    while table.state["stock_left"] or table.state["turn"] != 0:
        table.play(table.state["legal"][0])
    assert table.state["rated"]
    view = server.session(table.id).view(0)
    value, own = max(moves_of(view).values()), view.counting_tricks[0]
    if refused:
        status, refusal = claim(len(view.hand) + 1)
        assert (status, "not yours for sure" in refusal["error"]) == (422, True)
        changed = {"rated": False, "claim_refused": True, "n": table.state["n"] + 1}
        assert refusal["state"] == {**table.state, **changed}
        # Further refusals would tell how many tricks are sure.
        assert "refused in this hand already" in claim(value)[1]["error"]
        assert server.session(table.id).claim_refused
        table.take(client.get(table.path))
        table.finish_hand()
    else:
        table.take(claim(value)[1])
        assert table.state["tricks"][0] == own + value
    assert table.state["phase"] == "over"
    assert len(client.get("/api/statistics")["play"]) == (not refused)
