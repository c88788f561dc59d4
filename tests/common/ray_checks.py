"""Run by `test_cluster` where Ray is: a ladder on two nodes, of which one is killed in the middle.

Prints, as JSON, what a local run found, and what the cluster found.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from german_whist.agents.checkpoints import bundled, find_checkpoint
from german_whist.common.settings import parse_overrides
from german_whist.evaluation import ladder
from german_whist.evaluation.results import Result
from german_whist.training.api import resume, train
from german_whist.training.experiments.search_space import Sweep
from german_whist.training.experiments.seeds import resume_seeds, train_seeds
from german_whist.training.experiments.sweep import run_sweep
from german_whist.training.folder import settings_of
from german_whist.training.presets import load_settings
from german_whist.training.run_state import digest_of, load_state

AGENT = """
import os
from german_whist.agents.heuristic.random import RandomAgent
from helper_of_mine import Cautious

class Mine(Cautious):
    pass

class Deadly(RandomAgent):
    def act(self, views, rng):
        os._exit(9)
"""
HELPER = """
from german_whist.agents.heuristic.threshold import ThresholdAgent

class Cautious(ThresholdAgent):
    pass
"""
# All on the loopback address: the machine's own may not reach itself.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_health_check_period_ms"] = "1000"  # noqa: SIM112
# The tests' folder, of which this file is run beside.
sys.path.append(str(Path(__file__).resolve().parents[1]))
children_of = importlib.import_module("processes").children_of
ray: Any = importlib.import_module("ray")
Cluster: Any = importlib.import_module("ray.cluster_utils").Cluster
TINY = [
    "n_envs=64",
    "hidden_sizes=16,16",
    "batch_size=128",
    "decisions=4000",
    "eval_hands=40",
    "final_eval_hands=40",
    "threads=1",
    "device=cpu",
    "eval_opponents=my_agent:Mine",
]
OPTIONS: dict[str, Any] = {"hands": 2048, "seed": 3, "key": "0" * 32, "rules": "small-last"}


def comparable(result: Result) -> Any:
    """A result without what depends on the machines."""
    found = json.loads(result.text())
    del found["run"], found["notes"]
    for each in found["pairings"]:
        del each["timing"]
    return found


def state_of(run: str) -> str:
    """Digest of a run's last state."""
    return digest_of(load_state(Path(run, "state.safetensors"))[0])


def stop_within_task(node: Any) -> int | None:
    """The process of a node that runs a task, stopped in the middle of it.

    Without the stop, it may send its result between this look and the death of the node.
    """
    (raylet,) = node.all_processes["raylet"]
    for pid in children_of(raylet.process.pid):
        with suppress(OSError):
            if has_task(pid):
                os.kill(pid, signal.SIGSTOP)
                if has_task(pid):
                    return pid
                os.kill(pid, signal.SIGCONT)
    return None


def has_task(pid: int) -> bool:
    """Whether a process runs a task, by the title that Ray gives to it."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::run_task")


def main(folder: Path) -> None:
    """Play the ladder here, and there."""
    (folder / "here" / "own").mkdir(parents=True)
    os.chdir(folder / "here")
    Path("my_agent.py").write_text(AGENT, encoding="utf-8")
    Path("helper_of_mine.py").write_text(HELPER, encoding="utf-8")
    weights = find_checkpoint(Path(bundled.__file__).with_name("champion-family"))
    for place in (Path("own"), folder):
        shutil.copy(weights, place / weights.name)
    champion = weights.stem
    players = ["random", f"near=own/{champion}", f"far={folder}/{champion}", "my_agent:Mine"]
    here = ladder(players, **OPTIONS)
    local = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=local)
    second = cluster.add_node(num_cpus=1)
    ray.init(cluster.address, logging_level="ERROR", log_to_driver=False)
    killed: list[int] = []

    def kill(arena: Any) -> None:
        # With more chunks to come, while it runs one of them.
        until = time.monotonic() + 5
        while not killed and time.monotonic() < until:
            pid = stop_within_task(second)
            if pid is not None:
                killed.append(arena.hands)
                cluster.remove_node(second, allow_graceful=False)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    there = ladder(players, on="ray", workers=2, progress=kill, **OPTIONS)
    dying = ladder(["random", "my_agent:Deadly"], on="ray", **{**OPTIONS, "hands": 64})
    lines: list[str] = []
    opponents = f"eval_opponents=my_agent:Mine,{folder}/{champion}"
    settings = load_settings("tiny", [*TINY, opponents])
    train_seeds(settings, [1, 2], folder="there", on="ray", log=lines.append)
    train(load_settings("tiny", [*TINY, "seed=2"]), folder="alone", quiet=True)
    weights = [state_of("there/seed-2"), state_of("alone")]
    resume_seeds(Path("there"), ["decisions=8000"], on="ray", log=lines.append)
    resume("alone", ["decisions=8000"], quiet=True)
    named = settings_of(Path("there/seed-1")).eval_opponents[1]
    sweep = Sweep(
        preset="tiny",
        settings=parse_overrides(TINY[:-1]),
        eval_opponents=("random",),
        trials=2,
        space={"n_epochs": [1, 2], "ent_coef": [0.01, 0.1]},
    )
    swept = [
        [
            (trial.params, trial.value)
            for trial in run_sweep(
                sweep, Path(on, "sweep"), log=lines.append, workers=2, on=on
            ).study.trials
        ]
        for on in ("ray", "local")
    ]
    address = cluster.address
    ray.shutdown()
    cluster.shutdown()
    os.environ["RAY_ADDRESS"] = address
    began, sentence = time.monotonic(), ""
    try:
        ladder(["random", "threshold"], on="ray")
    except ValueError as error:
        sentence = str(error)
    stale = [address, time.monotonic() - began, sentence]
    print(
        json.dumps(
            {
                "here": comparable(here),
                "there": comparable(there),
                "killed": killed,
                "notes": list(there.notes),
                "stale": stale,
                "lines": lines,
                "weights": weights,
                "other": state_of("there/seed-1"),
                "on": [state_of("there/seed-2"), state_of("alone")],
                "named": [named, f"{folder}/{champion}"],
                "swept": swept,
                "complete": there.complete,
                "dying": list(dying.notes),
                "ended": dying.complete,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
