"""Play German Whist in the terminal: by keys, or line by line through a pipe.

OPPONENT is the name of a player as `german-whist agents` lists them, or the path of a
checkpoint. What is left in the middle is kept, and `german-whist play` goes on with it, as the
table in the browser does.
"""

from __future__ import annotations

import argparse
from contextlib import closing, suppress
from pathlib import Path

from ..agents.common_rules import common_rules
from ..engine.rules import Match
from ..table.game.session import HUMAN, Session, Settings, new_seed
from ..table.game.store import Store
from ..table.terminal.keyboard import has_keys
from ..table.terminal.keys import KeyFrontend
from ..table.terminal.lines import LineFrontend
from ..table.terminal.play import (
    LeaveTable,
    SessionSaver,
    TerminalGame,
    closing_notice,
    find_session,
    resume,
    resume_notice,
)

_USUAL = "medium"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("opponent", nargs="?", metavar="OPPONENT", help=f"who to play ({_USUAL})")
    parser.add_argument(
        "--rules",
        metavar="NAME|FILE.yaml",
        help="the rule set, by name or as a file (classic, or what the opponent was trained for)",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--match", type=int, metavar="N", help="a match to N points")
    length.add_argument("--best-of", type=int, metavar="N", help="a match of the best of N hands")
    parser.add_argument("--seed", type=int, metavar="N", help="deal the hands of this seed")
    parser.add_argument("--new", action="store_true", help="begin anew, whatever is kept")
    parser.add_argument("--plain", action="store_true", help="plain lines instead of keys")
    parser.add_argument("--fast", action="store_true", help="no pauses between the tricks")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where all of it is kept")


def run(arguments: argparse.Namespace) -> int:
    """Begin a hand or a match, or go on with what is kept, and play it."""
    settings = _settings(arguments)
    with closing(Store(arguments.data)) as store:
        return _play(store, settings, arguments)


def _play(store: Store, settings: Settings, arguments: argparse.Namespace) -> int:
    given = [name for name in ("opponent", "rules", "seed") if getattr(arguments, name) is not None]
    given += ["match"] if settings.match else []
    stored = None if arguments.new else find_session(store, settings, given)
    if stored is None:
        session, saver = Session(settings), SessionSaver(store)
    else:
        session, saver = resume(store, stored)
    front = KeyFrontend(session) if has_keys() and not arguments.plain else LineFrontend(session)
    game = TerminalGame(session, saver, front, pause=0.0 if arguments.fast else 1.0)
    if store.notice:
        front.tell(store.notice)
    if stored is not None:
        front.tell(resume_notice(stored, session))
    try:
        with front, suppress(LeaveTable):
            game.run()
    finally:
        if told := closing_notice(session, saver):
            print(told)
    return int(saver.trouble is not None)


def _settings(arguments: argparse.Namespace) -> Settings:
    opponent = _USUAL if arguments.opponent is None else arguments.opponent
    if opponent.partition(":")[0] == HUMAN:
        raise ValueError(
            "human is you, and you have a seat at the table already: name another player, such as "
            "medium; `german-whist agents` lists them"
        )
    match = None
    if arguments.match is not None:
        match = Match(target=arguments.match)
    elif arguments.best_of is not None:
        match = Match(best_of=arguments.best_of)
    return Settings(
        rules=common_rules([opponent], arguments.rules),
        opponent=opponent,
        match=match,
        seed=new_seed() if arguments.seed is None else arguments.seed,
    )
