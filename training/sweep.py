"""Searching for settings: a sweep trains again and again, and keeps what plays best.

A sweep is a YAML file: a preset or settings to begin with, a space of settings to try, and
players to be measured against. Optuna chooses and ends trials early; its storage keeps them, so
that a sweep goes on, and so that machines that share a storage share the work. At its end the best
few are measured again on fresh deals, and the best of these becomes a preset.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from ..agents.checkpoint import find_checkpoint
from ..engine.executors import LOCAL, check_place
from ..engine.files import read_yaml_mapping, written_whole
from ..engine.processes import is_alive
from ..engine.words import meant
from .arena.texts import percent_with_reach
from .frames import Told, frame_of
from .measuring import MEASURING_SEED, measure
from .presets import PRESETS, settings_from
from .reading import made, words_of
from .settings import (
    AboveNothing,
    Checked,
    Count,
    Hands,
    Names,
    Seed,
    Settings,
    SettingsError,
    says,
    written,
)
from .stopping import Stopped
from .trials import TRIALS, Outcome, made_by_optuna, mean_win_rate, optuna_here, tries_of

BEST = "best.yaml"
_FRESH_SEED = MEASURING_SEED + 1
"""Of the deals that finalists are measured on; trials are measured on others."""


class Between(Checked, frozen=True, kw_only=True):
    """A number to be chosen between two others."""

    low: Annotated[float, says("The least there may be.")]
    high: Annotated[float, says("The most.")]
    log: Annotated[bool, says("Whether orders of magnitude are equally likely.")] = False
    step: Annotated[AboveNothing | None, says("What lies between two choices.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise SettingsError(
                f"low is {self.low:g} and high is {self.high:g}: low has to be lower"
            )
        if self.log and (self.low <= 0 or self.step is not None):
            raise SettingsError("log needs a low above 0, and no step")


class Sweep(Checked, frozen=True, kw_only=True):
    """What is tried, and how what came of it is measured."""

    preset: Annotated[
        str, says("What the settings begin with: a preset, or the path of a file.")
    ] = "quick"
    settings: Annotated[dict[str, Any], says("Settings over it, the same in every trial.")] = (
        msgspec.field(default_factory=dict[str, Any])
    )
    space: Annotated[
        dict[str, Between | list[Any]],
        says("Settings to be chosen: between `low` and `high`, or out of a list.", min_length=1),
    ]
    against: Annotated[Names, says("Whom the mean win rate is measured against.", min_length=1)] = (
        "threshold",
    )
    trials: Annotated[
        Count, says("In all, those of other machines and of earlier sessions included.")
    ] = 20
    finalists: Annotated[
        Count,
        says("How many of the best are measured again, on fresh deals, to choose among them."),
    ] = 4
    hands: Annotated[
        Hands, says("Against each opponent, when the finalists are measured again.")
    ] = 10_000
    sampler: Annotated[str, says("Optuna's, by name: `TPE`, `Random`, `CmaEs`, `QMC`, `GP`.")] = (
        "TPE"
    )
    pruner: Annotated[
        str,
        says("Optuna's, by name: `Median`, `Nop`, `Hyperband`, `SuccessiveHalving`, `Percentile`."),
    ] = "Median"
    seed: Annotated[Seed, says("Of what the sampler draws.")] = 0
    storage: Annotated[
        str, says("A database's URL; by default SQLite's in the folder of the sweep.")
    ] = ""


class Finalist(Struct, frozen=True):
    """One of a sweep's best trials, measured again on deals that did not choose it."""

    number: int
    """Of the trial."""
    value: float
    """Its mean win rate on fresh deals."""
    half_width: float
    """Of the 95 % interval."""
    settings: dict[str, Any]

    def ties(self, best: Finalist) -> bool:
        """Whether the difference to the best may be chance, as two intervals side by side tell.

        Both play the same deals, which can only bring their results closer together.
        """
        return best.value - self.value < math.hypot(best.half_width, self.half_width)

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ± {100 * self.half_width:.1f} %"


class Swept(Told, frozen=True, kw_only=True):
    """Results of a sweep."""

    folder: Path
    finalists: list[Finalist]
    """The best trials, measured again on fresh deals, the best of them first."""
    trials: list[dict[str, Any]]
    """Every trial: its number, state, value, half of that one's 95 % interval, and settings."""

    @property
    def best(self) -> Finalist:
        """The finalist whose settings are in `best.yaml`."""
        return self.finalists[0]

    @property
    def ties(self) -> list[int]:
        """The numbers of the finalists that cannot be told from the best."""
        return [each.number for each in self.finalists[1:] if each.ties(self.best)]

    def frame(self) -> Any:
        """The trials as a `pandas.DataFrame`."""
        return frame_of([{**each, **each["settings"]} for each in self.trials])


def load_sweep(path: str | Path) -> Sweep:
    """A sweep from a YAML file, everything in it checked."""
    values = read_yaml_mapping(Path(path))
    if isinstance(space := values.get("space"), dict):
        values["space"] = {
            name: _choice(each, f"{path}: space: {name}") for name, each in space.items()
        }
    found = made(Sweep, values, str(path), "a part of a sweep")
    base = _base(found, Path(path).parent)
    known = base.__struct_fields__
    for name, wanted in found.space.items():
        if name not in known:
            raise SettingsError(
                f"{path}: space: {name!r} is not a setting of {base.trainer}{meant(name, known)}"
            )
        choices = wanted if isinstance(wanted, list) else [wanted.low, wanted.high]
        if not choices:
            raise SettingsError(f"{path}: space: {name} is an empty list: name what to choose from")
        whole = isinstance(wanted, Between) and _whole(base, name)
        for choice in choices:
            value = int(choice) if whole else choice
            settings_from({**base.as_mapping(), name: value}, f"{path}: space")
    return found


def _choice(value: Any, source: str) -> Any:
    if isinstance(value, dict):
        return made(Between, value, source, "a part of a range")
    if not isinstance(value, list):
        raise SettingsError(f"{source} is {value!r}: give `low` and `high`, or a list")
    return value


def _base(sweep: Sweep, folder: Path) -> Settings:
    preset = sweep.preset
    if not Path(preset).is_absolute() and (folder / preset).is_file():
        preset = str(folder / preset)
    measured = {
        "yardsticks": list(sweep.against), "final_yardsticks": [], "about": "a trial of a sweep",
        "measuring": "here",
    }  # fmt: skip
    values, source = PRESETS.values(preset)
    return settings_from({**values, **measured, **sweep.settings}, source)


def _whole(base: Settings, name: str) -> bool:
    value = getattr(base, name)
    return isinstance(value, int) and not isinstance(value, bool)


def run_sweep(
    sweep: Sweep,
    folder: Path,
    beside: Path | None = None,
    say: Callable[[str], None] = print,
    *,
    workers: int = 1,
    on: str = LOCAL,
) -> Swept:
    """Try settings until there are as many trials as the sweep wants; goes on where it was.

    `beside` is the folder that paths in the sweep start from. So many `workers` try settings side
    by side, `on` this machine or a cluster of Ray; the next are chosen when all are done.
    """
    if workers < 1:
        raise ValueError(
            f"workers is {workers}: it has to be at least 1, or 0 for one on each core"
        )
    optuna = optuna_here()
    base = _base(sweep, beside or Path())
    sampler = made_by_optuna(optuna.samplers, sweep.sampler, "Sampler", seed=sweep.seed)
    pruner = made_by_optuna(optuna.pruners, sweep.pruner, "Pruner")
    folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        storage=sweep.storage or f"sqlite:///{folder / 'optuna.db'}",
        study_name=folder.name,
        direction="maximize",
        load_if_exists=True,
        sampler=sampler,
        pruner=pruner,
    )
    _end_broken(optuna, study)
    tries = tries_of(study, sweep.pruner, folder, sweep.against, say, workers, check_place(on))
    while (left := sweep.trials - _ended(study)) > 0:
        asked = [study.ask() for _ in range(min(workers, left))]
        try:
            wanted = [
                settings_from({**base.as_mapping(), **_chosen(one, sweep.space, base)})
                for one in asked
            ]
            outcomes = tries.tried(asked, wanted)
            failed = [
                _told(study, one, each, say) for one, each in zip(asked, outcomes, strict=True)
            ]
            for each in filter(None, failed):
                raise each
        finally:
            for one in asked:
                study.tell(one, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)
    return _result(study, sweep, base, folder, say)


def _ended(study: Any) -> int:
    """How many trials came to an end, be it an early one."""
    return sum(
        each.state.name in ("COMPLETE", "PRUNED") for each in study.get_trials(deepcopy=False)
    )


def _told(study: Any, one: Any, outcome: Outcome, say: Callable[[str], None]) -> Stopped | None:
    """Keep what a trial came to, and tell it; what it failed of, if it did."""
    if outcome.failed is not None:
        return outcome.failed
    if outcome.value is None:
        from optuna.trial import TrialState

        study.tell(one, state=TrialState.PRUNED)
        value = "was ended early"
    else:
        one.set_user_attr("half_width", outcome.value.half_width)
        study.tell(one, outcome.value.value)
        value = f"won {percent_with_reach(outcome.value)}"
    say(f"trial {one.number} {value}: {' '.join(words_of(one.user_attrs['settings']))}")
    return None


def _end_broken(optuna: Any, study: Any) -> None:
    """What a process that is gone left under way is not waited for."""
    for each in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        host, pid = each.user_attrs.get("process", (None, 0))
        if host == socket.gethostname() and not is_alive(pid):
            study.tell(each.number, state=optuna.trial.TrialState.FAIL)


def _chosen(one: Any, space: Mapping[str, Between | list[Any]], base: Settings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, wanted in space.items():
        if isinstance(wanted, list):
            # Optuna keeps plain values alone: lists are chosen by how they are written.
            texts = [written(each) for each in wanted]
            found[name] = wanted[texts.index(one.suggest_categorical(name, texts))]
        elif _whole(base, name):
            step = 1 if wanted.step is None else int(wanted.step)
            found[name] = one.suggest_int(name, int(wanted.low), int(wanted.high), step=step,
                                          log=wanted.log)  # fmt: skip
        else:
            found[name] = one.suggest_float(
                name, wanted.low, wanted.high, step=wanted.step, log=wanted.log
            )
    one.set_user_attr("settings", {name: found[name] for name in space})
    one.set_user_attr("process", (socket.gethostname(), os.getpid()))
    return found


def _settings_of(one: Any) -> dict[str, Any]:
    return one.user_attrs.get("settings", {})


def _finalists(
    study: Any, sweep: Sweep, folder: Path, say: Callable[[str], None]
) -> list[Finalist]:
    """The best trials, measured again: the highest of noisy figures is too high, on its deals."""
    done = [each for each in study.trials if each.state.name == "COMPLETE"]
    best = sorted(done, key=lambda each: -each.value)[: sweep.finalists]
    found = []
    for each in best:
        run = folder / TRIALS / str(each.number)
        if not run.exists():
            say(f"trial {each.number} was trained elsewhere: it is not measured again")
            continue
        measured = measure(
            find_checkpoint(run), sweep.against, sweep.hands, seed=_FRESH_SEED, with_past=False
        )
        rate = mean_win_rate(measured.measured, sweep.against)
        found.append(Finalist(each.number, rate.value, rate.half_width, _settings_of(each)))
        say(f"trial {each.number} on fresh deals: {found[-1]}")
    if best and not found:
        raise ValueError(
            f"none of the {len(best)} best trials was trained in {folder}: give the same command "
            "where they were, and they are measured again"
        )
    return sorted(found, key=lambda each: -each.value)


def _result(
    study: Any, sweep: Sweep, base: Settings, folder: Path, say: Callable[[str], None]
) -> Swept:
    trials = [
        {"number": each.number, "state": each.state.name.lower(), "value": each.value,
         "half_width": each.user_attrs.get("half_width"), "settings": _settings_of(each)}
        for each in study.trials
    ]  # fmt: skip
    finalists = _finalists(study, sweep, folder, say)
    if not finalists:
        raise ValueError(
            f"{folder}: none of its {len(trials)} trials was trained to its end: try more, or "
            "prune less, as with pruner: Nop"
        )
    found = Swept(folder=folder, finalists=finalists, trials=trials)
    about = f"the best of {len(trials)} trials, {found.best} on fresh deals"
    if found.ties:
        about += f", not told from trial {' or '.join(map(str, found.ties))}"
    preset = settings_from({**base.as_mapping(), **found.best.settings, "about": about})
    with written_whole(folder / BEST, "w") as file:
        file.write(preset.as_yaml())
    return found
