"""Make the site, strictly: `make site`, into `build/site`.

The programs of the pages run, and Sphinx makes the pages and warns of nothing: every link leads to
a page and an anchor that are there, and every picture lies beside the pages. Otherwise it ends with
an error, and says where.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pages
from reference import reference

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.py[co]")


def build(out: Path, docs: Path = DOCS) -> list[str]:
    """Make the site of a folder of pages; what is wrong with it, in sentences."""
    source = out.parent / f"{out.name}-source"
    for each in (source, out):
        shutil.rmtree(each, ignore_errors=True)
    shutil.copytree(docs, source / "docs", ignore=NOT_COPIED)
    if docs == DOCS:
        shutil.copytree(ROOT / "examples", source / "examples", ignore=NOT_COPIED)
        for name, text in {**reference(), **from_the_top()}.items():
            (source / "docs" / name).parent.mkdir(exist_ok=True)
            (source / "docs" / name).write_text(text, encoding="utf-8")
    told = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-b", "html", "-c", str(DOCS), "-E"),
            *("-nW", "--keep-going", "--quiet", str(source / "docs"), str(out)),
        ],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return told.stderr.strip().splitlines() if told.returncode else []


def from_the_top() -> dict[str, str]:
    """Pages of the repository's top as pages of the site, their links as seen from here."""
    names = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
    texts: dict[str, str] = {}
    for name, here in names.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, there in names.items():
            text = text.replace(f"]({other})", f"]({there})")
        texts[here] = text
    return texts


def main(out: Path = ROOT / "build" / "site") -> None:
    """Make the site, or say what is wrong."""
    print(f"running the programs of {len(pages.programs(pages.PAGES))} pages", flush=True)
    wrong = pages.failures(pages.PAGES)
    print("making the site", flush=True)
    if wrong := [*wrong, *build(out)]:
        told = "1 fault" if len(wrong) == 1 else f"{len(wrong)} faults"
        sys.exit("\n".join([*wrong, f"the site is not made: {told}"]))
    print(f"{out / 'index.html'}: open it in a browser")


if __name__ == "__main__":
    main()
