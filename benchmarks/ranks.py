"""Data-parallel training in one process and in two: speed, and cost of averaging gradients.

Each process plays as many games and learns from an equal part of each minibatch, so two should
learn from twice as many decisions a second. The cost of averaging predicts the speed of more
processes, see `docs/guide/scale.md`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

from .measure import Row, timed

if sys.platform == "win32":
    raise SystemExit("this benchmark reads memory with the module resource, which Windows lacks")
import resource

GAMES, ITERATIONS, TRIES = 4096, 3, 50
PREDICTED = (8, 64)


def run() -> list[Row]:
    one, two = _train(1), _train(2)
    note = "averaging {:.1%}, playing {:.0%}, learning {:.0%} of the time"
    rows = [
        Row(
            f"training `quick`, {run['world']} of one thread each",
            run["speed"] / 1e3,
            "k decisions/s",
            note=note.format(run["averaging"], run["playing"], run["learning"]),
        )
        for run in (one, two)
    ]
    rows += [
        Row("two processes against one", two["speed"] / one["speed"], "times"),
        *(
            Row(
                f"processor time of a million decisions, {run['world']} at work",
                1e6 * run["cpu_per_decision"],
                "s",
                note=f"{1e9 * run['cpu_per_decision'] / 3600:.0f} core hours for a billion",
            )
            for run in (one, two)
        ),
        Row("averaging a number over two processes", 1e6 * two["latency"], "µs"),
        Row(
            f"averaging the gradients ({two['bytes'] / 1e6:.2f} MB)",
            1e3 * two["gradients"],
            "ms",
            note=f"{two['steps']:.0f} times an iteration",
        ),
        Row("memory of a process", one["memory"] / 1e6, "MB"),
        Row("of it, buffers of a thousand games", one["buffers"] / 1e6 * 1000 / GAMES, "MB"),
    ]
    rows += [_predicted(one, two, world) for world in PREDICTED]
    return [
        *rows,
        Row(
            "a batch of a thousand games of `classic`, what is shown included",
            _batch_bytes() / 1e6,
            "MB",
        ),
        Row("a worker of the arena, `threshold` against `random`", _worker_bytes() / 1e6, "MB"),
    ]


def _batch_bytes() -> int:
    from german_whist.engine.batch.batch import Batch
    from german_whist.engine.batch.config import options_from

    games = Batch(options_from("classic"), 1000)
    return sum(array.nbytes for array in (*games.arrays, *games.new_rows(1000)))


def _worker_bytes() -> int:
    code = (
        "import resource; from german_whist.evaluation import evaluate\n"
        "evaluate('threshold', 'random', hands=20_000)\n"
        "print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    return int(subprocess.check_output([sys.executable, "-c", code], text=True))


def _predicted(one: dict[str, float], two: dict[str, float], world: int) -> Row:
    """Predicted speed of `world` processes with a ring all-reduce as fast as that of two.

    Each of its 2 (N - 1) rounds has one latency and sends 1/N of the gradients; the rest of an
    iteration takes as long as in a single process.
    """
    latency = two["latency"] / 2
    transfer = max(0.0, two["gradients"] - two["latency"]) / world
    all_reduce = 2 * (world - 1) * (latency + transfer)
    efficiency = one["cpu_per_iteration"] / (one["cpu_per_iteration"] + two["steps"] * all_reduce)
    return Row(
        f"expected of {world} processes",
        efficiency * world,
        "times one",
        note=f"{efficiency:.0%} each; by the model, not measured",
    )


def _train(world: int) -> dict[str, Any]:
    """Train in `world` processes, as torchrun starts them; returns the metrics of the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    variables |= {"WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", __name__],
            text=True,
            stdout=subprocess.PIPE,
            env={**os.environ, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(world)
    ]
    outputs = [process.communicate()[0] for process in processes]
    return json.loads(outputs[0].splitlines()[-1])


def main() -> None:
    """Train as one of the processes, and print the metrics as JSON."""
    import torch
    from torch import distributed

    from german_whist.training.algorithms.data_parallel import DataParallel
    from german_whist.training.algorithms.ppo import PPO
    from german_whist.training.distributed import current_ranks
    from german_whist.training.presets import load_settings

    torch.set_num_threads(1)
    ranks = current_ranks()
    words = [f"n_envs={GAMES * ranks.world_size}", f"batch_size={GAMES * ranks.world_size}"]
    settings: Any = load_settings("quick", [*words, "threads=1", "device=cpu"])
    parallel = DataParallel(PPO, settings, ranks)
    trainer = parallel.local

    def iterate(times: int) -> None:
        """Iterate in all processes, of which the first leads."""
        if not ranks.is_first:
            parallel.follow()
            return
        for _ in range(times):
            parallel.iterate()
        parallel.end(None)

    iterate(1)
    parts = {"playing": 0.0, "learning": 0.0, "averaging": 0.0}
    trainer.collector.collect = timed(parts, "playing", trainer.collector.collect)
    trainer.update = timed(parts, "learning", trainer.update)
    ranks.average_gradients = timed(parts, "averaging", ranks.average_gradients)
    before = parallel.decisions
    start, cpu_start = time.perf_counter(), time.process_time()
    iterate(ITERATIONS)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    n_params = sum(param.numel() for param in trainer.network.parameters())
    buffers = sum(getattr(array, "nbytes", 0) for array in vars(trainer.collector.buffer).values())
    metrics: dict[str, float] = {
        "world": ranks.world_size,
        "speed": (parallel.decisions - before) / seconds,
        "cpu_per_iteration": cpu / ITERATIONS,
        "cpu_per_decision": ranks.world_size * cpu / (parallel.decisions - before),
        "averaging": parts["averaging"] / seconds,
        "playing": parts["playing"] / seconds,
        "learning": (parts["learning"] - parts["averaging"]) / seconds,
        "steps": trainer.collector.n_steps * settings.n_epochs,
        "bytes": 4 * n_params,
        "memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "buffers": buffers,
        "latency": 0.0,
        "gradients": 0.0,
    }
    if not ranks.is_only:
        for name, length in (("latency", 1), ("gradients", n_params)):
            tensor = torch.zeros(length)
            times: list[float] = []
            for _ in range(TRIES):
                distributed.barrier()
                start = time.perf_counter()
                distributed.all_reduce(tensor)
                times.append(time.perf_counter() - start)
            metrics[name] = min(times)  # the least disturbed by other users of the machine
    print(json.dumps(metrics))


if __name__ == "__main__":
    main()
