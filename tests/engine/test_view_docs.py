"""The docstring of `View` explains every attribute."""

from __future__ import annotations

import inspect
import re

from german_whist import View


def test_table_of_a_view_has_every_attribute_with_its_type() -> None:
    text = inspect.getdoc(View) or ""
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (.*?) \| (.+) \|$", text, re.MULTILINE)
    names = [name for cells, _, _ in rows for name in re.findall(r"\w+", cells)]
    attributes = {name for name, member in inspect.getmembers(View) if isinstance(member, property)}
    assert sorted(names) == sorted([*attributes, "rules", "array"])
    assert {f"`{name}()`" for name in ("tricks", "legal")} <= set(re.findall(r"`\w+\(\)`", text))
    assert all(member.__doc__ for member in vars(View).values() if isinstance(member, property))
