"""How Sphinx makes the site: Markdown by MyST, the theme Furo.

`build_site.py` calls it, on a copy of this folder with the pages of the reference beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import german_whist

project = "German Whist"
version = release = german_whist.__version__
html_title = "German Whist"
copyright = "The German Whist developers"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
exclude_patterns = ["paper"]  # for pandoc: its citations are no Markdown
html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_static_path = ["site.css", "site.js"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(Path(__file__).with_name("search_scores.js"))
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
smartquotes_action = "qe"  # quotes and ellipses; `--hands` in a sentence keeps its dashes
# A block without a language is a terminal, as in the repository's pages.
highlight_language = "bash"

# What the theme leaves out for screen readers: levels of headings, and names of areas.
_ADDED = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<div id="search-results">': '<h1>Search</h1>\n<div id="search-results">',
}


def _add_labels(app: Any, error: Exception | None) -> None:
    if error is None:
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text("utf-8")
            for found, replacement in _ADDED.items():
                text = text.replace(found, replacement)
            page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("build-finished", _add_labels)
