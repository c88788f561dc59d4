"""Results as JSON holds them, and as tables of pandas where that is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct


class Told(Struct, frozen=True):
    """What came of something, which is told as JSON too."""

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        told: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return told


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a `pandas.DataFrame`."""
    try:
        import pandas
    except ImportError:
        raise ValueError("frames need pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame([*rows])
