"""A protocol is frozen, and its command writes an entry that holds up."""

from __future__ import annotations

import json
import shutil
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from checkpoints import rewrite_card

from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from german_whist.cli import main
from german_whist.evaluation import evaluate
from german_whist.evaluation import protocol as protocols
from german_whist.evaluation.protocol import (
    PROTOCOLS,
    Entry,
    digest_of,
    digits_of,
    entry_file,
    evaluate_protocol,
    replay,
)

SMALL = replace(PROTOCOLS["v1"], hands=40, opponents=("counting", "random"), decks=("2x4-h2",))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder to work in, where v1 is small."""
    monkeypatch.setitem(protocols.PROTOCOLS, "v1", SMALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_published_protocol_does_not_change() -> None:
    first = PROTOCOLS["v1"]
    assert (first.name, first.seed, first.hands) == ("v1", 36_101_894, 2_000)
    assert (first.rules, first.decks) == ("classic", ("2x4-h2", "2x5-h3"))
    players = "threshold", "counting", "flat-mc:64", "champion-1", "champion-2"
    assert first.opponents == (*players, "thinker:64,policy=champion-2")


def test_the_command_writes_an_entry(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "mine=value:13", "--protocol", "v1"]) == 0
    shown = capsys.readouterr()
    text = (small / "mine.json").read_text("utf-8")
    assert "wrote mine.json" in shown.err
    entry = Entry.from_text(text)
    assert entry.text() == text
    assert (entry.name, entry.agent, entry.protocol) == ("mine", "mine=value:13", SMALL)
    assert entry.result.command == "german-whist evaluate mine=value:13 --protocol v1"
    assert entry.result.version
    assert "Numba" in (entry.result.machine or "")
    # Exact: the table of solved decks in docs/results/exploitability.md.
    assert entry.decks["2x4-h2"].exploitability == pytest.approx(0.1077, abs=1e-4)
    assert "exploitability on 2x4-h2: 0.1077 a hand" in shown.out
    # A mean over opponents, and an interval over deals that all of them play.
    rates = [pairing.win_rate.value for pairing in entry.result.pairings]
    assert entry.win_rate.value == pytest.approx(np.mean(rates))
    assert f"v1: {100 * entry.win_rate.value:.1f} ± " in shown.out
    assert 0 < entry.ms_a_move < 50
    # Any deals of it can be replayed alone, the same on any number of workers.
    deals = SMALL.public_deals
    (first,) = replay(entry.agent, SMALL, deals, [0])
    (chunks,) = replay(entry.agent, SMALL, deals, [7], 5)
    assert [digits_of(chunk.scores) for chunk in chunks] == [deals[7:12] for deals in entry.deals]
    assert digest_of(first) == entry.records
    assert digest_of(chunks) != entry.records


def test_deal_of_all_pairings_is_one_observation(small: Path) -> None:
    entry = evaluate_protocol("counting", SMALL)
    expected = pytest.approx(astuple(entry.result.pairings[1].win_rate))
    for times in (1, 2):
        changed = replace(entry, deals=entry.deals[1:] * times)
        assert astuple(changed.win_rate) == expected


def test_agent_that_plays_no_deck_has_no_exploitability(small: Path) -> None:
    entry = evaluate_protocol("champion-1", SMALL)
    deck = entry.decks["2x4-h2"]
    assert (deck.exploitability, deck.reason) == (None, "champion-1 plays classic, and not 2x4-h2")


def test_a_run_goes_on_and_an_incomplete_one_writes_no_entry(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "threshold", "--protocol", "v1", "--resume", "run.jsonl"]

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("german_whist.commands.evaluate.show_on", lambda _: stop)
        assert main(words) == 130
    assert "threshold.json is not written: an entry has to be complete" in capsys.readouterr().err
    assert (small / "run.jsonl").exists()
    assert not (small / "threshold.json").exists()
    assert main(words) == 0
    resumed = Entry.from_text((small / "threshold.json").read_text("utf-8"))
    assert resumed.deals == evaluate_protocol("threshold", SMALL).deals


def test_fresh_deals_follow_from_submission_and_value(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "counting", "--protocol", "v1"]
    assert main(words) == 0
    submitted = Entry.from_text((small / "counting.json").read_text("utf-8"))
    assert f"submission: {submitted.submission}" in capsys.readouterr().out
    assert main([*words, "--fresh", "drand 42"]) == 0
    assert "of hands on fresh deals by the value drand 42," in capsys.readouterr().out
    text = (small / "counting.json").read_text("utf-8")
    entry = Entry.from_text(text)
    assert entry.text() == text
    assert replace(entry, fresh=None) == submitted
    assert entry.submission == submitted.submission
    assert entry.fresh is not None
    assert (entry.fresh.value, entry.fresh.secret) == ("drand 42", False)
    deals = submitted.fresh_deals("drand 42")
    (chunks,) = replay("counting", SMALL, deals, [3])
    assert [digits_of(chunk.scores) for chunk in chunks] == [
        digits[3:7] for digits in entry.fresh.deals
    ]
    # Neither another value nor another player has these deals.
    stronger = replace(submitted, deals=("4" * 20, *submitted.deals[1:]))
    seeds = [deals, submitted.fresh_deals("drand 43"), stronger.fresh_deals("drand 42")]
    assert len({each.seed for each in seeds}) == len({each.key for each in seeds}) == 3


def test_fresh_deals_need_the_submitted_player(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(protocols.PROTOCOLS, "v1", replace(SMALL, decks=()))
    words = ["evaluate", "mine=random", "--protocol", "v1", "--fresh", "secret"]
    assert main(words) == 2
    assert (
        "for an entry that was submitted, and mine.json does not exist" in capsys.readouterr().err
    )
    assert main(words[:4]) == 0
    words[1] = "mine=random-exact"
    assert main(words) == 2
    assert "mine.json is the entry of mine=random under v1" in capsys.readouterr().err
    entry = Entry.from_text((small / "mine.json").read_text("utf-8"))
    (small / "mine.json").write_text(replace(entry, agent=words[1]).text(), "utf-8")
    assert main(words) == 2
    assert "mine=random-exact has other weights, or another who" in capsys.readouterr().err


def test_protocol_tells_training_on_its_deals(small: Path) -> None:
    shutil.copy(FIRST_WEIGHTS, "own.safetensors")
    rewrite_card(Path("own.safetensors"), lambda card: card | {"settings": {"seed": SMALL.seed}})
    result = evaluate_protocol("mine=own.safetensors", replace(SMALL, decks=())).result
    (note,) = [note for note in result.notes if "was trained" in note]
    assert note.startswith("mine was trained with seed 36101894, that of the deals played here: ")
    other = evaluate_protocol("champion-1", replace(SMALL, decks=())).result
    assert not any("was trained" in note for note in other.notes)
    for seed in (SMALL.seed, SMALL.seed + 1):
        notes = evaluate("random", "mine=own.safetensors", hands=2, seed=seed).notes
        assert (note in notes) == (seed == SMALL.seed)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("random --fresh 4 --against random", "--fresh 4 is for an entry of a protocol: name"),
        ("--protocol v2 random", "--protocol: 'v2' is not known; did you mean 'v1'?"),
        ("--protocol v1", "the agent to measure is missing: name it, as in "),
        ("random", "the opponents are missing: name them after --against, as in "),
        *(
            (f"random --protocol v1 {given}", f"{given.split()[0]} is given with --protocol v1, ")
            for given in (
                "--hands 4",
                "--seed 0",
                "--rules quick",
                "--until 1%",
                "--match 3",
                "--reduce-variance",
                "--records x",
                "--against random",
                f"--key {'0' * 32}",
            )
        ),
        ("nobody --protocol v1", "'nobody' is not an agent"),
        ("nash --protocol v1", "classic"),
        ("champion=random --protocol v1", "champion is another agent's name"),
        ("random --protocol v1 --json x --resume x", "x is named for two files"),
    ],
)
def test_wrong_words_get_a_sentence(
    words: str, told: str, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *words.split()]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.startswith("german-whist evaluate: ")
    assert not [*small.iterdir()]


def test_entries_are_told_from_other_files() -> None:
    assert entry_file("flat-mc:64") == "flat-mc-64.json"
    assert entry_file("runs/quick-1,sample") == "runs-quick-1-sample.json"
    with pytest.raises(ValueError, match="format is 'german-whist arena': 'german-whist entry'"):
        Entry.from_text(json.dumps({"format": "german-whist arena"}))
