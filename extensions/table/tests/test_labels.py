"""All that the table says stands in one file, each sentence and each field of which is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from inspect import getmembers, isclass
from operator import getitem
from pathlib import Path
from typing import Any

from msgspec import Struct

import german_whist.table
from german_whist.table.browser import finished_hands, messages, serve_learning
from german_whist.table.review import replay
from german_whist.table.text.labels import label, labels

TABLE = Path(german_whist.table.__file__).parent
SCRIPTS = sorted((TABLE / "browser" / "static" / "js").rglob("*.js"))
BESIDE = {"tests", "docs", "examples", "benchmarks"}
MODULES = [path for path in TABLE.rglob("*.py") if path.relative_to(TABLE).parts[0] not in BESIDE]
SOURCES = [*SCRIPTS, *sorted(MODULES)]


def is_sentence(part: Any) -> bool:
    """Whether a part of the file is a sentence or its forms, not a section."""
    return not isinstance(part, dict) or set(part) == {"you", "other"}


def leaves(part: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, value in part.items():
        if is_sentence(value):
            yield path + name
        else:
            yield from leaves(value, f"{path}{name}.")


def labels_in_sources() -> tuple[set[str], set[str]]:
    """The labels named in full, and the prefixes of those composed at run time."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    page = re.findall(r"{{(\w+)}}", (TABLE / "browser" / "page.html").read_text(encoding="utf-8"))
    security = (TABLE / "browser" / "security.py").read_text(encoding="utf-8")
    page += re.findall(r"[>\"]{(\w+)}", security)
    sections = "|".join(labels())
    names = set(re.findall(rf"""["']((?:{sections})\.(?!css|sqlite3)[\w.]+)["']""", text))
    prefixes = re.findall(rf'[`"\']((?:{sections})\.[\w.]*)[$\{{]', text)
    whole = re.findall(r"LABELS\.([\w.]+?)(?:\.map)?\b", text)
    whole += map(".".join, re.findall(r'labels\(\)\["(\w+)"\]\["(\w+)"\]', text))
    prefixes += [f"{section}." for section in whole]
    return names | {f"site.{name}" for name in page}, set(prefixes)


def test_labels_used_and_labels_existing_are_equal() -> None:
    existing = set(leaves(labels()))
    names, prefixes = labels_in_sources()
    assert names <= existing
    assert not {name for name in existing - names if not f"{name}.".startswith(tuple(prefixes))}


def test_sentences_have_the_form_of_their_person_and_number() -> None:
    assert [label("event.deal", name=name) for name in ("you", "Easy")] == [
        "you deal",
        "Easy deals",
    ]
    texts = {name: reduce(getitem, name.split("."), labels()) for name in leaves(labels())}
    plain = {name: text for name, text in texts.items() if isinstance(text, str)}
    # Of these there are always several.
    several = ("guide.", "values.all")
    one_form = [
        name for name, text in plain.items() if re.search(r"{n} (?!wins|loses)[a-z]+s\b", text)
    ]
    assert [name for name in one_form if not name.startswith(several)] == []
    # A minus before a number is none of the keyboard.
    assert [name for name, text in plain.items() if re.search(r"(?<!\w)-[{\d]", text)] == []


# -- messages


def test_no_message_has_a_field_that_no_page_reads() -> None:
    source = "\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    for module in (messages, serve_learning, finished_hands, replay):
        for name, kind in getmembers(module, isclass):
            if issubclass(kind, Struct) and kind.__module__ == module.__name__:
                for field in kind.__struct_fields__:
                    assert re.search(rf"\b{field}\b", source), f"{name}.{field}"
