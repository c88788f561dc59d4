"""Tables and charts of pages that are made from files of results: `write.py` writes them."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import yaml

from german_whist.common.markup import markdown_table
from german_whist.common.settings import format_value
from german_whist.engine.rules import load_rules
from german_whist.evaluation.reports import charts
from german_whist.evaluation.statistics import bootstrap_interquartile_mean, mean_of
from german_whist.solvers.public_tree import count_info_sets
from german_whist.training.experiments.benchmark import CFR_PLUS
from german_whist.training.experiments.benchmark_report import chart_name, draw_charts, other_ends
from german_whist.training.experiments.benchmark_results import (
    EXPLOITABILITY,
    OF_OWN_ENDINGS,
    Result,
    load_results,
)
from german_whist.training.experiments.benchmark_statistics import estimate_text, pairs_table
from german_whist.training.experiments.search_space import (
    Space,
    base_settings,
    bounds_reached,
    load_sweep,
    widened,
)
from german_whist.training.given import HIDDEN_CARDS, OWN_VIEW
from german_whist.training.presets import settings_from

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks import publish, transfer  # noqa: E402, of the repository alone

sys.path.pop(0)
PUBLISHED, OTHERS = publish.RANKED, publish.OTHERS
SPEED = ROOT / "benchmarks" / "results" / "speed.jsonl"
TRANSFER = ROOT / "benchmarks" / "results" / "transfer.jsonl"
TRANSFER_SHORTER = TRANSFER.with_name("transfer-shorter.jsonl")
"""The same learners, trained for 20 seconds on a small deck and 90 on the full deck."""

TIMED_DECK = publish.SEARCHED_DECK
"""Also the deck of the seconds in a table, and of the runs with one changed setting."""
NOT_LEARNED = ("mccfr", "cfr+")
"""Algorithms with a table: they get columns of their own beside the networks."""
LOWEST_SHOWN = 1e-6
TUNING = ROOT / "benchmarks" / "tuning"
TUNED_BY = {
    "ppo-tuned": TUNING / "exact-ppo.yaml",
    "mmd-tuned": TUNING / "exact-mmd.yaml",
    "nfsp-tuned": TUNING / "averaging-nfsp.yaml",
    "sb3-tuned": TUNING / "relative-sb3.yaml",
    "mccfr": TUNING / "exact-mccfr.yaml",
}
"""The search that the settings of each are from."""
PRIVILEGED = "-privileged"
"""Ending of the names of runs with a critic that sees hidden cards, in bfloat16, with an EMA."""
WHOLE_HANDS = "-hand"
"""Ending of the names of runs that had to learn the endgame too, and were measured with it."""
SEARCHES = {
    OWN_VIEW: ("tuned", "tuned-ema", "tuned-oracle", "tuned-oracle-ema"),
    HIDDEN_CARDS: ("separate", "separate-ema", "oracle", "oracle-ema", f"tuned{PRIVILEGED}"),
}
"""Ends of the names of PPO and MMD by what the critic saw in the search for their settings."""
NETWORKS = {
    "mlp": "built in, two layers of 128 units",
    "mlp-own": "the same layers, `benchmarks/mlp_network.py`",
    "gru": "`examples/gru_network.py`",
    "transformer": "`examples/transformer_network.py`",
}
"""Algorithms of `benchmarks/networks.yaml` as a page calls their networks."""
DEPTH_ALGORITHMS = ("ppo-tuned", "mmd-tuned")
"""Algorithms that were measured on decks of two and of three tricks for the stock."""
BUDGETS = (
    "ppo-tuned",
    "ppo-10-minutes",
    "ppo-hour-wide",
    "mmd-tuned",
    "mmd-10-minutes",
    "mmd-separate-10-minutes",
    "mmd-separate-hour-slow",
)
"""Runs of 90 seconds, ten minutes and an hour, whose critic sees no hidden cards."""
BUDGETS_DECK = "2x6-h3"
_LEAST_SEEDS = 3
"""Runs that an interval needs."""
_CREATE_TRIAL, _SET_PARAMETER, _END_TRIAL = 4, 5, 6
"""Operations of Optuna's journal."""
_NO_SETTINGS = ("number", "decisions")
"""Of a finalist: its trial's number, and its budget, which a benchmark has beside the settings."""
_TRIALS = 60
"""Of a search before its space was widened."""
_PLACES = ("best", "second-best", "third-best", "fourth-best", "fifth-best")
"""Of a trial; a sweep has five finalists."""
_DIGITS = 2
"""Digits of a trial's numbers in the file of a benchmark."""

Trial = tuple[float, dict[str, Any]]
"""Exploitability and settings."""
Runs = dict[tuple[str, str], list[Result]]
"""Runs of all seeds by algorithm and rule set."""
Searches = Mapping[str, Path]
"""The file of the search that an algorithm's settings are from; its journal lies beside it."""


def tables() -> dict[str, str]:
    """Every table by the name in its marker."""
    published, others = runs_in(PUBLISHED), runs_in(OTHERS)
    decks = decks_of(published)
    return {
        "published-results": published_results(published, decks),
        "published-given": published_given(published),
        "published-tuning": published_tuning(published),
        "published-bounds": published_bounds(published),
        "published-spread": published_spread(published, decks),
        "published-pairs": published_pairs(published, decks),
        "ablation": ablation(published, others, decks),
        "published-means": published_means(published, decks),
        "changed-settings": changed_settings(others),
        "lowest-exploitability": lowest_exploitability(published, others, decks),
        "budgets": budgets(published, others),
        "hours": hours_by_section(published, others),
        "depth": depth(published, others),
        "whole-hands": whole_hands(published, others),
        "exact-decks": exact_decks(published, decks),
        "networks": networks(others),
        "transfer": transfer.summary(read_lines(TRANSFER)).strip(),
        "transfer-kinds": transfer.summary_of_kinds(read_lines(TRANSFER)).strip(),
        "transfer-shorter": transfer.summary_of_kinds(read_lines(TRANSFER_SHORTER)).strip(),
        "speed": speed(read_lines(SPEED)),
        "speed-of-environments": speed_of_environments(read_lines(SPEED)),
    }


def pictures() -> dict[str, str]:
    """Every chart by the name of its file."""
    over_time = chart_name(TIMED_DECK, EXPLOITABILITY, "-time")
    compared = [run for run in load_results(OTHERS) if run.algorithm in NETWORKS]
    return {
        "exploitability.svg": draw_charts(load_results(PUBLISHED))[over_time],
        "networks.svg": draw_charts(compared)[chart_name(TIMED_DECK, EXPLOITABILITY)],
        "depth.svg": depth_chart(),
        **{
            f"{transfer.FIGURE}-{deck}.svg": transfer.chart(read_lines(TRANSFER), deck)
            for deck in transfer.DECKS
        },
    }


def speed(lines: list[dict[str, Any]]) -> str:
    """Speeds and ratios, a column for each date and machine, and the range of all."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines:
        values[line["measured"]][f"{line['date']}, {line['machine']}"] = line["value"]
    columns = sorted({column for by_column in values.values() for column in by_column})
    rows = [
        [
            name,
            *(amount_or_ratio(by_column.get(column)) for column in columns),
            " to ".join(amount_or_ratio(end(by_column.values())) for end in (min, max)),
        ]
        for name, by_column in values.items()
    ]
    return _numbers(["measured", *columns, "range"], rows)


ENVIRONMENT_SPEEDS = {
    "PettingZoo `env()`, agent steps a second": "PettingZoo `env()`, with its checks | agent steps",
    "PettingZoo `raw_env`, agent steps a second": "PettingZoo `raw_env()` | agent steps",
    "SB3 VecEnv of 4,096, learner decisions a second": (
        "Stable-Baselines3 `VecEnv`, 4,096 games | decisions of the learner"
    ),
    "Gymnasium vector of 4,096 against `random`, learner decisions a second": (
        "Gymnasium vector, 4,096 games against `random` | decisions of the learner"
    ),
    "a step of 1,024 games with observations and masks, decisions a second": (
        "`SelfPlayEnv`, 1,024 games | decisions of both players"
    ),
}
"""Measurements of environments, each with its row: the environment, and what is counted."""


def speed_of_environments(lines: list[dict[str, Any]]) -> str:
    """The range of each environment's speeds over all dates."""
    values: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        values[line["measured"]].append(line["value"])
    rows = [
        [*row.split(" | "), " to ".join(amount_or_ratio(end(values[name])) for end in (min, max))]
        for name, row in ENVIRONMENT_SPEEDS.items()
    ]
    return markdown_table(["environment", "counted", "a second, on one core"], rows, right=[2])


def amount_or_ratio(value: float | None) -> str:
    if value is None:
        return ""
    if value < 100:
        return f"{value:.1f} ×"
    return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value:,.0f}"


def runs_in(path: Path) -> Runs:
    found: Runs = defaultdict(list)
    for run in load_results(path):
        found[run.algorithm, run.rules].append(run)
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@cache
def information_sets(deck: str) -> int:
    return count_info_sets(load_rules(deck))


def decks_of(runs: Runs) -> list[str]:
    """Decks of the runs, smallest first."""
    return sorted({deck for _, deck in runs}, key=information_sets)


def deck_text(deck: str, runs: Runs) -> str:
    """A deck in a table of learners, marked if settings of some of them were searched on it."""
    is_tuned = deck == TIMED_DECK and any(name.endswith("-tuned") for name, _ in runs)
    return f"`{deck}` (tuned)" if is_tuned else f"`{deck}`"


def algorithms_of(runs: Runs) -> list[str]:
    """Algorithms of the runs, lowest exploitability first."""
    names = {algorithm for algorithm, deck in runs if deck == TIMED_DECK}
    return sorted(names, key=lambda name: mean(exploitability(runs[name, TIMED_DECK])))


def published_results(runs: Runs, decks: Sequence[str]) -> str:
    """Exploitability of each algorithm on each deck, with intervals and processor time."""
    rows: list[list[str]] = []
    seeds = {
        deck: max(len(found) for (_, of), found in runs.items() if of == deck) for deck in decks
    }
    for name in algorithms_of(runs):
        timed = runs[name, TIMED_DECK]
        cells = [
            _with_budget(runs.get((name, deck), []), decisions_of(timed), seeds[deck])
            for deck in decks
        ]
        spent = [seconds_of(timed), loops_of(timed)]
        rows.append([f"`{name}`", decisions_text(timed), *cells, *spent])
    header = [
        "algorithm",
        "decisions",
        *(deck_text(deck, runs) for deck in decks),
        "seconds",
        "loops",
    ]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return _numbers(header, rows)


def published_given(runs: Runs, tuned_by: Searches = TUNED_BY) -> str:
    """What each learner was given, on which processors, and the hours that its row took."""
    rows: list[list[str]] = []
    for name in algorithms_of(runs):
        own = [run for (algorithm, _), seeds in runs.items() if algorithm == name for run in seeds]
        given = own[0].given
        assert all(run.given == given for run in own), name
        rows.append(
            [
                f"`{name}`",
                given.critic,
                given.observation,
                given.precision,
                given.ema,
                given.decisions,
                "; ".join(dict.fromkeys(run.machine for run in own)),
                hours(sum(run.points[-1].seconds for run in own)),
                tuning_hours(tuned_by[name]) if name in tuned_by else "–",
            ]
        )
    header = ["algorithm", "critic sees", "observation", "precision", "EMA", "decisions counted"]
    header += ["processor", "hours of all runs", "hours of tuning"]
    return markdown_table(header, rows, right=(7, 8))


def tuning_hours(search: Path) -> str:
    """Processor time of the trials of a search and of its finalists."""
    lines = read_lines(search.with_suffix(".journal"))
    # A trial that was copied into a wider space has its state at once.
    trials = sum(line["op_code"] == _CREATE_TRIAL and "state" not in line for line in lines)
    sweep = load_sweep(search)
    trials += len(finalists_of(search)) * sweep.final_seeds
    return hours(trials * sweep.trial_seconds)


def published_tuning(runs: Runs, tuned_by: Searches = TUNED_BY) -> str:
    """The search that the settings of each tuned algorithm are from, and which trial they are."""
    rows: list[list[str]] = []
    for algorithm in algorithms_of(runs):
        if (search := tuned_by.get(algorithm)) is None:
            continue
        trials = trials_of(search.with_suffix(".journal"))
        settings = settings_from(runs[algorithm, TIMED_DECK][0].settings)
        agree = [_agree(trial, settings) for _, trial in trials]
        used = agree.index(True) if any(agree) else None
        rows.append(
            [
                f"`{algorithm}`",
                f"`{search.name}`",
                f"{len(trials)}",
                rounded(trials[0][0]),
                _settings_in_use(search, settings, trials, used),
            ]
        )
    header = ["algorithm", "search", "trials", "best trial", "settings in use"]
    return markdown_table(header, rows, right=(2, 3))


def _settings_in_use(search: Path, settings: Any, trials: Sequence[Trial], used: int | None) -> str:
    """Which trial the settings in use are of, and its mean over other seeds if it was a finalist.

    The best of many noisy trials looks better than it is.
    """
    if used is None:
        return "not a trial"
    text = f"{rounded(trials[used][0])}, the {_PLACES[used]} trial"
    if not (finalists := finalists_of(search)):
        return text
    best = finalists[0]
    value, _, high = (best.pop(key) for key in ("value", "low", "high"))
    assert _agree(best, settings), f"the settings in use are not the best finalist of {search}"
    seeds = load_sweep(search).final_seeds
    return f"{text}; {seeds} other seeds: {-value:.4f} ± {high - value:.4f}"


def finalists_of(search: Path) -> list[dict[str, Any]]:
    """The finalists of a search, best first; none if its trials were not trained again."""
    path = search.with_name(f"{search.stem}-finalists.csv")
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: _value_of(text) for key, text in row.items()} for row in csv.DictReader(file)]


def _value_of(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return yaml.safe_load(text)


def published_bounds(runs: Runs, tuned_by: Searches = TUNED_BY) -> str:
    """Settings of which half of the best trials were at a bound, before and after widening."""
    rows: list[list[str]] = []
    for algorithm in algorithms_of(runs):
        search = tuned_by.get(algorithm)
        if search is None or not finalists_of(search):
            continue
        sweep = load_sweep(search)
        numbered = numbered_trials_of(search.with_suffix(".journal"))
        assert sweep.trials == _TRIALS, search
        chosen = [numbered[number] for number in sorted(numbered)[:_TRIALS]]
        first, every = (
            sorted(trials, key=lambda trial: trial[0]) for trials in (chosen, numbered.values())
        )
        texts: list[str] = []
        space: Space = sweep.space
        for trials in (first, every):
            best = [settings for _, settings in trials[: sweep.finalists]]
            reached = bounds_reached(space, best)
            texts.append(
                ", ".join(f"`{name}` ({' and '.join(ends)})" for name, ends in reached.items())
            )
            space = widened(space, base_settings(sweep, ROOT), reached)
        rows.append([f"`{algorithm}`", *(text or "none" for text in texts)])
    header = ["algorithm", f"near a limit after {_TRIALS} trials", "near a limit after all trials"]
    return markdown_table(header, rows)


def trials_of(journal: Path) -> list[Trial]:
    """Exploitability and settings of each finished trial, best first."""
    return sorted(numbered_trials_of(journal).values(), key=lambda trial: trial[0])


def numbered_trials_of(journal: Path) -> dict[int, Trial]:
    """Exploitability and settings of each finished trial, by when it began."""
    settings: list[dict[str, Any]] = []
    values: dict[int, float] = {}
    for line in read_lines(journal):
        if line["op_code"] == _CREATE_TRIAL:
            settings.append({})
        elif line["op_code"] == _SET_PARAMETER:
            value = line["param_value_internal"]
            if choices := json.loads(line["distribution"])["attributes"].get("choices"):
                value = yaml.safe_load(choices[int(value)])
            settings[line["trial_id"]][line["param_name"]] = value
        elif line["op_code"] == _END_TRIAL and line["values"]:
            # The sweep maximizes.
            values[line["trial_id"]] = -line["values"][0]
    return {number: (values[number], settings[number]) for number in sorted(values)}


def _agree(trial: dict[str, Any], settings: Any) -> bool:
    """Whether settings are those of a trial, but for what the table of what was given names."""

    def rounded_to(value: Any) -> Any:
        return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value

    in_use = settings.as_mapping()
    return all(
        in_use[name] in (value, rounded_to(value))
        for name, value in trial.items()
        if name not in ("ema_decay", "kl_coef", *_NO_SETTINGS)
    )


def hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}" if seconds < 3600 else f"{seconds / 3600:.1f}"


def published_spread(runs: Runs, decks: Sequence[str]) -> str:
    """Interquartile means of what is random, with bootstrap intervals, by deck."""
    names = [name for name in algorithms_of(runs) if name != CFR_PLUS]
    shown = [
        deck
        for deck in decks
        if any(len(runs.get((name, deck), [])) >= _LEAST_SEEDS for name in names)
    ]
    rows: list[list[str]] = []
    for name in names:
        cells = [runs.get((name, deck), []) for deck in shown]
        texts = [
            estimate_text(bootstrap_interquartile_mean([exploitability(seeds)]))
            if len(seeds) >= _LEAST_SEEDS
            else ""
            for seeds in cells
        ]
        rows.append([f"`{name}`", *texts])
    return _numbers(["algorithm", *(deck_text(deck, runs) for deck in shown)], rows)


def published_pairs(runs: Runs, decks: Sequence[str], one_of: Container[str] | None = None) -> str:
    """Differences of the means of all pairs of what is random, with Welch's intervals.

    With `one_of`, only pairs that have at least one of these algorithms.
    """
    names = [name for name in algorithms_of(runs) if name != CFR_PLUS]
    return pairs_table(
        {
            (deck, EXPLOITABILITY): {
                name: np.array(exploitability(runs[name, deck]))
                for name in names
                if (name, deck) in runs
            }
            for deck in decks
        },
        one_of,
    )


def ablation(published: Runs, others: Runs, decks: Sequence[str]) -> str:
    """PPO and MMD with the settings of both searches, by what else they were given."""
    variants: dict[tuple[str, ...], dict[str, list[Result]]] = defaultdict(dict)
    for (name, deck), seeds in [*published.items(), *others.items()]:
        trainer, _, end = name.partition("-")
        for search, ends in SEARCHES.items():
            if trainer in ("ppo", "mmd") and end in ends:
                given = seeds[0].given
                key = (trainer, search, given.critic, given.ema, given.precision)
                assert deck not in variants[key], f"another row has {name} on {deck}"
                variants[key][deck] = seeds
    order = sorted(
        variants, key=lambda key: (key[0] != "ppo", *(of != OWN_VIEW for of in key[1:3]), *key[3:])
    )
    rows = [
        [
            f"`{key[0]}`",
            *key[1:],
            *(_with_seeds(variants[key].get(deck, [])) for deck in decks),
            seconds_of(variants[key][TIMED_DECK]),
        ]
        for key in order
    ]
    header = ["trainer", "critic of the search sees", "critic sees", "EMA", "precision"]
    header += [*(f"`{deck}`" for deck in decks), "seconds"]
    return markdown_table(header, rows, right=range(5, len(header)))


def published_means(runs: Runs, decks: Sequence[str]) -> str:
    """The means alone, and the size of each deck."""
    rows: list[list[str]] = []
    for name in algorithms_of(runs):
        cells = [
            rounded(mean(exploitability(runs[name, deck]))) if (name, deck) in runs else ""
            for deck in decks
        ]
        rows.append([f"`{name}`", decisions_text(runs[name, TIMED_DECK]), *cells])
    tricks = (f"{load_rules(deck).foreplay_tricks}" for deck in decks)
    rows.append(["decisions of a player", "", *tricks])
    rows.append(["information sets", "", *(f"{information_sets(deck):,}" for deck in decks)])
    return _numbers(["algorithm", "decisions", *(deck_text(deck, runs) for deck in decks)], rows)


def exact_decks(runs: Runs, decks: Sequence[str]) -> str:
    """Sizes of the decks, and the exploitability that two learners and CFR+ reach on them."""
    columns = ("ppo-tuned", "sb3-tuned", "cfr+")
    rows = [
        [
            deck_text(deck, runs),
            f"{load_rules(deck).foreplay_tricks}",
            f"{information_sets(deck):,}",
            *(
                rounded(mean(exploitability(runs[name, deck]))) if (name, deck) in runs else ""
                for name in columns
            ),
        ]
        for deck in decks
    ]
    header = ["deck", "decisions of a player", "information sets"]
    return _numbers([*header, *(f"`{name}`" for name in columns)], rows)


def networks(others: Runs) -> str:
    """Time and exploitability of the example networks and of the built-in one."""
    rows = [
        [text, seconds_of(runs), loops_of(runs), with_margin(exploitability(runs))]
        for name, text in NETWORKS.items()
        for runs in [others[name, TIMED_DECK]]
    ]
    return _numbers(["network", "seconds", "loops", "exploitability"], rows)


def changed_settings(others: Runs) -> str:
    """Runs of `ppo` that differ from the published ones in one setting, best first."""
    unchanged = others[f"ppo{PRIVILEGED}", TIMED_DECK]
    usual = unchanged[0].settings
    compared = [("unchanged", unchanged)]
    for (_, deck), runs in others.items():
        changes = [
            f"{name}={format_value(value)}"
            for name, value in runs[0].settings.items()
            if usual.get(name) != value
        ]
        same_length = math.isclose(decisions_of(runs), decisions_of(unchanged), rel_tol=0.02)
        if deck == TIMED_DECK and same_length and len(changes) == 1:
            compared.append((f"`{changes[0]}`", runs))
    compared.sort(key=lambda each: mean(exploitability(each[1])))
    rows = [[text, with_margin(exploitability(runs)), seconds_of(runs)] for text, runs in compared]
    return _numbers(["setting", "exploitability", "seconds"], rows)


def lowest_exploitability(published: Runs, others: Runs, decks: Sequence[str]) -> str:
    """What is to be beaten on each deck: the best networks by time, search, tables and CFR+."""
    networks = {run: seeds for run, seeds in published.items() if run[0] not in NOT_LEARNED}
    columns = {
        "networks, 90 seconds": networks,
        "networks, ten minutes": _of_length(others, "-10-minutes", privileged=False),
        "networks, an hour": _of_length(others, "-hour", privileged=False),
        "90 seconds, hidden cards": _of_length(others, "", privileged=True),
        "ten minutes, hidden cards": _of_length(others, "-10-minutes", privileged=True),
        "an hour, hidden cards": _of_length(others, "-hour", privileged=True),
        **{
            f"`{name}`": {run: seeds for run, seeds in published.items() if run[0] == name}
            for name in NOT_LEARNED
        },
    }
    rows: list[list[str]] = []
    for deck in decks:
        cells: list[str] = []
        for runs in columns.values():
            here = {name: seeds for (name, of), seeds in runs.items() if of == deck}
            if not here:
                cells.append("")
                continue
            name = min(here, key=lambda each: mean(exploitability(here[each])))
            value = rounded(mean(exploitability(here[name])))
            trainer = "" if name in NOT_LEARNED else f", `{name.partition('-')[0]}`"
            cells.append(f"{value}{trainer} ({len(here[name])})")
        rows.append([f"`{deck}`", *cells])
    return _numbers(["deck", *columns], rows)


def _of_length(runs: Runs, length: str, privileged: bool) -> Runs:
    """Runs with such a part in their names, or with none of these parts."""
    found: Runs = {}
    for (name, deck), seeds in runs.items():
        own = next((each for each in ("-10-minutes", "-hour") if each in name), "")
        if own == length and (seeds[0].given.critic == HIDDEN_CARDS) == privileged:
            found[name, deck] = seeds
    return found


def budgets(published: Runs, others: Runs) -> str:
    """Exploitability of PPO and MMD on the deck with results for all three budgets."""
    runs = published | others
    rows: list[list[str]] = []
    for name in BUDGETS:
        found = runs[name, BUDGETS_DECK]
        assert found[0].given.critic == OWN_VIEW, name
        minutes = f"{float(seconds_of(found)) / 60:.0f}"
        rows.append([f"`{name}`", decisions_text(found), minutes, _with_seeds(found)])
    return _numbers(["row", "decisions", "minutes", f"exploitability on `{BUDGETS_DECK}`"], rows)


def hours_by_section(published: Runs, others: Runs) -> str:
    """Processor time of all runs by the section that has them, without their measurements."""
    spent = {"Equal information": _seconds(published)}
    for (name, deck), seeds in others.items():
        section = _section_of(name, deck, published)
        spent[section] = spent.get(section, 0.0) + _seconds({(name, deck): seeds})
    rows = [[section, hours(seconds)] for section, seconds in spent.items()]
    return _numbers(["section", "hours of one core"], [*rows, ["all", hours(sum(spent.values()))]])


def _seconds(runs: Runs) -> float:
    return sum(run.points[-1].seconds for seeds in runs.values() for run in seeds)


def _section_of(name: str, deck: str, published: Runs) -> str:
    """The section of the page that has runs beside those of the main table."""
    trainer, _, end = name.partition("-")
    if any(length in name for length in ("-90-seconds", "-10-minutes", "-hour")):
        return "The lowest exploitability"
    if name.endswith(WHOLE_HANDS):
        return "Whole hands"
    if name in NETWORKS:
        return "Networks of your own (another page)"
    if name == "sb3-tuned-longer":
        return "More decisions of SB3"
    if deck not in {rules for _, rules in published}:
        return "Depth"
    if name == f"ppo{PRIVILEGED}" or ", " in name:
        return "Which settings matter"
    if trainer in ("ppo", "mmd") and any(end in ends for ends in SEARCHES.values()):
        return "What a privileged critic gives"
    raise ValueError(f"{name} on {deck} is in no section: name its section in _section_of")


def depth(published: Runs, others: Runs) -> str:
    """Exploitability of tuned policy gradients by the decisions of a player, then by size."""
    rows = [
        [
            f"`{deck}`",
            f"{tricks}",
            f"{information_sets(deck):,}",
            *(_with_seeds(by_name.get(name, [])) for name in DEPTH_ALGORITHMS),
        ]
        for (tricks, deck), by_name in _by_depth(published, others).items()
    ]
    header = ["deck", "decisions of a player", "information sets"]
    return _numbers([*header, *(f"`{name}`" for name in DEPTH_ALGORITHMS)], rows)


def whole_hands(published: Runs, others: Runs) -> str:
    """Exploitability of those that learned whole hands, beside that with exact endgames."""
    learned = {run: seeds for run, seeds in others.items() if run[0].endswith(WHOLE_HANDS)}
    rows = [
        [
            f"`{deck}`",
            f"`{name}`",
            f"{load_rules(deck).tricks}",
            _with_seeds(published[name, deck]),
            _with_seeds(learned[name + WHOLE_HANDS, deck]),
        ]
        for deck in decks_of(learned)
        for name in algorithms_of(published)
        if (name + WHOLE_HANDS, deck) in learned
    ]
    header = ["deck", "algorithm", "tricks of a hand", "exact endgames", "own endgames"]
    return markdown_table(header, rows, right=(2, 3, 4))


def depth_chart() -> str:
    """An SVG chart of the means in the table of depth, over the number of information sets."""
    curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (tricks, deck), by_name in _by_depth(runs_in(PUBLISHED), runs_in(OTHERS)).items():
        for name in DEPTH_ALGORITHMS:
            if runs := by_name.get(name):
                value = mean(exploitability(runs))
                curves[f"{name}, {tricks} decisions"].append((information_sets(deck), value))
    names = sorted(curves)
    lines = {name: charts.Curve(curves[name]) for name in names}
    chart = charts.curves(lines, "information sets", EXPLOITABILITY, log_x=True, log_y=True)
    return charts.standalone(chart, names)


def _by_depth(published: Runs, others: Runs) -> dict[tuple[int, str], dict[str, list[Result]]]:
    """Runs by algorithm, of each deck with its number of decisions, in order of both sizes."""
    found: dict[tuple[int, str], dict[str, list[Result]]] = defaultdict(dict)
    for (name, deck), runs in [*published.items(), *others.items()]:
        if name in DEPTH_ALGORITHMS:
            found[load_rules(deck).foreplay_tricks, deck][name] = runs
    return dict(sorted(found.items(), key=lambda each: (each[0][0], information_sets(each[0][1]))))


# -- cells


def exploitability(runs: Sequence[Result]) -> list[float]:
    """Exploitability of each seed at the end of its budget, with its own endings if it has them."""
    last = [run.points[-1].values for run in runs]
    return [values[min(values.keys() & {EXPLOITABILITY, OF_OWN_ENDINGS})] for values in last]


def decisions_of(runs: Sequence[Result]) -> float:
    """Decisions that a run used, in the mean over seeds."""
    return mean(run.decisions for run in runs)


def decisions_text(runs: Sequence[Result]) -> str:
    """The same in words, marked where the trainer itself reported them."""
    reported = " as reported" if any(run.as_reported for run in runs) else ""
    return f"{amount(decisions_of(runs))}{reported}"


def loops_of(runs: Sequence[Result]) -> str:
    """Their median time as multiples of the reference loop; empty if it was not timed."""
    timed = [run.multiples for run in runs if run.reference]
    return f"{median(timed):,.0f}" if timed else ""


def seconds_of(runs: Sequence[Result]) -> str:
    """Their median: other work on the machine makes some of the runs much longer."""
    return f"{median(run.points[-1].seconds for run in runs):.0f}"


def _with_budget(runs: Sequence[Result], usual: float, seeds: int) -> str:
    """Mean and margin of error; fewer seeds, decisions that are not the usual, and odd ends."""
    if not runs:
        return ""
    notes = other_ends(runs)
    if not math.isclose(decisions_of(runs), usual, rel_tol=0.02):
        notes = "; ".join(filter(None, [decisions_text(runs), notes]))
    draws = runs[0].settings.get("trainer") != CFR_PLUS
    if draws and len(runs) < seeds:
        fewer = f"{len(runs)} seed{'s' if len(runs) > 1 else ''}"
        notes = "; ".join(filter(None, [fewer, notes]))
    text = with_margin(exploitability(runs))
    return f"{text} ({notes})" if notes else text


def _with_seeds(runs: Sequence[Result]) -> str:
    """Mean and margin of error with the number of seeds; nothing without runs."""
    return f"{with_margin(exploitability(runs))} ({len(runs)})" if runs else ""


def with_margin(values: Sequence[float]) -> str:
    """Mean over seeds with the margin of error of its 95 % interval, where there is one."""
    estimate = mean_of(values)
    if estimate.value < LOWEST_SHOWN or math.isinf(estimate.margin_of_error):
        return rounded(estimate.value)
    digits = max(_decimals(estimate.value, 2), _decimals(estimate.margin_of_error, 1))
    return f"{estimate.value:.{digits}f} ± {estimate.margin_of_error:.{digits}f}"


def rounded(value: float) -> str:
    if value < LOWEST_SHOWN:
        return f"< {LOWEST_SHOWN:f}"
    return f"{value:.{_decimals(value, 2)}f}"


def _decimals(value: float, significant: int) -> int:
    """Number of decimals that shows so many significant digits: four at least."""
    if not value:
        return 4
    return max(4, significant - 1 - math.floor(math.log10(value)))


def amount(number: float) -> str:
    """
    >>> amount(2_300_416), amount(3_945_626_370)
    ('2.3 million', '3.95 billion')
    """
    size, unit = (1e9, "billion") if number >= 1e9 else (1e6, "million")
    return f"{number / size:.3g} {unit}"


def _numbers(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns but the first hold numbers."""
    return markdown_table(header, rows, right=range(1, len(header)))
