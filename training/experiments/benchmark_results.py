"""Results of a benchmark: what a run came to, in files, and which of them go together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from ...common.markup import one_line
from ...common.schema import convert, read_json
from ...common.settings import PresetFiles, format_value
from ...common.typing import JsonObject
from ...engine.rules import Rules, load_rules
from ...solvers.public_tree import count_info_sets, why_no_public_tree
from ..given import Given

EXPLOITABILITY = "exploitability"
OF_OWN_ENDINGS = f"{EXPLOITABILITY} with its own endings"
"""Metric of a policy that plays its own endgames. Do not compare it with `EXPLOITABILITY`."""
BENCHMARKS = PresetFiles("benchmark", "a benchmark")
"""Bundled benchmarks."""
RESULTS = "results.jsonl"
"""All results of a benchmark, in its folder."""
PUBLISHED = "published.jsonl"
"""The package's own results, beside the bundled benchmarks."""
_ANOTHER_FILE = f"name the {RESULTS} of a benchmark, which its command writes anew"
_MAX_CARDS, _MAX_INFO_SETS = 16, 5_000_000
_MOST = 10**15
"""Limit of decisions, seconds and values: what a page can add up."""


class Point(Struct, frozen=True, omit_defaults=True):
    """What a policy comes to after a part of its budget."""

    decisions: Annotated[int, Meta(ge=0, le=_MOST)]
    seconds: Annotated[float, Meta(ge=0, le=_MOST)]
    """Processor time."""
    values: dict[str, Annotated[float, Meta(ge=-_MOST, le=_MOST)]]
    """By metric."""
    as_reported: bool = False
    """Whether the trainer itself reported the decisions. Others are counted by this package: those
    of its own trainers, and the steps in its environments."""


class Result(Struct, frozen=True, kw_only=True):
    """The measurements of a run, with all that they belong to."""

    rules: str
    algorithm: str
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    budget: Annotated[int, Meta(ge=1, le=_MOST)]
    """Decisions that the run was given."""
    settings: JsonObject
    """Trainer and settings of the algorithm, as the benchmark gives them."""
    evaluation: str
    """How the values were measured."""
    machine: str
    """Processor that the seconds are of."""
    points: Annotated[list[Point], Meta(min_length=1)]
    given: Given = Given()
    """What the learner was given beside its budget."""
    reference: list[Annotated[float, Meta(gt=0, le=_MOST)]] = []
    """Seconds of the reference loop before and after the run, on the same core."""
    code: str = ""
    """SHA-256 of the sources of an outside trainer, network, callbacks and agents; empty for the
    package's own."""
    opponents: dict[str, str] = {}
    """SHA-256 of the source or the weights of each opponent that the package does not have."""
    game: JsonObject = {}
    """Parameters of the rule set where `rules` is a file, which can change; else empty."""

    def __post_init__(self) -> None:
        self.load_rules()
        for before, after in pairwise(self.points):
            for name in ("decisions", "seconds"):
                first, second = getattr(before, name), getattr(after, name)
                if second < first:
                    raise ValueError(f"points: {name} fall from {first:,} to {second:,}")
        for point in self.points:
            if not point.values or point.values.keys() != self.points[0].values.keys():
                raise ValueError(
                    f"points: has values of {[*point.values]}, and before of "
                    f"{[*self.points[0].values]}"
                )

    def load_rules(self) -> Rules:
        """The rule set that it was measured by."""
        return load_rules(self.game or self.rules)

    @property
    def name(self) -> str:
        """Its run, in words."""
        return run_name(self.algorithm, self.rules, self.seed)

    @property
    def metrics(self) -> list[str]:
        return [*self.points[-1].values]

    @property
    def decisions(self) -> int:
        """Decisions that the run used."""
        return self.points[-1].decisions

    @property
    def spent(self) -> int:
        """Its budget, or more if its last iteration went beyond it."""
        return max(self.budget, self.decisions)

    @property
    def as_reported(self) -> bool:
        return any(point.as_reported for point in self.points)

    @property
    def multiples(self) -> float:
        """Seconds of the run as multiples of the reference loop; NaN if it was not timed.

        Other programs make the loop slower and never faster, so the fastest is the machine's.
        """
        return self.points[-1].seconds / min(self.reference) if self.reference else math.nan


def is_solvable(rules: Rules) -> bool:
    """Whether exact exploitability is computed soon enough for every checkpoint."""
    if why_no_public_tree(rules) is not None or len(rules.deck) > _MAX_CARDS:
        return False
    return count_info_sets(rules) <= _MAX_INFO_SETS


def published_results() -> list[Result]:
    """The package's own results."""
    return load_results(BENCHMARKS.path(PUBLISHED))


def run_name(algorithm: str, rules: str, seed: int) -> str:
    return one_line(f"{algorithm} on {rules}, seed {seed}")


def load_results(path: Path, remedy: str = _ANOTHER_FILE) -> list[Result]:
    """The results of a benchmark from its file, or from one like it."""
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file; {remedy}")
    results: list[Result] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line:
            results.append(read_result(line, f"{path}, line {number}", remedy))
    if not results:
        raise ValueError(f"{path} has no results, as where no run came to its end: {remedy}")
    return results


def read_result(content: bytes, place: str | Path, remedy: str) -> Result:
    """A result from its JSON; errors name its place and the remedy."""
    return convert(read_json(content, place, remedy), Result, place, remedy)


def unite(sources: Sequence[tuple[str, Sequence[Result]]]) -> list[Result]:
    """The results of several files by their names, each once, in an order that is not the files'.

    Refused are two results of one run, and seeds of one algorithm with different settings.
    """
    named = [(result, source) for source, results in sources for result in results]
    named.sort(key=lambda each: (*_key(each[0]), each[1]))
    _check_games(named)
    _check_opponents(named)
    _check_learners(named)
    united: list[tuple[Result, str]] = []
    for result, source in named:
        before, other = united[-1] if united else (None, "")
        if before is not None and _key(before)[:2] == _key(result)[:2]:
            if difference := difference_of(common_of(before), common_of(result)):
                raise ValueError(
                    f"{other} and {source}: {result.name} and {before.name} are of different "
                    f"benchmarks ({difference}): give the algorithm in one of them another name, "
                    "or show one of them"
                )
            # A run that is still to come is none that was made.
            if _key(before) == _key(result) and (before != result or not result.decisions):
                raise ValueError(
                    f"{other} and {source}: have two results of {result.name}: give the algorithm "
                    "in one of them another name, or show one of them"
                )
        if before != result:
            united.append((result, source))
    return [result for result, _ in united]


def _check_games(named: Sequence[tuple[Result, str]]) -> None:
    """Refuse results of two rule sets in files of one name."""
    first: dict[str, tuple[Result, str]] = {}
    for result, source in named:
        if not result.game:
            continue
        before, other = first.setdefault(result.rules, (result, source))
        if difference := difference_of({"game": before.game}, {"game": result.game}):
            raise ValueError(
                f"{other} and {source}: {result.rules} was another rule set in one of them "
                f"({difference}): show one of them"
            )


def _check_learners(named: Sequence[tuple[Result, str]]) -> None:
    """Refuse two learners of one name, which measured on different decks would share a row."""
    first: dict[tuple[str, ...], tuple[Result, str]] = {}
    for result, source in named:
        # The code is also that of the opponents, and a deck with exact values has none.
        measured_by = *result.opponents, *result.opponents.values()
        for field, group in (("settings", ()), ("code", measured_by)):
            before, other = first.setdefault((field, result.algorithm, *group), (result, source))
            one, two = ({field: getattr(each, field)} for each in (before, result))
            if before.rules != result.rules and (difference := difference_of(one, two)):
                raise ValueError(
                    f"{other} and {source}: {result.algorithm} on {before.rules} and on "
                    f"{result.rules} are different learners ({difference}): give it in one of them "
                    "another name, or show one of them"
                )


def _check_opponents(named: Sequence[tuple[Result, str]]) -> None:
    """Refuse results against two opponents of one name."""
    first: dict[str, tuple[str, str]] = {}
    for result, source in named:
        for name, digest in result.opponents.items():
            before, other = first.setdefault(name, (digest, source))
            if digest != before:
                raise ValueError(
                    f"{other} and {source}: the opponent {name} had other code or weights in one "
                    "of them: show one of them"
                )


def _key(result: Result) -> tuple[str, str, int]:
    return result.algorithm, result.rules, result.seed


def common_of(result: Result) -> JsonObject:
    """What all seeds of an algorithm on a rule set have in common."""
    names = ("budget", "settings", "evaluation", "code", "game")
    return {name: getattr(result, name) for name in names}


def difference_of(found: JsonObject, expected: JsonObject) -> str:
    """The first of the expected fields that is another, as a clause; empty if none is."""
    for name, value in expected.items():
        other = found.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            both = dict.fromkeys([*value, *other])
            if inner := difference_of(
                {key: other.get(key) for key in both}, {key: value.get(key) for key in both}
            ):
                return f"{name}: {inner}"
        elif other != value:
            return f"{name} is {_text(other)}, and here it is {_text(value)}"
    return ""


def _text(value: Any) -> str:
    return "not given" if value is None else format_value(value)
