"""Results as JSON, CSV and pandas tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct


class JsonStruct(Struct, frozen=True):
    """Struct that is written as JSON too."""

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return plain


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, with a column for each name in any of them."""
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        raise ValueError("frames need pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame([*rows])
