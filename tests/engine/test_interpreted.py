"""The same code run as plain Python, without the compiler, plays the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import digest_of_play
import pytest

from german_whist.agents.networks.value import outcome_payoffs
from german_whist.common.jit.compiler import COMPILED
from german_whist.engine.rules import load_rules
from support import EVERY_SET

UNLIKE = (
    "classic",
    "draft",
    "humbug",
    "set aside",
    "one suit",
    "blind",
    "two up, late, choice",
    "low race",
    "exchange by colour",
)
WITH_SETS = (
    "import json, runpy, support, sys; support.EVERY_SET = json.loads(sys.argv[1]);"
    f"runpy.run_path({digest_of_play.__file__!r}, run_name='__main__')"
)


@pytest.mark.skipif(not COMPILED, reason="the compiler is off, so there is nothing to compare")
@pytest.mark.parametrize(
    "sets", [UNLIKE, pytest.param(EVERY_SET, marks=pytest.mark.thorough)], ids=["unlike", "every"]
)
def test_interpreted_engine_gives_the_compiled_digests(
    sets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest_of_play, "EVERY_SET", sets)
    compiled = digest_of_play.digests(short=True)
    tests = str(Path(digest_of_play.__file__).parent)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITH_SETS, json.dumps(sets)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": tests},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    interpreted = json.loads(run.stdout)
    assert interpreted["compiled"] is False
    assert interpreted["pays"] == outcome_payoffs(load_rules("classic")).tolist()
    different = [name for name in compiled if compiled[name] != interpreted["digests"][name]]
    assert not different
    assert len(set(compiled.values())) == len(compiled) == len(interpreted["digests"])
