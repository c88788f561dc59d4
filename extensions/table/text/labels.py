# pyright: strict
"""All texts of the table, for page and terminal, from one file, `labels.json`.

A sentence is a text; or `[one, many]` by the number `n`; or `{"you": …, "other": …}` by the person
`name`. In a text, `{name}` stands for a value, and `{Name}` for it at the start of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Union

import msgspec

FILE = "labels.json"
YOU = "you"
"""The person's name in sentences, in records and in stored sessions."""
_COMMON = re.compile(r"(you|your|the other|seat \d+)\b")
"""Words for a player that are no names."""
Forms = Union[str, "list[Forms]", "dict[str, Forms]"]


@cache
def labels() -> dict[str, Any]:
    """All labels, by section."""
    return msgspec.json.decode((files(__package__ or "") / FILE).read_bytes(), type=dict[str, Any])


def label(key: str, **values: object) -> str:
    """A sentence of the file, its values filled in."""
    forms: Any = labels()
    for part in key.split("."):
        forms = forms[part]
    capitals = {capital(name): begin(str(value)) for name, value in values.items()}
    return _form(forms, values).format_map({**capitals, **values})


def _form(forms: Forms, values: Mapping[str, object]) -> str:
    if isinstance(forms, dict):
        return _form(forms["you" if str(values["name"]).lower() == YOU else "other"], values)
    if isinstance(forms, list):
        return _form(forms[0 if values["n"] == 1 else 1], values)
    return forms


def capital(text: str) -> str:
    """A text with a capital letter."""
    return text[:1].upper() + text[1:]


def begin(text: str) -> str:
    """A text at the start of a sentence: names of agents and runs stay as they are."""
    return capital(text) if _COMMON.match(text) else text
