"""Build the site strictly: `make site`, into `build/site`.

The programs of the pages must run, and Sphinx must not warn: every link, anchor and picture exists.
Errors name the page and the line.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

import extension_pages
import pages
import reference

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
        for folder in ("examples", "extensions"):
            shutil.copytree(ROOT / folder, source / folder, ignore=NOT_COPIED)
        shutil.copy(ROOT / "CITATION.cff", source)
        for folder in extension_pages.FOLDERS:
            place = source / "docs" / "extensions" / folder.name
            shutil.copytree(folder / "docs", place, ignore=NOT_COPIED)
        for name, text in site_pages().items():
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


ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "develop/contributing.md",
    "CHANGELOG.md": "develop/changes.md",
    "extensions/README.md": "extensions/index.md",
}
THREE_WAYS = """\
:::{container} ways
- **[Train an agent](docs/guide/training.md)**
  with one command, and measure it against others.
- **[Use the environments](docs/guide/envs.md)**
  in code of your own, with PettingZoo or Gymnasium.
- **[Play](extensions/README.md)**
  against the agents in your browser.
:::
"""
"""Below the introduction of the first page."""
_LINK = re.compile(r"\]\(([^)#\s:]+)(?=[)#])")


def place_on_site(path: str) -> str | None:
    """Where a file of the repository is on the site; None for what has no place there."""
    folder, _, name = path.partition("/")
    if folder == "docs":
        return name
    if folder == "extensions" and "/" in name:
        extension, _, rest = name.partition("/")
        if rest == "README.md":
            return f"extensions/{extension}/index.md"
        inner, _, file = rest.partition("/")
        return f"extensions/{extension}/{file}" if inner == "docs" else None
    return ROOT_PAGES.get(path)


def site_pages() -> dict[str, str]:
    """Pages by their place on the site: all that link to, or lie in, other folders than `docs`.

    The first page is README.md, and each extension lists its pages.
    """
    texts = {name: (ROOT / name).read_text("utf-8") for name in ROOT_PAGES}
    texts |= {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in [*DOCS.rglob("*.md"), *(ROOT / "extensions").glob("*/docs/*.md")]
        if path != DOCS / "index.md"
    }
    front, ways = texts["README.md"].split("\n## ", 1)
    texts["README.md"] = f"{front}\n{THREE_WAYS}\n## {ways}"
    overviews = _add_contents(texts)
    texts["docs/reference/api.md"] += toctree(
        [f"reference/{Path(name).stem}" for name in reference.FILES]
    )
    folders = extension_pages.FOLDERS
    if folders:
        texts["extensions/README.md"] += toctree(
            [f"extensions/{folder.name}/index" for folder in folders]
        )
    for folder in folders:
        readme, *others = extension_pages.pages(folder)
        text = readme.read_text("utf-8") + toctree(
            [f"extensions/{folder.name}/{page.stem}" for page in others]
        )
        texts[readme.relative_to(ROOT).as_posix()] = text
    placed = {str(place_on_site(path)): with_site_links(path, text) for path, text in texts.items()}
    return placed | overviews


_CONTENTS = re.compile(r"```\{toctree\}\n:hidden:\n:caption: (.+)\n\n((?:.+\n)+)```")
_OVERVIEWS = ("reference", "results", "develop")


def _add_contents(texts: dict[str, str]) -> dict[str, str]:
    """Add the contents of `index.md` to the pages: the sidebar shows the first page of each part.

    The others unfold below it. Folders without a first page get an overview, which is returned.
    """
    overviews: dict[str, str] = {}
    shown: list[str] = []
    for caption, listed in _CONTENTS.findall((DOCS / "index.md").read_text("utf-8")):
        first, *others = entries = listed.split()
        folder = first.partition("/")[0]
        if folder in _OVERVIEWS:
            overviews[f"{folder}/index.md"] = f"# {caption}\n{toctree(entries, hidden=False)}"
            shown.append(f"{folder}/index")
        elif caption == "Guide":
            shown += entries
        else:
            shown.append(first)
            if others:
                texts[f"docs/{first}.md"] += toctree(others)
    texts["README.md"] += toctree(shown)
    return overviews


def toctree(entries: list[str], hidden: bool = True) -> str:
    """A table of contents with pages by their place on the site, which the sidebar shows."""
    option = ":hidden:" if hidden else ":maxdepth: 1"
    return "\n".join(
        ["", "```{toctree}", option, "", *(f"/{entry}" for entry in entries), "```", ""]
    )


def with_site_links(path: str, text: str) -> str:
    """The text of a page with its relative links as of the site."""
    page = place_on_site(path) or ""

    def site_link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1]))
        if not (ROOT / target).exists():
            return match[0]  # Sphinx says so
        place = place_on_site(target) or f"../{target}"
        return f"]({posixpath.relpath(place, posixpath.dirname(page) or '.')}"

    return _LINK.sub(site_link, text)


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
