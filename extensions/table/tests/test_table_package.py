"""The table as a package: its example, what it needs, and its examples in docstrings."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from docstring_examples import modules_with_examples, run_examples

FOLDER = Path(__file__).resolve().parents[1]


def test_example_analyses_a_hand_and_plots_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["analyze_hand.py", "--search", "flat-mc:20"])
    runpy.run_path(str(FOLDER / "examples" / "analyze_hand.py"), run_name="__main__")
    assert "decisions that mattered" in capsys.readouterr().out
    assert (tmp_path / "hand.png").stat().st_size > 1000


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(["starlette", "uvicorn"]))
from german_whist.cli import main
sys.exit(main(["table"]))
"""


def test_missing_extra_is_named_with_command_and_page(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "the table in the browser needs uvicorn, which is not installed" in done.stderr
    assert 'pip install ".[table]" in a clone' in done.stderr
    assert "(extensions/table/README.md); german-whist play needs nothing more" in done.stderr
    assert 'pip install ".[table]"' in (FOLDER / "README.md").read_text("utf-8")


def test_command_line_loads_nothing_heavy_of_the_table() -> None:
    code = "import sys; from german_whist.cli import main; main([]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "german_whist.table.commands" in done.stdout.split()
    assert not loaded & {"numba", "torch", "starlette", "uvicorn"}


@pytest.mark.parametrize("module", [*modules_with_examples(FOLDER, "german_whist.table")])
def test_examples_of_docstrings_run(module: str) -> None:
    run_examples(module)
