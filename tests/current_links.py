"""Refuse to test where packages have moved since the checkout was installed.

An editable installation links them into `src/german_whist`.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINKS = {
    path.name: path.resolve()
    for path in (ROOT / "src" / "german_whist").iterdir()
    if path.is_symlink()
}
FOLDERS = {
    path.parent.name: path.parent
    for pattern in ("*/__init__.py", "extensions/*/__init__.py")
    for path in ROOT.glob(pattern)
    if path.parent.name not in ("benchmarks", "tests")
}
if LINKS and LINKS != FOLDERS:
    raise SystemExit(
        "packages have moved since this checkout was installed: `make test` installs it anew, and "
        "so does `python -m pip install --no-deps --no-build-isolation --editable .`"
    )
