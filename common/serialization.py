"""Results as JSON, CSV and pandas tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from .typing import JsonObject

if TYPE_CHECKING:
    import pandas


class JsonStruct(Struct, frozen=True):
    """Struct that is written as JSON too."""

    def to_json(self) -> JsonObject:
        return msgspec.to_builtins(self, enc_hook=str)


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV, with a column for each name in any of them."""
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def data_frame(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise ValueError("frames need pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame([*rows])
