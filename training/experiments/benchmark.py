"""Benchmarks of algorithms: each on several rule sets, with several seeds, at one budget.

The metric is the exact exploitability on a small deck, elsewhere the duplicate win rate against
fixed opponents. Results are means over seeds with Student's 95 % interval; a percentile bootstrap
of three to five seeds covers only 74 to 93 %.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from ...agents.checkpoints.checkpoint import FOLDER, list_checkpoints
from ...agents.equilibrium.public_tree import public_tree, why_no_public_tree
from ...agents.registry import make_agent
from ...common.executors import Executor
from ...common.files import write_file
from ...common.markdown import markdown_table
from ...common.schema import convert, read_json
from ...common.settings_files import PresetFiles, build_settings, keep_settings
from ...common.typed_settings import (
    CheckedSettings,
    EvenHands,
    Names,
    PositiveInt,
    SettingsError,
    doc,
)
from ...common.typing import Array
from ...engine.rules import Rules, load_rules
from ...evaluation import Estimate, evaluate
from ...evaluation.exploitability.exact import measure_exploitability
from ...evaluation.reports import charts
from ...evaluation.statistics import mean_of
from ..api import train_or_go_on
from ..callbacks.evaluation import evaluation_seed
from ..presets import settings_from
from ..settings import Settings
from .compare import Point, as_curve, mean_curve

BENCHMARKS = PresetFiles("benchmark", "a benchmark")
"""Bundled benchmarks."""
RESULT, PAGE = "result.json", "benchmark.md"
EXPLOITABILITY = "exploitability"
_MAX_CARDS, _MAX_INFO_SETS = 16, 5_000_000


class Benchmark(CheckedSettings, frozen=True, kw_only=True):
    """Settings of a benchmark."""

    about: Annotated[str, doc("Purpose of the benchmark, in a line.")] = ""
    algorithms: Annotated[
        dict[str, dict[str, Any]],
        doc(
            "Settings by the name of the algorithm, a trainer unless `trainer` names another.",
            min_length=1,
        ),
    ]
    rules: Annotated[Names, doc("Rule sets: small decks, or others.", min_length=1)]
    seeds: Annotated[
        int, doc("Number of seeds (1, 2, …); an interval needs three.", ge=3, le=10_000)
    ] = 5
    decisions: Annotated[PositiveInt, doc("Budget of each run in decisions.")] = 200_000
    eval_points: Annotated[
        PositiveInt, doc("Number of evaluations of each run, the last included.")
    ] = 5
    settings: Annotated[dict[str, Any], doc("Settings of all runs.")] = msgspec.field(
        default_factory=dict[str, Any]
    )
    eval_opponents: Annotated[
        Names, doc("Opponents on rule sets whose exploitability is not computed.")
    ] = ("threshold",)
    eval_hands: Annotated[EvenHands, doc("Hands of an evaluation against each opponent.")] = 2_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for run in self.runs():
            self.run_settings(run)
        names = [load_rules(rules).name for rules in self.rules]
        for name in names:
            if names.count(name) > 1:  # their runs would have the same folders
                raise SettingsError(f"rules: {name!r} is there twice: name each rule set once")

    def runs(self) -> list[BenchmarkRun]:
        return [
            BenchmarkRun(rules, algorithm, seed)
            for rules in self.rules
            for seed in range(1, self.seeds + 1)
            for algorithm in self.algorithms
        ]

    def run_settings(self, run: BenchmarkRun) -> Settings:
        own = {"trainer": run.algorithm, **self.algorithms[run.algorithm]}
        every = -(-self.decisions // self.eval_points)
        # The runs only write checkpoints, which are evaluated afterwards.
        fixed = {
            "rules": run.rules,
            "seed": run.seed,
            "decisions": self.decisions,
            "eval_every": every,
            "save_every": every,
            "eval_opponents": [],
            "final_eval_opponents": [],
            "eval_mode": "sync",
            "final_eval_hands": 2,
            "eval_hands": 2,
            "threads": 1,
            "about": "a training of a benchmark",
        }
        return settings_from({**self.settings, **own, **fixed}, f"algorithms: {run.algorithm}")


class BenchmarkRun(NamedTuple):
    """A run of a benchmark."""

    rules: str
    algorithm: str
    seed: int

    def folder(self, base: Path) -> Path:
        return base / load_rules(self.rules).name / self.algorithm / f"seed-{self.seed}"


Curve = list[tuple[int, float]]
"""Decisions and value of each point."""
Curves = dict[tuple[str, str], dict[str, list[Curve]]]
"""Learning curves of all seeds, by rule set and metric, then by algorithm."""


def load_benchmark(source: str | Path) -> Benchmark:
    values, name = BENCHMARKS.values(source)
    return build_settings(Benchmark, values, name, "a part of a benchmark")


def run_benchmark(
    benchmark: Benchmark, folder: Path, jobs: int = 1, say: Callable[[str], None] = print
) -> Curves:
    """Train and evaluate what is missing in the folder, with `jobs` processes."""
    keep_settings(folder / "benchmark.yaml", benchmark, "name another folder")
    runs = benchmark.runs()
    missing = [run for run in runs if not (run.folder(folder) / RESULT).exists()]
    with Executor(_worker, (benchmark, folder), jobs, threads=0) as executor:
        futures = {executor.submit(run): run for run in missing}
        for number, future in enumerate(as_completed(futures), 1):
            future.result()
            run = futures[future]
            say(f"{number} of {len(missing)}: {run.algorithm} on {run.rules}, seed {run.seed}")
    return _load_curves(runs, folder)


def _worker(setup: tuple[Benchmark, Path]) -> Callable[[BenchmarkRun], None]:
    benchmark, folder = setup
    return lambda run: _train(benchmark, run, folder)


def _train(benchmark: Benchmark, run: BenchmarkRun, base: Path) -> None:
    folder = run.folder(base)
    train_or_go_on(benchmark.run_settings(run), folder, quiet=True)
    curves: dict[str, list[tuple[int, float]]] = {}
    for checkpoint in list_checkpoints(folder / FOLDER):
        for metric, value in _evaluate(benchmark, run, checkpoint).items():
            curves.setdefault(metric, []).append((int(checkpoint.stem), value))
    write_file(folder / RESULT, json.dumps(curves, indent=1) + "\n")


def _evaluate(benchmark: Benchmark, run: BenchmarkRun, checkpoint: Path) -> dict[str, float]:
    rules = load_rules(run.rules)
    if is_solvable(rules):
        return {EXPLOITABILITY: sampled_exploitability(checkpoint, rules)}
    result = evaluate(
        f"network:{checkpoint},sample",
        list(benchmark.eval_opponents),
        rules,
        hands=benchmark.eval_hands,
        seed=evaluation_seed(run.seed),
    )
    return {f"wins against {match.opponent}": match.win_rate.value for match in result.pairings}


def sampled_exploitability(checkpoint: Path, rules: Rules) -> float:
    """Exact exploitability of a checkpoint that samples from its policy."""
    agent = make_agent(f"network:{checkpoint},sample", rules)
    return measure_exploitability(agent, rules).exploitability


def is_solvable(rules: Rules) -> bool:
    """Whether exact exploitability is computed soon enough for every checkpoint."""
    if why_no_public_tree(rules) is not None or len(rules.deck) > _MAX_CARDS:
        return False
    return public_tree(rules).n_info_sets <= _MAX_INFO_SETS


def _load_curves(runs: Sequence[BenchmarkRun], folder: Path) -> Curves:
    curves: Curves = {}
    for run in runs:
        path, remedy = run.folder(folder) / RESULT, "delete it and give the same command again"
        results = convert(
            read_json(path.read_bytes(), path, remedy), dict[str, Curve], path, remedy
        )
        metrics = [metric for metric, curve in results.items() if curve]
        others = [metric for rules, metric in curves if rules == run.rules] or metrics
        if not metrics or metrics != others:
            raise ValueError(
                f"{path}: has values of {metrics}, and other runs of {others}; {remedy}"
            )
        for metric, curve in results.items():
            by_algorithm = curves.setdefault((run.rules, metric), {})
            by_algorithm.setdefault(run.algorithm, []).append(curve)
    return curves


def over_seeds(values: Sequence[Array]) -> Estimate:
    """Mean over rule sets and seeds of values by rule set and seed, with its 95 % interval.

    A seed's values of all rule sets are one observation.
    """
    return mean_of(np.mean(values, axis=0))


# -- the page


def page(benchmark: Benchmark, results: Curves, command: str, images: str) -> str:
    """The tables as Markdown, with links to the charts of `draw_charts` in the folder `images`."""
    solved = [rules for rules, metric in results if metric == EXPLOITABILITY]
    random_play = {
        rules: measure_exploitability(make_agent("random-exact", rules), rules).exploitability
        for rules in solved
    }
    header = ["algorithm", *(f"`{rules}` {metric}" for rules, metric in results)]
    if len(solved) > 1:
        header.append("share of random play's")
    rows = []
    for algorithm in benchmark.algorithms:
        last = {
            column: np.array([curve[-1][1] for curve in curves[algorithm]])
            for column, curves in results.items()
        }
        cells = [_text(over_seeds([values])) for values in last.values()]
        if len(solved) > 1:
            relative = [last[rules, EXPLOITABILITY] / random_play[rules] for rules in solved]
            cells.append(_text(over_seeds(relative), 3))
        rows.append([f"`{algorithm}`", *cells])
    if solved:
        cells = [f"{random_play[rules]:.4f}" if rules in solved else "–" for rules, _ in results]
        rows.append(["`random-exact`", *cells, *(["1"] if len(solved) > 1 else [])])
    parts = [
        f"{benchmark.seeds} seeds of {benchmark.decisions:,} decisions each; means over seeds with "
        "95 % intervals (Student's t).",
        markdown_table(header, rows, right=range(1, len(header))),
        *(
            f"![{metric} on {rules} while training]({images}/{chart_name(rules, metric)})"
            for rules, metric in results
        ),
        f"Made by `{command}`.",
    ]
    return "\n\n".join(parts) + "\n"


def draw_charts(benchmark: Benchmark, results: Curves) -> dict[str, str]:
    """SVG charts of the learning curves on each rule set and metric, by file name."""
    names = [*benchmark.algorithms]
    files = {}
    for (rules, metric), curves in results.items():
        lines = {
            name: as_curve(
                mean_curve(
                    [
                        [Point(decisions, value, 0.0) for decisions, value in curve]
                        for curve in curves[name]
                    ]
                )
            )
            for name in names
        }
        chart = charts.curves(lines, "decisions", f"{metric}, {rules}")
        files[chart_name(rules, metric)] = charts.standalone(chart, names)
    return files


def chart_name(rules: str, metric: str) -> str:
    return f"benchmark-{load_rules(rules).name}-{metric.replace(' ', '-')}.svg"


def _text(estimate: Estimate, digits: int = 4) -> str:
    low, high = estimate.low, estimate.high
    return f"{estimate.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
