# pyright: strict
"""Train an agent, by default by self-play. Name a preset or a YAML file with settings.

Words of the form key=value replace settings. A run is a folder with the settings, checkpoints,
metrics and evaluations. You can use the path of a run or of a checkpoint wherever an agent's name
is accepted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.console import show_traceback
from ..common.settings import commented_yaml, two_columns
from ..common.suggestions import suggest
from ..training.distributed import rank_and_world_size
from ..training.presets import PRESETS, load_settings, setting_names, split_seeds
from .worker_options import add_trust_option

if TYPE_CHECKING:
    from ..training.api import Trained
    from ..training.experiments.compare import Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "preset",
        nargs="?",
        metavar="PRESET|FILE.yaml",
        help="name of a preset, or a YAML file with settings (default: the defaults "
        "of the trainer)",
    )
    parser.add_argument(
        "words", nargs="*", metavar="key=value", help="settings that replace those of the preset"
    )
    parser.add_argument(
        "--run",
        type=Path,
        metavar="FOLDER",
        help="folder to write the run to (default: runs/PRESET-1, -2, ...)",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="RUN",
        help="continue this run; key=value changes its settings",
    )
    parser.add_argument(
        "--on",
        metavar="local|ray|ray://HOST:PORT",
        help="where the runs of seeds=1,2,... are trained: on this machine (local, "
        "the default), or on a Ray cluster",
    )
    add_trust_option(parser)
    parser.add_argument("--list", action="store_true", help="list the presets and exit")
    parser.add_argument(
        "--show",
        action="store_true",
        help="print all settings with their values and descriptions, and exit",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        print(two_columns(PRESETS.descriptions()))
        return 0
    preset: str | None = arguments.preset
    words: list[str] = arguments.words
    if preset is not None and "=" in preset:
        preset, words = None, [preset, *words]
    _check_no_options(words)
    if arguments.resume is not None:
        if preset is not None:
            raise ValueError("--resume goes on with the settings of the run: leave out the preset")
        for name in ("run", "show"):
            if getattr(arguments, name):
                raise ValueError(f"--resume goes on in the run's own folder: leave out --{name}")
        for word in words:
            if word.partition("=")[0] == "seeds":
                raise ValueError(
                    f"--resume goes on with the seeds that there are: leave out {word}"
                )
        return _resume(arguments.resume, words, arguments.on)
    if preset is None and not words:
        raise ValueError("name a preset, as in `train quick`; --list lists them")
    words, seeds = split_seeds(words)
    if seeds is None:
        _check_local(arguments.on)
    settings = load_settings(preset, words)
    if arguments.show:
        print(commented_yaml(settings), end="")
        return 0
    from ..training.api import train

    name = None if preset is None else Path(preset).stem
    if seeds is not None:
        _check_no_torchrun("seeds trains a run for each in a process of its own")
        from ..training.experiments.seeds import train_seeds

        return _report(
            lambda: train_seeds(
                settings, seeds, folder=arguments.run, name=name, on=arguments.on or "local"
            )
        )
    return _report(lambda: train(preset, words, folder=arguments.run, name=name))


def _check_no_options(words: list[str]) -> None:
    options = {"folder": "--run", "run": "--run", "resume": "--resume"}
    for word in words:
        name, mark, value = word.partition("=")
        if mark and name in options:
            raise ValueError(f"{word}: that is an option: write {options[name]} {value}")


def _check_local(on: str | None) -> None:
    if on is not None:
        raise ValueError(
            f"--on {on} is for the runs of several seeds, as in seeds=1,2,3: one training in "
            "several processes is begun by torchrun"
        )


def _check_no_torchrun(reason: str) -> None:
    world_size = rank_and_world_size()[1]
    if world_size > 1:
        raise ValueError(f"{reason}, and torchrun started {world_size}: begin it without torchrun")


def _resume(folder: Path, words: list[str], on: str | None) -> int:
    from ..training.experiments.seeds import is_of_seeds, resume_seeds

    if is_of_seeds(folder):
        _check_no_torchrun(f"{folder} has several runs, each for a process of its own")
        return _report(lambda: resume_seeds(folder, words, on=on or "local"))
    _check_local(on)
    from ..training.api import resume

    return _report(lambda: resume(folder, words))


def _report(train: Callable[[], Trained | Comparison]) -> int:
    """Train, and print the results on the first rank; a run has reported its early end itself."""
    from ..common.signals import RunStopped
    from ..training.experiments.seeds import SeedsStopped

    try:
        text = train().text()
        if rank_and_world_size()[0] == 0:
            print(text)
    except SeedsStopped as stopped:
        print(stopped)
        return stopped.status
    except RunStopped as stopped:
        show_traceback()
        return stopped.status
    return 0


def misplaced(option: str, value: str) -> str | None:
    """Error message for an option that is a setting, which is given without dashes."""
    name = option.lstrip("-").replace("-", "_")
    if name in setting_names():
        return f"{name} is a setting, and settings have no dashes: write {name}={value}"
    near = suggest(name, setting_names(), listed=False)
    return near and f"there is no option {option}, and settings have no dashes{near}"
