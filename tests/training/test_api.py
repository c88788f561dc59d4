"""The Python API of the commands, and its results as JSON and as tables."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

import german_whist
from german_whist.common.settings import SettingsError
from german_whist.evaluation.reports.text import as_csv
from german_whist.training.presets import load_settings

SMALL = {
    "n_envs": 64,
    "hidden_sizes": [8],
    "threads": 1,
    "decisions": 1000,
    "batch_size": 128,
    "eval_hands": 20,
    "final_eval_hands": 40,
    "eval_every": 10**6,
}


def test_arena_results_are_pandas_frames(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pandas = pytest.importorskip("pandas")
    found = german_whist.evaluate("threshold", ["random", "random-exact"], hands=40, seed=1)
    frame = found.frame()
    assert isinstance(frame, pandas.DataFrame)
    lines = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert list(frame.columns) == list(lines[0])
    assert list(frame.opponent) == ["random", "random-exact"]
    assert list(frame.win_rate) == [float(each["win_rate"]) for each in lines]
    assert json.dumps(found.to_json())
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="frames need pandas, which is not installed"):
        found.frame()


def test_train_and_train_on_return_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    trained = german_whist.train("tiny", quiet=True, **SMALL)
    assert "\nendgame: own policy\n" in trained.text()
    assert trained.folder == Path("runs", "tiny-1")
    assert trained.decisions == int(trained.checkpoint.stem) >= 1000
    assert capsys.readouterr().out == ""
    assert "measured" not in (trained.folder / "log.txt").read_text().splitlines()[0]
    expected = json.loads(json.dumps(trained.to_json()))
    assert expected["checkpoint"] == str(trained.checkpoint)
    assert expected["evaluations"][-1]["opponent"] == "random"
    pytest.importorskip("pandas")
    assert list(trained.frame().decisions) == [row["decisions"] for row in trained.rows]
    on = german_whist.resume(trained.folder, quiet=True, decisions=2000)
    assert on.decisions >= 2000
    assert len(on.rows) > len(trained.rows)
    agent = german_whist.load_agent(on.checkpoint)
    assert agent.rules.name == "tiny"
    ready = load_settings("tiny", ["hidden_sizes=8", "decisions=500"])
    again = german_whist.train(ready, folder="mine", quiet=True, **{**SMALL, "decisions": 600})
    assert again.folder == Path("mine")
    assert again.decisions >= 600
    with pytest.raises(SettingsError, match="did you mean 'ent_coef'"):
        german_whist.train("tiny", ent_ceof=0.1)
    with pytest.raises(ValueError, match="is not empty: go on with --resume"):
        german_whist.train("tiny", folder="mine")


def test_torchrun_restart_finds_its_run_by_rules_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deck.yaml").write_text("name: deck\nsuits: 2\nranks: 4\nhand: 2\n")
    preset = {
        "trainer": "mccfr",
        "rules": str(tmp_path / "deck.yaml"),
        "decisions": 200,
        "eval_opponents": (),
        "final_eval_hands": 2,
    }
    first = german_whist.train(preset, folder=tmp_path / "run", quiet=True)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one")
    assert german_whist.train(preset, folder=tmp_path / "run", quiet=True).rows == first.rows
    with pytest.raises(ValueError, match="is not empty"):
        german_whist.train({**preset, "decisions": 300}, folder=tmp_path / "run", quiet=True)
