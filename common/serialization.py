"""Results as JSON and as pandas tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct


class JsonStruct(Struct, frozen=True):
    """Struct that is written as JSON too."""

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return plain


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        raise ValueError("frames need pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame([*rows])
