"""The terminal game in lines: through a pipe, its error messages, and what it may show."""

import io
import re
import sys
from itertools import pairwise

import pytest
from rich.console import Console

from german_whist.cli import main
from german_whist.engine.game import Game
from german_whist.engine.records import GameRecord
from german_whist.engine.rules import load_rules
from german_whist.table.commands import play as play_command
from german_whist.table.game.session import Session
from german_whist.table.terminal import lines
from german_whist.table.terminal.board import board, in_order, rules_page, seen_page, tricks_page

DECK = [rank + suit for suit in "SHDC" for rank in "AKQJT98765432"]


@pytest.fixture
def play(tmp_path, capsys, monkeypatch):
    """`german-whist play` on piped input; returns its status, output and errors."""

    def run(*arguments, says=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(says))
        status = main(["play", *arguments, "--data", str(tmp_path / "data")])
        return status, *capsys.readouterr()

    return run


def text_of(*pages, columns=80):
    console = Console(file=io.StringIO(), width=columns, highlight=False)
    console.print(*pages, sep="\n")
    return console.file.getvalue()


def test_a_match_is_played_through_a_pipe(play, store):
    # The legal cards among these are played, the others are refused with a reason.
    says = "\n".join(["hint", *[*DECK, ""] * 60])
    words = "random --rules small-all --match 2 --seed 2"
    status, out, err = play(*words.split(), says=says)
    assert status == 0, err
    assert re.search(r"To 2: \d–\d\.\n.* wins? the match\.", out)
    assert re.search(r"Not allowed: \S+ is not in your hand, which holds", out)
    assert re.search(r"Not allowed: \S+ does not follow suit: \w+ were led", out)
    assert "seat 0" not in out
    assert "\x1b" not in out
    hands = store.hands.latest()
    assert {(hand.rules, hand.opponent) for hand in hands} == {("small-all", "random")}
    # The first hand, which is the last of the list, had a hint.
    helped = [GameRecord.from_line(hand.record).meta.get("helped") for hand in hands]
    assert helped == [None] * (len(hands) - 1) + [True]


def test_end_of_input_keeps_the_hand_for_a_later_pipe(play):
    first = play("random", "--seed", "2")
    assert first[0] == 0
    assert "The table is kept as it is (classic against random" in first[1]
    hand = re.findall(r"you.*\n(.*)", first[1])[-1]
    again = play()[1]
    assert "Going on with classic against random, a single hand, left on" in again
    assert hand in again
    assert hand not in play("--new")[1]
    assert hand not in play("threshold")[1]


def test_a_hidden_card_is_taken_by_its_name(play):
    says = "\n".join([*DECK, "hidden"] * 40)
    out = play("random", "--rules", "draft", "--seed", "2", says=says)[1]
    assert re.search(r"Take \S+ or hidden\?", out)
    assert "You take the hidden card." in out


def test_commands_run_and_unknown_words_get_a_suggestion(play, store):
    says = "seen\nt\nrules\n?\nhimt\n\nback\n" + "\n".join(DECK) + "\nback\nquit\n"
    status, out, _ = play("random", "--seed", "2", says=says)
    assert status == 0
    for words in ("upcard", "won by", "Cards and deal", "take back your last card"):
        assert words in out
    assert "did you mean 'hint'" in out
    assert "You have played no card of this hand yet." in out
    assert "The card is taken back." in out
    (stored,) = store.sessions()
    assert Session.from_state(stored.state).helped


@pytest.mark.parametrize("rules", ["draft", "humbug"])
def test_a_narrow_window_breaks_no_word_and_cuts_no_card(rules, play, monkeypatch):
    def texts(columns):
        console = Console(width=columns, force_terminal=True, color_system=None, highlight=False)
        monkeypatch.setattr(lines, "new_console", lambda: console)
        monkeypatch.setattr(play_command, "new_console", lambda: console)
        says = "\n".join(["hint", "seen", "rules", "?", "himt", *[*DECK, "keep"] * 2, "tricks"])
        options = ("--plain", "--new", "--rules", rules, "--match", "7", "--seed", "2")
        return play("random", *options, says=says)[1]

    words = set(texts(200).split())
    for columns in (40, 80):
        text = texts(columns)
        # What is typed stands behind the question.
        shown = [re.sub(r"(?<=[?:]) \S*$", "", line) for line in text.splitlines()]
        assert [line for line in shown if len(line) > columns] == []
        assert set(text.split()) <= words


# -- the board


def test_only_what_a_player_may_know_is_drawn():
    game = Game("classic", seed=8)
    for _ in range(9):
        game.play(game.legal()[0])
    while game.turn != 0:
        game.play(game.legal()[0])
    hidden = [*set(game.hands[1]) - set(game.view(0).opponent_known)]
    view, names = game.view(0), ("you", "they")
    text = text_of(board(view, names, "", frames=True), tricks_page(view, names))
    assert hidden
    assert not {card.symbol for card in hidden} & set(re.findall(r"\d*\w[♣♦♥♠]", text))
    marked = re.findall(r"\([\dJQKA]+\)|[\dJQKA]+\*", text_of(seen_page(view, names)))
    assert len(marked) == len(view.hand) + len(view.known_opponent_cards)


@pytest.mark.parametrize("trump", [None, 0, 1, 2, 3])
def test_a_hand_lies_trumps_first_and_colors_in_turn(trump):
    order = [card.suit for card in in_order(load_rules("classic").deck, trump)]
    suits = list(dict.fromkeys(order))
    assert len(suits) == 4
    assert trump is None or suits[0] == trump
    assert all((a in (1, 2)) != (b in (1, 2)) for a, b in pairwise(suits))


def test_a_name_cannot_move_the_cursor(play, tmp_path, monkeypatch):
    name = "a\x1b[2Jb"
    (tmp_path / "loud.py").write_text("def player(views, rng):\n    return views[0].legal()[0]\n")
    monkeypatch.chdir(tmp_path)
    assert name not in play(f"loud:player,{name}")[1]


def test_the_rules_and_a_large_hand_fit_a_narrow_window():
    view = Game(load_rules({"name": "large", "hand": 26, "trumps": "none"}), seed=1).view(0)
    text = text_of(board(view, ("you", "they"), "", frames=False), columns=60)
    assert all(card.symbol in text for card in view.hand)
    assert len(text.splitlines()) < 20
    text = text_of(rules_page(load_rules("draft")), columns=60)
    assert "Cards and deal" in text
    assert max(map(len, text.splitlines())) <= 60
