"""Build the site strictly: `make site`, into `build/site`.

The programs of the pages must run, and Sphinx must not warn: every link, anchor and picture exists.
Errors name the page and the line.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pages
from reference import reference

SCRIPTS = Path(__file__).resolve().parent
DOCS = SCRIPTS.parent
ROOT = DOCS.parent
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.py[co]", SCRIPTS.name)


def build(out: Path, docs: Path = DOCS) -> list[str]:
    """Build the site of a folder of pages; return its faults, in sentences."""
    source = out.parent / f"{out.name}-source"
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(docs, source / "docs", ignore=NOT_COPIED)
    if docs == DOCS:
        shutil.copytree(ROOT / "examples", source / "examples", ignore=NOT_COPIED)
        shutil.copy(ROOT / "CITATION.cff", source)
        for name, text in {**reference(), **root_pages()}.items():
            (source / "docs" / name).parent.mkdir(exist_ok=True)
            (source / "docs" / name).write_text(text, encoding="utf-8")
    sphinx = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-b",
            "html",
            "-c",
            str(SCRIPTS),
            "-E",
            "-nW",
            "--keep-going",
            "--quiet",
            str(source / "docs"),
            str(out),
        ],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return sphinx.stderr.strip().splitlines() if sphinx.returncode else []


def root_pages() -> dict[str, str]:
    """The pages of the top folder, with links as of the site; the contents follow README.md."""
    names = {
        "README.md": "index.md",
        "CONTRIBUTING.md": "develop/contributing.md",
        "CHANGELOG.md": "develop/changes.md",
    }
    texts: dict[str, str] = {}
    for name, page in names.items():
        up = "../" * page.count("/")

        def site_link(match: re.Match[str], up: str = up) -> str:
            target = match[1]
            if target in names:
                return f"]({up}{names[target]}"
            if target.startswith("docs/"):
                return f"]({up}{target.removeprefix('docs/')}"
            return f"](../{up}{target}" if (ROOT / target).exists() else match[0]

        texts[page] = re.sub(r"\]\(([^)#\s]+)", site_link, (ROOT / name).read_text("utf-8"))
    contents = (DOCS / "index.md").read_text("utf-8")
    texts["index.md"] += "\n" + contents[contents.index("```{toctree}") :]
    return texts


def main(out: Path = ROOT / "build" / "site") -> None:
    """Build the site, or exit with its faults."""
    print(f"running the programs of {len(pages.programs(pages.PAGES))} pages", flush=True)
    failures = pages.failures(pages.PAGES)
    print("making the site", flush=True)
    if faults := [*failures, *build(out)]:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        sys.exit("\n".join([*faults, f"the site is not made: {count}"]))
    print(f"{out / 'index.html'}: open it in a browser")


if __name__ == "__main__":
    main()
