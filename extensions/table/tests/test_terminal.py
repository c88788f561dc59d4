"""The terminal game as a person plays it, by keys in a pseudo-terminal."""

import itertools
import re
import signal
import time
from contextlib import ExitStack

import pytest

pytest.importorskip("termios")
pytest.importorskip("pyte")

from terminal_user import FakeTerminal, TerminalUser

from german_whist.engine.rules import Match, load_rules
from german_whist.table.game.session import Session, SessionSettings
from german_whist.table.review import analysis, hints
from german_whist.table.terminal import keys as terminal_keys
from german_whist.table.terminal.keys import KeyFrontend
from german_whist.table.terminal.play import LeaveTable, SessionSaver, TerminalGame

OPPONENT = "threshold"
COLORED = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")


@pytest.fixture
def terminal(tmp_path):
    """Starts `german-whist play` in a terminal; those of one test share their data."""
    with ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(
            TerminalUser(tmp_path / "data", "play", *arguments, "--fast", **options)
        )


def play(session, store):
    with KeyFrontend(session) as keys:
        TerminalGame(session, SessionSaver(store), keys, pause=0.0).run()


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("draft", (60, 20)),
        ("open-stock", (60, 20)),
        ("colour", (60, 20)),
        ("humbug", (60, 20)),
        ("race-9", (60, 20)),
        ("classic", (80, 24)),
    ],
)
def test_hands_of_several_kinds_fit_the_window(name, size, store, monkeypatch):
    session = Session(SessionSettings(load_rules(name), "random", seed=5))
    terminal = FakeTerminal(monkeypatch, *size)
    play(session, store)
    assert session.over
    assert len(store.hands.latest()) == 1
    boards = [page for page in terminal.pages if "German Whist" in page]
    assert len(boards) > 20
    for page in boards:
        assert f"German Whist, {name}" in page
        assert "Random" in page
        assert "▲" in page or "Enter go on" in " ".join(page.split()), page
    assert re.search(r"\d–\d+.*(win|tie)", terminal.pages[-1])


@pytest.mark.parametrize("columns", [56, 80])
def test_hint_and_hand_fit_seventeen_lines(columns, store, monkeypatch):
    monkeypatch.setattr(analysis, "THINKER", "thinker:32")
    hints._analyst.cache_clear()
    session = Session(SessionSettings(opponent="threshold", seed=5))
    terminal = FakeTerminal(monkeypatch, columns, 17)
    keys = itertools.cycle(["h", "enter"])

    def press(seconds):
        """Nothing while the hint is still sought: on a busy machine, that would swallow keys."""
        return next(keys) if seconds > terminal_keys._THREAD_POLL else time.sleep(seconds)

    monkeypatch.setattr(terminal, "key", press)
    monkeypatch.setattr(terminal_keys, "_ENTER_DEBOUNCE", -1.0)
    play(session, store)
    hints._analyst.cache_clear()
    assert session.over
    boards = [page for page in terminal.pages if "q quit" in " ".join(page.split())]
    hinted = [page for page in boards if "Hint:" in page]
    assert len(hinted) == len(session.game.actions) // 2
    assert len(boards) > len(hinted)
    for page in terminal.pages:
        assert "too small" not in page, page
        assert "German Whist, classic" in page
    # The longest hints are whole: they end as sentences do, above the keys.
    for page in hinted:
        text = " ".join(page[page.index("Hint:") :].split())
        assert re.search(r"\. (\S+ led .*\. |Your lead.*\. )?←→ move", text), page


def test_a_match_goes_on_until_it_is_won(store, monkeypatch):
    rules = load_rules("small-all")
    session = Session(SessionSettings(rules, "random", match=Match(target=9), seed=5))
    terminal = FakeTerminal(monkeypatch, 80, 24)
    play(session, store)
    assert session.over
    assert len(store.hands.latest()) == len(session.results) > 1
    assert re.search(r"To 9: \d+–\d+\.\n.*wins? the match", terminal.pages[-1])


def test_a_hand_is_played_with_help_left_and_resumed(terminal, store):
    user = terminal(OPPONENT, "--seed", "3", "--match", "10")
    user.wait_for("Enter play")
    first = user.text
    user.press("home", "enter")
    user.wait_for("Not allowed")
    assert re.search(r"Not allowed: \S+ does not follow suit: \w+ were led, play", user.text)
    user.press("end", "enter")
    user.wait_for("Trick 2 of 26")
    user.press("b")
    user.wait_for("The card is taken back.")
    assert "Trick 1 of 26" in user.text
    assert user.text.splitlines()[:12] == first.splitlines()[:12]
    user.press("h")
    user.wait_for("Hint:")
    for key, words in {
        "?": "take back",
        "s": "Threshold holds 12 cards",
        "r": "Cards and deal",
    }.items():
        user.press(key)
        user.wait_for(words)
        user.press("escape")
        user.wait_for("Enter play")
    user.press("enter")
    user.wait_for("Trick 2 of 26")
    user.wait_for("Enter play")
    table = user.lines[:14]
    user.press("q")
    assert user.end() == 0
    assert b"The table is kept as it is" in user.output
    (stored,) = store.sessions()
    assert Session.from_state(stored.state).helped
    again = terminal()
    again.wait_for("Going on with classic against threshold, to 10: 0–0")
    assert [line for line in again.lines if line.strip()][:8] == [
        line for line in table if line.strip()
    ][:8]
    # One Enter too many plays no card.
    again.wait_for("Enter play")
    again.type("\r\r\r\r")
    again.wait_for("Trick 3 of 26")
    again.read_until(time.monotonic() + 1.0)
    assert "Trick 3 of 26" in again.text
    again.press("enter")
    again.wait_for("Trick 4 of 26")
    again.press("ctrl-c")
    assert again.end() == 0
    assert b"The table is kept as it is" in again.output
    assert COLORED.search(again.output)


def test_table_follows_the_window_until_a_signal(terminal):
    user = terminal(OPPONENT, "--seed", "3", NO_COLOR="1")
    user.wait_for("Enter play")
    hand = re.findall(r"\S+[♣♦♥♠]", user.text)
    for columns, rows in ((60, 20), (140, 50), (61, 21)):
        user.resize(columns, rows)
        until = time.monotonic() + 20
        while "q quit" not in " ".join(user.text.split()):
            assert time.monotonic() < until, f"the last key is cut off:\n{user.text}"
            user.read_until(time.monotonic() + 0.6)
        assert re.findall(r"\S+[♣♦♥♠]", user.text) == hand
    user.resize(50, 12)
    user.wait_for("too small")
    user.resize(80, 24)
    user.wait_for("Enter play")
    user.process.send_signal(signal.SIGTERM)
    assert user.end() == 128 + signal.SIGTERM
    assert b"The table is kept as it is" in user.output
    assert not COLORED.search(user.output)


def test_the_terminal_is_given_back_when_a_player_fails(terminal, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("def player(views, rng):\n    raise RuntimeError('ouch')\n")
    monkeypatch.chdir(tmp_path)
    user = terminal("broken:player", "--seed", "3")
    assert user.end() == 2
    assert b"german-whist play: broken:player cannot play on: RuntimeError: ouch" in user.output
    assert b"Traceback" not in user.output


def test_thinking_is_shown_and_can_be_left(store, tmp_path, monkeypatch):
    (tmp_path / "slow.py").write_text("import time\ndef player(views, rng):\n    time.sleep(30)\n")
    monkeypatch.syspath_prepend(tmp_path)
    session = Session(SessionSettings(opponent="slow:player", seed=3))
    terminal = FakeTerminal(monkeypatch, 80, 24)
    monkeypatch.setattr(terminal, "key", lambda _: "q" if "is thinking" in terminal.page else None)
    with pytest.raises(LeaveTable):
        play(session, store)
    assert "slow:player is thinking, 1 s" in terminal.page
