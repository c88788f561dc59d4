"""Does a small deck tell anything about the whole pack? `python -m benchmarks.transfer`.

Each of 32 configurations (algorithm, layers, learning rate, entropy, critic) is trained on two
solved decks and on the whole pack. On the decks its exact exploitability is measured; on the pack,
its win rate against a fixed set of opponents over duplicate deals, and for every third
configuration also what a best-response search wins from it. The summary has the rank correlations
between the figures, with intervals over configurations, and there is a chart for each deck.

Every training and every figure is written when it is done, so the same command goes on with an
interrupted one. The whole takes about ten hours of a core.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from german_whist.agents.checkpoints import find_checkpoint
from german_whist.common.files import write_file
from german_whist.common.markup import markdown_table
from german_whist.common.provenance import processor
from german_whist.common.typing import Array
from german_whist.engine.rules import load_rules
from german_whist.evaluation import Estimate, evaluate
from german_whist.evaluation.reports import charts
from german_whist.training.api import train_or_resume
from german_whist.training.experiments.benchmark import sampled_exploitability
from german_whist.training.experiments.benchmark_results import EXPLOITABILITY
from german_whist.training.experiments.sweep import affordable_decisions
from german_whist.training.presets import settings_from

from .resumed import RESULTS, checked, interruptible, keep_options

DECKS = ("2x5-h3", "3x4-h4")
PACK = "classic"
OPPONENTS = ("threshold", "counting", "flat-mc:16", "champion-1")
SEED, EVALUATION_SEED = 501, 77_000
SUMMARY, BUDGETS = "summary.md", "budgets.json"
FIGURE = "transfer"
WIN_RATE, LOSS = "win rate", "loss to responder"
_EVERY_THIRD = 3
_RESAMPLES = 5_000
_FEWEST_LEARNERS = 3
"""Of fewer learners, no correlation is given."""

Line = dict[str, Any]


def configurations() -> dict[str, dict[str, Any]]:
    """Settings by name: four kinds of trainers, with eight choices of the rest each.

    The choices are every second one of all sixteen, so that each value stands beside each other.
    """
    bases: dict[str, dict[str, Any]] = {
        "ppo-own-view": {"trainer": "ppo", "critic": "separate", "n_envs": 1024},
        "ppo-hidden-cards": {"trainer": "ppo", "critic": "oracle", "n_envs": 1024},
        "mmd-own-view": {"trainer": "mmd", "critic": "separate", "n_envs": 1024},
        "nfsp": {"trainer": "nfsp", "n_envs": 256, "reservoir_size": 2_000_000},
    }
    found: dict[str, dict[str, Any]] = {}
    for kind, base in bases.items():
        for number in range(16):
            wide, fast, last, often = (bool(number >> bit & 1) for bit in range(4))
            if (wide + fast + last + often) % 2:
                continue
            settings = {
                **base,
                "hidden_sizes": [256, 256] if wide else [64, 64],
                "learning_rate": 3e-3 if fast else 5e-4,
            }
            if base["trainer"] == "nfsp":
                settings |= {
                    "anticipatory": 0.3 if last else 0.1,
                    "train_every": 64 if often else 256,
                }
            else:
                settings |= {
                    "ent_coef": 0.05,
                    "ent_coef_end": 0.002 if last else 0.02,
                    "n_epochs": 4 if often else 1,
                    "batch_size": 1024,
                    "ema_decay": 0.0,
                }
            name = f"{kind}-{'wide' if wide else 'small'}-{number:02}"
            found[name] = settings
    return found


def run(
    folder: Path,
    chosen: Mapping[str, dict[str, Any]],
    *,
    deck_seconds: float,
    pack_seconds: float,
    hands: int,
    responder_hands: int,
) -> list[Line]:
    """Train and measure what is missing in the folder; returns all results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RESULTS
    lines = _read(path)
    done = {(line["configuration"], line["rules"], line["figure"]) for line in lines}

    def keep(name: str, rules: str, figure: str, estimate: Estimate) -> None:
        line = {
            "configuration": name,
            "rules": rules,
            "figure": figure,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "settings": chosen[name],
            "decisions": _budgets(folder)[f"{name} on {rules}"],
            "processor": processor(),
        }
        lines.append(line)
        write_file(path, "".join(json.dumps(each) + "\n" for each in lines))
        print(f"{name} on {rules}: {figure} {estimate.value:.4f}", flush=True)

    for number, (name, settings) in enumerate(chosen.items()):
        for rules in (*DECKS, PACK):
            wanted = [EXPLOITABILITY] if rules in DECKS else [WIN_RATE]
            if rules == PACK and number % _EVERY_THIRD == 0 and responder_hands:
                wanted.append(LOSS)
            missing = [figure for figure in wanted if (name, rules, figure) not in done]
            if not missing:
                continue
            seconds = deck_seconds if rules in DECKS else pack_seconds
            checkpoint = _train(folder, name, settings, rules, seconds)
            for figure in missing:
                if figure == EXPLOITABILITY:
                    value = sampled_exploitability(checkpoint, load_rules(rules))
                    estimate = Estimate(value, value, value)
                elif figure == WIN_RATE:
                    estimate = _win_rate(checkpoint, hands)
                else:
                    estimate = _loss(checkpoint, responder_hands)
                keep(name, rules, figure, estimate)
    return lines


def _read(path: Path) -> list[Line]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _budgets(folder: Path) -> dict[str, int]:
    path = folder / BUDGETS
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def _train(
    folder: Path, name: str, settings: Mapping[str, Any], rules: str, seconds: float
) -> Path:
    """A training for so many seconds of processor time; its budget is measured once."""
    values = {
        "rules": rules,
        "seed": SEED,
        "threads": 1,
        "device": "cpu",
        "eval_opponents": [],
        "eval_hands": 2,
        "final_eval_hands": 2,
        "eval_mode": "sync",
        **settings,
    }
    key, budgets = f"{name} on {rules}", _budgets(folder)
    if key not in budgets:
        endless = settings_from({**values, "decisions": 1_000_000_000})
        budgets[key] = affordable_decisions(endless, seconds)
        write_file(folder / BUDGETS, json.dumps(budgets, indent=1))
    decisions = budgets[key]
    every = {"eval_every": decisions, "save_every": -(-decisions // 20)}
    trained = settings_from({**values, **every, "decisions": decisions})
    train_or_resume(trained, folder / "runs" / rules / name, quiet=True)
    return find_checkpoint(folder / "runs" / rules / name)


def _win_rate(checkpoint: Path, hands: int) -> Estimate:
    """Mean win rate against all opponents, on the same deals; the interval is conservative."""
    agent = f"network:{checkpoint},sample"
    played = checked(evaluate(agent, [*OPPONENTS], PACK, hands=hands, seed=EVALUATION_SEED))
    rates = [pairing.win_rate for pairing in played.pairings]
    return Estimate(
        *(fmean(getattr(rate, end) for rate in rates) for end in ("value", "low", "high"))
    )


def _loss(checkpoint: Path, hands: int) -> Estimate:
    """What a best-response search wins from the policy in a hand: a lower bound."""
    agent, responder = f"network:{checkpoint},sample", f"responder:64,against={checkpoint}"
    played = checked(evaluate(responder, [agent], PACK, hands=hands, seed=EVALUATION_SEED + 1))
    return played.pairings[0].points


# -- correlations


def ranks(values: Sequence[float]) -> Array:
    """Ranks from 1 on; equal values share the mean of theirs."""
    numbers = np.asarray(values, float)
    below = (numbers[:, None] > numbers).sum(axis=1)
    equal = (numbers[:, None] == numbers).sum(axis=1)
    return below + (equal + 1) / 2


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Spearman's correlation with a 95 % bootstrap interval over pairs.

    NaN where all values of one side are equal.
    """
    pairs = np.column_stack([first, second]).astype(float)
    rng = np.random.default_rng(0)
    drawn = [_spearman(pairs[rng.integers(len(pairs), size=len(pairs))]) for _ in range(_RESAMPLES)]
    found = [value for value in drawn if math.isfinite(value)]
    low, high = np.quantile(found, [0.025, 0.975]) if found else (-1.0, 1.0)
    return Estimate(_spearman(pairs), float(low), float(high))


def _spearman(pairs: Array) -> float:
    first, second = (ranks(column) - (len(pairs) + 1) / 2 for column in pairs.T)
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale else math.nan


def figures(lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    """Values by figure and configuration."""
    found: dict[str, dict[str, float]] = {}
    for line in lines:
        title = f"{line['figure']} on {line['rules']}"
        found.setdefault(title, {})[line["configuration"]] = line["value"]
    return found


def summary(lines: Sequence[Line]) -> str:
    """The rank correlations of all pairs of figures, as a table."""
    found = figures(lines)
    rows: list[list[str]] = []
    for number, (first, values) in enumerate(found.items()):
        for second, others in [*found.items()][number + 1 :]:
            both = [name for name in values if name in others]
            if len(both) < _FEWEST_LEARNERS:
                continue
            pairs = [values[name] for name in both], [others[name] for name in both]
            rows.append([first, second, str(len(both)), _correlation_text(*pairs)])
    header = ["figure", "other figure", "learners", "rank correlation"]
    return markdown_table(header, rows, right=(2, 3)) + "\n"


KINDS = {
    "ppo": ("ppo", "separate"),
    "ppo, critic sees hidden cards": ("ppo", "oracle"),
    "mmd": ("mmd", "separate"),
    "nfsp": ("nfsp", None),
}
"""Trainer and critic of the dots of one color, by their name in the chart."""
POLICY_GRADIENTS = "all but nfsp"


def points_of_kinds(lines: Sequence[Line], deck: str) -> dict[str, list[tuple[float, float]]]:
    """Exploitability on a deck, and win rate on the pack, of the learners of each kind."""
    found, settings = figures(lines), {line["configuration"]: line["settings"] for line in lines}
    wins = found.get(f"{WIN_RATE} on {PACK}", {})
    points = {
        kind: [
            (value, wins[name])
            for name, value in found.get(f"{EXPLOITABILITY} on {deck}", {}).items()
            if name in wins and (settings[name]["trainer"], settings[name].get("critic")) == of_kind
        ]
        for kind, of_kind in KINDS.items()
    }
    return {kind: of_kind for kind, of_kind in points.items() if of_kind}


def summary_of_kinds(lines: Sequence[Line]) -> str:
    """The rank correlation with the win rate on the pack among the learners of each kind."""
    of_decks = {deck: _with_policy_gradients(points_of_kinds(lines, deck)) for deck in DECKS}
    rows = [
        [kind, str(len(next(points[kind] for points in of_decks.values() if kind in points)))]
        + [
            _correlation_text(*zip(*points[kind], strict=True)) if kind in points else ""
            for points in of_decks.values()
        ]
        for kind in (*KINDS, POLICY_GRADIENTS)
        if any(kind in points for points in of_decks.values())
    ]
    header = ["kind", "learners", *(f"{EXPLOITABILITY} on {deck}" for deck in of_decks)]
    return markdown_table(header, rows, right=(1, 2, 3)) + "\n"


def _with_policy_gradients(
    points: dict[str, list[tuple[float, float]]],
) -> dict[str, list[tuple[float, float]]]:
    """The points of each kind, and those of all but NFSP together if these are several kinds."""
    kinds = [of_kind for kind, of_kind in points.items() if kind != "nfsp"]
    together = [point for of_kind in kinds for point in of_kind]
    return points | {POLICY_GRADIENTS: together} if len(kinds) > 1 else points


def _correlation_text(first: Sequence[float], second: Sequence[float]) -> str:
    if len(first) < _FEWEST_LEARNERS:
        return ""
    estimate = rank_correlation(first, second)
    if math.isnan(estimate.value):
        return "all equal"
    return f"{estimate.value:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"


def chart(lines: Sequence[Line], deck: str) -> str:
    """An SVG chart of the win rate on the pack over the exploitability on a deck."""
    dots = {
        kind: charts.Curve(points, joined=False)
        for kind, points in points_of_kinds(lines, deck).items()
    }
    title = f"{EXPLOITABILITY} on {deck}"
    drawn = charts.curves(dots, title, f"{WIN_RATE} on {PACK}", log_x=True)
    return charts.standalone(drawn, [*dots])


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transfer", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/transfer"))
    parser.add_argument("--configurations", type=int, default=None, help="only so many")
    parser.add_argument("--deck-seconds", type=float, default=90)
    parser.add_argument("--pack-seconds", type=float, default=600)
    parser.add_argument("--hands", type=int, default=4_000)
    parser.add_argument("--responder-hands", type=int, default=200, help="0: no lower bounds")
    options = parser.parse_args(words)
    chosen = dict([*configurations().items()][: options.configurations])
    keep_options(options.folder, options, "configurations")
    with interruptible():
        lines = run(
            options.folder,
            chosen,
            deck_seconds=options.deck_seconds,
            pack_seconds=options.pack_seconds,
            hands=options.hands,
            responder_hands=options.responder_hands,
        )
    text = f"{summary(lines)}\n{summary_of_kinds(lines)}"
    write_file(options.folder / SUMMARY, text)
    for deck in DECKS:
        write_file(options.folder / f"{FIGURE}-{deck}.svg", chart(lines, deck))
    print(text)


if __name__ == "__main__":
    main()
