"""A batch whose games live on a GPU: the deals, plays and pictures of `Batch`, one thread a game.

What a step shows stays on the device, in arrays that torch and others take without a copy, by
the CUDA array interface: `torch.as_tensor(seen.observations, device="cuda")`. Needs the extra
`cuda`; in numba's simulator everything lies in plain arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import config

from .batch import IllegalAction, kept
from .endgame import Tables
from .endings import best_tricks, known_endings
from .episodes import ENDING
from .options import Options
from .results import RESULT
from .rules import Rules
from .seeds import checked_seed, fresh_seed
from .state import GAME

Array = np.ndarray[Any, Any]

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]
_BLOCK = 128


class NoDevice(ValueError):
    """There is no GPU that can be used, or what it takes is not installed."""


def check_device() -> None:
    """Refuse to go on without a device, and say what is missing."""
    try:
        from numba import cuda
    except ImportError as error:
        raise NoDevice(
            f"a GPU needs numba-cuda ({error}): pip install 'german-whist[cuda]'"
        ) from None
    if not cuda.is_available():
        told = "" if SIMULATED else str(getattr(cuda, "cuda_error", lambda: "")() or "")
        raise NoDevice(
            f"there is no GPU that numba can use here{told and ': ' + told}: use the CPU, or "
            "install its driver and 'german-whist[cuda]'"
        )


def placed(array: Array) -> Any:
    """An array on the device, copied there."""
    if SIMULATED:
        return array.copy()
    from numba import cuda

    return cuda.to_device(np.ascontiguousarray(array))


def fetched(array: Any) -> Array:
    """An array of the device, copied to this side."""
    return array.copy() if SIMULATED else array.copy_to_host()


def placed_tables(tables: Tables) -> Tables:
    """Tables of endings in the device's memory."""
    lay = tables.lay._replace(
        **{
            name: placed(each)
            for name, each in tables.lay._asdict().items()
            if isinstance(each, np.ndarray)
        }
    )
    layers = {name: placed(getattr(tables, name)) for name in ("starts", "base", *_ABOVE)}
    return tables._replace(lay=lay, **layers)


_ABOVE = ("eleven", "twelve", "thirteen")


class DeviceBatch:
    """Episodes of one set of options on a device: `start`, then `look` and `step`."""

    def __init__(self, options: Options, n: int) -> None:
        check_device()
        from . import cuda_kernels as kernels

        self.options: Options = options
        self.rules: Rules = options.rules
        self.n: int = n
        self.ready: bool = False
        self._kernels = kernels
        self._plan = options.plan()
        size = int(np.prod(options.observation_shape))
        self.board = kernels.DeviceBoard(
            placed(self._plan),
            placed(np.zeros(n, GAME)),
            placed(np.zeros((n, 4), np.uint8)),
            placed(np.zeros(n, RESULT)),
            placed(np.zeros(n, np.uint64)),
            placed(np.zeros(n, np.int8)),
            placed(np.full(1, n)),
            kernels.Seen(
                placed(np.zeros((n, size), np.int8)),
                placed(np.zeros((n, self.rules.actions), np.int8)),
                placed(np.zeros(n, np.uint8)),
                placed(np.zeros((n, 2), np.float32)),
                placed(np.zeros(n, np.bool_)),
            ),
        )
        self._best = placed(np.zeros(n, np.int64))
        self._tables: list[Tables] = []
        self.looks_up = False
        """Whether the device holds every ending; else this side works them out."""
        if options.horizon == "foreplay":
            found = known_endings(options.rules)
            self.looks_up = all(each.cards >= self.rules.hand for each in found)
            if self.looks_up:
                self._tables = [placed_tables(each) for each in found]

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        blocks = -(-self.n // _BLOCK), min(self.n, _BLOCK)
        kernel[blocks](*arguments)

    # -- beginning and stepping

    @property
    def seed(self) -> int:
        """The seed whose deals are played."""
        return int(self._plan["seed"][0])

    def start(self, seed: int | None) -> Any:
        """Begin every game with a seed's first deals, and show them."""
        self._plan["seed"] = fresh_seed() if seed is None else checked_seed(seed)
        board = self.board
        self.board = board._replace(plan=placed(self._plan))
        self._launch(self._kernels.begin_kernel, self.board, placed(np.arange(self.n, dtype="u8")))
        self.ready = True
        return self.look()

    def look(self) -> Any:
        """What the seats to move see: arrays on the device, written anew by every step."""
        self._check_ready()
        self._launch(self._kernels.look_kernel, self.board)
        return self.board.seen

    def step(self, actions: Any) -> Any:
        """Play an action in each game, as shown; what ended is dealt anew.

        `actions` are int64 on the device. What is not legal is not played, and told by `check`.
        """
        self._check_ready()
        self._launch(self._kernels.step_kernel, self.board, actions)
        if self.options.horizon == "foreplay":
            self._close()
        return self.board.seen

    def _close(self) -> None:
        kernels = self._kernels
        for tables in self._tables:
            self._launch(kernels.endings_kernel, self.board, tables, self._best)
        if not self.looks_up:
            endings = np.flatnonzero(fetched(self.board.led_to) == ENDING)
            if not len(endings):
                return
            best = np.zeros(self.n, np.int64)
            best[endings] = best_tricks(self.games()[endings])
            self._best = placed(best)
        self._launch(kernels.close_kernel, self.board, self._best)

    def random_actions(self, seed: int, actions: Any) -> None:
        """Draw an action that is legal in each game, as it was last shown."""
        self._launch(self._kernels.random_actions_kernel, self.board, np.uint64(seed), actions)

    def check(self) -> None:
        """Wait for the device, and refuse what was not legal since the last check."""
        wrong = int(fetched(self.board.wrong)[0])
        if wrong < self.n:
            self.board = self.board._replace(wrong=placed(np.full(1, self.n)))
            raise IllegalAction(
                f"the action in game {wrong} was not legal, and was not played: actions have to be "
                "among those of the mask"
            )

    def _check_ready(self) -> None:
        if not self.ready:
            raise IllegalAction("there is nothing to step yet: call reset() first")

    # -- keeping

    def games(self) -> Array:
        """The `GAME` records, copied to this side."""
        return fetched(self.board.games)

    def results(self) -> Array:
        """The `RESULT` records, copied to this side."""
        return fetched(self.board.results)

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays; a `Batch` of the same options takes it as well."""
        self.check()
        return {"records": self.games().view(np.uint8), "seed": self._plan["seed"].copy()}

    def restore(self, state: Mapping[str, Array]) -> Any:
        """Go on from what `state` gave, here or of a `Batch`."""
        from .batch import Batch

        other = Batch(self.options, self.n)
        other.restore(state)  # what does not fit is refused there
        self._plan["seed"] = kept(state, "seed", 1)
        self.board = self.board._replace(plan=placed(self._plan), games=placed(other.records))
        self.ready = True
        return self.look()
