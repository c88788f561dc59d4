"""Pages and tables that are made from the code and the results."""

from __future__ import annotations

from pathlib import Path

import result_tables
from write import MADE, commands_page, settings_table, with_tables

from german_whist.expert_iteration.commands import GROUPS
from german_whist.expert_iteration.recipe import Recipe
from german_whist.expert_iteration.trainer import ExpertIterationSettings
from german_whist.training.settings import Settings

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """The texts of the pages that are made, by their path in the extension's folder."""
    runs = result_tables.runs_in(FOLDER / "published.jsonl")
    table = result_tables.published_results(runs, result_tables.decks_of(runs))
    results = (FOLDER / "results.md").read_text(encoding="utf-8")
    commands = [name for group in GROUPS.values() for name in group]
    return {
        "docs/commands.md": commands_page("The command of expert iteration", commands),
        "docs/results.md": with_tables(results, {"published-results": table}),
        "docs/settings.md": _settings(),
    }


def _settings() -> str:
    parts = [
        "# Settings of expert iteration",
        "This page lists the settings of recipes, which you give to `german-whist "
        "expert-iteration` as `key=value`, and the settings of the trainer. To see the settings of "
        "a recipe with their values, run `german-whist expert-iteration RECIPE --show`.",
        MADE,
        f"## Recipes\n\n{Recipe.__doc__}",
        settings_table(Recipe),
        f"## `trainer: expert-iteration`\n\n{ExpertIterationSettings.__doc__}",
        "This trainer has the [settings of every "
        "trainer](../../../docs/reference/settings.md#every-trainer). The settings below are new "
        "or have another default.",
        settings_table(ExpertIterationSettings, Settings),
    ]
    return "\n\n".join(parts) + "\n"
