"""Building tablebases: layer after layer, on several threads, each file written whole.

A build that was stopped goes on with the first file that is missing. A lock
keeps two processes from building the same kind at once: the second waits, and
finds the files there.
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
from typing import Any

import numpy as np

from ...common.files import locked, written_whole
from ...common.jit.compiler import warm_up
from ...common.progress import Progress
from ...common.threads import usable_threads
from .generator import Classes, fill_high, fill_low
from .index import layer_size
from .store import HEADER_BYTES, Kind, Opened, Part, TablebaseError, header, open_part, parts_of

Report = Callable[[str], None]


def in_chunks(kind: Kind, n: int, threads: int, work: Callable[[Classes], Any]) -> list[Any]:
    """`work` over the classes of a layer, in pieces shared out among threads."""
    first, end = (int(c) for c in kind.layout.first[n : n + 2])
    pieces = min(end - first, 16 * threads if threads > 1 else 64)
    edges = [first + (end - first) * k // pieces for k in range(pieces + 1)]
    chunks = [Classes(n, *edges) for edges in pairwise(edges)]
    if threads == 1 or n < 7:
        return [work(classes) for classes in chunks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, chunks))


def _compile_generator() -> None:
    kind = Kind()
    empty = np.zeros(1, np.uint8)
    empty.flags.writeable = False
    for fill in (fill_high, fill_low):
        fill(kind.layout, Classes(1, 1, 2), empty, np.zeros(1, np.uint8))


def fill_layer(
    kind: Kind, n: int, below: np.ndarray, out: np.ndarray, *,
    threads: int, tell: Callable[[int], object],
) -> int:  # fmt: skip
    """Compute one layer from the layer below; returns the sum of the leaders' tricks.

    `tell` hears of endings as they are known.
    """
    lay = kind.layout
    fill = fill_low if kind.low else fill_high
    below = below.view()
    below.flags.writeable = False  # one type to compile for, mapped or not

    def work(classes: Classes) -> int:
        total = fill(lay, classes, below, out)
        tell((classes.end - classes.first) * int(lay.sizes[n]))
        return int(total)

    return sum(in_chunks(kind, n, threads, work))


def _fill_part(part: Part, below: np.ndarray, data: np.ndarray, threads: int) -> list[int]:
    warm_up("endgame generator", "engine", _compile_generator)
    lay = part.kind.layout
    layers = range(part.first, part.last + 1)
    sums = []
    start = 0
    endings = sum(layer_size(lay, n) for n in layers)
    with Progress(f"building endings ({part.title})", endings) as progress:
        for n, size in zip(layers, part.layer_sizes, strict=True):
            out = data[start : start + size]
            sums.append(
                fill_layer(part.kind, n, below, out, threads=threads, tell=progress.add) if n else 0
            )
            below = out
            start += size
    return sums


def build_in_memory(kind: Kind, cards: int, threads: int | None = None) -> np.ndarray:
    """The base layers without a file, for machines that cannot keep one."""
    part = parts_of(kind, cards)[0]
    data = np.zeros(part.size - HEADER_BYTES, np.uint8)
    _fill_part(part, data[:0], data, threads or usable_threads())
    return data


def _write_part(part: Part, below: np.ndarray, threads: int) -> None:
    with written_whole(part.path) as file:
        _reserve(file.fileno(), part.size)
        mapped = mmap.mmap(file.fileno(), part.size)
        data = np.frombuffer(mapped, np.uint8, offset=HEADER_BYTES)
        sums = _fill_part(part, below, data, threads)
        mapped[:HEADER_BYTES] = header(part, sums, data)
        mapped.flush()
        del data
        mapped.close()


def _reserve(descriptor: int, size: int) -> None:
    """Take the room on the disk now, so that a full disk is no crash while writing."""
    reserve = getattr(os, "posix_fallocate", None)  # on Linux alone
    if reserve is not None:
        try:
            reserve(descriptor, 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise  # a file system that cannot reserve is no full disk
    zeros = bytes(1 << 20)
    while (left := size - os.fstat(descriptor).st_size) > 0:
        os.write(descriptor, zeros[:left])


def _check_room(folder: Path, missing: Sequence[Part]) -> None:
    needed = sum(part.size for part in missing)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            f"{folder} has {free / 1e6:,.0f} MB free, and the endings to build take "
            f"{needed / 1e6:,.0f} MB: free some room, ask for fewer cards, or set "
            "GERMAN_WHIST_CACHE to a folder with room"
        )


def _forget_leavings(part: Part) -> None:
    """Remove the temporary files of builds that were killed; only the lock's holder may."""
    for left in part.path.parent.glob(f".{part.path.name}.*"):
        with suppress(OSError):
            left.unlink()


def build(
    kind: Kind,
    cards: int,
    threads: int | None = None,
    rebuild: bool = False,
    report: Report | None = None,
) -> list[Opened]:
    """See that all files up to so many cards are there and sound; returns them opened.

    A file that cannot be believed stops the build, unless `rebuild` asks to
    replace such files. `report` is told of every file that is found or written.
    """
    parts = parts_of(kind, cards)
    folder = parts[0].path.parent
    tell = report or (lambda line: None)
    with locked(folder / f"{kind.name}.lock"):
        opened: list[Opened | None] = []
        for part in parts:
            opened.append(_open_or_none(part, rebuild, tell))
        missing = [part for part, file in zip(parts, opened, strict=True) if file is None]
        _check_room(folder, missing)
        below = np.zeros(1, np.uint8)
        for index, part in enumerate(parts):
            file = opened[index]
            if file is None:
                _forget_leavings(part)
                begun = time.monotonic()
                _write_part(part, below, threads or usable_threads())
                seconds = time.monotonic() - begun
                tell(f"{part.path}: written, {part.size:,} bytes in {seconds:.1f} s")
                file = open_part(part)
                opened[index] = file
            below = file.layer(part.last)
    return [file for file in opened if file is not None]


def _open_or_none(part: Part, rebuild: bool, tell: Report) -> Opened | None:
    try:
        file = open_part(part)
    except FileNotFoundError:
        return None
    except TablebaseError as error:
        if not rebuild:
            raise
        tell(str(error).split(". Write it anew")[0] + "; it is written anew")
        return None
    tell(f"{part.path}: there and sound")
    return file
