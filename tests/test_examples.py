"""Every example is short, runs with a small budget, and does what it says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
# With what words each is run, and what it has to tell and write.
RUNS = {
    "random_hand": (["--rules", "small-last", "--width", "200"], "'won'", ("hand.gif", "hand.svg")),
    "maskable_ppo": (["--steps", "300", "--games", "16", "--hands", "20"], "threshold: ", ()),
    "cleanrl_ppo": (["--minutes", "0.001", "--games", "16", "--hands", "20"], "threshold: ", ()),
    "history_gru": (["--minutes", "0.001", "--games", "16", "--hands", "20"], "threshold: ", ()),
    "own_agent": (["--hands", "60"], "saver against random-exact", ()),
    "analyse_hand": (["--search", "flat-mc:20"], "decisions that mattered", ("hand.png",)),
    "three_players": (["--steps", "4096", "--hands", "2"], "against two random", ()),
}  # fmt: skip


def test_every_example_is_run_and_short() -> None:
    examples = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert {*examples} == {*RUNS}
    assert all(len(text.splitlines()) < 80 for text in examples.values())


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", RUNS)
def test_an_example_runs(name: str, tmp_path, monkeypatch, capsys) -> None:
    words, told, written = RUNS[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert told in capsys.readouterr().out
    for file in written:
        assert (tmp_path / file).stat().st_size > 1000
