# pyright: strict
"""Show a hand from a file of records, trick by trick, and if you like the value of each decision.

`evaluate --records` writes such a file, and the table's page Statistics exports one. --analyze
shows the value of every decision. The endgame is valued exactly, and the foreplay by a search.
--html writes the hand as a page that opens in any browser. --notable writes a page of several hands
of an agent, from which the reader chooses one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.registry import load_agent, parse_agent_name
from german_whist.commands.worker_options import add_trust_option
from german_whist.common.files import check_writable, write_file
from german_whist.common.progress import Progress
from german_whist.engine.records import GameRecord, read_records

if TYPE_CHECKING:
    from ..review.analysis import Analysis

_SEATS = {"0": 0, "1": 1, "both": None}
_MAX_REASON = 300
_MAX_PROBLEMS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="file of records, a hand on each line"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--hand", type=int, default=1, metavar="N", help="number of the hand (default: 1)"
    )
    which.add_argument("--list", action="store_true", help="list the hands of the file")
    which.add_argument(
        "--notable",
        metavar="AGENT",
        help="with --html: a page of this agent's worst deals, and of hands in which somebody "
        "played a card that its network thinks very unlikely",
    )
    parser.add_argument(
        "--analyze", action="store_true", help="show the value of each decision, and mark mistakes"
    )
    parser.add_argument("--html", type=Path, metavar="OUT.html", help="write the hand as a page")
    parser.add_argument(
        "--seat",
        choices=_SEATS,
        default="both",
        help="0 or 1: show the hand as the player in this seat saw it (default: both hands)",
    )
    parser.add_argument(
        "--search",
        metavar="NAME",
        help="analyze, with this search (default: thinker:256 in classic, and "
        "flat-mc:2500,voids,playout=counting in other rule sets)",
    )
    parser.add_argument(
        "--network",
        metavar="NAME|PATH",
        help="analyze, and also show how likely this network would play each card",
    )
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    page: Path | None = arguments.html
    analyzes = arguments.analyze or arguments.search or arguments.network
    if arguments.list and (analyzes or page):
        raise ValueError("--list only lists the hands: choose one with --hand to see more of it")
    if arguments.notable is not None:
        if page is None:
            raise ValueError("--notable makes a page of many hands: name its file by --html")
        if analyzes or arguments.seat != "both":
            raise ValueError(
                "--notable shows both hands and what the agent's network thinks of them: choose a "
                "hand by --hand to value its decisions, or to see it from one seat"
            )
    if page is not None:
        if page.resolve() == arguments.file.resolve():
            raise ValueError(f"{page} holds the records: give --html a file of its own")
        check_writable(page)
    records = good_records(arguments.file)
    if arguments.list:
        print("\n".join(_listed(records)))
        return 0
    if arguments.notable is not None and page is not None:
        write_file(page, _notable_page(records, arguments.notable))
        print(f"wrote {page}", file=sys.stderr)
        return 0
    number: int = arguments.hand
    if not 1 <= number <= len(records):
        raise ValueError(f"--hand is {number}: {arguments.file} has hands 1 to {len(records)}")
    record, seat = records[number - 1], _SEATS[arguments.seat]
    analysis = _analysis(record, arguments) if analyzes else None
    if page is not None:
        from ..browser.saved_replay import replay_page

        write_file(page, replay_page(record, analysis, seat))
        print(f"wrote {page}", file=sys.stderr)
        return 0
    from ..review.replay import make_replay
    from ..terminal.board import new_console, sentence
    from ..terminal.printed_replay import replay_lines

    console = new_console()
    if len(records) > 1:
        console.print(f"hand {number} of {len(records)}")
    for line in replay_lines(make_replay(record), analysis, seat):
        console.print(sentence(line), soft_wrap=True)
    return 0


def _notable_page(records: list[GameRecord], agent: str) -> str:
    """The page of an agent's hands that are worth a look."""
    from ..browser.saved_replay import hands_page
    from ..review.hands import notable_hands, opponent_of

    name, source = parse_agent_name(agent)
    own = [record for record in records if opponent_of(record, name) is not None]
    if not own:
        players = {str(name) for record in records for name in _recorded(record)}
        raise ValueError(
            f"{name} meets nobody else in these hands: name one of their players, who are "
            f"{', '.join(sorted(players))}; as NAME=AGENT where the hands have another name for it"
        )
    rules = own[0].rules
    if other := next((record.rules for record in own if record.rules != rules), None):
        raise ValueError(
            f"{name} plays {rules.name} and {other.name} in these hands: a page is of one rule "
            "set, so give each a file of its own"
        )
    policy = load_agent(source, rules)
    hands = notable_hands(records, name, policy if isinstance(policy, NetworkAgent) else None)
    return hands_page(name, hands)


def _recorded(record: GameRecord) -> list[object]:
    """The names of players as they stand in a record."""
    names = record.meta.get("players")
    return cast("list[object]", names) if isinstance(names, list) else []


def good_records(path: Path) -> list[GameRecord]:
    """The valid records of a file; prints the lines that are left out."""
    from ..text.words import plain_text

    try:
        records, problems = read_records(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    for problem in problems[:_MAX_PROBLEMS]:
        reason = plain_text(problem.reason, _MAX_REASON)
        print(f"{path}, line {problem.line} is left out: {reason}", file=sys.stderr)
    if more := len(problems[_MAX_PROBLEMS:]):
        print(f"{path}: {more:,} more are left out", file=sys.stderr)
    if not records:
        raise ValueError(
            f"{path} holds no hand that can be shown: name a file that `evaluate --records` or the "
            "table wrote"
        )
    return records


def _listed(records: list[GameRecord]) -> list[str]:
    from ..review.replay import player_names, replay_result
    from ..text.words import plain_text

    return [
        f"{number:>5}  {plain_text(record.rules.name)}: {' and '.join(player_names(record))}, "
        f"{replay_result(record).text}"
        for number, record in enumerate(records, 1)
    ]


def _analysis(record: GameRecord, arguments: argparse.Namespace) -> Analysis:
    from ..review.analysis import AnalysisSettings, analyze

    settings = AnalysisSettings(arguments.search, arguments.network)
    with Progress("analyzing") as progress:
        return analyze(record, settings, progress.update)
