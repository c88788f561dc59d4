"""The terminal game as a person plays it, by keys in a pseudo-terminal."""

import re
import signal
import time

import pytest

pytest.importorskip("termios")
pyte = pytest.importorskip("pyte")

from msgspec import to_builtins  # noqa: E402
from terminal_user import TerminalUser  # noqa: E402

from german_whist.engine.records import write_records  # noqa: E402
from german_whist.engine.rules import load_rules  # noqa: E402
from german_whist.table.session import Session, Settings  # noqa: E402
from german_whist.table.statistics import statistics_of  # noqa: E402
from german_whist.table.store import Store  # noqa: E402

OPPONENT = "threshold"
COLOURED = re.compile(rb"\x1b\[[0-9;]*\b(3[0-8]|4[0-8]|9[0-7]|10[0-7])\b[0-9;]*m")


@pytest.fixture
def terminal(tmp_path):
    """Opens `german-whist play` behind a terminal; all of one test share what is kept."""
    opened = []

    def start(*arguments, **more):
        user = TerminalUser(tmp_path / "data", "play", *arguments, "--fast", **more)
        opened.append(user.__enter__())
        return user

    yield start
    for user in opened:
        user.__exit__()


def results(tmp_path):
    store = Store(tmp_path / "data")
    try:
        return to_builtins(statistics_of(store, store.owner()).total)
    finally:
        store.close()


def test_a_whole_match_ends_with_a_trophy_and_is_counted(terminal, tmp_path):
    user = terminal(OPPONENT, "--rules", "small-last", "--match", "3", "--seed", "4")
    user.wait_for("Enter play")
    assert "to 3: 0 - 0" in user.lines[0]
    assert user.play_through("The match is over")
    assert "wins the match" in user.text or "win the match" in user.text
    assert "___|_|___" in user.text
    hands = sum(bool(re.match(r" +\d+ +\d+ : \d+", line)) for line in user.lines)
    user.press("enter")
    assert user.end() == 0
    told = results(tmp_path)
    assert told["hands"] == hands >= 1
    assert told["matches"] == 1


def test_a_card_that_may_not_be_played_is_refused_with_the_reason(terminal):
    user = terminal(OPPONENT, "--seed", "3")
    user.wait_for("led")
    before = user.lines[0:10]
    user.press("home", "enter")
    user.wait_for("Not allowed")
    assert re.search(r"Not allowed: \S+ does not follow suit: \w+ were led, play", user.text)
    assert user.lines[0:10] == before
    user.press("end", "enter")
    user.wait_for("last trick", "trick 2")
    assert "Not allowed" not in user.text


def test_who_is_asked_to_exchange_sees_what_the_other_did(terminal):
    user = terminal(OPPONENT, "--rules", "humbug", "--seed", "3")
    user.wait_for("Keep your hand, or lay it away for the blind one")
    assert re.search(r"▸ keep\b.*\n +blind\b.*\n +threshold: (blind|kept)", user.text)
    assert "trick 1" not in user.text
    user.press("down", "enter")
    user.wait_for("you: blind", "Trick 1 of 13")


def test_a_hand_that_was_left_goes_on_where_it_was(terminal):
    user = terminal(OPPONENT, "--seed", "3", "--match", "10")
    user.wait_for("Enter play")
    user.press("enter")
    user.wait_for("Trick 2 of 13")
    user.press("enter")
    user.wait_for("Trick 3 of 13")
    user.wait_for("Enter play")
    table = user.lines
    user.press("q")
    assert user.end() == 0
    assert b"The table is kept as it is" in user.output
    again = terminal()
    again.wait_for("Go on with")
    assert f"classic against {OPPONENT}" in again.text
    again.press("enter")
    again.wait_for("Enter play")
    assert again.lines == table


def test_without_a_name_the_opponent_and_the_rules_are_chosen_by_keys(terminal):
    user = terminal()
    user.wait_for("A new table")
    user.press("left", "down", "right", "right", "down", "right")
    user.wait_for("to 10 points")
    assert "all-tricks" in user.text
    assert "easy" in user.text
    user.press("enter")
    user.wait_for("Enter play")
    assert "all-tricks" in user.lines[0]


def test_the_table_follows_the_size_of_the_window(terminal):
    user = terminal(OPPONENT, "--seed", "3")
    user.wait_for("Enter play")
    hand = set(user.text.split()) & {"♦", "♠", "♥", "♣"}
    for columns, rows in ((60, 20), (140, 50), (61, 21)):
        user.resize(columns, rows)
        user.wait_for("Enter play")
        user.read(0.3)
        assert set(user.text.split()) & {"♦", "♠", "♥", "♣"} == hand
        assert "q leave" in user.text
        assert "led" in user.text
        assert user.lines[0].strip().startswith("German Whist")
    user.resize(50, 12)
    user.wait_for("too small")
    user.resize(80, 24)
    user.wait_for("Enter play")


@pytest.mark.parametrize(
    ("number", "status"),
    [(None, 0), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP)],
)
def test_the_terminal_is_given_back_when_a_signal_ends_the_game(terminal, number, status):
    user = terminal(OPPONENT, "--seed", "3")
    user.wait_for("Enter play")
    if number is None:
        user.press("ctrl-c")
    else:
        user.process.send_signal(number)
    assert user.end() == status
    assert b"The table is kept as it is" in user.output


def test_the_terminal_is_given_back_when_a_player_fails(terminal, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("def player(views, rng):\n    raise RuntimeError('ouch')\n")
    monkeypatch.chdir(tmp_path)
    user = terminal("broken:player", "--seed", "3")
    assert user.end() == 2
    assert b"german-whist play: broken:player can not play on: RuntimeError: ouch" in user.output
    assert b"Traceback" not in user.output


def test_thinking_is_shown_and_keys_are_answered_meanwhile(terminal, tmp_path, monkeypatch):
    slow = "import time\ndef player(views, rng):\n    time.sleep(30)\n"
    (tmp_path / "slow.py").write_text(slow)
    monkeypatch.chdir(tmp_path)
    user = terminal("slow:player", "--seed", "3")
    user.wait_for("Slow:player is thinking")
    user.press("s")
    user.wait_for("Seen so far")
    user.press("enter")
    user.wait_for("is thinking")
    user.press("q")
    assert user.end() == 0


def test_the_winner_chooses_a_stock_card_by_keys(terminal):
    user = terminal(OPPONENT, "--seed", "6", "--rules", "draft")
    user.play_through("Enter take")
    assert "choose a card of the stock" in user.text
    user.press("right", "enter")
    user.wait_for("and drew", "You won")
    assert "Not allowed" not in user.text


def test_without_colours_the_marker_shows_the_chosen_card(terminal):
    user = terminal(OPPONENT, "--seed", "3", NO_COLOR="1")
    user.wait_for("Enter play")
    assert "▲" in user.text
    assert "┬" in user.text
    user.press("q")
    assert user.end() == 0
    assert not COLOURED.search(user.output)


def test_colours_are_used_where_nobody_minds(terminal):
    user = terminal(OPPONENT, "--seed", "3")
    user.wait_for("Enter play")
    assert COLOURED.search(user.output)


def test_every_page_opens_and_closes(terminal):
    user = terminal(OPPONENT, "--seed", "3", "--match", "10")
    user.wait_for("Enter play")
    pages = {"?": "all tricks of this hand", "s": "not seen yet", "t": "won by", "m": "dealt by"}
    pages |= {"r": "Cards and deal", "i": "Statistics"}
    for key, words in pages.items():
        user.press(key)
        user.wait_for(words)
        user.press("escape")
        user.read(0.2)
        user.wait_for("Enter play")


def test_a_hint_moves_the_marker_and_says_why(terminal):
    user = terminal(OPPONENT, "--seed", "3")
    user.wait_for("Enter play")
    user.press("h")
    user.wait_for("Hint:")
    user.press("enter")
    user.wait_for("Trick 2 of 13")


def test_two_players_are_watched_with_both_hands_open(terminal):
    user = terminal(OPPONENT, "--watch", "random", "--rules", "small-last", "--seed", "1")
    user.wait_for("The hand is over")
    assert "░░░" not in user.text
    user.press("q")
    assert user.end() == 0


def test_a_record_is_stepped_through_by_keys(tmp_path):
    session = Session(Settings(load_rules("small-last"), "random", player="threshold", seed=5))
    while session.turn is not None:
        session.answer()
    file = tmp_path / "hands.jsonl"
    write_records(file, session.records)
    with TerminalUser(tmp_path, "replay", str(file)) as user:
        user.wait_for("card 0 of 28")
        user.press("right", "right", "right")
        user.wait_for("card 3 of 28")
        user.press("left")
        user.wait_for("card 2 of 28")
        user.press("end")
        user.wait_for("card 28 of 28")
        user.press("q")
        assert user.end() == 0


def hint_in(user):
    """The words of the hint on the screen, which ends where the row of keys begins."""
    lines = user.lines
    first = next(place for place, line in enumerate(lines) if "Hint:" in line)
    last = next(place for place, line in enumerate(lines) if "q leave" in line)
    return " ".join(" ".join(lines[first:last]).split())


def test_one_enter_too_many_plays_no_card(terminal):
    user = terminal(OPPONENT, "--seed", "3")
    user.wait_for("Enter play")
    user.type("\r\r\r\r")
    user.wait_for("Trick 2 of 13")
    user.read_until(time.monotonic() + 1.5)
    assert "Trick 2 of 13" in user.text
    user.press("enter")
    user.wait_for("Trick 3 of 13")


def test_a_hint_keeps_its_words_when_the_window_shrinks(terminal):
    user = terminal(OPPONENT, "--seed", "3", columns=120, rows=30)
    user.wait_for("Enter play")
    user.press("h")
    user.wait_for("Hint:")
    user.read(0.3)
    said = hint_in(user)
    assert len(said) > 56
    user.resize(60, 20)
    user.wait_for("Enter play")
    user.read_until(time.monotonic() + 1.0)
    assert hint_in(user) == said
