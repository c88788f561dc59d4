# pyright: strict
"""All that the table says, which page and terminal read from one file, `labels.json`.

A translation is that file in another language. A sentence in it is a text; or a list of its
forms by a number `n`, in the order of `site.plurals` (a pattern of digits for each form but the
last, which is for all other numbers); or `{"you": …, "other": …}` by who `name` is. In a text,
`{name}` stands for a value and `{Name}` for the same with a capital letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Union

import msgspec

FILE = "labels.json"
Forms = Union[str, "list[Forms]", "dict[str, Forms]"]


@cache
def labels() -> dict[str, Any]:
    """All labels, by the part of the table that they stand in."""
    return msgspec.json.decode((files(__package__ or "") / FILE).read_bytes(), type=dict[str, Any])


def say(key: str, **values: object) -> str:
    """A sentence of the file, its values filled in."""
    found: Any = labels()
    for part in key.split("."):
        found = found[part]
    return _form(found, values).format_map(_Values(values))


def _form(found: Forms, values: Mapping[str, object]) -> str:
    """Of a sentence's forms the one for this person and number."""
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        mine = str(values["name"]).lower() == you().lower()
        return _form(found["you" if mine else "other"], values)
    rules: list[str] = labels()["site"]["plurals"]
    digits = str(values["n"])
    place = next((at for at, each in enumerate(rules) if re.search(each, digits)), -1)
    return _form(found[place], values)


class _Values(dict[str, object]):
    def __missing__(self, name: str) -> str:
        if name == name.lower():
            raise KeyError(name)
        return capital(str(self[name.lower()]))


def capital(text: str) -> str:
    """A text with a capital letter."""
    return text[:1].upper() + text[1:]


def you() -> str:
    """What whoever plays is called."""
    return labels()["site"]["you"]
