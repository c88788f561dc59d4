"""The bundled networks name the recipe that made them, and the command names what is wrong."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import Any

import pytest

from german_whist.agents.checkpoints import read_checkpoint, read_search_network_card
from german_whist.agents.checkpoints.bundled import (
    BELIEF_WEIGHTS,
    CLASSIC_WEIGHTS,
    SECOND_WEIGHTS,
    VALUE_WEIGHTS,
)
from german_whist.common.settings import list_settings
from german_whist.expert_iteration.recipe import Recipe, load_recipe
from german_whist.expert_iteration.trainer import ExpertIterationSettings

CARDS = {
    "champion": read_checkpoint(CLASSIC_WEIGHTS).card,
    "champion-2": read_checkpoint(SECOND_WEIGHTS).card,
    "value": read_search_network_card(VALUE_WEIGHTS),
    "belief": read_search_network_card(BELIEF_WEIGHTS),
}


@pytest.mark.parametrize("name", CARDS)
def test_command_of_a_bundled_network_gives_its_settings(name: str) -> None:
    card: Any = CARDS[name]
    (command,) = card.commands
    program, verb, recipe, *words = shlex.split(command)
    assert (program, verb) == ("german-whist", "expert-iteration")
    settings = load_recipe(recipe, words)
    in_card = {**card.settings, "about": settings.about}
    assert {name: settings.as_mapping()[name] for name in in_card} == in_card


@pytest.mark.parametrize("kind", [Recipe, ExpertIterationSettings])
def test_every_setting_has_a_description(kind: Any) -> None:
    for each in list_settings(kind):
        assert each.about.endswith("."), each.name
        assert each.takes


def test_wrong_number_of_workers_is_named(whist: Any) -> None:
    error = whist("expert-iteration", "quick", "--workers", "-2", status=2).err
    assert "--workers is -2: it has to be from 1 to 4096, or" in error


def test_completion_knows_the_recipes(whist: Any) -> None:
    assert "in champion classic quick round;" in whist("completion", "bash").out


def test_package_that_is_missing_is_named() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from german_whist.cli import main\n"
        "assert main(['expert-iteration', 'quick', '--show']) == 0\n"
        "assert main(['expert-iteration', 'quick']) == 2\n"
        "assert main(['train', 'trainer=expert-iteration']) == 2\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("training needs torch, which is not installed: pip install") == 2
