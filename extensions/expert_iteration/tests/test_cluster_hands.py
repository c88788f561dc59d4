"""The hands of a recipe on a Ray cluster."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RAY = HERE.parents[2] / ".venv-ray" / "bin" / "python"


@pytest.mark.thorough
def test_hands_of_a_recipe_are_the_same_on_a_cluster(tmp_path: Path) -> None:
    if not RAY.exists():
        pytest.skip("Ray is not here: `make ray` puts it into .venv-ray (70 MB)")
    run = subprocess.run(
        [str(RAY), str(HERE / "ray_hands.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    there, here = json.loads(run.stdout.splitlines()[-1])
    assert there == here
    assert len(there) == 2
