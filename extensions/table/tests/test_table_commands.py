"""The commands of the table keep to what every command does."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from command_output import (
    finishes_without_a_reader,
    gets_one_sentence,
    lines_of,
    prints_everything,
    write_files,
)

from german_whist.cli import main
from german_whist.engine.records import write_records
from german_whist.table.commands import GROUPS
from support import random_hand

WRONG_ARGUMENTS = {
    "table": ("--port -1", "--port 70000", "--port x", "missing", "--port 0 --data file"),
    "play": (
        "human",
        "--watch human",
        "--match 0",
        "--match x",
        "--best-of 2",
        "--match 3 --best-of 3",
        "--seed -1",
        f"--seed {2**64}",
        "--export x.txt",
        "--export ''",
        "--export file/x.csv",
        "--data file",
        "--watch missing",
        "''",
        "missing",
        "--rules ''",
        "--rules missing.yaml",
    ),
    "replay": (
        "",
        "missing",
        "folder",
        "empty",
        "''",
        "file --hand x",
        "file --list --analyze",
        "file --search x",
        "file --network x",
        "file --hand 1 --list",
        *(f"file --html {path}" for path in ("/", "folder", "''", "file/x")),
    ),
    "puzzles": (
        "",
        "x",
        "grade --out nofile.jsonl",
        "make --endgames 0 --foreplay 0",
        "make --seed -1",
        "make --endgames -1",
        "make --foreplay x",
        "make --rules x",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    write_files(folder, {"file": "text", "empty": ""})
    return folder


@pytest.mark.parametrize("line", lines_of(WRONG_ARGUMENTS))
def test_wrong_arguments_get_one_sentence(
    line: str, folder: Path, monkeypatch: Any, capsys: Any
) -> None:
    gets_one_sentence(line, folder, monkeypatch, capsys)


def test_misspelt_seat_gets_a_suggestion(whist: Any) -> None:
    error = whist("replay", "x", "--seat", "bth", status=2).err
    assert "--seat: 'bth' is not known; did you mean 'both'?" in error


def test_every_command_is_listed_and_has_help(whist: Any) -> None:
    listed = whist("--help").out
    for name, about in (row for group in GROUPS.values() for row in group.items()):
        assert f"  {name:<{len('expert-iteration')}}  {about}" in listed
        assert "--debug" in whist(name, "--help").out


def test_analysis_refuses_unknown_networks_before_its_search_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "evaluate random --against threshold --hands 2 --records hands.jsonl"
    assert main(words.split()) == 0
    words = "replay hands.jsonl --search test_refused_early:Made --network nosuch"
    assert main(words.split()) == 2
    assert "'nosuch' is not an agent" in capsys.readouterr().err


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_records(tmp_path / "hands.jsonl", [random_hand()])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("sys.stdin", io.StringIO("hint\nquit\n"))
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="closes streams as a shell does")
@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("replay hands.jsonl", ""),
        ("replay hands.jsonl --html hand.html", "hand.html"),
        ("analyze hands.jsonl --search flat-mc:2 --json costs.json", "costs.json"),
        ("play random --plain --seed 1", "data/table.sqlite3"),
    ],
)
def test_commands_finish_without_a_reader(words: str, left: str, files: Path) -> None:
    finishes_without_a_reader(words, files / left)


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("replay hands.jsonl", "ascii"),
        ("replay hands.jsonl", "cp1252"),
        ("replay hands.jsonl --list", "ascii"),
        ("play random --plain --seed 1", "ascii"),
        ("analyze hands.jsonl --search flat-mc:2", "ascii"),
    ],
)
@pytest.mark.usefixtures("files")
def test_every_encoding_prints_all_of_a_command(words: str, encoding: str) -> None:
    prints_everything(words, encoding)


def test_page_of_a_replay_is_no_file_of_records(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "evaluate random --against threshold --hands 2 --records hands.jsonl"
    assert main(words.split()) == 0
    before = (tmp_path / "hands.jsonl").read_bytes()
    for options in ("--notable random", "--hand 1"):
        assert main(f"replay hands.jsonl {options} --html ./hands.jsonl".split()) == 2
        assert "holds the records: give --html a file of its own" in capsys.readouterr().err
    assert (tmp_path / "hands.jsonl").read_bytes() == before
