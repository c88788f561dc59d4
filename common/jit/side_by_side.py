# pyright: strict
"""Compilation in several processes, which share the disk cache.

What a command needs is known once its agents are made: until then `warm_up` only notes it. Each
process takes the part that takes longest of those that no other has begun. One that dies leaves
its part to the others, and without any the command compiles alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread

from ..executors.local import LocalWorker
from ..executors.worker import WorkerDied, in_worker
from ..threads import usable_threads
from .compiler import (
    COMPILED,
    Part,
    SourcesUnknown,
    compile_if_free,
    machine_code_folder,
    messages_off,
    put_off,
    warm_up,
)

Make = Callable[[], object]
"""Makes what a command needs; a function that can be pickled."""
_WORTH_A_HELPER = 3
"""Seconds of compilation; a process takes some two to start."""


@contextmanager
def compiled_side_by_side(make: Make) -> Generator[None]:
    """Compile what the block would compile at its end, helped by processes that call `make`.

    `make` does what the block does, or a part of that.
    """
    with put_off() as parts:
        yield
    missing = _missing(parts)
    if missing:
        rest = sum(part.seconds for part in missing[1:])
        helpers = min(usable_threads() - 1, rest // _WORTH_A_HELPER) if _may_help() else 0
        _compile(missing, make, helpers)
    for part in parts:
        warm_up(*part)


def _missing(parts: list[Part]) -> list[Part]:
    try:
        return [part for part in parts if not part.is_ready]
    except SourcesUnknown:  # `warm_up` tells it
        return []


def _compile(parts: list[Part], make: Make, helpers: int) -> None:
    seconds = max(parts[0].seconds, sum(part.seconds for part in parts) // (helpers + 1))
    with ExitStack() as stack:
        stack.enter_context(_counting_down(seconds, helpers + 1))
        stack.enter_context(messages_off())
        for _ in range(helpers):
            # No process, no help.
            with suppress(WorkerDied):
                helper = LocalWorker(_helper, make, threads=0, helper=True)
                stack.callback(helper.close)
                helper.send(None)
        for part in parts:
            compile_if_free(part)
        # Loads what others compiled, and waits for what they still compile.
        for part in parts:
            warm_up(*part)


@contextmanager
def compiled_in_background(make: Make) -> Generator[None]:
    """Let a process that calls `make` compile what the block would compile, while this goes on."""
    if not _may_help():
        yield
        return
    with put_off() as parts:
        yield
    if _missing(parts):
        Thread(target=_help, args=(make,), daemon=True).start()


def _help(make: Make) -> None:
    # Without it, whoever needs the code compiles it.
    with suppress(Exception):
        helper = LocalWorker(_helper, make, threads=1, helper=True)
        try:
            helper.call(None, lambda _: None)
        finally:
            helper.close()


def _may_help() -> bool:
    """Whether this process may have helpers, and they can hand over what they compile."""
    if not COMPILED or in_worker() or getattr(sys, "frozen", False) or usable_threads() == 1:
        return False
    try:
        return os.access(machine_code_folder(), os.W_OK)
    except SourcesUnknown:
        return False


def _helper(make: Make) -> Callable[[object], None]:
    def compile_parts(_: object) -> None:
        with put_off() as parts:
            make()
        with messages_off():
            for part in parts:
                compile_if_free(part)

    return compile_parts


@contextmanager
def _counting_down(seconds: int, processes: int) -> Generator[None]:
    """One line on stderr, whose seconds count down in a terminal."""
    cores = "one core" if processes == 1 else f"{processes} cores"
    text = "german-whist: compiling for this machine, once"
    out = sys.stderr
    out.write(f"{text} (about {seconds} s of {cores}) ...")
    out.write("" if out.isatty() else "\n")
    out.flush()
    done = Event()

    def count() -> None:
        left = seconds
        while not done.wait(1):
            left = max(1, left - 1)
            out.write(f"\r{text} (about {left} s of {cores}) ... \b")
            out.flush()

    thread = Thread(target=count, daemon=True)
    if out.isatty():
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread.is_alive():
            thread.join()
        out.write("\n" if out.isatty() else "")
        out.flush()
