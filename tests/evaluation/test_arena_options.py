"""Options of `evaluate` and `ladder`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from german_whist import network_inputs
from german_whist.commands.evaluation_options import (
    add_run_options,
    arena_options,
    match_of,
    precision_of,
    records_into,
)
from german_whist.common.threads import usable_threads
from german_whist.common.typing import Array
from german_whist.engine.rules import Match
from german_whist.evaluation import evaluate
from german_whist.evaluation.config import ladder_from
from support import reproducible


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_run_options(parser)
    return parser.parse_args(words)


def test_what_was_not_given_is_left_to_the_run() -> None:
    assert arena_options(parsed([])) == {"workers": 1, "on": "local"}
    arguments = parsed(["--hands", "7", "--seed", "0", "--match", "5", "--until", "1%"])
    told = {"hands": 7, "seed": 0, "match": Match(target=5), "until": 0.01}
    assert arena_options(arguments) == {**told, "workers": 1, "on": "local"}
    assert arena_options(parsed(["--workers", "0"]))["workers"] == usable_threads()
    assert arena_options(parsed(["--workers", "3"]))["workers"] == 3


def test_a_precision_is_read_as_percent_or_as_a_share() -> None:
    for text, value in (("0.5%", 0.005), (" 3% ", 0.03), ("0.02", 0.02), ("49.9%", 0.499)):
        assert precision_of(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("much", "'much' is not a precision such as 0.5%"),
        ("0", "'0' was read as 0 %, .* 50 %, as in 0.5%"),
        ("0.5", "'0.5' was read as 50 %, .*less than 50 %; write 0.5%"),
        ("50", "'50' was read as 5000 %, .* 50 %, as in 0.5%"),
        ("50%", "'50%' was read as 50 %, .* 50 %, as in 0.5%"),
        ("-1%", "'-1%' was read as -1 %"),
    ],
)
def test_a_precision_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=words):
        precision_of(text)


def test_matches_are_read_and_refused() -> None:
    assert match_of("25") == Match(target=25)
    assert match_of("best-of-3") == Match(best_of=3)
    for text in ("long", "best-of-2", "0"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}' is not a match"):
            match_of(text)


def test_records_are_there_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hands.jsonl"
    with records_into(path) as write:
        assert write is not None
        write("one")
        write("two")
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "one\ntwo\n"
    assert capsys.readouterr().err == f"wrote {path}\n"
    stopped = records_into(tmp_path / "other")
    write = stopped.__enter__()
    assert write is not None
    write("one")
    assert not stopped.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert [each.name for each in tmp_path.iterdir()] == ["hands.jsonl"]
    with records_into(None) as write:
        assert write is None


def test_a_ladder_config_gives_its_options_in_their_units() -> None:
    config = ladder_from(
        {"agents": ["a", "b"], "until": 0.5, "best_of": 3, "hands": 10, "seed": 0}, "a file"
    )
    assert config.options() == {"hands": 10, "seed": 0, "until": 0.005, "match": Match(best_of=3)}
    assert config.agents == ("a", "b")
    assert (config.title, config.rules, config.about) == ("Ladder", None, "")
    assert ladder_from({"match": 25}, "a file").options() == {"match": Match(target=25)}
    for wrong in ({"agents": {"a": 1}}, {"agents": [1]}, {"hands": True}, {"until": "much"}):
        with pytest.raises(ValueError, match=f"a file: {next(iter(wrong))} is "):
            ladder_from(wrong, "a file")


def test_key_follows_from_the_seed_by_default() -> None:
    """An agent that draws random numbers repeats its hands with the same seed alone."""
    first, again = (evaluate("random", "random-exact", hands=40, seed=3) for _ in range(2))
    other = evaluate("random", "random-exact", hands=40, seed=3, key="01" * 16)
    assert reproducible(first) == reproducible(again)
    assert first.pairings[0].win_rate != other.pairings[0].win_rate
    assert evaluate("random", "threshold", hands=2, seed=4).key != first.key


def test_arena_gives_torch_one_thread_and_returns_the_others() -> None:
    torch, threads = pytest.importorskip("torch"), set[int]()

    def policy(views: Array, streams: Array) -> Array:
        threads.add(torch.get_num_threads())
        return network_inputs(views, "classic").masks.argmax(axis=1)

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        evaluate(policy, "random", hands=2, seed=1)
        assert torch.get_num_threads() == 3
        assert threads == {1}
    finally:
        torch.set_num_threads(before)
