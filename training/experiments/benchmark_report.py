"""The page of a benchmark: tables of its results, and charts over decisions and processor time."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from statistics import fmean, median

import numpy as np

from ...agents.registry import load_agent
from ...common.files import file_name
from ...common.markup import markdown_code, markdown_table, markdown_text
from ...common.typing import Array
from ...evaluation import Estimate
from ...evaluation.exploitability.exact import measure_exploitability
from ...evaluation.reports import charts
from ...evaluation.statistics import mean_of
from ..given import INFORMATION_SETS, NOT_STATED, Given
from .benchmark_results import EXPLOITABILITY, OF_OWN_ENDINGS, Result, is_solvable
from .benchmark_statistics import (
    FIGURE,
    LEAST_SHOWN,
    PAIRS_FIGURE,
    estimate_text,
    interquartile_table,
    pairs_table,
)
from .budgets import aligned, ended_early, went_beyond

_NOISE, _OVERSHOOT = 1.25, 1.01
"""Factors by which a busy machine can make runs slower, and by which a last iteration is late."""
_AXES = {"": "decisions", "-time": "seconds of one core"}
_FIGURES = {FIGURE: "intervals of all algorithms", PAIRS_FIGURE: "differences of all pairs"}
"""Labels of the charts' axes by the endings of their names."""
_GIVEN = {
    "critic": "has a critic that sees {value}; critics of published networks see {usual}",
    "precision": "was trained in {value}; published networks were in {usual}",
    "ema": "has its average of weights {value}; published networks have it {usual}",
    "observation": "reads {value}; published networks read {usual}",
    "decisions": "counts the decisions of {value}; published networks count those of {usual}",
}
"""How a result differs in what it was given."""
_NOT_GIVEN = {
    "critic": "what its critic sees",
    "precision": "in which precision it was trained",
    "ema": "whether its policy is an average of weights (EMA)",
    "observation": "what its policy reads",
    "decisions": "which decisions are counted",
}
"""What a result may leave open."""


def columns_of(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Rule sets and metrics of the results."""
    metrics = [*dict.fromkeys(metric for result in results for metric in result.metrics)]
    columns = dict.fromkeys((run.rules, metric) for run in results for metric in run.metrics)
    return sorted(columns, key=lambda column: metrics.index(column[1]))


def runs_of(
    results: Sequence[Result], algorithm: str, rules: str, metric: str = ""
) -> list[Result]:
    """The runs of an algorithm on a rule set by seed, those with a metric if it is given."""
    runs = [
        run
        for run in results
        if (run.algorithm, run.rules) == (algorithm, rules) and metric in ("", *run.metrics)
    ]
    return sorted(runs, key=lambda run: run.seed)


def over_seeds(values: Sequence[Array]) -> Estimate:
    """Mean over rule sets and seeds of values by rule set and seed, with its 95 % interval.

    A seed's values of all rule sets are one observation.
    """
    return mean_of(np.mean(values, axis=0))


def values_of(results: Sequence[Result]) -> dict[tuple[str, str], dict[str, Array]]:
    """The last value of each seed by column and algorithm; without algorithms that have none."""
    names = dict.fromkeys(result.algorithm for result in results)
    values: dict[tuple[str, str], dict[str, Array]] = {}
    for rules, metric in columns_of(results):
        runs = {name: runs_of(results, name, rules, metric) for name in names}
        values[rules, metric] = {
            name: np.array([run.points[-1].values[metric] for run in seeds])
            for name, seeds in runs.items()
            if seeds
        }
    return values


def page(
    results: Sequence[Result],
    command: str,
    images: str,
    published: Sequence[Result] = (),
    drawn: Container[str] = (),
) -> str:
    """The tables as Markdown, with links to the charts and figures in the folder `images`.

    Of `published` results those not shown are what the others are told apart from. `drawn` are the
    files in the folder: a chart needs two points, and a figure needs matplotlib.
    """
    columns, values = columns_of(results), values_of(results)
    games = {run.rules: run.load_rules() for run in results}
    solved = [
        rules for rules, metric in columns if metric == EXPLOITABILITY and is_solvable(games[rules])
    ]
    random_play = {
        rules: measure_exploitability(
            load_agent("random-exact", games[rules]), games[rules]
        ).exploitability
        for rules in solved
    }
    header = [
        "algorithm",
        *(f"{_code(rules)} {markdown_text(metric)}" for rules, metric in columns),
    ]
    if len(solved) > 1:
        header.append("share of random play's")
    rows: list[list[str]] = []
    costs: list[list[str]] = []
    shares: dict[str, list[Array]] = {}
    rule_sets = [*dict.fromkeys(rules for rules, _ in columns)]
    names = [*dict.fromkeys(result.algorithm for result in results)]
    most_seeds = {column: max(map(len, by_name.values())) for column, by_name in values.items()}
    for algorithm in names:
        last = {column: values[column].get(algorithm) for column in columns}
        cells = [
            "–" if seeds is None else _cell(seeds, most_seeds[column])
            for column, seeds in last.items()
        ]
        if len(solved) > 1:
            found = {rules: last[rules, EXPLOITABILITY] for rules in solved}
            relative = [
                seeds / random_play[rules] for rules, seeds in found.items() if seeds is not None
            ]
            if len(relative) == len(solved):
                shares[algorithm] = relative
            seeds_of = {
                tuple(run.seed for run in runs_of(results, algorithm, rules, EXPLOITABILITY))
                for rules in solved
            }
            comparable = len(seeds_of) == 1 and () not in seeds_of
            cells.append(estimate_text(over_seeds(relative), 3) if comparable else "–")
        rows.append([_code(algorithm), *cells])
        costs.append(
            [_code(algorithm), *(_cost(runs_of(results, algorithm, rules)) for rules in rule_sets)]
        )
    if solved:
        cells = [
            f"{random_play[rules]:.4f}" if metric == EXPLOITABILITY and rules in solved else "–"
            for rules, metric in columns
        ]
        rows.append(["`random-exact`", *cells, *(["1"] if len(solved) > 1 else [])])
    pairs = pairs_table(values)
    parts = [
        "Means over seeds with 95 % intervals (Student's t).",
        markdown_table(header, rows, right=range(1, len(header))),
        "What each learner was given:",
        given_table(results),
        *departures(results, published),
        "Decisions (mean) and seconds of processor time (median) of a training, without its "
        "evaluations:",
        markdown_table(
            ["algorithm", *map(_code, rule_sets)],
            costs,
            right=range(1, len(rule_sets) + 1),
        ),
        "\n".join(f"- {note}" for note in _notes(results)),
        "Interquartile means with 95 % bootstrap intervals. With fewer than about ten seeds a "
        "bootstrap interval is too narrow, so compare algorithms by the pairs below.",
        interquartile_table(values, shares),
        *(
            [
                "Differences of the means of all pairs, with 95 % intervals (Welch). A bold "
                "difference has an interval without 0. Nothing is corrected for the number of "
                "pairs.",
                pairs,
            ]
            if pairs
            else []
        ),
        *(
            f"![{text}]({images}/{name}.svg)"
            for name, text in _FIGURES.items()
            if f"{name}.svg" in drawn
        ),
        *(
            f"![{markdown_text(f'{metric} on {rules} over {label}')}]({images}/{name})"
            for rules, metric in columns
            for ending, label in _AXES.items()
            if (name := chart_name(rules, metric, ending)) in drawn
        ),
        f"Made by {markdown_code(command)}.",
    ]
    return "\n\n".join(parts) + "\n"


def given_table(results: Sequence[Result]) -> str:
    """What the learners were given, a row for each algorithm and each thing it was given."""
    rows: dict[tuple[str, ...], None] = {}
    for run in results:
        given = [str(getattr(run.given, name)) for name in Given.__struct_fields__]
        rows[(_code(run.algorithm), *map(markdown_text, (*given, run.machine)))] = None
    header = [
        "algorithm",
        "critic sees",
        "observation",
        "precision",
        "EMA",
        "decisions counted",
        "processor",
    ]
    return markdown_table(header, [[*row] for row in rows])


def departures(results: Sequence[Result], published: Sequence[Result]) -> list[str]:
    """How results that are not published differ from the published ones, as a list in Markdown."""
    names = {run.algorithm for run in published}
    own: dict[tuple[str, str], list[Result]] = {}
    for run in results if published else ():
        if run.algorithm not in names:
            own.setdefault((run.algorithm, run.rules), []).append(run)
    notes: dict[str, None] = {}
    for (algorithm, _), seeds in own.items():
        for note in _departures_of(seeds, published):
            notes[f"- {_code(algorithm)} {note}."] = None
    if not notes:
        return []
    return ["Unlike the published results:\n\n" + "\n".join(notes)]


def _departures_of(seeds: Sequence[Result], published: Sequence[Result]) -> Iterator[str]:
    """Departures of an algorithm on a rule set; its seeds differ in how much they used alone."""
    run = seeds[0]
    networks = [other for other in published if other.given.observation != INFORMATION_SETS]
    on_deck = [other for other in networks if other.rules == run.rules]
    if not on_deck:
        yield f"was measured on {_code(run.rules)}, on which nothing is published"
    budgets = [other.spent for other in on_deck]
    spent = round(fmean(each.spent for each in seeds))
    if budgets and not _is_near(spent, budgets, _OVERSHOOT):
        yield (
            f"had {spent:,} decisions on {_code(run.rules)}, where published networks had "
            f"{min(budgets):,} to {max(budgets):,}"
        )
    loops = [other.multiples for other in on_deck if other.reference]
    own_loops = [each.multiples for each in seeds if each.reference]
    if loops and own_loops and not _is_near(median(own_loops), loops, _NOISE):
        yield (
            f"took {median(own_loops):,.1f} times as long as the reference loop on "
            f"{_code(run.rules)}; published networks took {min(loops):,.1f} to {max(loops):,.1f} "
            "times as long"
        )
    if on_deck and run.evaluation not in {other.evaluation for other in on_deck}:
        yield f"was measured by {markdown_text(run.evaluation)}"
    for name, text in _GIVEN.items():
        value = getattr(run.given, name)
        usual = sorted({getattr(other.given, name) for other in networks})
        if value == NOT_STATED:
            yield f"does not say {_NOT_GIVEN[name]} (in the property `given` of its settings)"
        elif usual and value not in usual:
            yield text.format(value=markdown_text(value), usual=" or ".join(usual))


def _is_near(value: float, published: Sequence[float], tolerance: float) -> bool:
    """Whether a value is in the range of the published ones, but for a factor."""
    return min(published) / tolerance <= value <= max(published) * tolerance


def _code(name: str) -> str:
    """A name of an algorithm or rule set in a table."""
    return markdown_code(name, in_table=True)


def _cell(values: Array, most_seeds: int) -> str:
    """The mean over seeds, marked where other algorithms have more of them."""
    text = estimate_text(over_seeds([values]))
    return f"{text} ({_seeds(len(values))})" if len(values) < most_seeds else text


def _seeds(count: int) -> str:
    return f"{count} seeds" if count > 1 else "1 seed"


def _cost(runs: Sequence[Result]) -> str:
    if not runs:
        return "–"
    decisions = np.mean([run.decisions for run in runs])
    seconds = [run.points[-1].seconds for run in runs]
    machines = len({run.machine for run in runs})
    # Other work on the machine can make some of the runs much longer.
    time = f"{median(seconds):,.1f} s"
    if machines > 1:
        time = f"{min(seconds):,.1f}–{max(seconds):,.1f} s on {machines} machines"
    reported = " as reported" if any(run.as_reported for run in runs) else ""
    multiples = [run.multiples for run in runs if run.reference]
    loops = f" ({median(multiples):,.0f} loops)" if multiples else ""
    return f"{decisions:,.0f}{reported}, {time}{loops}, {_seeds(len(runs))}"


def _notes(results: Sequence[Result]) -> Iterator[str]:
    """What the tables do not tell, as sentences."""
    machines = {run.machine: dict[str, None]() for run in results}
    for run in results:
        machines[run.machine].setdefault(_code(run.algorithm))
    for machine, algorithms in machines.items():
        yield f"Seconds of {', '.join(algorithms)} are of a core of {markdown_text(machine)}."
    if len(machines) > 1:
        yield "Seconds of different machines are not comparable."
    if any(run.reference for run in results):
        yield (
            "Loops are multiples of a reference loop, timed on the same core before and after each "
            "run, of which the faster counts. Compare loops where the machines differ."
        )
    if reported := dict.fromkeys(_code(run.algorithm) for run in results if run.as_reported):
        yield (
            f"Decisions of {', '.join(reported)} are as reported by the trainer; all others are "
            "counted."
        )
    measured: dict[str, dict[str, dict[str, None]]] = {}
    for run in results:
        by_evaluation = measured.setdefault(run.rules, {})
        by_evaluation.setdefault(run.evaluation, {}).setdefault(_code(run.algorithm))
    for rules, by_evaluation in measured.items():
        for evaluation, algorithms in by_evaluation.items():
            if len(by_evaluation) > 1 or evaluation == OF_OWN_ENDINGS:
                names = ", ".join(algorithms)
                yield f"{names} on {_code(rules)}: measured as {markdown_text(evaluation)}."
    has_other_ends = False
    for algorithm, rules in dict.fromkeys((run.algorithm, run.rules) for run in results):
        runs = runs_of(results, algorithm, rules)
        name = f"{_code(algorithm)} on {_code(rules)}"
        if ends := other_ends(runs):
            has_other_ends = True
            yield f"{name}: {ends}."
        for metric in dict.fromkeys(metric for run in runs for metric in run.metrics):
            without = [str(run.seed) for run in runs if metric not in run.metrics]
            if without:
                seeds = "seed" if len(without) == 1 else "seeds"
                yield f"{name}: {seeds} {', '.join(without)} without {markdown_text(metric)}."
    if has_other_ends:
        yield (
            "The table has the last value of every seed, whenever it ended; a curve has only the "
            "points that all of its seeds have."
        )


def other_ends(runs: Sequence[Result]) -> str:
    """The seeds that ended early or used more than their budget, as a clause; empty if none did."""
    return "; ".join(
        f"seed {run.seed} {verb} {run.decisions:,} of {run.budget:,} decisions"
        for run in runs
        for verb, applies in (("ended after", ended_early), ("used", went_beyond))
        if applies(run.decisions, run.budget)
    )


def draw_charts(results: Sequence[Result]) -> dict[str, str]:
    """SVG charts of the curves on each rule set and metric, by file name.

    Runs with one point have no curve, and without a curve there is no chart.
    """
    files: dict[str, str] = {}
    for rules, metric in columns_of(results):
        runs = {
            algorithm: runs_of(results, algorithm, rules, metric)
            for algorithm in dict.fromkeys(result.algorithm for result in results)
        }
        is_log = EXPLOITABILITY in metric
        for ending, label in _AXES.items():
            lines = {
                name: _curve(seeds, metric, is_log, in_seconds=bool(ending))
                for name, seeds in runs.items()
                if seeds and max(len(run.points) for run in seeds) > 1
            }
            # Seeds of different budgets may have no point in common.
            lines = {name: curve for name, curve in lines.items() if curve.points}
            if not lines:
                continue
            chart = charts.curves(
                lines, label, f"{metric}, {rules}", log_x=is_log or bool(ending), log_y=is_log
            )
            name = chart_name(rules, metric, ending)
            if name in files:
                raise ValueError(
                    f"two metrics have the chart {name}: name {metric!r} anew in the results"
                )
            files[name] = charts.standalone(chart, [*lines])
    return files


def _curve(runs: Sequence[Result], metric: str, is_log: bool, *, in_seconds: bool) -> charts.Curve:
    """The mean over all seeds, as far as all of them go; their times are medians, as in `_cost`."""
    points: list[tuple[float, float]] = []
    margins_of_error: list[float] = []
    for seeds in aligned([run.points for run in runs]):
        mean = mean_of([point.values[metric] for point in seeds])
        if is_log and mean.value < LEAST_SHOWN:
            continue
        seconds = median(point.seconds for point in seeds)
        x = seconds if in_seconds else fmean(point.decisions for point in seeds)
        points.append((x, mean.value))
        # Two seeds have an interval that says nothing.
        margin_of_error = mean.margin_of_error if len(seeds) > 2 else math.inf
        if is_log and math.isfinite(margin_of_error):
            margin_of_error = min(margin_of_error, mean.value - LEAST_SHOWN)
        margins_of_error.append(margin_of_error)
    return charts.Curve(points, margins_of_error)


def chart_name(rules: str, metric: str, ending: str = "") -> str:
    return f"benchmark-{file_name(rules)}-{file_name(metric)}{ending}.svg"
