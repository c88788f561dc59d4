"""Tablebase generation, layer by layer on several threads, each file written atomically.

An interrupted build continues with the first missing file. A lock prevents two processes from
building the same tablebase: the second waits and finds the files.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

from ...common.files import file_lock
from ...common.jit.compiler import warm_up
from ...common.progress import Progress
from ...common.threads import usable_threads
from .generator import Classes, fill_high, fill_low
from .index import layer_size
from .store import LayerFile, TablebaseError, TablebaseKind, layer_files, tablebase_folder

T = TypeVar("T")
Report = Callable[[str], None]


def map_classes(kind: TablebaseKind, n: int, threads: int, work: Callable[[Classes], T]) -> list[T]:
    """`work` over the classes of a layer, in chunks on several threads."""
    first, end = (int(c) for c in kind.scheme.first_class[n : n + 2])
    pieces = min(end - first, 16 * threads if threads > 1 else 64)
    edges = [first + (end - first) * k // pieces for k in range(pieces + 1)]
    chunks = [Classes(n, *edges) for edges in pairwise(edges)]
    if threads == 1 or n < 7:
        return [work(classes) for classes in chunks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, chunks))


def _compile_generator(low: bool) -> None:
    empty = np.zeros(1, np.uint8)
    empty.flags.writeable = False
    fill = fill_low if low else fill_high
    fill(TablebaseKind().scheme, Classes(1, 1, 2), empty, np.zeros(1, np.uint8))


def fill_layer(
    kind: TablebaseKind,
    n: int,
    below: np.ndarray,
    out: np.ndarray,
    *,
    threads: int,
    report: Callable[[int], object],
) -> None:
    """Compute one layer from the layer below.

    `report` is called with the number of endgames in each finished chunk.
    """
    scheme = kind.scheme
    fill = fill_low if kind.low else fill_high
    below = below.view()
    below.flags.writeable = False  # one array type to compile for, mapped or not

    def work(classes: Classes) -> None:
        fill(scheme, classes, below, out)
        report((classes.end - classes.first) * int(scheme.class_sizes[n]))

    map_classes(kind, n, threads, work)


def compute(part: LayerFile, below: np.ndarray, threads: int) -> np.ndarray:
    """The data of a file, from the layer below it."""
    kind = part.kind
    contract = "low" if kind.low else "high"
    warm_up(f"endgame generator ({contract})", "engine", lambda: _compile_generator(kind.low))
    data = np.zeros(part.size, np.uint8)
    endings = sum(layer_size(kind.scheme, n) for n in range(part.first, part.last + 1))
    with Progress(f"building endings ({part.title})", endings) as progress:
        for n, layer in part.layers(data):
            if n:
                fill_layer(kind, n, below, layer, threads=threads, report=progress.add)
            below = layer
    return data


def _check_disk_space(missing: Sequence[LayerFile]) -> None:
    needed = sum(part.size for part in missing)
    free = shutil.disk_usage(tablebase_folder()).free
    if needed > free:
        raise OSError(
            f"{tablebase_folder()} has {free / 1e6:,.0f} MB free, and the endings to build take "
            f"{needed / 1e6:,.0f} MB: free some room, ask for fewer cards, or set "
            "GERMAN_WHIST_CACHE to a folder with room"
        )


def build(
    kind: TablebaseKind,
    cards: int,
    threads: int | None = None,
    rebuild: bool = False,
    report: Report = lambda line: None,
) -> list[np.ndarray]:
    """Build the missing files up to `cards` cards and check the others; returns all, mapped.

    A damaged file stops the build, unless `rebuild` replaces it. `report` is called with a line for
    every file.
    """
    parts = layer_files(kind, cards)
    files: list[np.ndarray] = []
    below = np.zeros(1, np.uint8)
    with file_lock(tablebase_folder() / f"{kind.name}.lock"):
        found = {part: _read_or_none(part, rebuild, report) for part in parts}
        _check_disk_space([part for part, data in found.items() if data is None])
        for part, data in found.items():
            if data is None:
                begun = time.monotonic()
                part.write(compute(part, below, threads or usable_threads()))
                seconds = time.monotonic() - begun
                report(f"{part.path}: written, {part.size:,} bytes in {seconds:.1f} s")
                data = part.read()
            files.append(data)
            *_, (_, below) = part.layers(data)
    return files


def _read_or_none(part: LayerFile, rebuild: bool, report: Report) -> np.ndarray | None:
    try:
        data = part.read()
    except FileNotFoundError:
        return None
    except TablebaseError as error:
        if not rebuild:
            raise
        report(str(error).split(". Write it anew")[0] + "; it is written anew")
        return None
    report(f"{part.path}: there and sound")
    return data
