"""Tablebases of this process: files built on first use, and mapped once."""

from __future__ import annotations

import copyreg
import os
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ...common.jit.compiler import COMPILED
from .build import build, build_in_memory
from .index import MAX_CARDS, layer_bytes
from .search import BASE_CARDS, Tablebase
from .store import (
    MappedLayers,
    TablebaseError,
    TablebaseKind,
    layer_files,
    open_layers,
    shipped_file,
)

DEFAULT_CARDS = 10
FIRST_CARDS = 8
"""Layers up to this one come with the package for trumps, and are built in a second for others."""
WORTHWHILE_SEARCHES = 1_000_000
"""Searches above the first layers that take about as long as building the other default ones."""

_loaded: dict[TablebaseKind, Tablebase] = {}
_lock = threading.Lock()


def load_tablebase(trumps: bool = True, low: bool = False) -> Tablebase:
    """The tablebase of a contract for this process, built on first use.

    All layers that `german-whist tablebase build` has written are used; layers up to ten cards are
    built here, in seconds, if they are missing or damaged. Another damaged file raises an error
    that names it.
    """
    kind = TablebaseKind(trumps, low)
    with _lock:
        if kind not in _loaded:
            _loaded[kind] = _load(kind, DEFAULT_CARDS)
        return _loaded[kind]


class GrowingTablebase:
    """The tablebase of a contract for agents that may play one hand or millions.

    It is that of `load_tablebase` if this is in the process or in files; else it begins with
    endings of up to eight cards each, and a thread writes the file of the others once searching
    has taken as long as that takes. Values are the same.
    """

    def __init__(self, kind: TablebaseKind) -> None:
        self._kind = kind
        self._searches = 0
        self._builder: threading.Thread | None = None
        self._file = layer_files(kind, DEFAULT_CARDS)[0].path
        complete = kind in _loaded or self._file.exists() or not COMPILED
        self.tablebase: Tablebase = self._complete() if complete else _load(kind, FIRST_CARDS)

    def _complete(self) -> Tablebase:
        return load_tablebase(self._kind.trumps, self._kind.low)

    def _build(self) -> None:
        # Without room for the file nothing changes.
        with suppress(OSError):
            build(self._kind, DEFAULT_CARDS, threads=1, rebuild=True)

    def count(self, searches: int) -> None:
        """Report searches above this tablebase, between two uses of them."""
        if self.tablebase.cards >= DEFAULT_CARDS:
            return
        self._searches += searches
        if self._kind in _loaded:
            self.tablebase = self._complete()
        elif self._builder is not None:
            if not self._builder.is_alive() and self._file.exists():
                self.tablebase = self._complete()
        elif self._searches >= WORTHWHILE_SEARCHES:
            # The lock of `load_tablebase` is not held: a forked process could not take it.
            self._builder = threading.Thread(target=self._build, daemon=True)
            self._builder.start()

    def __reduce__(self) -> tuple[Any, ...]:
        return growing_tablebase, (self._kind,)


@cache
def growing_tablebase(kind: TablebaseKind) -> GrowingTablebase:
    """The growing tablebase of a contract for this process."""
    return GrowingTablebase(kind)


def _reduce(tablebase: Tablebase) -> tuple[Any, ...]:
    for kind, candidate in _loaded.items():
        if candidate is tablebase:
            return load_tablebase, (kind.trumps, kind.low)
    return Tablebase, tuple(tablebase)


# Pickle tablebases by their contract instead of copying gigabytes.
copyreg.pickle(Tablebase, _reduce)


def empty_tablebase(trumps: bool = True, low: bool = False) -> Tablebase:
    """An empty tablebase: everything is searched."""
    return _assemble(TablebaseKind(trumps, low), np.zeros(1, np.uint8), 0, [])


def tablebase_in_memory(cards: int, trumps: bool = True, low: bool = False) -> Tablebase:
    """A tablebase of up to ten cards, computed now and not written to a file."""
    kind = TablebaseKind(trumps, low)
    if not 1 <= cards <= BASE_CARDS:
        raise ValueError(
            f"cards is {cards}: a tablebase in memory holds 1 to {BASE_CARDS} cards each"
        )
    return _assemble(kind, build_in_memory(kind, cards), cards, [])


def tablebase_of(files: list[MappedLayers]) -> Tablebase:
    """A tablebase from mapped files: the base, and the layers above it in order."""
    base = files[0]
    return _assemble(base.file.kind, base.data, base.file.last, files[1:])


def _load(kind: TablebaseKind, cards: int) -> Tablebase:
    try:
        base = _base_layers(kind, cards)
    except OSError as error:
        print(
            f"german-whist: {error}. Everything works without it: the endings are computed for "
            "this process only; GERMAN_WHIST_CACHE may name another folder",
            file=sys.stderr,
        )
        return _assemble(kind, build_in_memory(kind, cards), cards, [])
    above: list[MappedLayers] = []
    for part in layer_files(kind, MAX_CARDS if cards == DEFAULT_CARDS else cards)[1:]:
        if not part.path.exists():
            break
        try:
            above.append(open_layers(part))
        except (OSError, MemoryError) as error:
            print(
                f"german-whist: {part.path} cannot be mapped ({error}); "
                f"endings of up to {part.first - 1} cards serve",
                file=sys.stderr,
            )
            break
    return tablebase_of([base, *above])


def _base_layers(kind: TablebaseKind, cards: int) -> MappedLayers:
    base = layer_files(kind, cards)[0]
    shipped = shipped_file(base)
    notes = []
    for path in (shipped, base.path):
        try:
            return open_layers(base, path)
        except TablebaseError as error:
            # It takes seconds, unlike the layers above, which their owner has to rebuild.
            remedy = (
                f"{base.path} serves instead from now on; reinstall the package to mend it"
                if path == shipped
                else "it is written anew"
            )
            notes.append(f"german-whist: {str(error).partition('. Write it anew')[0]}; {remedy}")
        except (FileNotFoundError, NotADirectoryError):
            pass
    for note in notes:
        print(note, file=sys.stderr, flush=True)
    if COMPILED:
        return build(kind, cards, rebuild=True)[0]
    _build_in_subprocess(kind)
    return open_layers(base)


def _build_in_subprocess(kind: TablebaseKind) -> None:
    variables = ("NUMBA_DISABLE_JIT", "NUMBA_ENABLE_CUDASIM")
    environment = {name: value for name, value in os.environ.items() if name not in variables}
    code = f"from {__package__} import load_tablebase; load_tablebase({kind.trumps}, {kind.low})"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def _assemble(
    kind: TablebaseKind, base: np.ndarray, cards: int, above: list[MappedLayers]
) -> Tablebase:
    scheme = kind.scheme
    starts = np.zeros(BASE_CARDS + 1, np.uint64)
    for n in range(1, BASE_CARDS + 1):
        starts[n] = int(starts[n - 1]) + 2 * layer_bytes(scheme, n - 1)
    layers = [file.data for file in above]
    layers += [np.zeros(1, np.uint8)] * (3 - len(layers))
    for data in (base, *layers):
        data.flags.writeable = False
    above_base = dict(zip(("eleven", "twelve", "thirteen"), layers, strict=True))
    return Tablebase(scheme, int(kind.low), cards + len(above), starts, base, **above_base)
