"""Data-parallel training: a trainer in each of the processes that `torchrun` starts.

Each rank has the same weights, and its share of the games, of every minibatch and of the budget.
The trainer averages gradients over the ranks (`Ranks.average_gradients`) and normalizes advantages
by itself. The first rank calls its `DataParallel` as any trainer; the others make the same calls
(`follow`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ...agents.checkpoints.schema import NetworkCard
from ...common.typing import Array, JsonObject
from ..distributed import Ranks
from ..run_state import digest_of
from .base import Arrays, Trainer
from .settings import PPOSettings

if TYPE_CHECKING:
    from .ppo import PPO


class DataParallel(Trainer):
    """The trainer of this rank, and what it exchanges with the others outside of its updates."""

    local: PPO

    def __init__(self, kind: type[PPO], settings: PPOSettings, ranks: Ranks) -> None:
        super().__init__(settings)
        self.ranks = ranks
        self.local = kind.from_settings(_share(settings, ranks.world_size), ranks)
        self.local.reset_games(ranks.seed(settings.seed))
        self._waiting = True
        """Whether the other ranks wait for a call; not after a failed one."""

    def _lead(self, method: str, *arguments: object) -> None:
        """Let the other ranks make a call that this one makes."""
        if self.ranks.is_first:
            self.ranks.broadcast((method, arguments))

    def follow(self) -> Any:
        """Make the calls of the first rank until its `end`; returns what it gave."""
        while True:
            call: Any = None
            method, arguments = self.ranks.broadcast(call)
            if method == "end":
                return arguments[0]
            getattr(self, method)(*arguments)

    def end(self, result: object) -> None:
        """Give the other ranks a result, the last that they wait for."""
        if self._waiting:
            self._lead("end", result)

    def iterate(self) -> dict[str, float]:
        """Iterate on all ranks: counts are their sums, and other metrics their means."""
        self._lead("iterate")
        local, self._waiting = self.local, False
        before = local.decisions, local.hands
        metrics = local.iterate()
        counts = [local.decisions - before[0], local.hands - before[1], *metrics.values()]
        decisions, hands, *sums = self.ranks.all_reduce(counts)
        self._waiting = True
        self._count(self.decisions + int(decisions), self.hands + int(hands))
        means = [total / self.ranks.world_size for total in sums]
        return {**dict(zip(metrics, means, strict=True)), "hands": hands} if metrics else {}

    def _count(self, decisions: int, hands: int) -> None:
        # The same on each rank, so that all have the same schedules and numbers of steps.
        self.decisions, self.hands = decisions, hands
        self.local.decisions = decisions // self.ranks.world_size

    def policy_weights(self) -> Arrays:
        return self.local.policy_weights()

    def network_card(self) -> NetworkCard:
        return self.local.network_card()

    def load_weights(self, weights: Mapping[str, Array]) -> None:
        self._lead("load_weights", weights)
        self.local.load_weights(weights)

    def state(self) -> tuple[Arrays, JsonObject]:
        """The first rank's state, and what differs from it on the other ranks."""
        self._lead("state")
        arrays, plain = self.local.state()
        states = self.ranks.gather((arrays, plain, digest_of(self.policy_weights())))
        every_arrays, plains, digests = zip(*states, strict=True)
        if len(set(digests)) > 1:
            raise ArithmeticError(
                f"the ranks' weights became different by {self.decisions:,} decisions"
            )
        first = every_arrays[0]
        arrays = dict(first)
        for rank, others in enumerate(every_arrays[1:], 1):
            for name, array in others.items():
                if name not in first or not np.array_equal(array, first[name]):
                    arrays[f"rank.{rank}.{name}"] = array
        return arrays, {"decisions": self.decisions, "hands": self.hands, "ranks": list(plains)}

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        """Restore a state; games of another number of ranks begin anew, with deals of their own."""
        self._lead("restore", arrays, plain)
        plains, ranks = plain.get("ranks", [plain]), self.ranks
        as_before = len(plains) == ranks.world_size
        own = f"rank.{ranks.rank}." if as_before else "none"
        fitting = {name: array for name, array in arrays.items() if not name.startswith("rank.")}
        fitting |= {
            name.removeprefix(own): array for name, array in arrays.items() if name.startswith(own)
        }
        if not as_before:
            fitting = {name: a for name, a in fitting.items() if not name.startswith("games.")}
        self.local.restore(fitting, plains[ranks.rank if as_before else 0])
        if not as_before:
            self.local.reset_games(ranks.seed(self.settings.seed, plain["decisions"]))
        self._count(plain["decisions"], plain["hands"])


def _share(settings: PPOSettings, world_size: int) -> PPOSettings:
    """Settings of one rank: those of a training are of all ranks together."""
    n_envs, remainder = divmod(settings.n_envs, world_size)
    if remainder:
        raise ValueError(
            f"n_envs is {settings.n_envs}, which {world_size} processes cannot share "
            f"evenly: give {world_size * max(1, n_envs)} or another multiple"
        )
    if settings.iteration < 2 * world_size:
        raise ValueError(
            f"n_envs is {settings.n_envs} and n_steps is {settings.n_steps}: each of "
            f"{world_size} processes plays a single decision in an iteration, and "
            "nothing is learned from it; raise one of them"
        )
    return msgspec.structs.replace(
        settings,
        n_envs=n_envs,
        batch_size=max(2, settings.batch_size // world_size),
        decisions=-(-settings.decisions // world_size),
    )
