# pyright: strict
"""Train a player by self-play: PRESET, or a YAML file, with key=value words over it.

A run is a folder with everything about it; the player in it is measured on the
way, and any checkpoint plays by its path.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.console import show_traceback
from ..common.settings_files import two_columns
from ..common.suggestions import suggest
from ..common.typed_settings import commented_yaml
from ..training.distributed import rank_and_world_size
from ..training.runs.presets import PRESETS, load_settings, setting_names, split_seeds

if TYPE_CHECKING:
    from ..training.experiments.compare import Comparison
    from ..training.runs.api import Trained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "preset", nargs="?", metavar="PRESET|FILE.yaml",
        help="what to train; without it, what the words say",
    )  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="key=value", help="settings over the preset's")
    parser.add_argument(
        "--run", type=Path, metavar="FOLDER", help="the run's folder (runs/PRESET-1, -2, ...)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on with a run, with key=value changed"
    )
    parser.add_argument(
        "--on", metavar="local|ray|ray://HOST:PORT",
        help="where the runs of seeds=1,2,... are trained: here, or on a cluster of Ray",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the presets")
    parser.add_argument("--show", action="store_true", help="print all settings and what they do")


def run(arguments: argparse.Namespace) -> int:
    """List, show, begin or resume."""
    if arguments.list:
        print(two_columns(PRESETS.descriptions()))
        return 0
    preset: str | None = arguments.preset
    words: list[str] = arguments.words
    if preset is not None and "=" in preset:
        preset, words = None, [preset, *words]
    _check_no_option(words)
    if arguments.resume is not None:
        if preset is not None:
            raise ValueError("--resume goes on with the settings of the run: leave out the preset")
        given = [each for each in ("run", "show") if getattr(arguments, each)]
        if given:
            idle = f"--{given[0]}"
            raise ValueError(f"--resume goes on in the run's own folder: leave out {idle}")
        for word in words:
            if word.partition("=")[0] == "seeds":
                raise ValueError(
                    f"--resume goes on with the seeds that there are: leave out {word}"
                )
        return _resumed(arguments.resume, words, arguments.on)
    if preset is None and not words:
        raise ValueError("name a preset, as in `train quick`; --list tells which there are")
    words, seeds = split_seeds(words)
    if seeds is None:
        _check_here(arguments.on)
    settings = load_settings(preset, words)
    if arguments.show:
        print(commented_yaml(settings), end="")
        return 0
    from ..training.runs.api import train

    name = None if preset is None else Path(preset).stem
    if seeds is not None:
        _check_alone("seeds trains a run for each in a process of its own")
        from ..training.experiments.seeds import train_seeds

        return _told(
            lambda: train_seeds(
                settings, seeds, folder=arguments.run, name=name, on=arguments.on or "local"
            )
        )
    return _told(lambda: train(settings, folder=arguments.run, name=name))


def _check_no_option(words: list[str]) -> None:
    """Refuse options that are written as settings are."""
    options = {"folder": "--run", "run": "--run", "resume": "--resume"}
    for word in words:
        name, mark, value = word.partition("=")
        if mark and name in options:
            raise ValueError(f"{word}: that is an option: write {options[name]} {value}")


def _check_here(on: str | None) -> None:
    """Refuse another place for a single run."""
    if on is not None:
        raise ValueError(
            f"--on {on} is for the runs of several seeds, as in seeds=1,2,3: one training in "
            "several processes is begun by torchrun"
        )


def _check_alone(why: str) -> None:
    """Refuse several processes where there is nothing to share."""
    world = rank_and_world_size()[1]
    if world > 1:
        raise ValueError(f"{why}, and torchrun started {world}: begin it without torchrun")


def _resumed(folder: Path, words: list[str], on: str | None) -> int:
    """Go on with a run, or with all runs of a folder with several seeds."""
    from ..training.experiments.seeds import is_of_seeds, train_seeds_on

    if is_of_seeds(folder):
        _check_alone(f"{folder} has several runs, each for a process of its own")
        return _told(lambda: train_seeds_on(folder, words, on=on or "local"))
    _check_here(on)
    from ..training.runs.api import train_on

    return _told(lambda: train_on(folder, words))


def _told(trained: Callable[[], Trained | Comparison]) -> int:
    """Train, and print the result on the first rank; what ended a run early was told already."""
    from ..common.signals import RunStopped
    from ..training.experiments.seeds import SomeStopped

    try:
        text = trained().text()
        if rank_and_world_size()[0] == 0:
            print(text)
    except SomeStopped as stopped:
        print(stopped)
        return stopped.status
    except RunStopped as stopped:
        show_traceback()
        return stopped.status
    return 0


def misplaced(option: str, value: str) -> str | None:
    """What to say of an option that is not one: settings are given without dashes."""
    name = option.lstrip("-").replace("-", "_")
    if name in setting_names():
        return f"{name} is a setting, and settings have no dashes: write {name}={value}"
    near = suggest(name, setting_names(), listed=False)
    return near and f"there is no option {option}, and settings have no dashes{near}"
