"""Compile everything now, for container images, continuous integration and notebooks.

Otherwise functions are compiled when they are first used. The compiled functions and the endgame
tables go to the cache folder, which you can set with GERMAN_WHIST_CACHE. You can copy the folder to
machines with the same package, Python and processor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec

from ..common.files import cache_folder
from ..common.plugins import installed
from ..common.suggestions import suggest

_AGENTS = (
    "random-exact",
    "threshold",
    "upcard-value",
    "counting",
    "champion",
    "champion:sample",
    "thinker:2",
    "flat-mc:2",
    "flat-mc:2,playout=counting",
    "ismcts:2",
)


def _environments() -> None:
    from ..engine.batch.config import OBSERVATIONS
    from ..envs import GermanWhistVectorEnv, SelfPlayEnv, german_whist_v0

    for observation in OBSERVATIONS:
        for horizon in ("hand", "match"):
            german_whist_v0.env("small-last", observation=observation, horizon=horizon).reset(0)
        SelfPlayEnv(1, observation=observation)
        for opponent in ("random", "threshold"):
            env = GermanWhistVectorEnv(2, opponent=opponent, observation=observation)
            env.reset(seed=0)
    games = SelfPlayEnv(1, horizon="foreplay")
    step = games.reset(seed=0)
    while not step.ended[0]:
        step = games.step(step.masks.argmax(axis=1))


def _agents() -> None:
    from ..agents.base import CannotPlay
    from ..agents.registry import ENTRY_POINTS, load_agent
    from ..engine.endgame import value
    from ..engine.game import Game

    value(["AS", "KS"], None, 0)
    view = Game(seed=1).view()
    for name in _AGENTS:
        load_agent(name).act(view, 1)
    for point in installed(ENTRY_POINTS):
        with suppress(CannotPlay):
            load_agent(point.name).act(view, 1)
    champion = load_agent("champion")
    champion.probabilities(view)
    champion.value(view)
    nash = load_agent("nash")
    nash.act(Game(nash.rules, seed=1).view(), 1)


def _arena() -> None:
    from ..evaluation import evaluate

    evaluate("random-exact", ["threshold"], hands=2, workers=1)


def _training() -> None:
    if find_spec("torch") is None:
        return
    from ..training.algorithms.registry import make_trainer
    from ..training.presets import load_settings

    make_trainer(load_settings("tiny", []))


PARTS: dict[str, Callable[[], None]] = {
    "environments": _environments,
    "agents": _agents,
    "arena": _arena,
    "training": _training,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"what to compile: {', '.join(PARTS)} (default: all; training needs torch)",
    )


def run(arguments: argparse.Namespace) -> int:
    for name in arguments.parts:
        if name not in PARTS:
            raise ValueError(f"{name!r} is not a part{suggest(name, PARTS)}")
    for name in arguments.parts or PARTS:
        begun = time.process_time()
        PARTS[name]()
        print(f"{name}: {time.process_time() - begun:.1f} s of one core", flush=True)
    size = sum(path.stat().st_size for path in cache_folder().rglob("*") if path.is_file())
    print(f"{cache_folder()}: {size / 1e6:,.0f} MB")
    return 0
