"""The processes that `torchrun` starts for one training: ranks, and what they exchange.

The first rank has the run's directory: it evaluates, writes and prints. Without torchrun there is
one rank, which exchanges nothing. `algorithms/data_parallel.py` trains in all of them.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ..common.signals import RunStopped
from ..engine.rng import secret_of_seed

if TYPE_CHECKING:
    from torch import Tensor


T = TypeVar("T")

# The other ranks wait while the first evaluates.
_TIMEOUT = timedelta(days=30)


class RanksLost(RunStopped):
    """Another rank is gone, so that collective operations are no longer possible."""


class Ranks:
    """The processes of one training, seen from one of them."""

    def __init__(self, rank: int = 0, world_size: int = 1) -> None:
        self.rank, self.world_size = rank, world_size
        self.is_only, self.is_first = world_size == 1, rank == 0

    def seed(self, seed: int, decisions: int = 0) -> int:
        """Seed of this rank's games: the training's for the first rank.

        `decisions` had been made when the number of ranks changed; then all seeds are new.
        """
        purposes = [] if self.is_first else [f"rank {self.rank}"]
        purposes += [f"{self.world_size} ranks", f"{decisions}"[:16]] if decisions else []
        for purpose in purposes:
            seed = int.from_bytes(secret_of_seed(seed, purpose)[:7], "little")
        return seed

    # -- collective operations, called by all ranks

    @contextmanager
    def _collective(self) -> Generator[Any]:
        """`torch.distributed`; a lost connection is a RanksLost."""
        from torch import distributed

        try:
            yield distributed
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else "no answer"
            raise RanksLost(
                f"another of the {self.world_size} processes is gone ({reason})"
            ) from error

    def all_reduce(self, numbers: Iterable[float], operation: str = "SUM") -> list[float]:
        """Sums over all ranks, or the result of another `torch.distributed.ReduceOp`."""
        if self.is_only:
            return [*numbers]
        import torch

        tensor = torch.tensor([*numbers], dtype=torch.float64)
        with self._collective() as distributed:
            distributed.all_reduce(tensor, getattr(distributed.ReduceOp, operation))
        return tensor.tolist()

    def minimum(self, count: int) -> int:
        """The smallest count of all ranks."""
        return int(self.all_reduce([count], "MIN")[0])

    def average_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace each gradient by the mean over all ranks."""
        if self.is_only:
            return
        import torch

        grads = [param.grad for param in parameters if param.grad is not None]
        # One message: many small ones cost more than copying.
        flat = torch.cat([grad.reshape(-1) for grad in grads]) / self.world_size
        with self._collective() as distributed:
            distributed.all_reduce(flat)
        for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
            grad.copy_(part.view_as(grad))

    def broadcast(self, value: T) -> T:
        """The first rank's value, on all ranks."""
        values = [value]
        if not self.is_only:
            with self._collective() as distributed:
                distributed.broadcast_object_list(values)
        return values[0]

    def gather(self, value: T) -> list[T]:
        """The values of all ranks in order, on the first rank; elsewhere the own value."""
        values: list[T] = [value] * (self.world_size if self.is_first else 1)
        if not self.is_only:
            with self._collective() as distributed:
                distributed.gather_object(value, values if self.is_first else None)
        return values


SINGLE_RANK = Ranks()


def rank_and_world_size() -> tuple[int, int]:
    """Rank of this process and number of ranks, as torchrun set them; 0 and 1 without it."""
    if "MASTER_ADDR" not in os.environ:
        return 0, 1
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


@cache
def current_ranks() -> Ranks:
    """The ranks of this process; joins its process group at the first call."""
    rank, world_size = rank_and_world_size()
    if world_size > 1:
        import torch

        distributed: Any = torch.distributed
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        # torchrun reuses its store when it restarts ranks: without a prefix for each attempt, a
        # rank can find the address of one that is gone.
        store, rank, world_size = next(distributed.rendezvous("env://"))
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        distributed.init_process_group(
            backend,
            store=distributed.PrefixStore(f"attempt {attempt}", store),
            rank=rank,
            world_size=world_size,
            timeout=_TIMEOUT,
        )
        atexit.register(distributed.destroy_process_group)
    return Ranks(rank, world_size)
