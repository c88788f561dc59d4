"""Results as JSON, CSV and pandas tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from .markup import printable
from .typing import JsonObject

if TYPE_CHECKING:
    import pandas

_FORMULA_STARTS = ("=", "+", "-", "@")


class JsonStruct(Struct, frozen=True):
    """Struct that is written as JSON too."""

    def to_json(self) -> JsonObject:
        return msgspec.to_builtins(self, enc_hook=str)


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV, with a column for each name in any of them.

    A text that a spreadsheet would compute, as `=1+1`, begins with an apostrophe.
    """
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in names])
    writer.writerows([_csv_cell(row.get(name, "")) for name in names] for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = printable(value)
    is_formula = value.lstrip().startswith(_FORMULA_STARTS) and not _is_number(value)
    return f"'{value}" if is_formula else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def data_frame(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise ValueError("frames need pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame([*rows])
