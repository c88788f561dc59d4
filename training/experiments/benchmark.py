"""Benchmarks of algorithms: each on several rule sets, with several seeds, at one budget.

The metric is the exact exploitability on a small deck, elsewhere the duplicate win rate against
fixed opponents, after the budget, its half, its quarter and so on. Beside the trainers, CFR+ is an
algorithm. A job's folder has its settings, its run and its result; the benchmark's folder has all
results in one file. What lies in a folder has to belong to the settings, budget, evaluation and
machine of its job, before anything is trained.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ...agents.checkpoints import FOLDER, CheckpointError, list_checkpoints
from ...agents.registry import load_agent
from ...common.executors import LOCAL
from ...common.files import file_name, read_yaml_mapping, write_file
from ...common.plugins import error_text, import_object
from ...common.processor_time import WorkClock
from ...common.provenance import processor
from ...common.reference_loop import reference_seconds
from ...common.schema import convert, read_json
from ...common.settings import (
    CheckedSettings,
    EvenCount,
    Names,
    PositiveInt,
    SettingsError,
    build_settings,
    check_kept_settings,
    check_unchanged,
    doc,
    format_value,
    keep_settings,
)
from ...common.signals import FIRST_SIGNAL, FULL_DISK, RunStopped
from ...common.suggestions import suggest, type_phrase
from ...common.typing import JsonObject
from ...engine.rules import Rules, load_rules, named_rules, solved_rules
from ...evaluation import evaluate
from ...evaluation.exploitability.exact import check_measurable, measure_exploitability
from ...solvers.cfr_plus import CFRPlusSolver
from ...solvers.game_tree import check_size
from ...solvers.public_tree import count_info_sets
from ..algorithms.base import Trainer
from ..algorithms.registry import settings_kind
from ..api import train_or_resume
from ..callbacks.base import Callback, TrainingRun
from ..callbacks.evaluation import evaluation_seed
from ..folder import SETTINGS, STATE, FolderLock
from ..given import INFORMATION_SETS, NONE, Given, on_or_off
from ..presets import settings_from
from .benchmark_results import (
    BENCHMARKS,
    EXPLOITABILITY,
    OF_OWN_ENDINGS,
    RESULTS,
    Point,
    Result,
    difference_of,
    is_solvable,
    load_results,
    published_results,
    read_result,
    run_name,
)
from .foreign_code import check_foreign_code, code_of_agents, foreign_code
from .jobs import Job, Log, run_jobs

CFR_PLUS = "cfr+"
BENCHMARK = "benchmark.yaml"
"""Settings of a benchmark, in its folder."""
JOB, RESULT, VALUES = "job.json", "result.json", "values.json"
RUN = "run"
"""Folder of a job's training."""
_OF_ALGORITHMS = ("rules", "seeds", "decisions", "eval_points")
"""Fields of a benchmark that an algorithm may have of its own."""
_NETWORK_OPTIONS = "network_options"
_AGAIN = "and give the same command again"
_REMEDY = f"delete it {_AGAIN}"
_OTHER_FOLDER = "name another folder"
_FILLED = "filled"
"""What is done in a folder, for the error that refuses a second command."""


class Benchmark(CheckedSettings, frozen=True, kw_only=True):
    """A benchmark: algorithms, rule sets, budget and evaluation."""

    about: Annotated[str, doc("A one-line note that says what the benchmark is for.")] = ""
    algorithms: Annotated[
        dict[str, JsonObject],
        doc(
            "Algorithms to compare: a mapping from a name to settings. The name is "
            "that of a trainer, unless the settings contain `trainer`. `cfr+` has no "
            "settings. An algorithm may have its own `rules`, `seeds`, `decisions` "
            "and `eval_points`, which replace those of the benchmark.",
            min_length=1,
        ),
    ]
    rules: Annotated[Names, doc("Rule sets to run the algorithms on.", min_length=1)]
    seeds: Annotated[
        int,
        doc(
            "Number of seeds: 5 means seeds 1 to 5. At least three are needed for an "
            "interval. `cfr+` is not random and runs once.",
            ge=3,
            le=10_000,
        ),
    ] = 5
    decisions: Annotated[
        PositiveInt,
        doc(
            "Budget of each run in decisions. For `cfr+` it is the number of iterations times "
            "the number of information sets."
        ),
    ] = 200_000
    eval_points: Annotated[
        int,
        doc(
            "Number of evaluations of each run. They take place after the whole "
            "budget, half of it, a quarter, and so on.",
            ge=1,
            le=30,
        ),
    ] = 5
    settings: Annotated[
        JsonObject,
        doc("Settings that all trainings share. Here `device` is `cpu` unless you set it."),
    ] = msgspec.field(default_factory=JsonObject)
    eval_opponents: Annotated[
        Names,
        doc(
            "Agents to play against on rule sets that are too large for "
            "exploitability. An empty list computes the exploitability on every rule "
            "set, which takes long on large decks."
        ),
    ] = ("threshold",)
    eval_hands: Annotated[
        EvenCount, doc("Number of hands that an evaluation plays against each opponent.")
    ] = 2_000
    endings: Annotated[
        Literal["exact", "own"],
        doc(
            "Who plays the endgames when exploitability is measured. `exact` is the exact "
            "solver. `own` is the policy itself, which then needs `horizon: hand` in the "
            "training."
        ),
    ] = "exact"
    network_algorithm: Annotated[
        str,
        doc(
            "Name in `algorithms` of the learner that trains a network named on the command line. "
            "Empty: the first algorithm that accepts a network of your own."
        ),
    ] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [load_rules(rules).name for rules in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise SettingsError(f"rules: {name!r} is there twice: name each rule set once")
        for what, texts in (("rules", names), ("algorithms", self.algorithms)):
            for first, second in combinations(texts, 2):
                if file_name(first) == file_name(second):
                    raise SettingsError(
                        f"{what}: {first!r} and {second!r} would share a folder, "
                        f"{file_name(first)}: give one of them another name"
                    )
        for rules in map(load_rules, self.rules):
            if not self.eval_opponents:
                check_measurable(rules)
            if self.endings == "own" and (not self.eval_opponents or is_solvable(rules)):
                check_size(rules)
        self.jobs(Path())

    def jobs(self, folder: Path) -> list[BenchmarkJob]:
        """The runs in their folders, one seed of all before the next."""
        jobs = [job for name in self.algorithms for job in self._jobs_of(name, folder)]
        return sorted(jobs, key=lambda job: job.seed)

    def _jobs_of(self, algorithm: str, folder: Path) -> Iterator[BenchmarkJob]:
        settings = {"trainer": algorithm, **self.algorithms[algorithm]}
        own = {name: settings.pop(name) for name in _OF_ALGORITHMS if name in settings}
        if own:
            fields = {
                **msgspec.structs.asdict(self),
                **own,
                "algorithms": {algorithm: settings},
            }
            part = build_settings(Benchmark, fields, "", "a setting")
            yield from part._jobs_of(algorithm, folder)
            return
        for rules in self.rules:
            rule_set = load_rules(rules).name
            for seed in range(1, 2 if settings["trainer"] == CFR_PLUS else self.seeds + 1):
                yield BenchmarkJob(
                    name=run_name(algorithm, rules, seed),
                    folder=folder / folder_of(algorithm, rule_set, seed),
                    settings=self._settings_of(algorithm, settings, rules, seed),
                    benchmark=self,
                    algorithm=algorithm,
                    rules=rules,
                    seed=seed,
                )

    def _settings_of(self, algorithm: str, own: JsonObject, rules: str, seed: int) -> JsonObject:
        source, trainer = f"algorithms: {algorithm}", own["trainer"]
        fixed: JsonObject = {
            "rules": rules,
            "seed": seed,
            "threads": 1,
            "save_every": -(-self.decisions // 20),
            # The runs only write checkpoints, which are evaluated afterwards.
            "eval_every": self.decisions,
            "eval_opponents": [],
            "final_eval_opponents": [],
            "eval_mode": "sync",
            "final_eval_hands": 2,
            "eval_hands": 2,
            "about": "a training of a benchmark",
        }
        if trainer == CFR_PLUS:
            if others := [*own.keys() - {"trainer"}]:
                raise SettingsError(
                    f"{source}: {others[0]!r} is given, and {CFR_PLUS} has no settings"
                )
            count_info_sets(load_rules(rules))
            return {"trainer": trainer, "threads": 1}
        for name in ("decisions", *fixed):
            # The settings that a sweep finds have a note.
            if name in self.settings | own and name != "about":
                remedy = (
                    "leave it out of the settings"
                    if name in fixed
                    else "write it as a field of the benchmark, or of an algorithm"
                )
                raise SettingsError(
                    f"{source}: {name} is among the settings, but a benchmark sets it for each of "
                    f"its runs: {remedy}"
                )
        values = {"device": "cpu", **self.settings, **own, "decisions": self.decisions, **fixed}
        resolved = settings_from(values, source)
        if self.endings == "own" and resolved.options.horizon == "foreplay":
            raise SettingsError(
                f"{source}: endings is 'own', and with the horizon 'foreplay' a policy never sees "
                "an endgame: add horizon: hand to the settings"
            )
        return resolved.as_mapping()


@dataclass(frozen=True, kw_only=True)
class BenchmarkJob(Job):
    """A run of a benchmark."""

    benchmark: Benchmark
    """The benchmark, with the fields that its algorithm has of its own."""
    algorithm: str
    rules: str
    seed: int

    @property
    def metrics(self) -> list[str]:
        """Names of the values that its policies are measured by."""
        if self.is_exact:
            # The endings of what is solved are exact.
            own = self.benchmark.endings == "own" and not self.is_solved
            return [OF_OWN_ENDINGS if own else EXPLOITABILITY]
        return [f"wins against {opponent}" for opponent in self.benchmark.eval_opponents]

    @property
    def is_exact(self) -> bool:
        """Whether best responses measure its policies, and not hands against opponents."""
        if self.is_solved or not self.benchmark.eval_opponents:
            return True
        return is_solvable(load_rules(self.rules))

    @property
    def evaluation(self) -> str:
        """How they are measured."""
        metrics = ", ".join(self.metrics)
        return metrics if self.is_exact else f"{metrics} in {self.benchmark.eval_hands:,} hands"

    @property
    def origin(self) -> JsonObject:
        """What a result belongs to, beside its algorithm, rule set and seed: fields of `Result`."""
        shared = {} if self.is_solved else self.benchmark.settings
        own = self.benchmark.algorithms[self.algorithm]
        origin = {
            "budget": self.benchmark.decisions,
            "settings": {**shared, **own, "trainer": self.settings["trainer"]},
            "evaluation": self.evaluation,
            "machine": processor(),
            "code": "" if self.is_solved else self._code(),
        }
        if self.rules not in (*named_rules(), *solved_rules()):
            origin["game"] = load_rules(self.rules).as_mapping()
        digests = {name: "".join(code_of_agents([name]).values()) for name in self._opponents}
        if opponents := {name: digest for name, digest in digests.items() if digest}:
            origin["opponents"] = opponents
        return json.loads(json.dumps(origin))

    @property
    def is_solved(self) -> bool:
        """Whether nothing is trained."""
        return self.settings["trainer"] == CFR_PLUS

    def _code(self) -> str:
        settings = settings_from(self.settings)
        return "".join(foreign_code(settings, self._opponents).values())

    @property
    def _opponents(self) -> tuple[str, ...]:
        """The agents that measure it."""
        return () if self.is_exact else tuple(self.benchmark.eval_opponents)

    def check_code(self) -> None:
        """Refuse code that the settings name, and that is not trusted or cannot be loaded.

        Also if it does not say in words what its learner is given, which its results will have.
        """
        if not self.is_solved:
            settings = settings_from(self.settings)
            check_foreign_code(msgspec.structs.replace(settings, eval_opponents=self._opponents))
            try:
                msgspec.convert(msgspec.to_builtins(settings.given), Given)
            except Exception as error:
                raise SettingsError(
                    f"the property `given` of {type(settings).__name__} does not say in words what "
                    f"its learner is given: {error_text(error)}"
                ) from error

    @property
    def given(self) -> Given:
        """What its learner is given."""
        if not self.is_solved:
            return settings_from(self.settings).given
        return Given(
            critic=NONE,
            observation=INFORMATION_SETS,
            precision="float32",
            ema=on_or_off(0),
            decisions=INFORMATION_SETS,
        )

    def check(self) -> None:
        """Refuse a folder with the run or the result of other settings, or of another machine."""
        folder = self.folder
        # Before its first state is saved, a run has nothing to lose: as with a class that failed.
        if not self._is_begun and not (folder / RESULT).exists():
            return
        remedy = f"delete {folder} {_AGAIN}, or name another folder for the benchmark"
        kept, origin = folder / JOB, self._kept(self.origin)
        if kept.exists():
            found = convert(read_json(kept.read_bytes(), kept, remedy), JsonObject, kept, remedy)
            _check_origin(kept, found, origin, remedy)
        else:
            raise ValueError(
                f"{folder}: has no {JOB}, which tells the settings and the machine of what is in "
                f"it; {remedy}"
            )
        # A run that was resumed by itself can have other settings since.
        if (folder / RUN / STATE).exists():
            began = read_yaml_mapping(folder / RUN / SETTINGS)
            check_unchanged(folder / RUN, began, settings_from(self.settings), remedy)

    @property
    def _is_begun(self) -> bool:
        """Whether its run has something to resume."""
        run = self.folder / RUN
        return (run / STATE).exists() or bool(list_checkpoints(run / FOLDER))

    @property
    def anew(self) -> str:
        """What to do about a run that cannot go on.

        A run from its weights, as an error may advise, would be another run than the job's.
        """
        return f"if the run cannot go on, train it anew: delete {self.folder} {_AGAIN}"

    def keep(self) -> JsonObject:
        """Write into the folder what its run and its result belong to; returns their `origin`."""
        self.check()
        origin = self.origin
        write_file(self.folder / JOB, json.dumps(self._kept(origin), indent=1))
        return origin

    def _kept(self, origin: JsonObject) -> JsonObject:
        rules = load_rules(self.rules).as_mapping()
        return {**origin, "eval_points": self.benchmark.eval_points, "rules": rules}

    def expected_result(self) -> Result:
        """What its result will be, but for the measurements."""
        return Result(
            rules=self.rules,
            algorithm=self.algorithm,
            seed=self.seed,
            points=[Point(0, 0.0, dict.fromkeys(self.metrics, math.nan))],
            **self.origin,
        )

    def load_result(self) -> Result:
        path = self.folder / RESULT
        result = read_result(path.read_bytes(), path, _REMEDY)
        if result.name != self.name:
            raise ValueError(
                f"{path}: is the result of {result.name} in place of {self.name}; {_REMEDY}"
            )
        _check_origin(path, msgspec.to_builtins(result), self.origin, _REMEDY)
        if result.metrics != self.metrics:
            raise ValueError(
                f"{path}: has values of {result.metrics} in place of {self.metrics}; {_REMEDY}"
            )
        return result


def folder_of(algorithm: str, rule_set: str, seed: int) -> Path:
    """The folder of a run in that of its benchmark."""
    return Path(file_name(rule_set), file_name(algorithm), f"seed-{seed}")


def _check_origin(path: Path, found: JsonObject, expected: JsonObject, remedy: str) -> None:
    """Refuse a file whose fields are not the expected ones."""
    if difference := difference_of(found, expected):
        raise ValueError(f"{path}: {difference}; {remedy}")


def load_benchmark(source: str | Path, classes: Sequence[str] = ()) -> Benchmark:
    """The benchmark of a name or file; with classes, `module:Class` or `file.py:Class`, of these.

    A class is a trainer, or a network: a torch module, which one of the benchmark's algorithms
    trains.
    """
    values, name = BENCHMARKS.values(source)
    if classes:
        names = [each.rpartition(":")[2] for each in classes]
        if len({*names}) < len(names):
            raise SettingsError(
                f"{' '.join(classes)}: two classes have one name, which names their folder: give "
                "one of them another"
            )
        published = {result.algorithm for result in published_results()}
        for each, algorithm in zip(classes, names, strict=True):
            if algorithm in published:
                raise SettingsError(
                    f"{each}: published results are called {algorithm!r}, too: give the class "
                    "another name"
                )
        try:
            replaced = build_settings(Benchmark, values, name, "a part of a benchmark")
        except SettingsError:
            replaced = _without_classes(values, name)
        given = values.get("algorithms"), values.get("settings")
        entries, shared = (each if isinstance(each, dict) else {} for each in given)
        algorithms = {
            algorithm: _algorithm_of(each, replaced, entries, shared)
            for each, algorithm in zip(classes, names, strict=True)
        }
        values = {**values, "algorithms": algorithms, "network_algorithm": ""}
    benchmark = build_settings(Benchmark, values, name, "a part of a benchmark")
    for job in benchmark.jobs(Path()):
        if job.seed == 1:
            job.check_code()
    return benchmark


def _without_classes(values: JsonObject, name: str) -> Benchmark:
    """The benchmark whose algorithms are replaced by outside classes.

    The settings that all trainings share, and options of a network, are for the classes: these
    algorithms need not take them.
    """
    plain = {**values, "settings": {}, "endings": "exact"}
    if isinstance(algorithms := values.get("algorithms"), dict):
        plain["algorithms"] = {
            algorithm: {key: value for key, value in own.items() if key != _NETWORK_OPTIONS}
            if isinstance(own, dict)
            else own
            for algorithm, own in algorithms.items()
        }
    return build_settings(Benchmark, plain, name, "a part of a benchmark")


def _algorithm_of(
    source: str, benchmark: Benchmark, entries: JsonObject, shared: JsonObject
) -> JsonObject:
    """Settings that train an outside class: a trainer, or a network.

    `entries` are the benchmark's algorithms as they were given, `shared` the settings of all.
    """
    found = import_object(source)
    # Whoever has a torch module has torch.
    torch = sys.modules.get("torch")
    if isinstance(found, type) and issubclass(found, Trainer):
        return {"trainer": source}
    if torch is None or not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
        raise SettingsError(
            f"{source} is {type_phrase(found)}: give a trainer, which is a class of "
            "german_whist.training.Trainer, or a network, which is a class of torch.nn.Module"
        )
    trainers = {name: own.get("trainer", name) for name, own in benchmark.algorithms.items()}
    taking = [name for name, trainer in trainers.items() if _takes_networks(trainer)]
    if not taking:
        raise SettingsError(
            f"{source} is a network, and no algorithm of the benchmark trains one: add ppo, mmd or "
            "nfsp"
        )
    name = benchmark.network_algorithm or taking[0]
    if name not in trainers:
        raise SettingsError(
            f"network_algorithm is {name!r}, which is not among the algorithms"
            f"{suggest(name, benchmark.algorithms)}"
        )
    if name not in taking:
        raise SettingsError(
            f"network_algorithm is {name!r}, which trains no network of your own: name one that "
            f"does: {' or '.join(taking)}"
        )
    # It has the benchmark's budget, as an outside trainer has.
    left_out = ("hidden_sizes", *_OF_ALGORITHMS)
    kept = {key: value for key, value in entries[name].items() if key not in left_out}
    for key, value in shared.items():
        if kept.get(key, value) != value:
            raise SettingsError(
                f"settings.{key} is {format_value(value)}, and a network is trained with the "
                f"settings of {name}, where it is {format_value(kept[key])}: give an entry {name} "
                "of your own in algorithms, with all its settings"
            )
    if "hidden_sizes" in shared:
        # Those are of the built-in networks.
        default: Any = settings_from({"trainer": trainers[name]})
        kept["hidden_sizes"] = list(default.hidden_sizes)
    return {**kept, "trainer": trainers[name], "network": source}


def _takes_networks(trainer: str) -> bool:
    return trainer != CFR_PLUS and "network" in settings_kind(trainer).__struct_fields__


def run_benchmark(
    benchmark: Benchmark, folder: Path, workers: int = 1, log: Log = print
) -> list[Result]:
    """Train and evaluate what is missing in the folder, with so many processes.

    A second command is refused meanwhile: its runs would find their folders in use.
    """
    expected_results(benchmark, folder)
    lock = FolderLock(folder, _FILLED)
    try:
        keep_settings(folder / BENCHMARK, benchmark, _OTHER_FOLDER)
        return _run_missing(benchmark, folder, workers, log)
    finally:
        lock.release()


def _run_missing(benchmark: Benchmark, folder: Path, workers: int, log: Log) -> list[Result]:
    jobs = benchmark.jobs(folder)
    missing = [job for job in jobs if not (job.folder / RESULT).exists()]
    if again := _lines_without_run(jobs, folder):
        log(
            f"{len(again)} of {len(missing)} runs were made before, and their folders are gone: "
            f"they are made again, and until then {RESULTS} keeps what they came to"
        )
    codes: dict[str, int] = {}
    for job, code in run_jobs(missing, LOCAL, log, work=measure_job, workers=workers):
        codes[job.name] = code
        _write_results(jobs, folder)
        log(f"{len(codes)} of {len(missing)}: {job.name}")
    failed = [job.name for job in missing if codes[job.name]]
    if failed:
        done = len(jobs) - len(failed)
        see = f", or see what there is by `german-whist benchmark {folder / RESULTS}`" * bool(done)
        room = "make room on the disk, and " * (FULL_DISK in codes.values())
        raise RunStopped(
            f"{'; '.join(failed)} did not come to an end; {room}go on with the same command{see}",
            max(codes.values()),
        )
    results = [job.load_result() for job in jobs]
    _write_results(jobs, folder)
    return results


def _write_results(jobs: Sequence[BenchmarkJob], folder: Path) -> None:
    """Write the results of all jobs that are done, which are a page's worth while others run."""
    lines = _lines_without_run(jobs, folder)
    for job in jobs:
        if (job.folder / RESULT).exists():
            lines[job.name] = (job.folder / RESULT).read_bytes()
    write_file(folder / RESULTS, b"".join(lines[job.name] for job in jobs if job.name in lines))


def _lines_without_run(jobs: Sequence[BenchmarkJob], folder: Path) -> dict[str, bytes]:
    """Lines of the folder's results, by run, whose run is not there, as after room was made.

    They may be all that is left of a long training. So they stay until their run is made again,
    and what this benchmark would not make again is refused.
    """
    path, named = folder / RESULTS, {job.name: job for job in jobs}
    lines: dict[str, bytes] = {}
    # It is empty where no run came to its end.
    is_filled = path.exists() and path.read_bytes().strip()
    for result in load_results(path, _REMEDY) if is_filled else ():
        job = named.get(result.name)
        if job is None:
            raise ValueError(
                f"{path}: has {result.name}, which this benchmark does not make; {_OTHER_FOLDER}"
            )
        if not (job.folder / RESULT).exists():
            if difference := difference_of(msgspec.to_builtins(result), job.origin):
                raise ValueError(
                    f"{path}: {result.name}: {difference}; delete its line {_AGAIN}, or "
                    f"{_OTHER_FOLDER}"
                )
            lines[result.name] = msgspec.json.encode(result) + b"\n"
    return lines


def expected_results(benchmark: Benchmark, folder: Path) -> list[Result]:
    """The results in a benchmark's folder, and one without decisions for each run to come.

    Refuses a folder with something else in it, or that another command fills.
    """
    if folder.exists():
        FolderLock(folder, _FILLED).release()
    check_kept_settings(folder / BENCHMARK, benchmark, _OTHER_FOLDER)
    jobs = benchmark.jobs(folder)
    for job in jobs:
        job.check()
    _lines_without_run(jobs, folder)
    return [
        job.load_result() if (job.folder / RESULT).exists() else job.expected_result()
        for job in jobs
    ]


def measure_job(job: BenchmarkJob) -> None:
    """Run a job to its end, and write what its policies come to."""
    # Sources can change while they are trained.
    origin = job.keep()
    measure_points = _solve if job.is_solved else _train
    reference = [reference_seconds()]
    try:
        points = [*measure_points(job)]
    except RunStopped as stopped:
        # The run wrote why into its log alone; a signal needs no word for each.
        if stopped.status < FIRST_SIGNAL:
            cause = stopped.__cause__ or stopped
            print(f"{cause}; {job.anew}" if isinstance(cause, CheckpointError) else cause)
        raise
    result = Result(
        rules=job.rules,
        algorithm=job.algorithm,
        seed=job.seed,
        points=points,
        given=job.given,
        reference=[*reference, reference_seconds()],
        **origin,
    )
    write_file(job.folder / RESULT, msgspec.json.encode(result) + b"\n")


class HalvedBudgets(Callback):
    """Writes checkpoints after the budget's half, quarter and so on, `count` with the last one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._before = 0

    def on_start(self, run: TrainingRun) -> None:
        self._before = run.trainer.decisions
        if not run.state.evaluation_due:
            # The state may be of an iteration that learned nothing, of which nobody heard here.
            written = [int(path.stem) for path in list_checkpoints(run.folder / FOLDER)]
            self._before = max(written, default=0)

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        budget, now = run.settings.decisions, run.trainer.decisions
        halves = [budget / 2**k for k in range(1, self._count)]
        if now < budget and any(self._before < point <= now for point in halves):
            run.state.evaluation_due = True
        self._before = now


def _train(job: BenchmarkJob) -> Iterator[Point]:
    callbacks = [HalvedBudgets(job.benchmark.eval_points)]
    settings, was_there = settings_from(job.settings), (job.folder / RUN).exists()
    try:
        trained = train_or_resume(settings, job.folder / RUN, quiet=True, callbacks=callbacks)
    except ValueError as error:
        if not was_there:
            raise
        raise ValueError(f"{error}; {job.anew}") from error
    rows = {int(row["decisions"]): row for row in trained.rows}
    for checkpoint in list_checkpoints(job.folder / RUN / FOLDER):
        decisions = int(checkpoint.stem)
        if decisions not in rows:
            raise ValueError(f"{checkpoint}: is not of the run in this folder; remove it")
        row = rows[decisions]
        # Only outside trainers have a count of the steps in environments of this package.
        steps = int(row.get("env_steps", decisions))
        yield Point(
            max(decisions, steps),
            row["processor_seconds"],
            _evaluate(job, checkpoint),
            as_reported=steps < decisions,
        )


def _solve(job: BenchmarkJob) -> Iterator[Point]:
    solver, clock = CFRPlusSolver(job.rules, threads=1), WorkClock()
    visits = solver.tree.n_info_sets
    points = [job.benchmark.decisions / visits / 2**k for k in range(job.benchmark.eval_points)]
    for point in sorted({max(1, round(point)) for point in points}):
        with clock.work():
            while solver.iterations < point:
                solver.iterate()
        with clock.apart():  # in a thread of its own
            # Rounding can make an equilibrium's negative.
            measured = solver.measure().exploitability
            assert math.isfinite(measured), f"the exploitability is {measured}"
            exploitability = max(0.0, measured)
        yield Point(point * visits, round(clock.seconds, 3), {EXPLOITABILITY: exploitability})


def _evaluate(job: BenchmarkJob, checkpoint: Path) -> dict[str, float]:
    """Values of a checkpoint by metric, which an interrupted job computes once."""
    path = job.folder / VALUES
    values: dict[str, dict[str, float]] = {}
    if path.exists():
        content = read_json(path.read_bytes(), path, _REMEDY)
        values = convert(content, dict[str, dict[str, float]], path, _REMEDY)
    digest = hashlib.sha256(checkpoint.read_bytes()).hexdigest()[:16]
    key = f"{job.evaluation} of {checkpoint.stem}, {digest}"
    if [*values.get(key, ())] != job.metrics:
        values[key] = _values(job, checkpoint)
        write_file(path, json.dumps(values, indent=1))
    return values[key]


def _values(job: BenchmarkJob, checkpoint: Path) -> dict[str, float]:
    benchmark, rules = job.benchmark, load_rules(job.rules)
    if job.is_exact:
        value = sampled_exploitability(checkpoint, rules, benchmark.endings)
        return dict.fromkeys(job.metrics, value)
    result = evaluate(
        f"network:{checkpoint},sample",
        list(benchmark.eval_opponents),
        rules,
        hands=benchmark.eval_hands,
        seed=evaluation_seed(job.seed),
    )
    if not result.complete:
        status = FIRST_SIGNAL + result.signal if result.signal else 1
        raise RunStopped("the evaluation was interrupted", status)
    wins = [pairing.win_rate.value for pairing in result.pairings]
    return dict(zip(job.metrics, wins, strict=True))


def sampled_exploitability(
    checkpoint: Path, rules: Rules, endings: Literal["exact", "own"] = "exact"
) -> float:
    """Exact exploitability of a checkpoint that samples from its policy.

    Its endgames are exact, or what the policy itself plays.
    """
    player = "network" if endings == "own" else endings
    agent = load_agent(f"network:{checkpoint},sample,endgame={player}", rules)
    return measure_exploitability(agent, rules).exploitability
