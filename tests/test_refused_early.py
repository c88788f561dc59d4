"""What the arguments tell is refused before an agent is made, which compiles its code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from german_whist import evaluate, train
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.cli import main

MADE = f"{__name__}:Made"


class Made(RandomAgent):
    """An agent that tells that it was made, and therefore compiled."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise AssertionError("an agent was made")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"evaluate {MADE} --against nosuch", "'nosuch' is not an agent"),
        (f"evaluate {MADE} --against nash --rules classic", "nash cannot play: classic is not"),
        (f"evaluate {MADE} --against champion --rules 2x4-h2", "champion plays classic"),
        (f"ladder {MADE} threshold --anchor nobody", "anchor is 'nobody'"),
        (f"ladder {MADE} threshold threshold", "threshold stands twice in the ladder"),
        (f"dataset {MADE} nosuch --hands 2 --out data", "'nosuch' is not an agent"),
        (f"exploitability {MADE} --rules classic", "the rules classic are too large to traverse"),
        (f"train tiny eval_opponents=[{MADE},nosuch]", "'nosuch' is not an agent"),
    ],
)
def test_commands_refuse_before_an_agent_is_made(
    words: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    assert message in capsys.readouterr().err


def test_records_that_are_no_function_are_refused_before_play() -> None:
    with pytest.raises(TypeError, match=r"^records is 'hands.jsonl': give a function that takes"):
        evaluate(MADE, "random", records="hands.jsonl")  # type: ignore[arg-type]


def test_training_refuses_unknown_opponents_before_its_trainer_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from german_whist.training import run

    monkeypatch.setattr(run, "_make_trainer", Made)
    with pytest.raises(ValueError, match=r"^eval_opponents: 'nosuch' is not an agent"):
        train("tiny", final_eval_opponents=["nosuch"], folder=tmp_path / "run")
