"""A run of the arena goes on from its file as if nothing had stopped it."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from own_network import NETWORK, settings_of_own_network

from german_whist import train
from german_whist.cli import main
from german_whist.common import plugins
from german_whist.common.trust import trusting
from german_whist.evaluation import ladder
from german_whist.evaluation.chunk_player import Chunk, ChunkPlayer, Task
from support import KEY, reproducible

PLAYERS = ["threshold", "random-exact", "arena_players:Boaster"]
OPTIONS: dict[str, Any] = {"rules": "2x5-h3", "hands": 600, "seed": 3, "key": KEY}


class Stopping:
    """Counts the chunks that are played, and stops before one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.played = 0
        self.before: int | None = None
        play = ChunkPlayer.play

        def counted(player: ChunkPlayer, task: Task) -> Chunk:
            if self.played == self.before:
                self.before = None
                os.kill(os.getpid(), signal.SIGINT)
            self.played += 1
            return play(player, task)

        monkeypatch.setattr(ChunkPlayer, "play", counted)


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Stopping:
    return Stopping(monkeypatch)


def test_a_ladder_goes_on_from_its_file(tmp_path: Path, stopping: Stopping) -> None:
    """With records, ratings, and a player that is caught and whose pairings begin anew."""
    records: list[str] = []
    whole = ladder(PLAYERS, **OPTIONS, records=records.append)
    in_all, stopping.played, stopping.before = stopping.played, 0, 20
    path = tmp_path / "ladder.jsonl"
    first = ladder(PLAYERS, **OPTIONS, records=lambda _: None, resume=path)
    assert not first.complete
    # Its process died in the middle of a line.
    lines = path.read_bytes().splitlines()
    assert len(lines) == 21
    path.write_bytes(b"\n".join(lines)[:-7])
    again: list[str] = []
    second = ladder(PLAYERS, **OPTIONS, records=again.append, resume=path)
    assert reproducible(second) == reproducible(whole)
    assert again == records
    assert stopping.played == in_all + 1
    # A run that is over is told again without being played.
    third = ladder(PLAYERS, **OPTIONS, records=lambda _: None, resume=path)
    assert reproducible(third) == reproducible(whole)
    assert stopping.played == in_all + 1


def test_file_with_broken_lines_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ladder.jsonl"
    ladder(PLAYERS[:2], **OPTIONS, resume=path)
    whole = path.read_bytes()
    first, line, *_ = whole.splitlines()
    short = json.loads(line)
    short["chunk"]["scores"].pop()
    refusal = "ladder.jsonl is no file that a run goes on from"
    for broken in (b"\xff", line + b"\xff", json.dumps(short).encode(), b"[]"):
        path.write_bytes(first + b"\n" + broken + b"\n")
        with pytest.raises(ValueError, match=refusal):
            ladder(PLAYERS[:2], **OPTIONS, resume=path)
        assert path.read_bytes() == first + b"\n" + broken + b"\n"
    # Of a process that died after the first line, perhaps within it.
    for cut in (first, first + b"\n", b""):
        path.write_bytes(cut)
        ladder(PLAYERS[:2], **OPTIONS, resume=path)
        assert path.read_bytes().splitlines()[0] == first
        assert len(path.read_bytes().splitlines()) == len(whole.splitlines())


def test_the_command_goes_on_with_the_key_of_its_file(
    tmp_path: Path, stopping: Stopping, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["ladder", "random", "threshold", "--hands", "512", "--rules", "2x5-h3"]
    words += ["--resume", str(tmp_path / "kept"), "--json", str(tmp_path / "result.json")]
    stopping.before = 5
    assert main(words) == 130
    assert f"the same command goes on from {tmp_path / 'kept'}" in capsys.readouterr().out
    key = json.loads((tmp_path / "result.json").read_text("utf-8"))["key"]
    assert main(words) == 0
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert result["key"] == key
    assert stopping.played == 32
    assert main([*words, "--seed", "4"]) == 2
    wrong = "is of another run: seed is 0 there and 4 here; name another file"
    assert wrong in capsys.readouterr().err


def test_a_run_of_changed_code_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (
        "from german_whist.agents.heuristic.random import RandomAgent\n\n"
        "class Plays(RandomAgent):\n    pass\n"
    )
    options: dict[str, Any] = {**OPTIONS, "hands": 4, "resume": tmp_path / "kept.jsonl"}
    path = tmp_path / "coded.py"
    with trusting(["coded:Plays"]):
        for text in (source, source + "# A remark.\n"):
            path.write_text(text, encoding="utf-8")
            sys.modules.pop("coded", None)  # as in another process
            importlib.invalidate_caches()
            if "remark" not in text:
                ladder(["coded:Plays", "threshold"], **options)
                ladder(["coded:Plays", "threshold"], **options)
                continue
            with pytest.raises(ValueError, match=r"is of another run: code is .* name another"):
                ladder(["coded:Plays", "threshold"], **options)
    sys.modules.pop("coded", None)


@pytest.mark.filterwarnings("ignore:.*has changed since the training:UserWarning")
def test_a_run_of_a_changed_network_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NETWORK, "utf-8")
    train(settings_of_own_network("2x5-h3"), folder="run")
    options: dict[str, Any] = {**OPTIONS, "hands": 4, "resume": tmp_path / "kept.jsonl"}
    for _ in range(2):
        ladder(["net=run", "threshold"], **options)
    first, _ = (tmp_path / "kept.jsonl").read_text("utf-8").split("\n", 1)
    assert json.loads(first)["code"].keys() == {"net.py:Net"}
    Path("net.py").write_text(NETWORK.replace("self.policy(obs", "-self.policy(obs"), "utf-8")
    plugins._loaded_file.cache_clear()  # as in another process
    with pytest.raises(ValueError, match=r"is of another run: code is .* name another"):
        ladder(["net=run", "threshold"], **options)
    # Nothing of it is asked of other agents, whose files have no code.
    options["resume"] = tmp_path / "own.jsonl"
    ladder(["champion-1", "threshold"], **{**options, "rules": "classic"})
    assert "code" not in json.loads((tmp_path / "own.jsonl").read_text("utf-8").split("\n", 1)[0])


@pytest.mark.parametrize("text", ["{", "[1]\n", '{"key": "ab"}\n{"task": 1}\n', '{"a": 1}'])
def test_another_file_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    refusals = "is no file that a run goes on from", "is of another run: agents is None there"
    with pytest.raises(ValueError, match="|".join(refusals)):
        ladder(PLAYERS, **OPTIONS, resume=path)
    assert path.read_text("utf-8") == text


def test_a_file_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ladder.jsonl"
    # A lock of its own descriptor is one of another process to the system.
    with FileLock(f"{path}.lock"), pytest.raises(ValueError, match="is written by another process"):
        ladder(PLAYERS, **OPTIONS, resume=path)
    assert not path.exists()
    assert ladder(PLAYERS, **OPTIONS, resume=path).complete
