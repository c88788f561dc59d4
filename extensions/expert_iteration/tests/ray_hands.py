"""Run by `test_cluster_hands` where Ray is: prints the hands of a recipe, played there and here."""

from __future__ import annotations

import importlib
import json
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from german_whist.engine.rules import load_rules
from german_whist.expert_iteration import pipeline as parts
from german_whist.expert_iteration.recipe import load_recipe

# All on the loopback address: the machine's own may not reach itself.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
ray: Any = importlib.import_module("ray")
Cluster: Any = importlib.import_module("ray.cluster_utils").Cluster


def hands_of(folder: Path, on: str) -> dict[str, str]:
    """The hands of a recipe, played there."""
    parts._BATCHES_PER_FILE, parts._N_GAMES["hands"] = 1, 64
    recipe = load_recipe("quick", ["hands=128"])
    work = parts.Work(
        folder,
        recipe,
        load_rules("classic"),
        parts.Stopwatch(folder / parts.MINUTES, ""),
        lambda _: None,
        workers=2 if on == "ray" else 1,
        on=on,
    )
    folder.mkdir(exist_ok=True)
    hands = parts.HandsStage("hands", 128, "hands", recipe, ("", ""))
    files = sorted(parts.play_hands(work, hands))
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in files}


def main(folder: Path) -> None:
    local = {"num_cpus": 2, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=local)
    ray.init(cluster.address, logging_level="ERROR", log_to_driver=False)
    print(json.dumps([hands_of(folder / each, each) for each in ("ray", "local")]))
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
