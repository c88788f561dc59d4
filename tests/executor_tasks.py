"""Tasks of executors; their workers import this module alone, and start soon."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def odd(_: Any) -> None:
    raise Odd(1, 2)


class Elsewhere:
    """What only the process that made it can read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _only_in, (os.getpid(),)


def _only_in(pid: int) -> None:
    if os.getpid() != pid:
        raise ValueError("it is read elsewhere")


def elsewhere(_: Any) -> Elsewhere:
    return Elsewhere()


def die_once(mark: str) -> str:
    path = Path(mark)
    if not path.exists():
        path.touch()
        os._exit(7)
    return "done"


def torch_threads(_: Any) -> int:
    import torch

    return torch.get_num_threads()


def named(name: str) -> Callable[[Any], Any]:
    return {
        "factorial": math.factorial,
        "exit": os._exit,
        "die_once": die_once,
        "any": any_of,
        "odd": odd,
        "elsewhere": elsewhere,
        "print": print,
        "sleep": time.sleep,
        "pid": lambda _: os.getpid(),
        "torch_threads": torch_threads,
    }[name]


def any_of(task: tuple[str, Any]) -> Any:
    function, argument = task
    return named(function)(argument)
