"""How Sphinx makes the site: Markdown by MyST, the theme Furo.

`build_site.py` calls it, on a copy of this folder with the pages of the reference beside it.
"""

from __future__ import annotations

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
html_static_path = ["site.css"]
html_css_files = ["site.css"]
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
smartquotes_action = "qe"  # quotes and ellipses; `--hands` in a sentence keeps its dashes
# A block without a language is a terminal, as in the repository's pages.
highlight_language = "bash"
