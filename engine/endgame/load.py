"""Tablebases of this process: files built on first use, and mapped once."""

from __future__ import annotations

import copyreg
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...common.jit.compiler import COMPILED
from ...common.threads import usable_threads
from .build import build, compute
from .index import MAX_CARDS, layer_bytes
from .store import (
    LayerFile,
    TablebaseError,
    TablebaseKind,
    layer_files,
    tablebase_folder,
)
from .tablebase import BASE_CARDS, Tablebase

DEFAULT_CARDS = 10
FIRST_CARDS = 8
"""Layers up to this one come with the package for trumps, and are built in a second for others."""
_PACKAGE = Path(__file__).parent
"""Folder of the shipped layers."""

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


def available_tablebase(kind: TablebaseKind) -> Tablebase:
    """The tablebase of a contract for agents, which may play one hand or millions.

    It is that of `load_tablebase` where this process or a file has it; else it has layers up to
    eight cards, without waiting for the others. Values are the same: larger endings are searched.
    """
    return _loaded[kind] if kind in _loaded else _available(kind)


def is_built(kind: TablebaseKind) -> bool:
    """Whether a file of the endings up to ten cards is there."""
    return layer_files(kind, DEFAULT_CARDS)[0].path.exists()


@cache
def _available(kind: TablebaseKind) -> Tablebase:
    if is_built(kind) or not COMPILED:
        return load_tablebase(kind.trumps, kind.low)
    return _load(kind, FIRST_CARDS)


def _reduce(tablebase: Tablebase) -> tuple[Any, ...]:
    for kind, candidate in _loaded.items():
        if candidate is tablebase:
            return load_tablebase, (kind.trumps, kind.low)
    return Tablebase, tuple(tablebase)


# Pickle tablebases by their contract instead of copying gigabytes.
copyreg.pickle(Tablebase, _reduce)


def empty_tablebase(trumps: bool = True, low: bool = False) -> Tablebase:
    """An empty tablebase: everything is searched."""
    return tablebase_of(TablebaseKind(trumps, low), 0, [np.zeros(1, np.uint8)])


def tablebase_in_memory(cards: int, trumps: bool = True, low: bool = False) -> Tablebase:
    """A tablebase of up to ten cards, computed now and not written to a file."""
    if not 1 <= cards <= BASE_CARDS:
        raise ValueError(
            f"cards is {cards}: a tablebase in memory holds 1 to {BASE_CARDS} cards each"
        )
    base = LayerFile(TablebaseKind(trumps, low), 0, cards)
    return tablebase_of(base.kind, cards, [_computed(base)])


def tablebase_of(kind: TablebaseKind, cards: int, files: list[np.ndarray]) -> Tablebase:
    """A tablebase from the data of its files: the base, and the layers above it in order."""
    scheme = kind.scheme
    starts = np.zeros(BASE_CARDS + 1, np.uint64)
    for n in range(1, BASE_CARDS + 1):
        starts[n] = int(starts[n - 1]) + 2 * layer_bytes(scheme, n - 1)
    base, *above = files + [np.zeros(1, np.uint8)] * (4 - len(files))
    for data in (base, *above):
        data.flags.writeable = False
    return Tablebase(scheme, int(kind.low), cards, starts, base, *above)


def _load(kind: TablebaseKind, cards: int) -> Tablebase:
    base = layer_files(kind, cards)[0]
    above = layer_files(kind, MAX_CARDS)[1:] if cards == DEFAULT_CARDS else []
    try:
        files = [_base_layers(base)]
    except OSError as error:
        _note(
            f"{error}. Everything works without it: the endings are computed for this process "
            "only; GERMAN_WHIST_CACHE may name another folder"
        )
        return tablebase_of(kind, cards, [_computed(base)])
    for part in above:
        if not part.path.exists():
            break
        try:
            files.append(part.read())
        except (OSError, MemoryError) as error:
            _note(f"{part.path} cannot be mapped ({error}); endings of up to {cards} cards serve")
            break
        cards = part.last
    return tablebase_of(kind, cards, files)


def _base_layers(base: LayerFile) -> np.ndarray:
    notes: list[str] = []
    for folder in (_PACKAGE, tablebase_folder()):
        try:
            return base.read(folder)
        except TablebaseError as error:
            # It takes seconds, unlike the layers above, which their owner has to rebuild.
            remedy = (
                f"{base.path} serves instead from now on; reinstall the package to mend it"
                if folder == _PACKAGE
                else "it is written anew"
            )
            notes.append(f"{str(error).partition('. Write it anew')[0]}; {remedy}")
        except (FileNotFoundError, NotADirectoryError):
            pass
    for note in notes:
        _note(note)
    if COMPILED:
        return build(base.kind, base.last, rebuild=True)[0]
    _build_in_subprocess(base.kind)
    return base.read()


def _computed(base: LayerFile) -> np.ndarray:
    return compute(base, np.zeros(1, np.uint8), usable_threads())


def _note(sentence: str) -> None:
    print(f"german-whist: {sentence}", file=sys.stderr, flush=True)


def _build_in_subprocess(kind: TablebaseKind) -> None:
    variables = ("NUMBA_DISABLE_JIT", "NUMBA_ENABLE_CUDASIM")
    environment = {name: value for name, value in os.environ.items() if name not in variables}
    code = f"from {__package__} import load_tablebase; load_tablebase({kind.trumps}, {kind.low})"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
