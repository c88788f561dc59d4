"""The table in another alphabet, so that words outside the label file stand out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from german_whist.table.text.labels import labels

# Labels whose values are codes, not texts.
_CODES = {"language", "plurals"}
_LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщ")


def in_cyrillic(part: Any) -> Any:
    """A text, or all texts of a section, in another alphabet; placeholders stay."""
    if isinstance(part, dict):
        return {name: item if name in _CODES else in_cyrillic(item) for name, item in part.items()}
    if isinstance(part, list):
        return list(map(in_cyrillic, part))
    pieces = re.split(r"({[^}]*})", part)
    return "".join(
        piece if piece[:1] == "{" else piece.lower().translate(_LETTERS) for piece in pieces
    )


@contextmanager
def translated(translate: Callable[[Any], Any]) -> Iterator[dict[str, Any]]:
    labels.cache_clear()
    labels().update(translate(labels()))
    try:
        yield labels()
    finally:
        labels.cache_clear()


def english_in(texts: Any, *names: str) -> set[str]:
    """The words in Latin letters in nested texts, without names."""
    if isinstance(texts, (list, tuple)):
        return set().union(*(english_in(text, *names) for text in texts))
    words = re.findall(r"[A-Za-z]{2,}", texts) if isinstance(texts, str) else []
    return {word for word in words if word.lower() not in names}
