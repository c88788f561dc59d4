"""The table in another alphabet, so that words that no translator would find stand out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from german_whist.table.browser import server
from german_whist.table.text.labels import labels

# What these hold is no text.
_MARKS = {"language", "plurals"}
_LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщ")


def in_cyrillic(part: Any) -> Any:
    """A text, or all texts of a part, in another alphabet; what stands for a value stays."""
    if isinstance(part, dict):
        return {name: each if name in _MARKS else in_cyrillic(each) for name, each in part.items()}
    if isinstance(part, list):
        return list(map(in_cyrillic, part))
    pieces = re.split(r"({[^}]*})", part)
    return "".join(each if each[:1] == "{" else each.lower().translate(_LETTERS) for each in pieces)


@contextmanager
def translated(translate: Callable[[Any], Any]) -> Iterator[dict[str, Any]]:
    """The labels as a translator has them; they come back afterwards."""
    labels.cache_clear()
    server.page_text.cache_clear()
    labels().update(translate(labels()))
    try:
        yield labels()
    finally:
        labels.cache_clear()
        server.page_text.cache_clear()


def english_in(told: Any, *names: str) -> set[str]:
    """The words in usual letters in texts, however deep they lie, that are no names."""
    if isinstance(told, (list, tuple)):
        return set().union(*(english_in(each, *names) for each in told))
    found = re.findall(r"[A-Za-z]{2,}", told) if isinstance(told, str) else []
    return {each for each in found if each.lower() not in names}
