"""The words for a rule set say what is true of it, and its examples pay what the engine pays."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from german_whist import Game, Rules, load_rules, named_rules
from german_whist.cli import main
from german_whist.engine.describe import as_yaml, chapters, describe

ALWAYS = ["Two players", "ace high", "follow suit", "The non-dealer leads", "best of 3 or 5"]
UPCARD = "its suit is trumps for the whole hand"
LAST = ["Only the 13 tricks of stage two count", "Stage one: 13 tricks", "last 13 tricks"]
FULL = ["full pack of 52 cards", "both players hold 13", "next 26 cards", UPCARD]

# What a player has to be told of each named set.
KEY_FACTS = {
    "classic": [*FULL, *LAST, "takes it into hand, openly", "Winning pays 1", "7–6"],
    "margin": [*FULL, *LAST, "8–5 pays 3", "13–0 pays 13"],
    "all-tricks": [*FULL, "All 26 tricks count", "Winning pays 1", "13–13 is a tie"],
    "all-margin": [*FULL, "All 26 tricks count", "17–9 pays 8", "13–13 is a tie"],
    "club-last": [*FULL, *LAST, "above 6", "8–5 pays 2", "13–0 pays 10", "10 for a slam"],
    "club-all": [*FULL, "All 26 tricks count", "above 13", "17–9 pays 4", "26–0 pays 13"],
    "small-last": [
        "28 cards, eight to ace",
        "hold 7",
        "next 14",
        UPCARD,
        "5–2 pays 2",
        "7–0 pays 5",
    ],
    "small-all": ["28 cards, eight to ace", "All 14 tricks count", "9–5 pays 3", "7–7 is a tie"],
    "quick": ["32 cards, seven to ace", "hold 10", "next 12", "6 tricks", "5–5 is a tie"],
    "colour": [*FULL, *LAST, "Red (diamonds or hearts): play high", "play low", "player with 5"],
    "no-trump": [*LAST, "There are no trumps", "At the first trick the whole stock lies face down"],
    "open-stock": [*LAST, "suit of the upper one is trumps", "chooses one of them", "both openly"],
    "draft": [*FULL, *LAST, "chooses: that card, or the hidden one below it"],
    "race-7": ["ends when a player has taken 7 tricks, and that player wins", "never reached"],
    "race-9": ["ends when a player has taken 9 tricks, and that player wins", "9–8"],
    "humbug": [
        *("full pack of 52 cards", "four hands of 13", "a first blind hand", UPCARD),
        *("The last card, the dealer's, is turned up", "keeps the hand dealt", "out of play"),
        *("All 13 tricks count", "above 6", "8–5 pays 2", "5 points as a rule"),
    ],
}

ODD = [
    Rules(suits=2, ranks=6, hand=3, contract="low", pay="margin"),
    Rules(suits=1, ranks=2, hand=1, trumps="none"),
    Rules(suits=3, ranks=5, hand=3, stock=8),
    Rules(hand=26, trumps="none", pay="over_book", slam_pay=30),
    Rules(faced="never", trumps="none", contract="low", counts="all", race=14, pay="margin"),
    Rules(contract="colour", counts="all", race=20, pay="over_book", book=3),
    Rules(choice=True, face_up=2, faced="after-first", trumps="none"),
    Rules(face_up=2, counts="all", race=26, pay="over_book", slam_pay=100),
    Rules(suits=4, ranks=1, hand=1, counts="all"),
    Rules(suits=3, ranks=7, hand=5, contract="colour", exchange=True, race=3),
    Rules(suits=4, ranks=4, hand=4, trumps="none", faced="never", exchange=True),
]


KNOWN = Path(__file__).with_name("golden_words.txt")


def all_words() -> str:
    """Every odd set as it is told, and the file of one; docs/rules.md holds the named ones."""
    return "\n\n\n".join([*map(describe, ODD), as_yaml(ODD[0])]) + "\n"


def words(rules: Rules) -> str:
    return " ".join(describe(rules).split())


def test_every_named_set_has_its_key_facts_written_down() -> None:
    assert list(KEY_FACTS) == list(named_rules())


@pytest.mark.parametrize("name", KEY_FACTS)
def test_a_named_set_is_told_with_its_key_facts(name: str) -> None:
    told = words(load_rules(name))
    for fact in [name, *ALWAYS, *KEY_FACTS[name]]:
        assert fact in told, f"{fact!r} is missing in: {told}"


@pytest.mark.parametrize("rules", [*named_rules().values(), *ODD], ids=lambda rules: rules.name)
def test_the_examples_pay_what_the_engine_pays(rules: Rules) -> None:
    found = re.findall(r"(\d+)–(\d+) pays (\w+)", words(rules))
    if rules.pay == "win":
        found = [(*pair, "1") for pair in re.findall(r"(\d+)–(\d+)(?! is)", words(rules))]
    found += [(*pair, "nobody") for pair in re.findall(r"(\d+)–(\d+) is a tie", words(rules))]
    assert found
    game = Game(rules)
    while not game.over:
        game.play(game.legal()[0])
    for most, least, pay in found:
        game.record["tricks"][0] = int(most), int(least)
        amount = 0 if pay in ("nothing", "nobody") else int(pay)
        assert game.pays == ((-amount, amount) if game.low else (amount, -amount))


@pytest.mark.parametrize("rules", [*named_rules().values(), *ODD], ids=lambda rules: rules.name)
def test_words_are_whole_sentences_within_the_width(rules: Rules) -> None:
    for chapter in chapters(rules):
        for paragraph in chapter.paragraphs:
            assert paragraph[0].isupper() or paragraph[0].isdigit()
            assert paragraph.endswith(".")
            assert "None" not in paragraph
            assert "  " not in paragraph
    assert max(map(len, describe(rules).splitlines())) <= 88


def test_the_words_stay_as_they_are_known() -> None:
    """`python tests/engine/test_describe.py` writes them anew, after a change that is meant."""
    assert all_words().splitlines() == KNOWN.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("rules", [*named_rules().values(), *ODD], ids=lambda rules: rules.name)
def test_the_yaml_of_a_set_is_the_set_under_a_name_of_its_own(rules: Rules, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(as_yaml(rules), encoding="utf-8")
    again = load_rules(path)
    for each in fields(Rules):
        if each.name != "name":
            assert getattr(again, each.name) == getattr(rules, each.name)
    assert again.name == f"my-{rules.name}"
    assert len([line for line in as_yaml(rules).splitlines() if line[0] != "#"]) == len(
        fields(Rules)
    )


def test_the_command_lists_every_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, rules in named_rules().items():
        assert any(line.split() == [name, *rules.about.split()] for line in lines)


def test_the_command_explains_a_name_or_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["rules", "draft"]) == 0
    assert capsys.readouterr().out.strip() == describe(load_rules("draft"))
    assert main(["rules", "draft", "--yaml"]) == 0
    path = tmp_path / "own.yaml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["rules", str(path)]) == 0
    assert capsys.readouterr().out.startswith("my-draft: ")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["rules", "clasic"], "did you mean 'classic'"),
        (["rules", "missing.yaml"], "can not be read"),
        (["rules", "--yaml"], "name it"),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert word in capsys.readouterr().err


if __name__ == "__main__":
    KNOWN.write_text(all_words(), encoding="utf-8")
