"""The tables of `make bench` judge ratios alone: a slower machine misses nothing."""

from __future__ import annotations

import pytest

from benchmarks.measure import Row, machine, table


def test_speed_of_one_machine_takes_no_target() -> None:
    with pytest.raises(ValueError, match=r"raw_env has a target of 100000 steps/s: a slower"):
        Row("raw_env", 90_000, "steps/s", 100_000)


def test_table_marks_a_ratio_that_misses_its_target() -> None:
    rows = [
        Row("raw_env", 1.0, "steps/s"),
        Row("beside connect_four", 2.0, "times", 3),
        Row("two threads", 1.9, "times", 1.7),
        Row("the environment's part", 4.0, "%", 10, at_most=True),
    ]
    marks = [line.split("|")[5].strip() for line in table(rows).splitlines()[2:]]
    assert marks == ["", "**missed**", "yes", "yes"]


def test_machine_of_a_measurement_has_a_date() -> None:
    described = machine()
    assert str(described["date"]).startswith("20")
    assert described["processor"]
