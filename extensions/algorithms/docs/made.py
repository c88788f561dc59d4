"""The page of settings and the tables of results, which are made from code and data."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import result_tables
from write import MADE, settings_table, with_tables

from german_whist.training.settings import Settings

FOLDER = Path(__file__).parent
TRAINERS = {
    "r_nad": "r_nad:RNaDSettings",
    "psro": "psro:PSROSettings",
    "escher": "escher:ESCHERSettings",
}
TUNED_BY = {
    "r_nad-tuned": FOLDER.parent / "tuning" / "exact-r_nad.yaml",
    "psro-tuned": FOLDER.parent / "tuning" / "exact-psro.yaml",
    "escher-tuned": FOLDER.parent / "tuning" / "exact-escher.yaml",
}
"""The search that the settings of each algorithm are from."""
NOT_COMPARED = ("ppo", "psro", "escher")
"""Rows that the table of pairs leaves out: it compares only learners with tuned settings."""


def pages() -> dict[str, str]:
    """The texts of the pages that are made, by their path in the extension's folder."""
    parts = [
        "# Settings of the further algorithms",
        "This page lists the settings of the trainers `r_nad`, `psro` and `escher`, which you give "
        "to `german-whist train` as `key=value`. Each of these trainers also has the [settings of "
        "every trainer](../../../docs/reference/settings.md#every-trainer). The [guide](guide.md) "
        "explains the algorithms. To see all settings of a trainer with their values, run "
        "`german-whist train trainer=r_nad --show`.",
        MADE,
    ]
    for name, source in TRAINERS.items():
        module, _, kind = source.partition(":")
        settings = getattr(import_module(f"german_whist.algorithms.{module}"), kind)
        parts += [f"## `trainer: {name}`", settings.__doc__, settings_table(settings, Settings)]
    runs = result_tables.runs_in(FOLDER / "published.jsonl")
    decks = result_tables.decks_of(runs)
    every = {
        run: seeds
        for run, seeds in result_tables.runs_in(result_tables.PUBLISHED).items()
        if run[1] in decks
    } | runs
    tuned = {run: seeds for run, seeds in every.items() if run[0] not in NOT_COMPARED}
    tables = {
        "published-results": result_tables.published_results(every, decks),
        "published-pairs": result_tables.published_pairs(
            tuned, decks, one_of={algorithm for algorithm, _ in runs}
        ),
        "published-spread": result_tables.published_spread(tuned, decks),
        "published-given": result_tables.published_given(
            runs, TUNED_BY | {"r_nad-tuned-no-ema": TUNED_BY["r_nad-tuned"]}
        ),
        "published-tuning": result_tables.published_tuning(runs, TUNED_BY),
        "published-bounds": result_tables.published_bounds(runs, TUNED_BY),
    }
    guide = with_tables((FOLDER / "guide.md").read_text(encoding="utf-8"), tables)
    return {"docs/guide.md": guide, "docs/settings.md": "\n\n".join(parts) + "\n"}
