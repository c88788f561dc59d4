# pyright: strict
"""A replay as one HTML file that needs nothing else: no server, no network, no other file.

The modules and styles of the table's page are put into it, each module as a function that
returns what it exports. What comes out of a record goes in as JSON whose `<`, `>` and `&` are
written as escapes, and is only ever shown as text; a policy in the page allows no other script.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from posixpath import basename, dirname, join, normpath
from typing import Any

import msgspec

from ...engine.records import GameRecord
from ..review.analysis import Analysis
from ..review.replay import make_replay
from ..text.labels import labels, say
from ..text.words import join_words, plain_text

_FIRST_MODULE = "saved_page.js"
_STYLES = ("base.css", "felt.css", "replay.css")
_MOST_NOTES = 6
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[\w./]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|let|function|class) (\w+))", re.MULTILINE)
_TYPES = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r'url\("?\.\./([\w.]+\.svg)"?\)')
# Written as they are, these could end the element that the data stands in, or a line of script.
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def embed_json(name: str, value: object) -> str:
    """A value that stands in a page as JSON, for its script to read."""
    data = msgspec.json.encode(value).decode().translate(_ESCAPES)
    return f'<script type="application/json" id="{name}">{data}</script>'


def replay_page(
    record: GameRecord, analysis: Analysis | None = None, seat: int | None = None
) -> str:
    """The page of a hand, with its analysis if there is one, from one seat or with both open."""
    replay = make_replay(record)
    saved: dict[str, Any] = {
        "replay": replay,
        "analysis": analysis,
        "seat": "both" if seat is None else seat,
        "notes": _notes(record.meta),
    }
    script, style = _script(), _style()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = escape(say("site.page", page=join_words(replay.players)))
    return f"""<!doctype html>
<html lang="{say("site.language")}" data-theme="light" data-motion="normal" data-suits="two">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body data-page="replay">
<noscript>{escape(say("site.saved_no_script"))}</noscript>
{embed_json("hand", saved)}
{embed_json("labels", labels())}
<script type="module">{script}</script>
</body>
</html>
"""


def _notes(meta: Mapping[str, Any]) -> list[str]:
    """What else a record tells of itself in single words and numbers."""
    told = [
        f"{plain_text(name)}: {plain_text(str(value))}"
        for name, value in meta.items()
        if isinstance(value, (str, int, float)) and not isinstance(value, bool)
    ]
    return told[:_MOST_NOTES]


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


# -- what the table's own page is made of


def _source(folder: str, name: str) -> str:
    return (files(__package__ or "") / "static" / folder / name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    return "\n".join(_PICTURE.sub(_as_data, _source("css", name)) for name in _STYLES)


def _as_data(found: re.Match[str]) -> str:
    picture = _source("", found[1]).encode()
    return f'url("data:image/svg+xml;base64,{b64encode(picture).decode()}")'


@cache
def _script() -> str:
    parts: dict[str, str] = {}
    _add_module(_FIRST_MODULE, parts)
    return "\n".join(parts.values())


def _add_module(name: str, parts: dict[str, str]) -> None:
    """A module as a function, after those that it imports from."""
    source = _TYPES.sub("", _source("js", name))  # they are for the type checker alone
    for _, path in _IMPORT.findall(source):
        needed = normpath(join(dirname(name), path))
        if needed not in parts:
            _add_module(needed, parts)
    body = _IMPORT.sub(lambda found: f"const {found[1]} = {_variable(found[2])};", source)
    exports = ", ".join(_EXPORT.findall(body))
    body = _EXPORT.sub("", body)
    parts[name] = f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


def _variable(path: str) -> str:
    return f"module_{basename(path).removesuffix('.js')}"
