"""Pages of the extensions: README.md and `docs/` of each, and what they make from their code.

An extension that makes pages has `docs/made.py`, whose `pages()` returns the texts of files by
their path in the extension's folder.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.parent for path in ROOT.glob("extensions/*/__init__.py"))


def pages(folder: Path) -> list[Path]:
    """The pages of an extension, its README first."""
    return [folder / "README.md", *sorted((folder / "docs").glob("*.md"))]


def made_pages() -> dict[Path, str]:
    """Every file that an extension makes from its code."""
    made: dict[Path, str] = {}
    # What these import beside the package, such as tables of settings, lies in this folder.
    sys.path.insert(0, str(Path(__file__).parent))
    for folder in FOLDERS:
        script = folder / "docs" / "made.py"
        if script.exists():
            texts: dict[str, str] = runpy.run_path(str(script))["pages"]()
            made |= {folder / name: text for name, text in texts.items()}
    sys.path.pop(0)
    return made
