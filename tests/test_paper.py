"""The paper: its figures are those of the results, and its references are in the bibliography."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import mean

import pytest

from german_whist.training.experiments.benchmark import load_results

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "paper"


LONGER = {("search-rounds", "2x6-h3"): 6.4}
"""Millions of decisions where as many hands have more cards than the table's budget says."""


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
        millions = float(budget.split()[0]) if budget else 0
        for rules, cell in zip(header[2:], cells, strict=True):
            expected = LONGER.get((algorithm, rules), millions)
            values = [
                run.points[-1].values["exploitability"]
                for run in results
                if (run.algorithm, run.rules) == (algorithm, rules)
                and math.isclose(run.points[-1].decisions, expected * 1e6, rel_tol=0.01)
            ]
            if not millions or not values:
                assert not millions or not cell
                continue
            text = f"{mean(values):.4f}" if mean(values) > 5e-5 else "< 0.0001"
            assert cell == (f"({text})" if len(values) == 1 else text), (algorithm, rules)
            compared += 1
    assert compared == 27


# What the paper says, the page of results, and what stands there.
FIGURES = [
    ("family from 18,984 to 159 million information", "exploitability", "| `2x4-h2` | 18,984 |"),
    ("decks of up to 159 million information sets", "exploitability", "`2x8-h6` | 158,958,800 |"),
    ("more than 7,000 runs", "related", "more than 7,000 runs"),
    ("16 million decisions a second in a batch", "speed", "masks | 16 M decisions a second"),
    ("of 1,024 games with", "speed", "a step of 1,024 games with"),
    ("234,000 steps a second, 6.8 times", "speed", "234,000 a second, 6.8 times"),
    ("in a thousand million measurements", "exploitability", "in 1,000,000,000 measurements"),
    ("`threshold` has 0.1345 on the", "exploitability", "`threshold` | 0.1345 |"),
    ("smallest deck and 0.2182 on the second", "exploitability", "| 0.1345 | 0.2182 |"),
    ("two hidden layers of 128", "exploitability", "two hidden layers of 128"),
    (
        "PPO comes within 0.003 of an",
        "exploitability",
        "| `ppo`, tuned | 3 million | 0.00045 ± 0.00032 | 0.0027",
    ),
    ("deck of 242,340 information sets", "exploitability", "| `2x5-h3` | 242,340 |"),
    ("four epochs instead of one", "exploitability", "| `n_epochs=4` | 0.0059"),
    ("from 0.0184 to between 0.0059 and", "exploitability", "(unchanged, five: 0.0184 ± 0.0016)"),
    ("0.0084. Search", "exploitability", "| `batch_size=512` | 0.0084"),
    ("`ppo` from 0.0162 to 0.0028 on", "exploitability", "| `2x5-h3` | 0.0162 | 0.0028 |"),
    ("in a minute of one core", "exploitability", "a minute of one core"),
    ("less exploitable (0.0068) and", "exploitability", "| `2x5-h3` | 0.0068 | 0.0060 |"),
    ("more (0.0058 after three", "exploitability", "| 0.0060 | 0.0059 | 0.0058 |"),
    ("sampled policy has 0.0023):", "exploitability", "| 0.0028 | 0.0024 | 0.0023 |"),
    ("`champion` wins 67.3 ± 0.8 % of hands", "ladder", "| `classic` | 67.3 ± 0.8 | +0.346"),
    ("62.9 ± 0.8 % against the search `flat-mc:64`", "ladder", "| +0.346 ± 0.016 | 62.9 ± 0.8 |"),
    ("73.4 ± 1.9 % against the agent `counting`", "exploitability", "`counting` | 73.4 ± 1.9 %"),
    ("51.5 ± 1.4 % against `champion`", "exploitability", "`champion` | 51.5 ± 1.4 %"),
    ("Every tuned row had 60 trials", "exploitability", "the best of 60 trials"),
    ("about 90 seconds of one core", "exploitability", "each of 90 seconds of processor time"),
]


def whole(text: str) -> re.Pattern[str]:
    """A text whose numbers are not parts of longer ones."""
    return re.compile(rf"(?<![\d.,]){re.escape(text)}(?!\d|[.,]\d)")


@pytest.mark.parametrize(("sentence", "page", "row"), FIGURES)
def test_paper_says_what_stands_on_pages_of_results(
    sentence: str, page: str, row: str, paper: str
) -> None:
    text = (ROOT / "docs" / "results" / f"{page}.md").read_text(encoding="utf-8")
    assert whole(sentence).search(" ".join(paper.split()))
    assert whole(row).search(" ".join(text.split()))


def test_every_figure_of_the_paper_is_compared(paper: str) -> None:
    lines = paper.split("---", 2)[2].partition("# Sources")[0].splitlines()
    text = " ".join(" ".join(line for line in lines if not line.startswith("|")).split())
    for sentence, _, _ in FIGURES:
        text = whole(sentence).sub("", text)
    assert not re.findall(r"\d+[.,]\d+|\d+ million|± \d", text)
    header, *_, sizes = [line.split("|")[3:-1] for line in lines if line.startswith("|")]
    page = (ROOT / "docs" / "results" / "exploitability.md").read_text(encoding="utf-8")
    for deck, size in zip(header, sizes, strict=True):
        assert f"\n|{deck}|{size}|" in page


def test_paper_has_the_length_and_references_of_its_form(paper: str) -> None:
    assert 1500 <= len(paper.split()) <= 1900
    entries = re.findall(r"^@\w+\{(\w+),", (FOLDER / "paper.bib").read_text("utf-8"), re.MULTILINE)
    body = paper.split("---", 2)[2]
    assert {*re.findall(r"(?<!\w)@(\w+)", body)} == {*entries}
    assert len(entries) == len({*entries})
