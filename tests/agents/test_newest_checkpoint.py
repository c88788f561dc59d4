"""A run whose newest checkpoint is incomplete is refused; no older one replaces it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from german_whist import load_agent
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from german_whist.agents.checkpoints.checkpoint import (
    CheckpointError,
    find_checkpoint,
    is_checkpoint,
)
from german_whist.agents.registry import make_agent
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.training.callbacks.evaluation import earlier_checkpoint
from german_whist.training.presets import load_settings
from german_whist.training.warm_start import load_warm_start

OLD, NEW = "000000001500", "000000003000"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    for name in (OLD, NEW):
        for ending in (".safetensors", ".json"):
            shutil.copy(FIRST_WEIGHTS.with_suffix(ending), folder / "checkpoints" / (name + ending))
    # What a run keeps beside its checkpoints is none of them.
    (folder / "state.safetensors").write_bytes(b"")
    return folder


def newest(run: Path, ending: str) -> Path:
    return run / "checkpoints" / (NEW + ending)


def warm_start(run: str) -> object:
    settings = load_settings("tiny", [f"init={run}"])
    return load_warm_start(settings, None)  # type: ignore[arg-type]


USES: dict[str, Callable[[str], object]] = {
    "play": lambda run: load_agent(run),
    "network": lambda run: make_agent(f"network:{run},sample"),
    "opponents": lambda run: (
        load_settings("quick", ["pool_fraction=0.1", f"opponents={run}"]) and make_agent(run)
    ),
    "thinker": lambda run: make_agent(f"thinker:16,policy={run}"),
    "rules": lambda run: load_settings("quick", [f"rules={run}"]),
    "warm start": warm_start,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("lost", [".json", ".safetensors"])
def test_an_older_checkpoint_never_plays_for_the_newest(run: Path, use: str, lost: str) -> None:
    newest(run, lost).unlink()
    with pytest.raises(ValueError, match=f"newest checkpoint, {NEW}.*lacks its .*{NEW}{lost}"):
        USES[use](str(run))


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "RUN", "--against", "random", "--hands", "2"],
        ["ladder", "random", "RUN", "--hands", "2"],
        ["export", "RUN", "-o", "OUT.onnx"],
        ["play", "RUN", "--plain"],
    ],
)
def test_commands_name_the_missing_file(run: Path, words: Any, tmp_path: Path, capsys: Any) -> None:
    newest(run, ".json").unlink()
    paths = {"RUN": str(run), "OUT": str(tmp_path / "out"), "OUT.onnx": str(tmp_path / "out.onnx")}
    assert main([paths.get(word, word) for word in words]) == 2
    error = capsys.readouterr().err
    assert f"{NEW}.json" in error
    assert f"name an older one, as {run / 'checkpoints' / OLD}.safetensors" in error
    assert not (tmp_path / "out").exists()


def test_the_older_one_plays_when_it_is_named(run: Path) -> None:
    newest(run, ".json").unlink()
    older = run / "checkpoints" / f"{OLD}.safetensors"
    assert find_checkpoint(older) == older
    assert load_agent(older).rules == load_rules("classic")


def test_a_lone_file_below_a_newer_checkpoint_changes_nothing(run: Path) -> None:
    (run / "checkpoints" / f"{OLD}.json").unlink()
    assert find_checkpoint(run) == newest(run, ".safetensors")
    newest(run, ".json").unlink()
    assert is_checkpoint(str(run))
    with pytest.raises(CheckpointError, match="or train anew"):
        find_checkpoint(run)


def test_a_copy_beside_the_checkpoints_is_neither_the_newest_nor_the_past(run: Path) -> None:
    for name in ("best", "99"):
        for ending in (".safetensors", ".json"):
            shutil.copy(run / "checkpoints" / (OLD + ending), run / "checkpoints" / (name + ending))
    assert find_checkpoint(run) == newest(run, ".safetensors")
    older = run / "checkpoints" / f"{OLD}.safetensors"
    assert earlier_checkpoint(newest(run, ".safetensors")) == older


def test_a_card_that_is_a_broken_link_lets_no_older_checkpoint_play(run: Path) -> None:
    newest(run, ".json").unlink()
    newest(run, ".json").symlink_to(run / "moved.json")
    with pytest.raises(CheckpointError, match=f"{NEW}.json cannot be read"):
        load_agent(run)
