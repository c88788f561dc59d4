"""Every label stands in one file, and every one that stands there is shown somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import german_whist.table
from german_whist.table.labels import labels, say

TABLE = Path(german_whist.table.__file__).parent
SCRIPTS = sorted((TABLE / "browser" / "static" / "js").glob("*.js"))
SOURCES = [*SCRIPTS, *sorted(TABLE.rglob("*.py"))]
# What events and errors of the browser are called, which nobody reads.
NAMES = {"AbortError", "Enter", "Home", "End", "Escape"}


def leaves(part: dict[str, Any], path: str = "") -> Iterator[str]:
    """The path of every label."""
    for name, value in part.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield path + name


def said() -> tuple[set[str], set[str]]:
    """The labels that are named in full, and the beginnings of those that are put together."""
    text = "\n".join(each.read_text(encoding="utf-8") for each in SOURCES)
    page = re.findall(r"{{(\w+)}}", (TABLE / "browser" / "page.html").read_text(encoding="utf-8"))
    sections = "|".join(labels())
    names = set(re.findall(rf"""["']((?:{sections})\.(?!css|sqlite3)[\w.]+)["']""", text))
    begun = re.findall(rf'[`"]((?:{sections})\.[\w.]*)[$\{{]', text)
    whole = re.findall(r"LABELS\.([\w.]+?)(?:\.map)?\b", text)
    whole += map(".".join, re.findall(r'labels\(\)\["(\w+)"\]\["(\w+)"\]', text))
    return names | {f"site.{each}" for each in page}, {*begun, *(f"{each}." for each in whole)}


def test_every_label_that_is_said_is_there_and_every_other_is_gone() -> None:
    there = set(leaves(labels()))
    names, begun = said()
    assert names <= there
    unused = {each for each in there - names if not any(f"{each}.".startswith(b) for b in begun)}
    assert not unused


def test_no_words_stand_in_the_scripts_of_the_page() -> None:
    for script in SCRIPTS:
        code = re.sub(r"/\*.*?\*/", "", script.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = re.findall(r'"([A-Z][a-z]+(?: [^"]*)?)"|>([A-Z][a-z]+[^<`]*)<', code)
        words = {one or other for one, other in found} - NAMES
        assert not words, f"{script.name}: {words}"


def test_a_label_takes_values_and_counts() -> None:
    assert say("learn.left", left=1, n=1) == "1 of 1 mistake left to be put right"
    assert say("learn.left", left=2, n=3) == "2 of 3 mistakes left to be put right"
