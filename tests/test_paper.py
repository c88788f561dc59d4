"""The paper: its figures are those of the results, and its references are in the bibliography."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean

import pytest

from german_whist.training.experiments.benchmark import load_results

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "paper"


@pytest.fixture(scope="module")
def paper() -> str:
    return (FOLDER / "paper.md").read_text(encoding="utf-8")


def test_paper_table_is_the_mean_of_published_seeds(paper: str) -> None:
    results = load_results(ROOT / "configs" / "benchmark" / "published.jsonl")
    header, _, *rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in paper.splitlines()
        if line.startswith("|")
    ]
    compared = 0
    for algorithm, budget, *cells in rows:
        millions = int(budget.split()[0]) if budget else 0
        for rules, cell in zip(header[2:], cells, strict=True):
            values = [
                run.points[-1].values["exploitability"]
                for run in results
                if (run.algorithm, run.rules) == (algorithm, rules)
                and run.points[-1].decisions // 1_000_000 == millions
            ]
            if not millions or not values:
                assert not millions or not cell
                continue
            text = f"{mean(values):.4f}"
            assert cell == (f"({text})" if len(values) == 1 else text), (algorithm, rules)
            compared += 1
    assert compared == 18


@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("exploitability", "0.1345 0.2182 0.0162 0.0028 0.0068 0.0058 0.0023 0.0059 0.0084"),
        ("exploitability", "73.4 51.5 18,984 242,340 1,618,320 127,278,270 158,958,800"),
        ("leaderboard", "60.2 61.1"),
        ("speed", "234,000 6.8"),
    ],
)
def test_paper_figures_stand_on_the_pages_of_results(paper: str, page: str, figures: str) -> None:
    text = (ROOT / "docs" / "results" / f"{page}.md").read_text(encoding="utf-8")
    rounded = paper.replace("159 million", "158,958,800")
    for figure in figures.split():
        assert figure in rounded, figure
        assert figure in text, figure


def test_paper_has_the_length_and_references_of_its_form(paper: str) -> None:
    assert 1500 <= len(paper.split()) <= 1900
    entries = re.findall(r"^@\w+\{(\w+),", (FOLDER / "paper.bib").read_text("utf-8"), re.MULTILINE)
    body = paper.split("---", 2)[2]
    assert {*re.findall(r"(?<!\w)@(\w+)", body)} == {*entries}
    assert len(entries) == len({*entries})
