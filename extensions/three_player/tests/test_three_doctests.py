"""The examples in docstrings of the game for three run, and print what stands below them."""

from __future__ import annotations

from pathlib import Path

import pytest
from docstring_examples import modules_with_examples, run_examples

FOLDER = Path(__file__).resolve().parents[1]


MODULES = [*modules_with_examples(FOLDER, "german_whist.three_player")]


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_run(module: str) -> None:
    run_examples(module)
