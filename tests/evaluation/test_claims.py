"""Exploitability compares what agents claim with what they play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deceivers import Honest, Ordering, Pretending, Worst

from german_whist.cli import main
from german_whist.evaluation.exploitability.exact import measure_exploitability

DECK = "2x4-h2"
SMALL: dict[str, Any] = {"name": "small", "suits": 2, "ranks": 3, "hand": 2, "stock": 2}
"""Rules of so few deals that the full tree is walked at once."""


def test_probabilities_of_another_agent_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^pretending plays action \d+ where it states the prob"):
        measure_exploitability(Pretending(DECK), DECK)


def test_false_claim_of_perfect_endings_plays_them_out() -> None:
    result, honest = (measure_exploitability(kind(SMALL), SMALL) for kind in (Worst, Honest))
    assert result.exploitability == honest.exploitability
    assert "worst says that it plays endings perfectly, and does not: it gave" in result.note
    assert not honest.note
    refused = r"worst says that it .* They cannot be played out: the rules"
    with pytest.raises(ValueError, match=refused):
        measure_exploitability(Worst("3x4-h4"), "3x4-h4")


def test_order_of_draws_that_is_read_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^ordering says that it does not .* set reads_draws = T"):
        measure_exploitability(Ordering("2x5-h2"), "2x5-h2")


def test_command_tells_refuted_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = tmp_path / "small.yaml"
    small.write_text(json.dumps(SMALL), encoding="utf-8")
    assert main(["exploitability", "deceivers:Pretending", "--rules", DECK]) == 2
    assert "where it states the probability 0, in" in capsys.readouterr().err
    assert main(["exploitability", "deceivers:Worst", "--rules", str(small)]) == 0
    told = capsys.readouterr().out
    assert "exploitability (NashConv / 2)            +0.16667 a hand" in told
    assert "Note: deceivers:Worst says that it plays endings perfectly, and does not" in told
