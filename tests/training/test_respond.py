"""What beats a fixed player: found from below, kept as it goes, never more than the exact value."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from german_whist.agents import make_agent
from german_whist.cli import main
from german_whist.common.signals import RunStopped
from german_whist.engine.rules import load_rules
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.training.experiments.best_response import (
    PAGE,
    PLAN,
    RESULT,
    TRAINED,
    BestResponse,
    BestResponsePlan,
    training_settings,
)
from german_whist.training.runs.store import begun

DECK = "2x4-h2"
WORDS = ("best-response", "random-exact", "--rules", DECK, "--worlds", "16",
         "--decisions", "15_000", "--hands", "1000", "--seed", "5")  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("respond")
    assert main([*WORDS, "--out", str(folder)]) == 0
    return folder


def test_the_better_of_both_wins_much_of_what_can_be_won_and_no_more(folder: Path) -> None:
    result = msgspec.json.decode((folder / RESULT).read_bytes(), type=BestResponse)
    exact = measure_exploitability(make_agent("random-exact", DECK), DECK).exploitability
    assert {*result.matches} == {"search", TRAINED}
    for match in (*result.matches.values(), result.best):
        assert match.points < exact + 1.5 * match.points_half_width
    assert result.best.points > 0.6 * exact
    assert result.matches[TRAINED].points > 0.3 * exact
    assert result.best.player == max(result.matches.values(), key=lambda match: match.points).player
    seeds = {match.seed for match in (*result.matches.values(), result.best)}
    assert len(seeds) == 3, "what was chosen by some hands is measured by others"
    assert 5 not in seeds, "the network was trained on these deals"
    assert len(result.evaluations) >= 5
    players = result.best.player, "random-exact"
    assert result.best.details == tuple(f"{each}: endgame: exact solver" for each in players)
    page = (folder / "best_response.html").read_text(encoding="utf-8")
    assert all(detail in page for detail in result.best.details)


def test_it_goes_on_where_it_was_and_plays_nothing_twice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / RESULT).read_bytes()
    (folder / "parts" / "best").unlink()
    assert main([*WORDS, "--out", str(folder)]) == 0
    after = msgspec.json.decode((folder / RESULT).read_bytes(), type=BestResponse)
    assert msgspec.json.decode(before, type=BestResponse).matches == after.matches
    output = capsys.readouterr().out
    assert re.search(rf"wins at least \d+\.\d % of hands against random-exact in {DECK}", output)
    assert "the network while it was trained" in (folder / PAGE).read_text()


def test_lower_bound_of_four_hands_is_far_below_a_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["best-response", "random-exact", "--rules", DECK, "--worlds", "4", "--seed", "5"]
    words += ["--decisions", "0", "--hands", "4", "--out", str(tmp_path)]
    for _ in range(2):  # the second reads what the first stored
        assert main(words) == 0
        found = re.search(r"wins at least (\d+\.\d) %", capsys.readouterr().out)
        assert found
        assert float(found[1]) < 40


def test_a_training_that_was_stopped_says_that_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise RunStopped("by SIGTERM", 143)

    monkeypatch.setattr("german_whist.training.experiments.best_response.train_or_go_on", stopped)
    assert main([*WORDS, "--out", str(tmp_path / "answer")]) == 143
    output = capsys.readouterr()
    message = f"the results so far are in {tmp_path / 'answer'}; the same command goes on"
    assert message in output.out
    assert "fault of the program" not in output.err


def test_what_is_no_training_is_not_cleared_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / TRAINED / "mine.txt"
    file.parent.mkdir()
    file.write_text("not to be lost")
    assert main([*WORDS, "--out", str(tmp_path)]) == 2
    assert f"{file.parent} is not empty" in capsys.readouterr().err
    assert file.read_text() == "not to be lost"


@pytest.mark.parametrize("left", ["settings.yaml", ".settings.yaml.7-0a1b2c3d"])
def test_what_a_run_left_that_saved_nothing_is_cleared_away(tmp_path: Path, left: str) -> None:
    run = tmp_path / "run"
    assert not begun(run)
    run.mkdir()
    (run / left).touch()
    assert not begun(run)
    assert not run.exists()


def test_another_plan_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / PLAN).read_bytes()
    assert main([*WORDS[:-1], "6", "--out", str(folder)]) == 2
    error = capsys.readouterr().err
    assert "was begun with seed 5, and now it is 6: name another folder by --out" in error
    assert (folder / PLAN).read_bytes() == before


def test_the_training_meets_nobody_else_and_begins_as_the_champion() -> None:
    rules = load_rules("classic")
    plan = BestResponsePlan(
        agent="counting", rules=rules.as_mapping(), model="counting", worlds=8, decisions=800,
        hands=20, seed=1,
    )  # fmt: skip
    settings = training_settings(plan, rules).as_mapping()
    told = settings["opponents"], settings["pool_fraction"], settings["pool_size"]
    assert (*told, settings["init"]) == (["counting"], 1, 0, "champion")
    assert training_settings(plan, load_rules(DECK)).as_mapping()["init"] == ""


def test_where_nobody_answers_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["best-response", "random", "--rules", "race-9", "--decisions", "0"]
    assert main([*words, "--out", str(tmp_path)]) == 2
    assert "give --decisions" in capsys.readouterr().err
    # Nor is a network trained in the place of a search whose model was misspelt.
    words = ["best-response", "threshold", "--model", "thresh"]
    assert main([*words, "--out", str(tmp_path / "new")]) == 2
    message = "--model: 'thresh' has no opponent model; did you mean 'threshold'?\n"
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
