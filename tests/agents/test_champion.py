"""The player that comes with the package: whole, and as strong as its card says."""

from __future__ import annotations

import shlex
import subprocess
import sys

import numpy as np
import pytest

from german_whist.agents.base import CannotPlay
from german_whist.agents.champion import FIRST_WEIGHTS, WEIGHTS
from german_whist.agents.checkpoint import read_checkpoint
from german_whist.agents.registry import make_agent
from german_whist.training.arena import evaluate
from german_whist.training.presets import changed_settings, load_settings
from support import KEY


def test_it_is_small_and_tells_how_it_was_trained() -> None:
    checkpoint = read_checkpoint(WEIGHTS)
    assert WEIGHTS.stat().st_size < 4_000_000
    assert {each.dtype for each in checkpoint.weights.values()} == {np.dtype(np.float16)}
    first, *later = [shlex.split(each, comments=True) for each in checkpoint.card.commands]
    assert first[:2] == ["german-whist", "train"]
    settings = load_settings(first[2], first[3:])
    for command in later:
        assert command[:4] == ["german-whist", "train", "--resume", "RUN"]
        settings = changed_settings(settings, command[4:])
    told = {**checkpoint.card.settings, "about": settings.about}
    assert {name: settings.as_mapping()[name] for name in told} == told
    assert checkpoint.card.measured


def test_the_first_one_beats_the_rules_of_thumb_as_its_card_says() -> None:
    card = read_checkpoint(FIRST_WEIGHTS).card
    told = next(each for each in card.measured if each.opponent == "threshold")
    found = evaluate("champion-1", "threshold", hands=4_000, seed=11, key=KEY).pairings[0]
    reach = found.win_rate.half_width + told.half_width
    assert abs(found.win_rate.value - told.win_rate) < 1.5 * reach


def test_it_plays_without_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from german_whist.training.arena import evaluate\n"
        "print(evaluate('champion', 'random', hands=20, workers=1).pairings[0].hands)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "20"


@pytest.mark.parametrize("rules", ["no-trump", "draft", "margin"])
def test_other_games_are_refused_in_a_sentence(rules: str) -> None:
    with pytest.raises(CannotPlay, match=f"^champion plays classic, and not {rules}$"):
        make_agent("champion", rules)
    with pytest.raises(CannotPlay, match=f"^champion plays classic, and not {rules}$"):
        evaluate("champion", "random", rules, hands=2, workers=1)
