"""Pages and tables that are made from the code and the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import result_tables
from result_tables import EXPLOITABILITY, Runs, with_margin
from write import MADE, commands_page, settings_table, with_tables

from german_whist.common.markup import markdown_table
from german_whist.expert_iteration.commands import GROUPS
from german_whist.expert_iteration.recipe import Recipe
from german_whist.expert_iteration.trainer import ExpertIterationSettings
from german_whist.training.settings import Settings

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """The texts of the pages that are made, by their path in the extension's folder."""
    runs = result_tables.runs_in(FOLDER / "published.jsonl")
    decks = result_tables.decks_of(runs)
    tables = {
        "published-results": result_tables.published_results(runs, decks),
        "rounds": _rounds(runs, decks),
    }
    results = (FOLDER / "results.md").read_text(encoding="utf-8")
    commands = [name for group in GROUPS.values() for name in group]
    return {
        "docs/commands.md": commands_page("The command of expert iteration", commands),
        "docs/results.md": with_tables(results, tables),
        "docs/settings.md": _settings(),
    }


def _rounds(runs: Runs, decks: Sequence[str]) -> str:
    """Exploitability of the policy before the first round and after each one, deck by deck."""
    rows: list[list[str]] = []
    for (_, deck), seeds in sorted(runs.items(), key=lambda item: decks.index(item[0][1])):
        points = zip(*(run.points for run in seeds), strict=True)
        cells = [with_margin([point.values[EXPLOITABILITY] for point in each]) for each in points]
        rows.append([f"`{deck}`", f"{len(seeds)}", *cells])
    header = ["deck", "seeds", "self-play alone", "one round", "two rounds", "three rounds"]
    return markdown_table(header, rows, right=range(1, len(header)))


def _settings() -> str:
    parts = [
        "# Settings of expert iteration",
        "This page lists the settings of recipes, which you give to `german-whist "
        "expert-iteration` as `key=value`, and the settings of the trainer `expert-iteration`. The "
        "[guide](guide.md) explains the parts of a recipe. To see the settings of a recipe with "
        "their values, run `german-whist expert-iteration RECIPE --show`.",
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
