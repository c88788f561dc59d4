"""Tablebase generation, layer by layer on several threads, each file written atomically.

An interrupted build continues with the first missing file. A lock prevents two processes from
building the same tablebase: the second waits and finds the files.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...common.files import atomic_write, file_lock
from ...common.jit.compiler import warm_up
from ...common.progress import Progress
from ...common.threads import usable_threads
from .generator import Classes, fill_high, fill_low
from .index import layer_size
from .store import (
    HEADER_BYTES,
    LayerFile,
    MappedLayers,
    TablebaseError,
    TablebaseKind,
    header,
    layer_files,
    open_layers,
)

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
) -> int:
    """Compute one layer from the layer below; returns the sum of the leaders' tricks.

    `report` is called with the number of endgames in each finished chunk.
    """
    scheme = kind.scheme
    fill = fill_low if kind.low else fill_high
    below = below.view()
    below.flags.writeable = False  # one array type to compile for, mapped or not

    def work(classes: Classes) -> int:
        total = fill(scheme, classes, below, out)
        report((classes.end - classes.first) * int(scheme.class_sizes[n]))
        return int(total)

    return sum(map_classes(kind, n, threads, work))


def _fill_part(part: LayerFile, below: np.ndarray, data: np.ndarray, threads: int) -> list[int]:
    low = part.kind.low
    contract = "low" if low else "high"
    warm_up(f"endgame generator ({contract})", "engine", lambda: _compile_generator(low))
    scheme = part.kind.scheme
    layers = range(part.first, part.last + 1)
    sums = []
    start = 0
    endings = sum(layer_size(scheme, n) for n in layers)
    with Progress(f"building endings ({part.title})", endings) as progress:
        for n, size in zip(layers, part.layer_sizes, strict=True):
            out = data[start : start + size]
            sums.append(
                fill_layer(part.kind, n, below, out, threads=threads, report=progress.add)
                if n
                else 0
            )
            below = out
            start += size
    return sums


def build_in_memory(kind: TablebaseKind, cards: int) -> np.ndarray:
    part = layer_files(kind, cards)[0]
    data = np.zeros(part.size - HEADER_BYTES, np.uint8)
    _fill_part(part, data[:0], data, usable_threads())
    return data


def _write_part(part: LayerFile, below: np.ndarray, threads: int) -> None:
    with atomic_write(part.path) as file:
        _reserve_space(file.fileno(), part.size)
        mapped = mmap.mmap(file.fileno(), part.size)
        data = np.frombuffer(mapped, np.uint8, offset=HEADER_BYTES)
        sums = _fill_part(part, below, data, threads)
        mapped[:HEADER_BYTES] = header(part, sums, data)
        mapped.flush()
        del data
        mapped.close()


def _reserve_space(descriptor: int, size: int) -> None:
    reserve = getattr(os, "posix_fallocate", None)  # only on Linux
    if reserve is not None:
        try:
            reserve(descriptor, 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise  # unlike file systems that cannot reserve space
    zeros = bytes(1 << 20)
    while (left := size - os.fstat(descriptor).st_size) > 0:
        os.write(descriptor, zeros[:left])


def _check_disk_space(folder: Path, missing: Sequence[LayerFile]) -> None:
    needed = sum(part.size for part in missing)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            f"{folder} has {free / 1e6:,.0f} MB free, and the endings to build take "
            f"{needed / 1e6:,.0f} MB: free some room, ask for fewer cards, or set "
            "GERMAN_WHIST_CACHE to a folder with room"
        )


def build(
    kind: TablebaseKind,
    cards: int,
    threads: int | None = None,
    rebuild: bool = False,
    report: Report = lambda line: None,
) -> list[MappedLayers]:
    """Build the missing files up to `cards` cards and check the others; returns all, mapped.

    A damaged file stops the build, unless `rebuild` replaces it. `report` is called with a line for
    every file.
    """
    parts = layer_files(kind, cards)
    folder = parts[0].path.parent
    files: list[MappedLayers] = []
    with file_lock(folder / f"{kind.name}.lock"):
        opened = {part: _open_or_none(part, rebuild, report) for part in parts}
        _check_disk_space(folder, [part for part, file in opened.items() if file is None])
        below = np.zeros(1, np.uint8)
        for part, file in opened.items():
            if file is None:
                for path in folder.glob(f".{part.path.name}.*"):
                    with suppress(OSError):  # left over from an interrupted build
                        path.unlink()
                begun = time.monotonic()
                _write_part(part, below, threads or usable_threads())
                seconds = time.monotonic() - begun
                report(f"{part.path}: written, {part.size:,} bytes in {seconds:.1f} s")
                file = open_layers(part)
            files.append(file)
            below = file.layer(part.last)
    return files


def _open_or_none(part: LayerFile, rebuild: bool, report: Report) -> MappedLayers | None:
    try:
        file = open_layers(part)
    except FileNotFoundError:
        return None
    except TablebaseError as error:
        if not rebuild:
            raise
        report(str(error).split(". Write it anew")[0] + "; it is written anew")
        return None
    report(f"{part.path}: there and sound")
    return file
