"""The table without what Windows lacks."""

from __future__ import annotations

from pathlib import Path

from test_portable import command, portable


def test_there_are_no_keys(tmp_path: Path) -> None:
    code = "from german_whist.table.terminal.keyboard import has_keys; assert not has_keys()"
    portable(tmp_path, "-c", code)


def test_a_card_is_played_in_lines(tmp_path: Path) -> None:
    words = "play easy --fast --new --seed 4 --data data"
    told = command(tmp_path, *words.split(), typed="AS\n")
    assert "You lead A♠." in told
    assert "The table is kept as it is" in told
