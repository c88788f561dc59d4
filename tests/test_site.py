"""The site builds strictly, needs nothing from elsewhere, and a fault in a page breaks it.

Of the thorough tests: `make thorough`.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support import CHROMIUM

ROOT = Path(__file__).resolve().parent.parent
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """The program that makes the site, with its neighbors to be imported."""
    scripts = ROOT / "docs" / "scripts"
    sys.path.insert(0, str(scripts))
    spec = importlib.util.spec_from_file_location("build_site", scripts / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(scripts))
    return module


@pytest.fixture(scope="module")
def built(site: ModuleType, tmp_path_factory) -> Path:
    """The site by `make site`, but for the pages' programs, which `test_documentation.py` runs."""
    out = tmp_path_factory.mktemp("site") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site.pages, "PAGES", [])
        site.main(out)
    return out


def test_site_keeps_option_dashes_and_searches_offline(built: Path) -> None:
    commands = built / "reference" / "commands.html"
    assert "with --match);" in commands.read_text(encoding="utf-8")
    page = (built / "search.html").read_text(encoding="utf-8")
    assert 'src="searchindex.js"' in page
    assert (built / "searchindex.js").read_text(encoding="utf-8").startswith("Search.setIndex(")


# One page of each kind: pictures, long tables, names, code, and what no Markdown makes.
SHOWN = (
    "index",
    "develop/architecture",
    "results/ladder",
    "reference/environments",
    "reference/api-envs",
    "search",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("make browser brings it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_pages_are_whole_and_fetch_nothing(
    width: int, theme: str, built: Path, browser: Any
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    said: list[str] = []
    page.on("console", lambda each: said.append(each.text))
    page.on("pageerror", lambda each: said.append(str(each)))
    page.on(
        "request",
        lambda each: None if each.url.startswith(("file:", "data:")) else said.append(each.url),
    )
    for name in SHOWN:
        page.goto((built / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("[...document.images].every(each => each.naturalWidth)"), name
    assert not said
    page.close()


@pytest.mark.skipif(not AXE.exists(), reason="make browser brings axe-core")
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_on_the_pages(width: int, theme: str, built: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    found: dict[str, list[str]] = {}
    for name in SHOWN:
        page.goto((built / f"{name}.html").as_uri())
        page.evaluate(AXE.read_text(encoding="utf-8"))
        violations = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        found[name] = [each["id"] for each in violations["violations"]]
    assert found == {name: [] for name in SHOWN}
    page.close()


def results_of_search(browser: Any, built: Path, query: str) -> list[str]:
    page = browser.new_page()
    page.goto(f"{(built / 'search.html').as_uri()}?q={query.replace(' ', '+')}")
    page.wait_for_function("!document.querySelector('#search-progress')?.textContent")
    page.wait_for_selector("#search-results li a")
    links = page.eval_on_selector_all(
        "#search-results li a", "links => links.map(link => link.getAttribute('href'))"
    )
    page.close()
    return [link.partition("?")[0].partition("#")[0] for link in links]


GUIDES = ("guide/", "interop/", "index.html", "extensions/")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("hint", "extensions/table/guide.html"),
        ("take back", "extensions/table/guide.html"),
        ("compare two checkpoints", "guide/evaluate.html"),
        ("opponent pool", "guide/vectors.html"),
        ("behavior", "guide/"),
    ],
)
def test_search_lists_guides_before_the_reference(
    query: str, wanted: str, built: Path, browser: Any
) -> None:
    if wanted.startswith("extensions/") and not (built / wanted).exists():
        pytest.skip(f"{wanted} is of an extension that is not here")
    found = results_of_search(browser, built, query)
    leading = list(itertools.takewhile(lambda link: link.startswith(GUIDES), found))
    assert any(link.startswith(wanted) for link in leading), found


def test_first_page_has_short_contents_and_uncut_code(built: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((built / "index.html").as_uri())
    assert 8 <= len(page.query_selector_all(".sidebar-tree > ul > li")) <= 14
    assert len(page.query_selector_all(".ways li a")) == 3
    widths = page.eval_on_selector_all("pre", "all => all.map(e => [e.scrollWidth, e.clientWidth])")
    assert len(widths) > 5
    assert all(scrolled <= shown for scrolled, shown in widths)
    page.close()


FAULTS = {
    "page": ("[gone](gone.md)", "gone.md"),
    "heading": ("[gone](#nowhere)", "nowhere"),
    "anchor": ("[gone](other.md#nowhere)", "nowhere"),
    "picture": ("![gone](gone.png)", "gone.png"),
    "contents": ("```{toctree}\nmissing\n```", "missing"),
    "unlisted": ("Text", "included in any toctree"),
}
"""Pages with a fault each, and what is said of it."""


def written(folder: Path, pages: dict[str, str]) -> Path:
    (docs := folder / "docs").mkdir()
    for name, text in pages.items():
        (docs / f"{name}.md").write_text(text, encoding="utf-8")
    return docs


def test_every_fault_in_a_page_breaks_the_build(site: ModuleType, tmp_path) -> None:
    pages = {name: f"# A {name}\n\n{text}\n" for name, (text, _) in FAULTS.items()}
    listed = "\n".join([*(FAULTS.keys() - {"unlisted"}), "other"])
    index = f"# A page\n\n```{{toctree}}\n{listed}\n```\n"
    docs = written(tmp_path, {**pages, "index": index, "other": "# Another\n"})
    said = site.build(tmp_path / "out", docs)
    for name, (_, words) in FAULTS.items():
        assert any(f"{name}.md" in each and words in each for each in said), (name, said)
    assert not any("other.md:" in each or "index.md:" in each for each in said), said


def test_pages_without_a_fault_build(site: ModuleType, tmp_path) -> None:
    index = "# A page\n\n[it](named.md#here)\n\n```{toctree}\n:hidden:\n\nnamed\n```\n"
    pages = {"index": index, "named": "# It is named\n\n## Here\n"}
    assert site.build(tmp_path / "out", written(tmp_path, pages)) == []
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'href="named.html">It is named' in page
