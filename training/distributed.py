"""One training in several processes, as `torchrun` starts them: ranks that average their gradients.

Every rank runs the same loop, plays games of its own and holds the same weights. The first has the
run's folder: it evaluates, writes and prints. Without torchrun there is one rank.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

from ..common.signals import RunStopped
from ..engine.rng import secret_of_seed

T = TypeVar("T")

# The other ranks wait while the first evaluates.
_TIMEOUT = timedelta(days=30)


class RanksLost(RunStopped):
    """Another rank is gone, so that no further collective operation is possible."""


class Ranks:
    """The processes of one training, seen from one of them."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world
        self.alone, self.leads = world == 1, rank == 0
        self.seconds = 0.0
        """Time spent in collective operations, waiting for other ranks included."""

    def seed(self, seed: int, since: int = 0) -> int:
        """The seed of this rank's own games: the first has the training's.

        `since` is how many decisions had been made when the number of ranks changed.
        """
        purposes = [] if self.leads else [f"rank {self.rank}"]
        purposes += [f"{self.world} ranks", f"{since}"[:16]] if since else []
        for purpose in purposes:
            seed = int.from_bytes(secret_of_seed(seed, purpose)[:7], "little")
        return seed

    # -- collective operations

    @contextmanager
    def _collective(self) -> Generator[Any]:
        """`torch.distributed`; a lost connection is a RanksLost."""
        from torch import distributed

        began = time.perf_counter()
        try:
            yield distributed
        except RuntimeError as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else "no answer"
            raise RanksLost(f"another of the {self.world} processes is gone ({first})") from error
        finally:
            self.seconds += time.perf_counter() - began

    def reduced(self, numbers: Iterable[float], operation: str = "SUM") -> list[float]:
        """Sums over all ranks, or what else `torch.distributed.ReduceOp` names, alike on each."""
        import torch

        tensor = torch.tensor([*numbers], dtype=torch.float64)
        if not self.alone:
            with self._collective() as distributed:
                distributed.all_reduce(tensor, getattr(distributed.ReduceOp, operation))
        return tensor.tolist()

    def add_gradients(self, parameters: Iterable[Any]) -> None:
        """Replace each gradient by the sum over all ranks."""
        if self.alone:
            return
        import torch

        grads = [param.grad for param in parameters if param.grad is not None]
        # One message: many small ones cost more than copying.
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        with self._collective() as distributed:
            distributed.all_reduce(flat)
        for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
            grad.copy_(part.view_as(grad))

    def of_first(self, value: T) -> T:
        """The first rank's value, on all; the values of the others are not used."""
        values = [value]
        if not self.alone:
            with self._collective() as distributed:
                distributed.broadcast_object_list(values)
        return values[0]

    def of_all(self, value: T) -> list[T]:
        """Every rank's value in order, on the first; the others get their own alone."""
        values: list[Any] = [value] * (self.world if self.leads else 1)
        if not self.alone:
            with self._collective() as distributed:
                distributed.gather_object(value, values if self.leads else None)
        return values


ALONE = Ranks()


def rank_and_world() -> tuple[int, int]:
    """This process's rank, and how many there are, as torchrun set them; 0 of 1 without it."""
    if "MASTER_ADDR" not in os.environ:
        return 0, 1
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


@cache
def ranks_here() -> Ranks:
    """The ranks that this process belongs to; its process group is joined at the first call."""
    rank, world = rank_and_world()
    if world > 1:
        import torch

        distributed: Any = torch.distributed
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        # torchrun keeps its store when it starts ranks again: without a prefix of its own a rank
        # can find the address of one that is gone.
        store, rank, world = next(distributed.rendezvous("env://"))
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        distributed.init_process_group(
            backend, store=distributed.PrefixStore(f"attempt {attempt}", store),
            rank=rank, world_size=world, timeout=_TIMEOUT,
        )  # fmt: skip
        atexit.register(distributed.destroy_process_group)
    return Ranks(rank, world)
