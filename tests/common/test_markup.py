"""Texts of others in a terminal, in HTML, Markdown and CSV, and as names of files."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree
from html import unescape
from pathlib import Path

import pytest

from german_whist.common.files import file_name
from german_whist.common.markup import (
    html_text,
    markdown_block,
    markdown_code,
    markdown_table,
    markdown_text,
    one_line,
    printable,
)
from german_whist.common.serialization import csv_text
from german_whist.evaluation.formats import in_columns
from german_whist.evaluation.reports import charts

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b`c``d*e*[f](g)",
    "two\nlines\r\n# heading\u2028and\x85more",
    "\x1b[2J\x1b]0;title\x07\x9b31m\x00",
    "\u202eright to left\u2066",
    "\"quoted\" & 'so'",
    "=1+1",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_every_report(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert printable(text).replace("\n", "").isprintable()
    assert unescape(html_text(text)) == printable(text)
    assert not {"<", ">", '"', "'"} & {*html_text(text)}
    # A row of a table in Markdown keeps its cells, and its marks have no effect.
    for cell in (markdown_text(text), markdown_code(text, in_table=True)):
        rows = markdown_table(["a", "b"], [[cell, "1"]]).splitlines()
        assert len(rows) == 3
        assert rows[2].replace("\\|", "").count("|") == 3
    assert "<" not in markdown_text(text)
    assert markdown_block(text).splitlines()[0] not in markdown_block(text).splitlines()[1:-1]
    (header, row) = in_columns(["name", "value"], [[text, "1"]])
    assert row.endswith("  " + "1".rjust(5))
    assert header.isprintable()
    assert row.isprintable()


@pytest.mark.parametrize("text", HOSTILE)
def test_chart_with_a_hostile_name_is_valid_xml(text: str) -> None:
    curve = charts.Curve([(1.0, 0.5), (2.0, 0.75)], [0.1, 0.1])
    drawn = charts.curves({text: curve}, f"over {text}", f"of {text}")
    root = ElementTree.fromstring(charts.standalone(drawn, [text]))
    shapes = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert shapes <= {"svg", "style", "text", "tspan", "line", "polyline", "polygon", "circle"} | {
        "title"
    }
    assert any(printable(text) in (element.text or "") for element in root.iter())


def test_printable_keeps_lines_and_undecodable_bytes() -> None:
    assert printable("a\tb\nc\x1b[0m\udcff") == "a b\nc [0m\udcff"
    assert one_line("  a\n\n b\u00a0c ") == "a b c"


def test_markdown_escapes_only_what_marks_something() -> None:
    assert markdown_text("a_b _c_ *d* & <e>") == "a_b \\_c\\_ \\*d\\* &amp; &lt;e&gt;"
    assert markdown_code("a `b` | c", in_table=True) == "`` a `b` \\| c ``"
    assert markdown_block("```\nx", "yaml") == "````yaml\n```\nx\n````"


@pytest.mark.parametrize(
    "text", ["=1+1", "+A1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", " =1", "\r@x"]
)
def test_csv_cell_is_no_formula_of_a_spreadsheet(text: str) -> None:
    header, cells = csv.reader(io.StringIO(csv_text([{text: text}])))
    assert header == cells
    assert cells[0].startswith("'")


def test_csv_keeps_numbers_and_missing_values() -> None:
    rows = [{"a": -1.5, "b": "-2e3", "c": "x"}, {"a": None, "d": "two\nlines"}]
    assert [*csv.DictReader(io.StringIO(csv_text(rows)))] == [
        {"a": "-1.5", "b": "-2e3", "c": "x", "d": ""},
        {"a": "", "b": "", "c": "", "d": "two\nlines"},
    ]


@pytest.mark.parametrize("text", ["cfr+", "2x4-h2", "ppo_2.1", "exploitability", "x" * 100])
def test_plain_names_are_names_of_files(text: str) -> None:
    assert file_name(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *HOSTILE,
        "",
        ".",
        "..",
        "../../etc/passwd",
        "x/../../../pwned",
        "a\\b",
        "C:x",
        "-rf",
        ".hidden",
        "trailing.",
        "nul",
        "COM1.txt",
        "x" * 300,
        "übung",
        "a b-c",
        "\udcff",
    ],
)
def test_other_names_become_one_plain_file_name(text: str, tmp_path: Path) -> None:
    name = file_name(text)
    assert name.isascii()
    assert len(name) <= 100
    assert name[0] not in "-."
    assert name != text
    path = tmp_path / name
    path.write_bytes(b"")
    assert [*tmp_path.iterdir()] == [path]
    assert file_name(text + "?") != name


def test_blanks_in_a_file_name_become_dashes() -> None:
    assert file_name("wins against random") == "wins-against-random"
