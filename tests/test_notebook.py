"""The quickstart notebook runs from its first cell to its last, with a smaller budget."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"
BUDGET = "DECISIONS, HANDS = 6_000_000, 4_000"


CELLS = [
    cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
]


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
