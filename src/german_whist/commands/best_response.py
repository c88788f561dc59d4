# pyright: strict
"""Compute a lower bound on AGENT's exploitability, by a search that knows how it decides and by a
network trained against it alone.

Both play AGENT on their own deals, and the better one once more on fresh deals: what it wins there
is the lower bound. `exploitability` computes the exact value for small decks.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ..agents.common_rules import common_rules
from ..agents.registry import make_agent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="player by name, or path of a checkpoint")
    parser.add_argument(
        "--rules", metavar="NAME|FILE.yaml|RUN",
        help="rule set (default: classic, or what a trained player plays)",
    )  # fmt: skip
    parser.add_argument(
        "--model", metavar="PLAYER",
        help="opponent model of the search: a player whose probabilities are known, or a "
        "checkpoint (default: AGENT)",
    )  # fmt: skip
    parser.add_argument(
        "--worlds", type="positive", default=128, metavar="N",
        help="determinizations of the search for each move (default: 128)",
    )  # fmt: skip
    parser.add_argument(
        "--decisions", type="natural", default=4_000_000, metavar="N",
        help="budget of the training in decisions; 0: no training (default: 4,000,000)",
    )  # fmt: skip
    parser.add_argument(
        "--hands", type="positive", default=4_000, metavar="H",
        help="hands of each evaluation (default: 4,000)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type="natural", default=0, metavar="S", help="random seed (default: 0)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="default: runs/best-response-AGENT"
    )


def run(arguments: argparse.Namespace) -> int:
    from ..common.signals import RunStopped
    from ..training.experiments.best_response import PAGE, BestResponsePlan, find_best_response

    agent: str = arguments.agent
    rules = common_rules([agent], arguments.rules)
    make_agent(agent, rules)
    plan = BestResponsePlan(
        agent=agent, rules=rules.as_mapping(), model=arguments.model or agent,
        worlds=arguments.worlds, decisions=arguments.decisions, hands=arguments.hands,
        seed=arguments.seed,
    )  # fmt: skip
    folder: Path = arguments.out or Path("runs", "best-response-" + re.sub(r"[^\w.-]+", "-", agent))
    try:
        best = find_best_response(plan, rules, folder).best
    except RunStopped as stopped:
        print(f"the results so far are in {folder}; the same command goes on")
        return stopped.status
    low = 100 * max(best.win_rate - best.half_width, 0.0)
    print(f"{best.player} {best.text()}")
    print("\n".join(best.details))
    print(f"wins at least {low:.1f} % of hands against {agent} in {rules.name}")
    print(folder / PAGE)
    return 0
