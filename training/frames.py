"""Results as tables of pandas, where that is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a `pandas.DataFrame`."""
    try:
        import pandas
    except ImportError:
        raise ValueError("frames need pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame([*rows])
