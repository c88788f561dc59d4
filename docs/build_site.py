"""Make the site, strictly: `make site`, into `build/site`.

The programs of the pages run, Sphinx makes the pages and warns of nothing, and every link of what
came out leads to a page and an anchor that are there; scripts, styles and pictures lie beside the
pages. Otherwise it ends with an error, and says where.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
            *("-W", "--keep-going", "--quiet", str(source / "docs"), str(out)),
        ],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if told.returncode:
        return told.stderr.strip().splitlines()
    return list(dead_links(out))


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


# -- links


class Page(HTMLParser):
    """What a page points to, what in it can be pointed to, and what it needs to be shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.needs: list[str] = []
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and the anchors of an element."""
        told = {name: value or "" for name, value in attrs}
        self.anchors |= {told[name] for name in ("id", "name") if name in told}
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        self.needs += [told["src"]] if "src" in told else []
        if tag == "link" and told.get("rel") in ("stylesheet", "icon", "preload"):
            self.needs.append(told["href"])


def dead_links(out: Path) -> Iterator[str]:
    """Links of a site that lead nowhere, and what it would fetch from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(out.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(out).as_posix()
        for target in [*page.links, *page.needs]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.needs and parts.scheme != "data":
                    yield f"{where}: fetches {target} from elsewhere"
                continue
            other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not other.is_file():
                yield f"{where}: {target} leads to no file"
            elif other in pages and unquote(parts.fragment) not in pages[other].anchors:
                yield f"{where}: {target} leads to no anchor of {other.name}"


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
