"""Play German Whist in the terminal, with single keys or with typed lines.

OPPONENT is an agent that `german-whist agents` lists, or the path of a checkpoint. An unfinished
hand is saved. To go on with it, run `german-whist play` again, or open the table in the browser.
"""

from __future__ import annotations

import argparse
from contextlib import closing, suppress
from pathlib import Path

from german_whist.agents.registry import common_rules
from german_whist.commands.worker_options import add_trust_option
from german_whist.engine.rules import Match

from ..game.session import HUMAN, Session, SessionSettings, new_seed
from ..game.store import Store
from ..terminal.board import new_console, print_sentence
from ..terminal.keyboard import has_keys
from ..terminal.keys import KeyFrontend
from ..terminal.lines import LineFrontend
from ..terminal.play import (
    LeaveTable,
    SessionSaver,
    TerminalGame,
    closing_notice,
    find_session,
    resume,
    resume_notice,
)

_DEFAULT_OPPONENT = "medium"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "opponent", nargs="?", metavar="OPPONENT", help=f"opponent (default: {_DEFAULT_OPPONENT})"
    )
    parser.add_argument(
        "--rules",
        metavar="NAME|FILE.yaml",
        help="rule set (default: classic, or what the opponent was trained for)",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--match", type=int, metavar="N", help="play a match to N points")
    length.add_argument(
        "--best-of", type=int, metavar="N", help="play a match of the best of N hands"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the deals (default: random)")
    parser.add_argument(
        "--new", action="store_true", help="start anew, even if an unfinished hand is saved"
    )
    parser.add_argument(
        "--plain", action="store_true", help="type lines, such as 10♦, instead of single keys"
    )
    parser.add_argument("--fast", action="store_true", help="make no pauses between tricks")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of saved games")
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    settings = _settings(arguments)
    with closing(Store(arguments.data)) as store:
        return _play(store, settings, arguments)


def _play(store: Store, settings: SessionSettings, arguments: argparse.Namespace) -> int:
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
        front.report(store.notice)
    if stored is not None:
        front.report(resume_notice(stored, session))
    try:
        with front, suppress(LeaveTable):
            game.run()
    finally:
        if notice := closing_notice(session, saver):
            print_sentence(new_console(), notice)
    return int(saver.trouble is not None)


def _settings(arguments: argparse.Namespace) -> SessionSettings:
    opponent = _DEFAULT_OPPONENT if arguments.opponent is None else arguments.opponent
    if opponent.partition(":")[0] == HUMAN:
        raise ValueError(
            "human is you, and you have a seat at the table already: name another agent, such as "
            "medium; `german-whist agents` lists them"
        )
    match = None
    if arguments.match is not None:
        match = Match(target=arguments.match)
    elif arguments.best_of is not None:
        match = Match(best_of=arguments.best_of)
    return SessionSettings(
        rules=common_rules([opponent], arguments.rules),
        opponent=opponent,
        match=match,
        seed=new_seed() if arguments.seed is None else arguments.seed,
        seed_chosen=arguments.seed is not None,
    )
