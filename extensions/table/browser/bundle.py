# pyright: strict
"""The page's modules and style sheets as one script and one style, for pages that are one file.

Each ES module becomes a function that returns its exports, after the modules that it imports;
those that are imported by `import(…)` are a second script, for pages that are opened later.
The sources stay readable files, and nothing has to be built before they are served.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import quote

import msgspec

from ..text.labels import labels

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[\w./]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|let|function|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^ */\*(?:(?!\*/)[\s\S])*\*/\n|^ *//.*\n", re.MULTILINE)
_LATER = re.compile(r'import\("(\.[\w./]+)"\)')
_LABEL = re.compile(r"""["`](\w+)\.(\w*)|LABELS\.(\w+)""")
_INDENT = re.compile(r"^\s+", re.MULTILINE)
_PICTURE = re.compile(r'url\("?\.\./([\w.]+\.svg)"?\)')
LATER = "/later.js"
_START = f"""const modules = {{}};
const later = async (name) => {{
  const {{ add }} = await import("{LATER}");
  if (!modules[name]) add(modules);
  return modules[name];
}};"""
_ADD = """export const add = (modules) => {
  const [labels, style] = %s, sheet = new CSSStyleSheet();
  const { LABELS } = modules["base/words.js"];
  for (const name in labels) Object.assign(LABELS[name] ??= {}, labels[name]);
  sheet.replaceSync(style);
  document.adoptedStyleSheets.push(sheet);
  %s
};"""
# Written as they are, these could end the element that the data stands in, or a line of script.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def embed_json(name: str, value: object) -> str:
    """A value as JSON in a page, for its script to read."""
    data = msgspec.json.encode(value).decode().translate(_ESCAPES)
    return f'<script type="application/json" id="{name}">{data}</script>'


def labels_in(script: str) -> dict[str, Any]:
    """The labels that a script names, and all of a section where it composes the names."""
    named: dict[str, dict[str, Any]] = {}
    for section, name, whole in _LABEL.findall(script):
        part: dict[str, Any] = labels().get(section or whole, {})
        names = [name] if name else part
        named.setdefault(section or whole, {}).update({n: part[n] for n in names if n in part})
    return {section: part for section, part in named.items() if part}


def policy_hash(text: str) -> str:
    """The source expression that allows an inline script or style in a Content-Security-Policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def style_of(*names: str) -> str:
    """Style sheets one after the other, their pictures as data."""
    sheets = "\n".join(_PICTURE.sub(_as_data, _source("css", name)) for name in names)
    return _INDENT.sub("", sheets)


@cache
def script_of(first: str) -> str:
    """A module and all that it imports, as one script; what it imports later is not in it."""
    return _INDENT.sub("", "\n".join([_START, *_modules(first)[0].values()]))


def later_script_of(first: str, *styles: str) -> str:
    """What a script needs later: the modules that its module imports then, labels and styles."""
    parts, later = _modules(first)
    before = set(parts)
    for name in later:
        _add_module(name, parts, [])
    script = "\n".join(part for name, part in parts.items() if name not in before)
    data = [labels_in(script), style_of(*styles)]
    return _INDENT.sub("", _ADD % (msgspec.json.encode(data).decode(), script))


def _modules(first: str) -> tuple[dict[str, str], list[str]]:
    """A module and all that it imports, in order, and the names of those that it imports later."""
    parts: dict[str, str] = {}
    later: list[str] = []
    _add_module(first, parts, later)
    return parts, later


def _source(folder: str, name: str) -> str:
    return (files(__package__ or "") / "static" / folder / name).read_text(encoding="utf-8")


def _as_data(match: re.Match[str]) -> str:
    picture = quote(_source("", match[1]).strip().replace('"', "'"), safe=" '/:=,")
    return f'url("data:image/svg+xml,{picture}")'


def _add_module(name: str, parts: dict[str, str], later: list[str]) -> None:
    def path_of(path: str) -> str:
        return normpath(join(dirname(name), path))

    source = _COMMENT.sub("", _source("js", name))
    later += map(path_of, _LATER.findall(source))
    for _, path in _IMPORT.findall(source):
        if path_of(path) not in parts:
            _add_module(path_of(path), parts, later)
    body = _IMPORT.sub(lambda match: f'const {match[1]} = modules["{path_of(match[2])}"];', source)
    body = _LATER.sub(lambda match: f'later("{path_of(match[1])}")', body)
    exports = ", ".join(_EXPORT.findall(body))
    body = _EXPORT.sub("", body)
    parts[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();'
