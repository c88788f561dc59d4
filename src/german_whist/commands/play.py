"""Play German Whist in the terminal, with keys and colours, or line by line through a pipe.

OPPONENT is the name of a player as `german-whist agents` lists them, or the path of a
checkpoint. What is left in the middle is kept, and `german-whist play` goes on with it; the
table in the browser shares it, and the statistics.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..agents.common_rules import common_rules
from ..engine.files import written_whole
from ..engine.rules import Match
from ..table.session import HUMAN, Settings, new_seed
from ..table.statistics import as_csv, as_records
from ..table.store import Store
from ..table.terminal.keeping import Keeper
from ..table.terminal.pages import statistics_page
from ..table.terminal.play import Wishes, spend_evening
from ..table.terminal.styled_text import text_of_line, tidy

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
    parser.add_argument("--name", metavar="NAME", help="what you are called (you)")
    parser.add_argument(
        "--watch", metavar="AGENT", help="let this player have your cards, and look on"
    )
    parser.add_argument("--new", action="store_true", help="begin anew, whatever is kept")
    parser.add_argument("--plain", action="store_true", help="plain lines instead of keys")
    parser.add_argument("--fast", action="store_true", help="no pauses between the tricks")
    parser.add_argument("--statistics", action="store_true", help="print your results, and end")
    parser.add_argument(
        "--export", metavar="FILE", help="write your hands to FILE.csv or FILE.jsonl, and end"
    )
    parser.add_argument("--data", metavar="FOLDER", help="where all of it is kept")


def run(arguments: argparse.Namespace) -> int:
    """Sit down and play, or tell how it went so far."""
    settings = _settings(arguments)
    store = Store(Path(arguments.data) if arguments.data else None)
    try:
        if arguments.export is not None:
            return _export(store, Path(arguments.export))
        if arguments.statistics:
            return _statistics(store)
        options = ("opponent", "rules", "seed")
        given = [name for name in options if getattr(arguments, name) is not None]
        given += ["match"] if settings.match else []
        given += ["player"] if arguments.watch is not None else []
        wishes = Wishes(
            settings,
            given=given,
            anew=arguments.new,
            plain=arguments.plain,
            pause=0.0 if arguments.fast else 1.0,
        )
        return spend_evening(store, wishes)
    finally:
        store.close()


def _settings(arguments: argparse.Namespace) -> Settings:
    opponent = _USUAL if arguments.opponent is None else arguments.opponent
    player = HUMAN if arguments.watch is None else arguments.watch
    if HUMAN in (opponent.partition(":")[0], (arguments.watch or "").partition(":")[0]):
        raise ValueError(
            "human is you, and you have a seat at the table already: name another player, such as "
            "medium; `german-whist agents` lists them"
        )
    players = [opponent, *([] if arguments.watch is None else [player])]
    match = None
    if arguments.match is not None:
        match = Match(target=arguments.match)
    elif arguments.best_of is not None:
        match = Match(best_of=arguments.best_of)
    return Settings(
        rules=common_rules(players, arguments.rules),
        opponent=opponent,
        player=player,
        match=match,
        seed=new_seed() if arguments.seed is None else arguments.seed,
        name=tidy(arguments.name or "") or "you",
    )


def _statistics(store: Store) -> int:
    page = statistics_page(Keeper(store).statistics())
    for line in page.lines:
        print(text_of_line(line))
    return 0


def _export(store: Store, path: Path) -> int:
    writers = {".csv": as_csv, ".jsonl": as_records}
    if path.suffix not in writers:
        raise ValueError(
            f"--export {path}: name a file that ends in .csv for a table or in .jsonl for records"
        )
    text = writers[path.suffix](store, store.owner())
    with written_whole(path, "w") as file:
        file.write(text)
    print(f"{path}: {max(0, text.count(chr(10)) - (path.suffix == '.csv'))} hands")
    return 0
