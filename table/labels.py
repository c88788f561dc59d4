# pyright: strict
"""The labels of the table, which page and terminal read from one file, `labels.json`.

Sentences about a hand, which need its rules and its grammar, are made in `words`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from ..engine.cards import RANKS, SUIT_NAMES, SUITS

FILE = "labels.json"
RANK_NAMES = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("jack", "queen", "king", "ace"),
)


@cache
def labels() -> dict[str, Any]:
    """All labels, by the part of the table that they stand in."""
    told = msgspec.json.decode((files(__package__ or "") / FILE).read_bytes(), type=dict[str, Any])
    told["cards"] |= {
        "suits": dict(zip(SUITS, SUIT_NAMES, strict=True)),
        "ranks": dict(zip(RANKS, RANK_NAMES, strict=True)),
    }
    return told


def say(key: str, **values: object) -> str:
    """A label, `{name}` in it replaced by a value; of two forms the first is for `n` = 1."""
    found: Any = labels()
    for part in key.split("."):
        found = found[part]
    text: str = found if isinstance(found, str) else found[0 if values["n"] == 1 else 1]
    return text.format(**values)
