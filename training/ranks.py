"""One training in several processes, as `torchrun` starts them: ranks that average their steps.

Every rank plays games of its own and holds the same weights. The first leads: it has the run's
folder, measures, writes and shows, and tells the others what to do next; they follow. Outside
torchrun there is one rank, and nothing here costs anything.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np

from ..engine.arrays import Array
from ..engine.streams import secret_of_seed

Method = TypeVar("Method", bound=Callable[..., Any])

# What torchrun tells each process, and torch.distributed reads.
_TOLD = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# Whoever follows waits as long as the first measures.
_PATIENCE = timedelta(days=30)
_MAKE, _OVER = "make", "over"


class RanksLost(RuntimeError):
    """Another rank is gone, so that nothing can be done together any more."""


class Ranks:
    """The processes of one training, seen from one of them."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world
        self.seconds = 0.0
        """Time spent in averaging, waiting for others included."""

    @property
    def alone(self) -> bool:
        """Whether there is one process."""
        return self.world == 1

    @property
    def leads(self) -> bool:
        """Whether this is the one that writes and shows."""
        return self.rank == 0

    def share(self, count: int, name: str) -> int:
        """This rank's part of so many; all have as many."""
        if count % self.world:
            raise ValueError(
                f"{name} is {count}, which {self.world} processes can not share evenly: give "
                f"{self.world * max(1, count // self.world)} or another multiple"
            )
        return count // self.world

    def seed(self, seed: int, since: int = 0) -> int:
        """The seed of this rank's own games: the first has the training's.

        `since` is how many decisions were made before the ranks became as many as they are.
        """
        if not self.leads:
            seed = _following(seed, f"rank {self.rank}")
        if since:
            seed = _following(_following(seed, f"{self.world} ranks"), f"{since}"[:16])
        return seed

    # -- what all do together

    @contextmanager
    def _together(self) -> Generator[None]:
        began = time.perf_counter()
        try:
            yield
        except RuntimeError as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else "no answer"
            raise RanksLost(f"another of the {self.world} processes is gone ({first})") from error
        finally:
            self.seconds += time.perf_counter() - began

    def sums(self, numbers: Iterable[float]) -> list[float]:
        """The sums over all ranks, the same everywhere."""
        mine = [*numbers]
        if self.alone:
            return mine
        import torch
        from torch import distributed

        told = torch.tensor(mine, dtype=torch.float64)
        with self._together():
            distributed.all_reduce(told)
        return told.tolist()

    def least(self, number: int) -> int:
        """The smallest of all ranks' numbers."""
        if self.alone:
            return number
        import torch
        from torch import distributed

        told = torch.tensor(number)
        with self._together():
            distributed.all_reduce(told, distributed.ReduceOp.MIN)
        return int(told)

    def add_gradients(self, parameters: Iterable[Any]) -> None:
        """Let each gradient be the sum of all ranks'."""
        if self.alone:
            return
        import torch
        from torch import distributed

        found = [each.grad for each in parameters if each.grad is not None]
        # One message: many small ones cost more than copying.
        flat = torch.cat([each.reshape(-1) for each in found])
        with self._together():
            distributed.all_reduce(flat)
        for each, part in zip(found, flat.split([each.numel() for each in found]), strict=True):
            each.copy_(part.view_as(each))

    def of_first(self, told: Any) -> Any:
        """What the first rank gives; the others' is left out."""
        if self.alone:
            return told
        from torch import distributed

        room = [told if self.leads else None]
        with self._together():
            distributed.broadcast_object_list(room)
        return room[0]

    def of_all(self, told: Any) -> list[Any]:
        """What every rank gives, in order, for the first; the others get their own alone."""
        if self.alone:
            return [told]
        from torch import distributed

        room: list[Any] | None = [None] * self.world if self.leads else None
        with self._together():
            distributed.gather_object(told, room)
        return [told] if room is None else room

    # -- leading and following

    def dismiss(self, told: Any) -> None:
        """Let the others end; `told` is what their `follow` returns."""
        # Those that are gone need no leave.
        with suppress(RanksLost):
            self.of_first((_OVER, told))

    def follow(self, make: Callable[..., Any]) -> Any:
        """Do what the first does with its trainer, until that is over.

        `make` makes a trainer of what the first tells of its settings.
        """
        trainer: Any = None
        while True:
            order, told = self.of_first(None)
            if order == _OVER:
                return told
            if order == _MAKE:
                trainer = make(told)
            else:
                getattr(trainer, order)(*told)


def tell_to_make(ranks: Ranks, settings: Mapping[str, Any]) -> None:
    """Let those that follow make the trainer that the first is about to make."""
    if ranks.leads:
        ranks.of_first((_MAKE, settings))


def by_all_ranks(method: Method) -> Method:
    """Let a method of a trainer be carried out on all its `ranks` when it is on the first."""

    @functools.wraps(method)
    def together(self: Any, *arguments: Any) -> Any:
        if self.ranks.leads:
            self.ranks.of_first((method.__name__, arguments))
        return method(self, *arguments)

    return together  # type: ignore[return-value]


def digest_of(arrays: Mapping[str, Array]) -> str:
    """What tells weights that differ in a single bit apart."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _following(seed: int, purpose: str) -> int:
    return int.from_bytes(secret_of_seed(seed, purpose)[:7], "little")


# -- this process

ALONE = Ranks()
_here: list[Ranks] = []


def told_ranks() -> tuple[int, int]:
    """This process's number, and of how many, as torchrun told it; 0 of 1 outside."""
    if any(name not in os.environ for name in _TOLD):
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def leads_here() -> bool:
    """Whether this process is the first of its training."""
    return told_ranks()[0] == 0


def check_alone(why: str) -> None:
    """Refuse several processes where there is nothing to share."""
    world = told_ranks()[1]
    if world > 1:
        raise ValueError(f"{why}, and torchrun started {world}: begin it without torchrun")


def processes_here() -> int:
    """How many processes of the training share this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if told_ranks()[1] > 1 else 1


def under_torchrun() -> bool:
    """Whether torchrun started this process, which may start it again at any time."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def ranks_here() -> Ranks:
    """The ranks that this process is of, joined when first asked for."""
    rank, world = told_ranks()
    if world == 1:
        return ALONE
    if not _here:
        import torch.distributed
        from torch import cuda

        distributed: Any = torch.distributed
        backend = "cpu:gloo,cuda:nccl" if cuda.is_available() else "gloo"
        store, *_ = next(distributed.rendezvous("env://", rank, world))
        distributed.init_process_group(
            backend, store=distributed.PrefixStore(_gathered(store, rank, world), store),
            rank=rank, world_size=world, timeout=_PATIENCE,
        )  # fmt: skip
        atexit.register(distributed.destroy_process_group)
        _here.append(Ranks(rank, world))
    return _here[0]


def _gathered(store: Any, rank: int, world: int) -> str:
    """A word that just these processes agree on.

    torchrun keeps one store over all that it starts again, in which addresses of the dead would
    be found. So each says hello with a word of its own; the first answers all that it hears, and
    goes on when all have heard themselves answered.
    """
    mine = secrets.token_hex(8)
    store.set(f"hello {rank}", mine)
    session, heard = "", [""]
    while True:
        if rank == 0:
            names = [f"hello {each}" for each in range(world)]
            now = [_said(store, each) for each in names]
            if now != heard and all(now):
                heard, session = now, secrets.token_hex(8)
                store.set("session", " ".join([session, *heard]))
            if session and all(_said(store, f"ack {each}") == session for each in range(1, world)):
                store.set("go", session)
                return session
        else:
            told, *answered = _said(store, "session").split() or [""]
            if told != session and mine in answered:
                session = told
                store.set(f"ack {rank}", session)
            if session and _said(store, "go") == session:
                return session
        time.sleep(0.02)


def _said(store: Any, key: str) -> str:
    return store.get(key).decode() if store.check([key]) else ""
