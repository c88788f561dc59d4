"""Training in one process and in two, started as torchrun starts them: what averaging costs.

`python -m benchmarks ranks`. Every process plays as many games and learns as large a part of each
minibatch, so that two ought to learn from twice as many decisions a second. From what averaging
costs alone follows what to expect of more of them, as `docs/scale.md` tells.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

from .measure import Row

if sys.platform == "win32":
    raise SystemExit("this benchmark reads memory with the module resource, which Windows lacks")
import resource

GAMES, ITERATIONS, TRIES = 4096, 3, 50
PREDICTED = (8, 64)


def run() -> list[Row]:
    """All rows of this file."""
    one, two = _measured(1), _measured(2)
    told = "averaging {:.1%}, playing {:.0%}, learning {:.0%} of the time"
    rows = [
        Row(
            f"training `quick`, {each['world']} of one thread each", each["speed"] / 1e3,
            "k decisions/s",
            note=told.format(each["averaging"], each["playing"], each["learning"]),
        )
        for each in (one, two)
    ]  # fmt: skip
    rows += [
        Row("two processes against one", two["speed"] / one["speed"], "times"),
        *(
            Row(
                f"processor time of a million decisions, {each['world']} at work",
                1e6 * each["spent_each"], "s",
                note=f"{1e9 * each['spent_each'] / 3600:.0f} core hours for a billion",
            )
            for each in (one, two)
        ),
        Row("averaging a number over two processes", 1e6 * two["latency"], "µs"),
        Row(
            f"averaging the gradients ({two['bytes'] / 1e6:.2f} MB)", 1e3 * two["gradients"], "ms",
            note=f"{two['steps']:.0f} times an iteration",
        ),
        Row("memory of a process", one["memory"] / 1e6, "MB"),
        Row("of it, buffers of a thousand games", one["buffers"] / 1e6 * 1000 / GAMES, "MB"),
    ]  # fmt: skip
    rows += [_predicted(one, two, world) for world in PREDICTED]
    return [
        *rows,
        Row(
            "a batch of a thousand games of `classic`, what is shown included", _batch() / 1e6, "MB"
        ),
        Row("a worker of the arena, `threshold` against `random`", _worker() / 1e6, "MB"),
    ]


def _batch() -> int:
    """The bytes of a batch's arrays, which are the same on a device."""
    from german_whist.engine.batch.batch import Batch
    from german_whist.engine.batch.config import options_from

    games = Batch(options_from("classic"), 1000)
    return sum(each.nbytes for each in (*games.arrays, *games.new_rows(1000)))


def _worker() -> int:
    """What a process takes that plays as one of several."""
    code = (
        "import resource; from german_whist.evaluation import evaluate\n"
        "evaluate('threshold', 'random', hands=20_000)\n"
        "print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    return int(subprocess.check_output([sys.executable, "-c", code], text=True))


def _predicted(one: dict[str, float], two: dict[str, float], world: int) -> Row:
    """What so many processes come to, by a ring that sends as fast as these two do.

    Each of its 2 (N - 1) rounds sends a part of the gradients, 1/N of them, and waits once; the
    rest of an iteration takes each process the time that one needs alone.
    """
    wait = two["latency"] / 2
    a_byte = max(0.0, two["gradients"] - two["latency"]) / two["bytes"]
    rounds = 2 * (world - 1)
    a_step = rounds * (wait + a_byte * two["bytes"] / world)
    efficiency = one["spent"] / (one["spent"] + two["steps"] * a_step)
    return Row(
        f"expected of {world} processes", efficiency * world, "times one",
        note=f"{efficiency:.0%} each; by the model, not measured",
    )  # fmt: skip


def _measured(world: int) -> dict[str, Any]:
    """What the first of so many processes tells."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    told |= {"WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", __name__], text=True, stdout=subprocess.PIPE,
            env={**os.environ, **told, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(world)
    ]  # fmt: skip
    said = [each.communicate()[0] for each in running]
    return json.loads(said[0].splitlines()[-1])


def main() -> None:
    """Train as one of the processes, and tell what it took."""
    import torch
    from torch import distributed

    from german_whist.training.algorithms.ppo import PPO, Timings
    from german_whist.training.distributed import current_ranks
    from german_whist.training.runs.presets import load_settings

    torch.set_num_threads(1)
    ranks = current_ranks()
    words = [f"n_envs={GAMES * ranks.world_size}", f"batch_size={GAMES * ranks.world_size}"]
    settings: Any = load_settings("quick", [*words, "threads=1", "device=cpu"])
    trainer = PPO(settings, ranks=ranks)
    trainer.iterate()
    trainer.timings, ranks.seconds, before = Timings(), 0.0, trainer.decisions
    began, spent = time.perf_counter(), time.process_time()
    for _ in range(ITERATIONS):
        trainer.iterate()
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    played = trainer.timings.acting + trainer.timings.environment
    size = sum(each.numel() for each in trainer.network.parameters())
    buffers = sum(getattr(each, "nbytes", 0) for each in vars(trainer.collector.buffer).values())
    found: dict[str, float] = {
        "world": ranks.world_size,
        "speed": (trainer.decisions - before) / seconds,
        "spent": spent / ITERATIONS,
        "spent_each": ranks.world_size * spent / (trainer.decisions - before),
        "averaging": ranks.seconds / seconds,
        "playing": played / seconds,
        "learning": (trainer.timings.learning - ranks.seconds) / seconds,
        "steps": trainer.collector.n_steps * settings.n_epochs,
        "bytes": 4 * size,
        "memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "buffers": buffers,
        "latency": 0.0,
        "gradients": 0.0,
    }
    if not ranks.is_only:
        for name, length in (("latency", 1), ("gradients", size)):
            sent = torch.zeros(length)
            tries: list[float] = []
            for _ in range(TRIES):
                distributed.barrier()
                began = time.perf_counter()
                distributed.all_reduce(sent)
                tries.append(time.perf_counter() - began)
            found[name] = min(tries)  # slow ones tell of the neighbours
    print(json.dumps(found))


if __name__ == "__main__":
    main()
