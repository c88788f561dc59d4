"""The terminal game through pipes, its mistakes in sentences, and its pages for every rule set."""

import os
import re
import signal
import sys
from contextlib import nullcontext
from itertools import pairwise

import pytest
import warm
from terminal_user import FakeScreen, NoKeeper

from german_whist.engine.game import Game
from german_whist.engine.rules import load_rules, named_rules
from german_whist.table.session import Session, Settings
from german_whist.table.store import Store
from german_whist.table.terminal import replay_by_keys
from german_whist.table.terminal.drawing import Table, in_order, page
from german_whist.table.terminal.keeping import Left
from german_whist.table.terminal.lobby import Lobby
from german_whist.table.terminal.pages import rules_page, seen_page, tricks_page
from german_whist.table.terminal.play_by_keys import Evening
from german_whist.table.terminal.styled_text import ink_for, text_of_line, tidy

DECK = [rank + suit for suit in "SHDC" for rank in "AKQJT98765432"]


def play(folder, *arguments, says="", **environment):
    """`german-whist play` at the end of a pipe."""
    told = {**os.environ, "GERMAN_WHIST_DATA": str(folder), **environment}
    return warm.run(
        [sys.executable, "-m", "german_whist", "play", *arguments],
        input=says,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=told,
        timeout=600,
        check=False,
    )


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_signal_ends_an_evening_in_lines_with_a_word(tmp_path):
    process = warm.Popen(
        [sys.executable, "-m", "german_whist", "play", "easy"],
        stdin=warm.PIPE,
        stdout=warm.PIPE,
        stderr=warm.PIPE,
        env={**os.environ, "GERMAN_WHIST_DATA": str(tmp_path), "PYTHONIOENCODING": "utf-8"},
    )
    said = b""
    while not said.endswith(b"Your card? "):
        said += process.stdout.read(1)
    process.send_signal(signal.SIGTERM)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"The table is kept as it is (classic against easy" in rest
    assert not errors


def test_a_match_is_played_through_a_pipe(tmp_path):
    # Whatever is legal of these is played, the rest is refused with a reason.
    says = "\n".join(["hint", *[*DECK, ""] * 60])
    done = play(
        tmp_path, "random", "--rules", "small-all", "--match", "2", "--seed", "2", says=says
    )
    assert done.returncode == 0, done.stderr
    assert "The match is over" in done.stdout
    assert "to 2 points" in done.stdout
    assert re.search(r"Not allowed: \S+ is not in your hand, which holds", done.stdout)
    assert re.search(r"Not allowed: \S+ does not follow suit: \w+ were led", done.stdout)
    assert "seat 0" not in done.stdout
    assert "\x1b" not in done.stdout
    shown = play(tmp_path, "--statistics")
    assert re.search(r"random +small-all +\d+", shown.stdout)
    exported = play(tmp_path, "--export", str(tmp_path / "hands.jsonl"))
    assert exported.returncode == 0
    assert "small-all" in (tmp_path / "hands.jsonl").read_text()


def test_the_end_of_the_input_keeps_the_hand_and_a_later_pipe_goes_on(tmp_path):
    first = play(tmp_path, "random", "--seed", "2", says="hand\n")
    assert first.returncode == 0
    assert "The table is kept as it is (classic against random" in first.stdout
    hand = re.findall("Your hand: .*", first.stdout)[-1]
    again = play(tmp_path, says="x\n\n")
    assert "Kept from before:" in again.stdout
    assert "'x' is none of these." in again.stdout
    assert hand in again.stdout
    anew = play(tmp_path, "--new", says="")
    assert hand not in anew.stdout


def test_a_hidden_card_is_taken_by_its_name(tmp_path):
    says = "\n".join([*DECK, "hidden"] * 40)
    done = play(tmp_path, "random", "--rules", "draft", "--seed", "2", says=says)
    assert re.search(r"Take \S+ or hidden\?", done.stdout)
    assert "You take the hidden card." in done.stdout


def test_words_are_understood_and_others_are_told(tmp_path):
    says = "seen\nknown\ntricks\nscore\nrules\nstatistics\n?\nhimt\n\nquit\n"
    done = play(tmp_path, "random", "--seed", "2", says=says)
    for words in ("not seen yet", "none yet", "dealt by", "Cards and deal", "No hand has been"):
        assert words in done.stdout
    assert "did you mean 'hint'" in done.stdout
    assert "Type a card such as TD" in done.stdout


def test_letters_stand_for_suits_where_the_encoding_has_none(tmp_path):
    done = play(tmp_path, "random", "--seed", "2", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "Your hand:" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["medum"], "'medum' is not an agent; did you mean 'medium'"),
        (["human"], "human is you, and you have a seat at the table already"),
        (["random", "--watch", "human"], "human is you, and you have a seat"),
        (["random", "--rules", "clasic"], "'clasic' is not a rule set"),
        (["random", "--rules", "none.yaml"], "none.yaml: can not be read"),
        (["random", "--match", "0"], "target is 0: it has to be a number from 1 to 10000"),
        (["random", "--best-of", "4"], "best_of is 4: it has to be odd"),
        (["random", "--seed", "-1"], "seed is -1: it has to be from 0"),
        (["--export", "hands.txt"], "--export hands.txt: name a file that ends in .csv"),
    ],
)
def test_mistakes_are_told_in_sentences(tmp_path, arguments, sentence):
    done = play(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("german-whist play: ")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


# -- without a program around it


@pytest.mark.parametrize("name", named_rules())
@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
def test_a_hand_of_every_rule_set_fits_the_screen(name, size):
    session = Session(Settings(load_rules(name), "random", seed=5))
    screen = FakeScreen(*size, seed=7)
    Evening(screen, session, NoKeeper(), pause=0.0).run()
    assert session.over
    assert "The hand is over" in screen.pages[-1]
    assert not any("…" in text for text in screen.pages)


def test_a_finished_hand_is_stepped_through_both_ways(monkeypatch):
    session = Session(Settings(load_rules("draft"), "random", player="random", seed=5))
    while session.turn is not None:
        session.answer()
    record = session.records[0]
    screen = FakeScreen(80, 24, seed=0)
    keys = ["right", "down", "end", "up", "home", "o", "f", "t", "escape", "end", "q"]
    monkeypatch.setattr(screen, "key", lambda: keys.pop(0))
    monkeypatch.setattr(replay_by_keys, "Screen", lambda: nullcontext(screen))
    assert replay_by_keys.step_through(record, seat=0) == 0
    count = len(record.actions)
    assert "card 0 of" in screen.pages[0]
    assert "░░░" in screen.pages[0]
    assert f"card {count} of {count}" in screen.pages[3]
    assert screen.pages[5].count("░░░") == screen.pages[0].count("░░░")
    assert screen.pages[6].count("░░░") < screen.pages[0].count("░░░")
    assert any("wins, paid 1" in text for text in screen.pages)
    assert "0 for the stock" in screen.pages[0]
    assert "1 for the stock" in screen.pages[2]
    assert any("The tricks so far" in text for text in screen.pages)


def test_only_what_a_player_may_know_is_drawn():
    """Two games that differ in unseen cards alone look the same."""
    game = Game("classic", seed=8)
    for _ in range(9):
        game.play(game.legal()[0])
    while game.turn != 0:
        game.play(game.legal()[0])
    hidden = [*set(game.hands[1]) - set(game.view(0).known)]
    view = game.view(0)
    table = Table(view, ("you", "they"), hand=view.hand, other_hand=view.theirs)
    ink = ink_for(sys.stdout, {})
    pages = [page(table, ink, 80, 24), seen_page(view, table.names, 80).lines]
    pages.append(tricks_page(view, table.names).lines)
    text = "\n".join(text_of_line(line) for lines in pages for line in lines)
    shown = {word.strip(";:,.") for word in text.split()}
    assert hidden
    assert not shown & {card.symbol for card in hidden}


@pytest.mark.parametrize("trump", [None, 0, 1, 2, 3])
def test_a_hand_lies_trumps_first_and_colours_in_turn(trump):
    order = [card.suit for card in in_order(load_rules("classic").deck, trump)]
    suits = list(dict.fromkeys(order))
    assert len(suits) == 4
    assert trump is None or suits[0] == trump
    assert all((a in (1, 2)) != (b in (1, 2)) for a, b in pairwise(suits))


def test_a_large_hand_of_ones_own_rules_fits():
    rules = load_rules({"name": "large", "hand": 26, "trumps": "none"})
    view = Game(rules, seed=1).view(0)
    table = Table(view, ("you", "they"), hand=in_order(view.hand, None), chosen=view.hand[3])
    lines = page(table, ink_for(sys.stdout, {}), 60, 20)
    text = "\n".join(map(text_of_line, lines))
    assert all(card.symbol in text for card in view.hand)
    assert len(lines) <= 20


def test_names_can_not_move_the_cursor():
    assert tidy("a\x1b[2Jb\n") == "a?[2Jb?"
    assert len(tidy("x" * 100)) == 24


def test_the_rules_are_on_a_page():
    told = "\n".join(text_of_line(line) for line in rules_page(load_rules("draft"), 60).lines)
    assert "Cards and deal" in told
    assert max(map(len, told.splitlines())) <= 60


def test_a_session_that_was_played_on_elsewhere_is_not_written_over(tmp_path):
    store = Store(tmp_path)
    session = Session(Settings(opponent="random", seed=5))
    revision = store.keep("one", store.owner(), session)
    store.keep("one", store.owner(), session, revision=revision)
    with pytest.raises(ValueError, match="elsewhere"):
        store.keep("one", store.owner(), session, revision=revision)
    store.close()


def test_a_kept_table_is_cleared_away_at_the_door(tmp_path, monkeypatch):
    store = Store(tmp_path)
    for name, opponent in (("one", "random"), ("two", "threshold")):
        store.keep(name, store.owner(), Session(Settings(opponent=opponent, seed=5)))
    screen, keys = FakeScreen(60, 20, seed=0), ["x", "q"]
    monkeypatch.setattr(screen, "key", lambda: keys.pop(0))
    door = Lobby(screen, store.sessions(store.owner()), Settings(), store.forget)
    with pytest.raises(Left):
        door.ask()
    assert "classic against threshold" in screen.pages[0]
    assert "classic against threshold" not in screen.pages[1]
    assert [kept.id for kept in store.sessions(store.owner())] == ["one"]
    store.close()
