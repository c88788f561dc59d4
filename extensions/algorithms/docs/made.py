"""The page of settings, which is made from the code."""

from __future__ import annotations

from importlib import import_module

from write import MADE, settings_table

from german_whist.training.settings import Settings

TRAINERS = {
    "r_nad": "r_nad:RNaDSettings",
    "psro": "psro:PSROSettings",
    "escher": "escher:ESCHERSettings",
}


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
    return {"docs/settings.md": "\n\n".join(parts) + "\n"}
