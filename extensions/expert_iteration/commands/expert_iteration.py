# pyright: strict
"""Train a policy by expert iteration, and the value and belief networks that its search uses.

A recipe has all settings of an expert iteration. Name a bundled recipe, or a YAML file of your own.
In a recipe, the policy first plays hands, and a value network and a belief network are fitted to
them. Then a search plays hands, and the policy is fitted to the values that the search gives to the
cards. To continue an interrupted recipe, give the same command again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from german_whist.commands.worker_options import (
    add_trust_option,
    add_worker_options,
    worker_options,
)
from german_whist.common.settings import commented_yaml, two_columns
from german_whist.training.algorithms.base import missing

from ..recipe import RECIPES, load_recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recipe",
        nargs="?",
        metavar="RECIPE|FILE.yaml",
        help="name of a bundled recipe, or a YAML file",
    )
    parser.add_argument(
        "words", nargs="*", metavar="key=value", help="settings that replace settings of the recipe"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="folder to write to (default: runs/expert-iteration-RECIPE)",
    )
    add_worker_options(parser)
    add_trust_option(parser)
    parser.add_argument("--list", action="store_true", help="list the recipes and exit")
    parser.add_argument(
        "--show", action="store_true", help="print all settings with their values, and exit"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        print(two_columns(RECIPES.descriptions()))
        return 0
    if arguments.recipe is None:
        raise ValueError("name a recipe, as in `expert-iteration quick`; --list lists them")
    workers = worker_options(arguments)
    recipe = load_recipe(arguments.recipe, arguments.words)
    if arguments.show:
        print(commented_yaml(recipe), end="")
        return 0
    folder = arguments.folder or Path("runs") / f"expert-iteration-{Path(arguments.recipe).stem}"
    from german_whist.common.signals import RunStopped

    try:
        from ..pipeline import run_expert_iteration
    except ImportError as error:
        raise missing(error) from None

    began = time.perf_counter()

    def log(line: str) -> None:
        print(f"{time.perf_counter() - began:8.0f} s  {line}", flush=True)

    try:
        run_expert_iteration(folder, recipe, log, **workers)
    except RunStopped as stopped:
        print(stopped)
        return stopped.status
    print(f"{folder}: value, belief and policy networks are ready; play them as")
    print(f"thinker:64,policy={folder}/policy,value={folder}/value,belief={folder}/belief")
    return 0
