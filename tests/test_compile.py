"""`german-whist compile` prepares what first uses would compile."""

from __future__ import annotations

from typing import Any

import pytest

from german_whist.cli import main
from german_whist.commands.compile import PARTS
from german_whist.common.jit import compiler

COMPONENTS = {
    "environments": [
        "environment (vector)",
        "environment (history)",
        "environment (vector, match)",
        "vector environment (vector, against random)",
        "self-play (vector)",
        "vector environment (history, against an agent)",
    ],
    "agents": [
        "threshold agent",
        "counting agent",
        "network agent (mlp)",
        "thinker",
        "flat Monte Carlo",
        "play of endings",
        "network agent (table)",
        "endgame solver",
    ],
    "arena": ["arena"],
    "training": ["trainer", "self-play (vector)"],
}


@pytest.mark.skipif(not compiler.COMPILED, reason="the compiler is off")
@pytest.mark.parametrize("part", PARTS)
def test_a_part_compiles_its_components(part: str, whist: Any, monkeypatch: Any) -> None:
    if part == "training":
        pytest.importorskip("torch")
    monkeypatch.setattr(compiler, "_warm", set())
    lines = whist("compile", part).out.splitlines()
    assert set(COMPONENTS[part]) <= compiler._warm
    assert lines[0].startswith(f"{part}: ")
    assert lines[1].endswith(" MB")


def test_an_unknown_part_is_refused(capsys: Any) -> None:
    assert main(["compile", "agent"]) == 2
    assert "'agent' is not a part; did you mean 'agents' or 'arena'" in capsys.readouterr().err
