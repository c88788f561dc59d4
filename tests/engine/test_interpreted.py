"""The same code run as plain Python, without the compiler, plays the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import digest_of_play
import pytest
from digest_of_play import digests

from german_whist.agents.networks.value import outcome_pays
from german_whist.common.jit.compiler import COMPILED
from german_whist.engine.rules import load_rules


@pytest.mark.skipif(not COMPILED, reason="the compiler is off, so there is nothing to compare")
def test_compiled_code_agrees_with_plain_python_which_gives_no_warning() -> None:
    compiled = digests(short=True)
    script = Path(digest_of_play.__file__)
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    interpreted = json.loads(run.stdout)
    assert interpreted["compiled"] is False
    assert interpreted["pays"] == outcome_pays(load_rules("classic")).tolist()
    different = [name for name in compiled if compiled[name] != interpreted["digests"][name]]
    assert not different
    assert len(set(compiled.values())) == len(compiled) == len(interpreted["digests"])
