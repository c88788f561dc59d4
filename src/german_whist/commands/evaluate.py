"""Measure an agent against others, every deal played twice with the seats exchanged.

Agents are named as `german-whist agents` lists them, with their parameters
after a colon: threshold, value:13; or by the path of a run or a checkpoint, with
parameters after a comma: runs/quick-1,endgame=exact. NAME=PATH says what one is
called: mine=runs/quick-1. The same seed gives the same result on any
number of workers, except for agents with a time limit.

--protocol v1 plays the fixed suite of the leaderboard and writes an entry for it; with --fresh it
plays the entry's agent on deals that nobody knew when it was submitted.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..agents.networks.policy import NetworkAgent
from ..agents.registry import common_rules, make_agent, parse_agent_name
from ..common.files import write_file
from ..common.progress import Progress
from ..engine.records import GameRecord
from ..engine.rules import Rules, load_rules
from ..evaluation.formats import number_with_interval, percent_with_interval
from ..evaluation.protocol import (
    PROTOCOLS,
    Entry,
    Protocol,
    entry_file,
    evaluate_fresh,
    evaluate_protocol,
    mean_win_rate,
)
from ..evaluation.tournament import evaluate, show_on
from .evaluation_options import (
    add_run_options,
    arena_options,
    check_files,
    records_into,
    repeating_command,
    report,
    with_origin,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # Optional here, so that its absence has its own error message.
    parser.add_argument("agent", nargs="?", metavar="A", help="the agent to measure")
    parser.add_argument("--against", nargs="+", metavar="B", help="its opponents, one or more")
    parser.add_argument(
        "--protocol",
        choices=[*PROTOCOLS],
        metavar="NAME",
        help=f"play a fixed suite, {' or '.join(PROTOCOLS)}; --json is then its entry for the "
        "leaderboard (default: AGENT.json)",
    )
    parser.add_argument(
        "--fresh",
        metavar="VALUE",
        help="play new deals for the entry in --json, by a VALUE that was published after the "
        "entry was submitted, or `secret` for one that is drawn now",
    )
    parser.add_argument(
        "--replays",
        type=Path,
        metavar="FILE.html",
        help="a page of replays: the hands of the agent's worst deals and those with the least "
        "likely cards, with what its network thinks of them; --html links to it",
    )
    add_run_options(parser)


# What a protocol fixes.
_FIXED = (
    "against",
    "rules",
    "hands",
    "match",
    "until",
    "reduce_variance",
    "seed",
    "key",
    "records",
    "replays",
)


def run(arguments: argparse.Namespace) -> int:
    if arguments.protocol is not None:
        return _run_protocol(arguments)
    if arguments.fresh is not None:
        raise ValueError(
            f"--fresh {arguments.fresh} is for an entry of a protocol: name that by --protocol "
            f"{next(iter(PROTOCOLS))}"
        )
    if arguments.against is None:
        raise ValueError(
            "the opponents are missing: name them after --against, as in `evaluate threshold "
            f"--against random`, or a fixed suite, --protocol {next(iter(PROTOCOLS))}"
        )
    if arguments.agent is None:
        raise ValueError(
            "the agent to measure is missing: name it before --against, which takes every name "
            "after it, as in `evaluate threshold --against random counting`"
        )
    agent, against = arguments.agent, arguments.against
    rules = common_rules([agent, *against], arguments.rules)
    folder = check_files(arguments)
    replays: Path | None = arguments.replays
    if replays is not None and {parse_agent_name(name)[0] for name in against} == {
        parse_agent_name(agent)[0]
    }:
        raise ValueError(
            f"--replays {replays} is given, and {agent} meets itself alone, which wins what it "
            "loses: name another opponent after --against, or leave --replays out"
        )
    lines: list[str] = []
    keep = None if replays is None else partial(_keep_first, lines)
    with records_into(arguments.records, keep) as records:
        with Progress("playing") as progress:
            result = evaluate(
                agent,
                against,
                rules,
                progress=show_on(progress),
                records=records,
                **arena_options(arguments),
            )
        result = with_origin(result, repeating_command(arguments, result))
        status = report(result, rules, arguments, folder)
    if replays is not None and lines:
        _write_replays(folder / replays, result.agents[0], agent, rules, lines)
    return status


def _keep_first(lines: list[str], line: str) -> None:
    """Keep a record among the first, from which replays are chosen: there may be millions."""
    from ..table.review.hands import MAX_HANDS

    if len(lines) < MAX_HANDS:
        lines.append(line)


def _write_replays(path: Path, name: str, source: str, rules: Rules, lines: list[str]) -> None:
    """Write the page of the hands that are worth a look."""
    from ..table.browser.saved_replay import hands_page
    from ..table.review.hands import notable_hands

    policy = make_agent(parse_agent_name(source)[1], rules)
    if not isinstance(policy, NetworkAgent):
        policy = None
    hands = notable_hands([*map(GameRecord.from_line, lines)], name, policy)
    write_file(path, hands_page(name, hands))
    print(f"wrote {path}", file=sys.stderr)


def _run_protocol(arguments: argparse.Namespace) -> int:
    protocol, agent = PROTOCOLS[arguments.protocol], arguments.agent
    if agent is None:
        raise ValueError(
            "the agent to measure is missing: name it, as in `evaluate threshold --protocol "
            f"{protocol.name}`"
        )
    for name in _FIXED:
        if (value := getattr(arguments, name)) is not None and value is not False:
            raise ValueError(
                f"--{name.replace('_', '-')} is given with --protocol {protocol.name}, which fixes "
                "opponents, rules, deals and hands: leave one of the two out"
            )
    rules = load_rules(protocol.rules)
    arguments.json = arguments.json or Path(entry_file(parse_agent_name(agent)[0]))
    if arguments.fresh is not None:
        return _run_fresh(arguments, agent, protocol)
    folder = check_files(arguments)
    with Progress("playing") as progress:
        entry = evaluate_protocol(agent, protocol, show_on(progress), **arena_options(arguments))
    command = shlex.join(["german-whist", "evaluate", agent, "--protocol", protocol.name])
    entry = replace(entry, result=with_origin(entry.result, command))
    status = report(entry.result, rules, arguments, folder, entry=entry)
    if entry.result.complete:
        win_rate = percent_with_interval(entry.win_rate)
        print(f"\n{protocol.name}: {win_rate} of hands against all {len(entry.deals)} on average")
        print(f"submission: {entry.submission}")
    for deck, result in entry.decks.items():
        print(f"exploitability on {deck}: {result}")
    return status


def _run_fresh(arguments: argparse.Namespace, agent: str, protocol: Protocol) -> int:
    """Play fresh deals for a submitted entry, and add them to its file."""
    path, value = arguments.json, arguments.fresh
    submitted = _submitted_entry(path, agent, protocol)
    folder = check_files(arguments)
    with Progress("playing") as progress:
        entry, result = evaluate_fresh(
            submitted,
            None if value == "secret" else value,
            show_on(progress),
            **arena_options(arguments),
        )
    words = [agent, "--protocol", protocol.name, "--fresh", value]
    result = with_origin(result, shlex.join(["german-whist", "evaluate", *words]))
    status = report(result, load_rules(protocol.rules), arguments, folder, entry=entry)
    if entry.fresh is None or entry.difference is None or not result.complete:
        return status
    fresh = percent_with_interval(mean_win_rate(entry.fresh.deals))
    print(f"\n{protocol.name}: {fresh} of hands on fresh deals by the value {entry.fresh.value},")
    public = percent_with_interval(entry.win_rate)
    apart = number_with_interval(entry.difference.scaled(100), 1)
    print(f"{public} on the public ones, {apart} points more")
    if entry.learnt:
        print(f"{entry.name} knows the public deals: it wins more of them than chance allows")
    return status or int(entry.learnt)


def _submitted_entry(path: Path, agent: str, protocol: Protocol) -> Entry:
    if not path.exists():
        raise ValueError(
            f"--fresh plays new deals for an entry that was submitted, and {path} does not exist: "
            "play the protocol without --fresh first, or name its file by --json"
        )
    try:
        entry = Entry.from_text(path.read_text("utf-8"))
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path} is no entry: {error}") from error
    if (entry.agent, entry.protocol) != (agent, protocol):
        raise ValueError(
            f"{path} is the entry of {entry.agent} under {entry.protocol.name}, and {agent} was "
            "named: name the agent as the entry does"
        )
    return entry
