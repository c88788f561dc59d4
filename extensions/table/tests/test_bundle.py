"""Modules of the page are put together as one script."""

from __future__ import annotations

import pytest

from german_whist.table.browser import bundle

MODULES = {
    "app.js": 'import { one } from "./a/part.js";\nimport { two } from "./b/part.js";\none(two);\n',
    "a/part.js": "export const one = 1;\n",
    "b/part.js": "export const two = 2;\n",
}


def test_modules_of_one_name_in_two_folders_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_source", lambda _, name: MODULES[name])
    script = bundle.script_of.__wrapped__("app.js")
    for folder, name in (("a", "one"), ("b", "two")):
        assert script.count(f'modules["{folder}/part.js"] = ') == 1
        assert f'const {{ {name} }} = modules["{folder}/part.js"];' in script
