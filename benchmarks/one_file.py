"""PPO in one file beside the trainer `ppo`: `python -m benchmarks.one_file`.

`examples/cleanrl_ppo.py` plays against its own policy, and `ppo` has the settings that are written
in that file. Both get the same processor time on a solved deck and on the whole pack. These
differences are left: the file learns from one seat of each game, and `ppo` from both; the file
begins with torch's weights, and `ppo` with orthogonal ones; the file normalizes the advantages of a
whole batch, and `ppo` those of a minibatch; the learning rate falls with the seconds in the file,
and with the decisions in `ppo`.

Exploitability is of the policy that samples; on the whole pack there are win rates over duplicate
deals. Each run is written when it is done, so the same command goes on with an interrupted one.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import german_whist
from german_whist.agents.base import Agent
from german_whist.common.files import write_file
from german_whist.common.markup import markdown_table
from german_whist.common.processor_time import processor_seconds
from german_whist.evaluation.statistics import mean_of
from german_whist.training.api import train_or_resume
from german_whist.training.experiments.benchmark_statistics import estimate_text
from german_whist.training.experiments.sweep import affordable_decisions
from german_whist.training.presets import settings_from

from .resumed import RESULTS, checked, interruptible, keep_options

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "cleanrl_ppo.py"
FILE, TRAINER = "one file", "ppo"
RULES = ("2x5-h3", "classic")
OPPONENTS = ("threshold", "counting")
EVALUATION_SEED = 78_000
SAME: dict[str, Any] = {
    "trainer": "ppo",
    "hidden_sizes": [256, 256],
    "critic": "shared",
    "card_ranks": "absolute",
    "reward_scale": 1.0,
    "n_envs": 1024,
    "n_epochs": 2,
    "batch_size": 2048,
    "learning_rate": 1e-3,
    "learning_rate_end": 0.0,
    "clip_range": 0.2,
    "gae_lambda": 0.8,
    "ent_coef": 0.03,
    "ent_coef_end": 0.03,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
    "ema_decay": 0.0,
}
"""Settings of `ppo` as they are in the file."""


def run(folder: Path, seconds: float, seeds: int, hands: int, games: int) -> list[dict[str, Any]]:
    """Train and measure what is missing in the folder; returns all results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RESULTS
    text = path.read_text("utf-8") if path.exists() else ""
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    done = {(line["which"], line["rules"], line["seed"]) for line in lines}
    for seed in range(1, seeds + 1):
        for rules in RULES:
            for which, train in ((FILE, _one_file), (TRAINER, _trainer)):
                if (which, rules, seed) in done:
                    continue
                began = processor_seconds()
                agent = train(rules, seconds, seed, games)
                line = {
                    "which": which,
                    "rules": rules,
                    "seed": seed,
                    "seconds": round(processor_seconds() - began, 1),
                    **_figures(agent, rules, hands),
                }
                lines.append(line)
                write_file(path, "".join(json.dumps(each) + "\n" for each in lines))
                print(json.dumps(line), flush=True)
    return lines


def _one_file(rules: str, seconds: float, seed: int, games: int) -> Agent:
    """The sampling policy of the example, after so many seconds."""
    words = ["--rules", rules, "--opponent", "self", "--minutes", str(seconds / 60)]
    words += ["--seed", str(seed), "--games", str(games), "--hands", "2"]
    before, sys.argv = sys.argv, [str(EXAMPLE), *words]
    try:
        return runpy.run_path(str(EXAMPLE))["itself"]
    finally:
        sys.argv = before


def _trainer(rules: str, seconds: float, seed: int, games: int) -> Agent:
    """The sampling policy of `ppo`, after as many decisions as fit."""
    values = {
        **SAME,
        "n_envs": games,
        "rules": rules,
        "seed": seed,
        "threads": 1,
        "device": "cpu",
        "eval_opponents": [],
        "eval_hands": 2,
        "final_eval_hands": 2,
        "eval_mode": "sync",
    }
    endless = settings_from({**values, "decisions": 1_000_000_000})
    decisions = affordable_decisions(endless, seconds)
    settings = settings_from({**values, "decisions": decisions, "eval_every": decisions})
    with TemporaryDirectory() as folder:
        trained = train_or_resume(settings, Path(folder) / "run", quiet=True)
        return german_whist.load_agent(f"network:{trained.checkpoint},sample", rules)


def _figures(agent: Agent, rules: str, hands: int) -> dict[str, float]:
    if rules != "classic":
        return {"exploitability": german_whist.exploitability(agent, rules).exploitability}
    played = checked(
        german_whist.evaluate(agent, [*OPPONENTS], rules, hands=hands, seed=EVALUATION_SEED)
    )
    rates = [pairing.win_rate.value for pairing in played.pairings]
    return {f"wins against {name}": rate for name, rate in zip(OPPONENTS, rates, strict=True)}


def summary(lines: Sequence[dict[str, Any]]) -> str:
    """Means over seeds with 95 % intervals, of both in each figure."""
    names = ("which", "rules", "seed", "seconds")
    rows: list[list[str]] = []
    for rules, figure in dict.fromkeys(
        (line["rules"], name) for line in lines for name in line if name not in names
    ):
        cells: list[str] = []
        for which in (FILE, TRAINER):
            values = [
                line[figure] for line in lines if (line["which"], line["rules"]) == (which, rules)
            ]
            cells.append(estimate_text(mean_of(values)))
        rows.append([rules, figure, *cells])
    return markdown_table(["rules", "figure", FILE, TRAINER], rows, right=(2, 3)) + "\n"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_file", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/one-file"))
    parser.add_argument("--seconds", type=float, default=600, help="of processor time for each run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--hands", type=int, default=10_000)
    parser.add_argument("--games", type=int, default=1024)
    options = parser.parse_args(words)
    keep_options(options.folder, options, "seeds")
    with interruptible():
        lines = run(options.folder, options.seconds, options.seeds, options.hands, options.games)
    text = summary(lines)
    write_file(options.folder / "summary.md", text)
    print(text)


if __name__ == "__main__":
    main()
