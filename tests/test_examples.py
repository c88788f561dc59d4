"""Every example and the notebook run with a small budget and do what they say."""

from __future__ import annotations

import ast
import json
import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
# With what words each is run, and what it has to tell and write.
RUNS = {
    "random_hand": (["--rules", "small-last", "--width", "200"], "'won'", ("hand.gif", "hand.svg")),
    "maskable_ppo": (["--steps", "300", "--games", "16", "--hands", "20"], "threshold: ", ()),
    "cleanrl_ppo": (["--minutes", "0.001", "--games", "16", "--hands", "20"], "counting", ()),
    "cleanrl_ppo --state": (
        ["--minutes", "0.001", "--games", "16", "--hands", "20"],
        "counting",
        (),
    ),
    "cleanrl_ppo --opponent self": (
        ["--rules", "2x5-h3", "--minutes", "0.001", "--games", "16", "--hands", "20"],
        "counting",
        (),
    ),
    "history_gru": (["--minutes", "0.001", "--games", "16", "--hands", "20"], "threshold: ", ()),
    "language_model": (
        ["--rules", "small-last", "--costs", "flat-mc:8", "--hands", "2"],
        "answers refused",
        (),
    ),
    "language_model --rules draft": (["--costs", "exact", "--hands", "2"], "answers refused", ()),
    "language_model --rules humbug": (["--costs", "exact", "--hands", "2"], "answers refused", ()),
    "own_agent": (["--hands", "60"], "saver against random-exact", ()),
}
NETWORKS = {"transformer_network", "gru_network"}
"""These are trained by `tests/training/test_custom_network.py`."""
NOTEBOOK = EXAMPLES / "quickstart.ipynb"
BUDGET = "DECISIONS, HANDS = 6_000_000, 4_000"
ALL_CELLS = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
CELLS = [cell for cell in ALL_CELLS if cell["cell_type"] == "code"]


def text_and_code(name: str) -> tuple[str, str]:
    """The text with the install line of an example or the notebook, and its code."""
    if name != NOTEBOOK.stem:
        code = (EXAMPLES / f"{name}.py").read_text("utf-8")
        return ast.get_docstring(ast.parse(code)) or "", code
    sources = ["".join(cell["source"]) for cell in CELLS]
    sources[0] = sources[0].replace(BUDGET, "DECISIONS, HANDS = 6_000, 20")
    return "".join(ALL_CELLS[0]["source"]), "\n".join(sources)


def test_every_example_is_run_and_short() -> None:
    examples = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert {*examples} == NETWORKS | {name.partition(" ")[0] for name in RUNS}
    assert all(len(text.splitlines()) < 100 for text in examples.values())


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", RUNS)
def test_an_example_runs(name: str, tmp_path, monkeypatch, capsys) -> None:
    words, told, written = RUNS[name]
    monkeypatch.chdir(tmp_path)
    example, *options = name.split()
    monkeypatch.setattr(sys, "argv", [f"{example}.py", *options, *words])
    runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    assert told in capsys.readouterr().out
    for file in written:
        assert (tmp_path / file).stat().st_size > 1000


def test_the_notebook_trains_evaluates_and_plots_an_agent(tmp_path, monkeypatch, capsys) -> None:
    code = ["".join(cell["source"]) for cell in CELLS]
    assert BUDGET in code[0]
    code[0] = code[0].replace(BUDGET, "DECISIONS, HANDS = 6_000, 20")
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, source in enumerate(code):
        exec(compile(source, f"{NOTEBOOK.name}, cell {number}", "exec"), names)
    assert "champion" in capsys.readouterr().out


def test_the_notebook_is_kept_with_the_outputs_of_a_whole_run() -> None:
    assert [cell["execution_count"] for cell in CELLS] == [*range(1, len(CELLS) + 1)]
    outputs = [output for cell in CELLS for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2
