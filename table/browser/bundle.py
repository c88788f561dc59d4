# pyright: strict
"""The page's modules and style sheets as one script and one style, for pages that are one file.

Each ES module becomes a function that returns its exports, after the modules that it imports.
The sources stay readable files, and nothing has to be built before they are served.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from posixpath import basename, dirname, join, normpath

import msgspec

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[\w./]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|let|function|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^ */\*(?:(?!\*/)[\s\S])*\*/\n|^ *//.*\n", re.MULTILINE)
_PICTURE = re.compile(r'url\("?\.\./([\w.]+\.svg)"?\)')
# Written as they are, these could end the element that the data stands in, or a line of script.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def embed_json(name: str, value: object) -> str:
    """A value as JSON in a page, for its script to read."""
    data = msgspec.json.encode(value).decode().translate(_ESCAPES)
    return f'<script type="application/json" id="{name}">{data}</script>'


def policy_hash(text: str) -> str:
    """The source expression that allows an inline script or style in a Content-Security-Policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def style_of(*names: str) -> str:
    """Style sheets one after the other, their pictures as data."""
    return "\n".join(_PICTURE.sub(_as_data, _source("css", name)) for name in names)


@cache
def script_of(first: str) -> str:
    """A module and all that it imports, as one script."""
    parts: dict[str, str] = {}
    _add_module(first, parts)
    return "\n".join(parts.values())


def _source(folder: str, name: str) -> str:
    return (files(__package__ or "") / "static" / folder / name).read_text(encoding="utf-8")


def _as_data(match: re.Match[str]) -> str:
    picture = _source("", match[1]).encode()
    return f'url("data:image/svg+xml;base64,{b64encode(picture).decode()}")'


def _add_module(name: str, parts: dict[str, str]) -> None:
    source = _COMMENT.sub("", _source("js", name))
    for _, path in _IMPORT.findall(source):
        imported = normpath(join(dirname(name), path))
        if imported not in parts:
            _add_module(imported, parts)
    body = _IMPORT.sub(lambda match: f"const {match[1]} = {_variable(match[2])};", source)
    exports = ", ".join(_EXPORT.findall(body))
    body = _EXPORT.sub("", body)
    parts[name] = f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


def _variable(path: str) -> str:
    return f"module_{basename(path).removesuffix('.js')}"
