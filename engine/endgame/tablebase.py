"""Which tables serve: what is on the disk, built when it is first needed, mapped once."""

from __future__ import annotations

import copyreg
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np

from ...common.jit.compiler import COMPILED
from .build import build, build_in_memory
from .index import MOST_CARDS, layer_bytes
from .search import BASE_CARDS, Tables
from .store import Kind, Opened, open_part, parts_of

DEFAULT_CARDS = 10

_opened: dict[Kind, Tables] = {}
_lock = threading.Lock()


def tables(trumps: bool = True, low: bool = False) -> Tables:
    """The tables of a contract for this process, built now if they are not there.

    All layers that `german-whist tablebase build` has left on this machine
    serve; layers up to ten cards are built here, in seconds, when they are
    missing. A file that cannot be believed is an error that names it.
    """
    kind = Kind(trumps, low)
    with _lock:
        if kind not in _opened:
            _opened[kind] = _all_there(kind)
        return _opened[kind]


def _told_to_another(known: Tables) -> tuple[Any, ...]:
    """How tables are copied and pickled: those of this process are no gigabytes, but a kind."""
    for kind, opened in _opened.items():
        if opened is known:
            return tables, (kind.trumps, kind.low)
    return Tables, tuple(known)


# Here, as a table does not know where it came from.
copyreg.pickle(Tables, _told_to_another)


def no_tables(trumps: bool = True, low: bool = False) -> Tables:
    """Tables that know nothing, so that everything is searched."""
    return _gathered(Kind(trumps, low), np.zeros(1, np.uint8), 0, [])


def smaller_tables(known: Tables, cards: int) -> Tables:
    """The same tables, used only for endings with up to so many cards each."""
    if not 0 <= cards <= known.cards:
        raise ValueError(f"cards is {cards}: these tables know endings of up to {known.cards}")
    return known._replace(cards=cards)


def tables_in_memory(cards: int, trumps: bool = True, low: bool = False) -> Tables:
    """Tables of up to ten cards, computed now and kept in no file."""
    kind = Kind(trumps, low)
    if not 1 <= cards <= BASE_CARDS:
        raise ValueError(f"cards is {cards}: tables in memory hold 1 to {BASE_CARDS} cards each")
    return _gathered(kind, build_in_memory(kind, cards), cards, [])


def tables_of(files: list[Opened]) -> Tables:
    """Tables out of opened files: the base, and the layers above it in order."""
    base = files[0]
    return _gathered(base.part.kind, base.data, base.part.last, files[1:])


def _all_there(kind: Kind) -> Tables:
    try:
        base = _base(kind)
    except OSError as error:
        print(
            f"german-whist: {error}. Everything works without it: the endings are computed for "
            "this process only; GERMAN_WHIST_CACHE may name another folder",
            file=sys.stderr,
        )
        return _gathered(kind, build_in_memory(kind, DEFAULT_CARDS), DEFAULT_CARDS, [])
    above: list[Opened] = []
    for part in parts_of(kind, MOST_CARDS)[1:]:
        if not part.path.exists():
            break
        try:
            above.append(open_part(part))
        except (OSError, MemoryError) as error:
            print(
                f"german-whist: {part.path} cannot be mapped ({error}); "
                f"endings of up to {part.first - 1} cards serve",
                file=sys.stderr,
            )
            break
    return _gathered(kind, base.data, base.part.last, above)


def _base(kind: Kind) -> Opened:
    """The first file, built if it is missing; one that is there needs no lock and no writing."""
    try:
        return open_part(parts_of(kind, DEFAULT_CARDS)[0])
    except (FileNotFoundError, NotADirectoryError):
        if COMPILED:
            return build(kind, DEFAULT_CARDS)[0]
        _let_another_build(kind)
        return open_part(parts_of(kind, DEFAULT_CARDS)[0])


def _let_another_build(kind: Kind) -> None:
    """Build by a process that compiles: plain Python would take hours for its seconds."""
    switches = ("NUMBA_DISABLE_JIT", "NUMBA_ENABLE_CUDASIM")
    others = {name: value for name, value in os.environ.items() if name not in switches}
    asked = f"from {__package__} import tables; tables({kind.trumps}, {kind.low})"
    subprocess.run([sys.executable, "-c", asked], env=others, check=True)


def _gathered(kind: Kind, base: np.ndarray, cards: int, above: list[Opened]) -> Tables:
    lay = kind.layout
    starts = np.zeros(BASE_CARDS + 1, np.uint64)
    for n in range(1, BASE_CARDS + 1):
        starts[n] = int(starts[n - 1]) + 2 * layer_bytes(lay, n - 1)
    layers = [file.data for file in above]
    layers += [np.zeros(1, np.uint8)] * (3 - len(layers))
    for data in (base, *layers):
        data.flags.writeable = False
    return Tables(lay, int(kind.low), cards + len(above), starts, base, *layers)
