# pyright: strict
"""All texts of the table, for page and terminal, from one file, `labels.json`.

A translation is that file in another language. A sentence is a text; or a list of its forms by a
number `n`, in the order of `site.plurals` (a pattern of digits for each form but the last, which
is for all other numbers); or `{"you": …, "other": …}` by the person `name`. In a text, `{name}`
stands for a value and `{Name}` for the value with a capital letter.
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
    """All labels, by section."""
    return msgspec.json.decode((files(__package__ or "") / FILE).read_bytes(), type=dict[str, Any])


def say(key: str, **values: object) -> str:
    """A sentence of the file, its values filled in."""
    forms: Any = labels()
    for part in key.split("."):
        forms = forms[part]
    return _form(forms, values).format_map(_Values(values))


def _form(forms: Forms, values: Mapping[str, object]) -> str:
    if isinstance(forms, str):
        return forms
    if isinstance(forms, dict):
        is_you = str(values["name"]).lower() == you().lower()
        return _form(forms["you" if is_you else "other"], values)
    rules: list[str] = labels()["site"]["plurals"]
    digits = str(values["n"])
    index = next((k for k, rule in enumerate(rules) if re.search(rule, digits)), -1)
    return _form(forms[index], values)


class _Values(dict[str, object]):
    def __missing__(self, name: str) -> str:
        if name == name.lower():
            raise KeyError(name)
        return capital(str(self[name.lower()]))


def capital(text: str) -> str:
    """A text with a capital letter."""
    return text[:1].upper() + text[1:]


def you() -> str:
    """The person's name in sentences."""
    return labels()["site"]["you"]
