"""How Sphinx makes the site: Markdown by MyST, the theme Furo.

`build_site.py` calls it, on a copy of this folder with the pages of the reference beside it.
"""

from __future__ import annotations

import importlib
import inspect
import re

from sphinx.application import Sphinx

import german_whist

project = "German Whist"
version = release = german_whist.__version__
html_title = "German Whist"
copyright = "The German Whist developers"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
smartquotes_action = "qe"  # quotes and ellipses; `--hands` in a sentence keeps its dashes
# A block without a language is a terminal, as in the repository's pages.
highlight_language = "bash"
_DOCSTRING = re.compile(r"^```\{docstring\} *(\S+)\n```$", re.MULTILINE)


def _docstring(name: str) -> str:
    """The docstring of a module or a class."""
    try:
        documented = importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, member = name.rpartition(".")
        documented = getattr(importlib.import_module(module), member)
    text = documented.__doc__
    if not text:
        raise ValueError(f"{name} has no docstring to show")
    return inspect.cleandoc(text)


def _show_docstrings(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Replace `{docstring} NAME` blocks by the docstring, as Markdown."""
    source[0] = _DOCSTRING.sub(lambda match: _docstring(match[1]), source[0])


def _list_the_rest(app: Sphinx, name: str, source: list[str]) -> None:
    """Pages that no table of contents names stand under *More*."""
    if name == "index":
        named = set(re.findall(r"^([\w/-]+)$", source[0], re.MULTILINE))
        rest = sorted(app.env.found_docs - named - {"index"})
        rest = [page for page in rest if "/" not in page]
        lines = ["", "```{toctree}", ":hidden:", ":caption: More", "", *rest, "```", ""]
        source[0] += "\n".join(lines) if rest else ""


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _show_docstrings)
    app.connect("source-read", _list_the_rest)
