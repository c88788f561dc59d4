# pyright: strict
"""Train a player by self-play: PRESET, or a YAML file, with key=value words over it.

A run is a folder with everything about it; the player in it is measured on the
way, and any checkpoint plays by its path.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from ..engine.words import meant
from ..training.settings import load_settings, presets, setting_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("preset", nargs="?", metavar="PRESET|FILE.yaml", help="what to train")
    parser.add_argument("words", nargs="*", metavar="key=value", help="settings over the preset's")
    parser.add_argument(
        "--run", type=Path, metavar="FOLDER", help="the run's folder (runs/PRESET-1, -2, ...)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on with a run, with key=value changed"
    )
    parser.add_argument("--list", action="store_true", help="list the presets")
    parser.add_argument("--show", action="store_true", help="print the resolved settings")


def run(arguments: argparse.Namespace) -> int:
    """List, show, begin or resume."""
    if arguments.list:
        found = presets()
        width = max(map(len, found)) + 2
        print("\n".join(f"{name:<{width}}{about}" for name, about in found.items()))
        return 0
    if arguments.resume is not None:
        # Words alone: what would be the preset is the first of them.
        words = [*filter(None, [arguments.preset]), *arguments.words]
        if words and "=" not in words[0]:
            raise ValueError("--resume goes on with the settings of the run: leave out the preset")
        return _train(arguments.resume, words=words)
    if arguments.preset is None:
        raise ValueError("name a preset, as in `train quick`; --list tells which there are")
    settings = load_settings(arguments.preset, arguments.words)
    if arguments.show:
        print(settings.as_yaml(), end="")
        return 0
    folder = arguments.run or Path("runs", Path(arguments.preset).stem)
    return _train(folder, settings, numbered=arguments.run is None)


def _train(
    folder: Path, settings: object = None, words: Sequence[str] = (), *, numbered: bool = False
) -> int:
    # Before torch loads: with the default, threads that wait spin, and on busy cores everything
    # becomes many times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..training.session import train

    return train(folder, settings, words, numbered=numbered)


def misplaced(option: str, value: str) -> str | None:
    """What to say of an option that is not one: settings are given without dashes."""
    name = option.lstrip("-").replace("-", "_")
    if name in setting_names():
        return f"{name} is a setting, and settings have no dashes: write {name}={value}"
    near = meant(name, setting_names(), listed=False)
    return near and f"there is no option {option}, and settings have no dashes{near}"
