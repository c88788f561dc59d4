"""Tablebase files: their names, their header, and reading them with suspicion.

A file holds the layers from `first` to `last` of one kind of contract, one after
the other, two endings a byte with the earlier one in the lower half: layers 0
to 10 (or fewer) lie in one file, each later layer in one of its own. Before them
stand 512 bytes: what the file is, each layer's sum of tricks and checksum
(CRC-32), and a checksum of the header itself. All numbers are little-endian.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...common.files import cache_folder
from .index import MOST_CARDS, Layout, layer_bytes, layout
from .search import BASE_CARDS

MAGIC = b"GWENDING"
VERSION = 1
HEADER_BYTES = 512
_FIXED = struct.Struct("<8sIBBBBQ")
_LAYER = struct.Struct("<QI")
_CHECK = struct.Struct("<I")


class TablebaseError(ValueError):
    """A tablebase file that is missing or cannot be believed."""


@dataclass(frozen=True)
class Kind:
    """The contract a tablebase is for."""

    trumps: bool = True
    low: bool = False

    @property
    def name(self) -> str:
        """As in file names: `trumps-high`."""
        return f"{'trumps' if self.trumps else 'notrumps'}-{'low' if self.low else 'high'}"

    @property
    def layout(self) -> Layout:
        """Where each ending lies."""
        return layout(self.trumps)


KINDS = tuple(Kind(trumps, low) for trumps in (True, False) for low in (False, True))


@dataclass(frozen=True)
class Part:
    """One file of a tablebase: which layers it holds."""

    kind: Kind
    first: int
    last: int

    @property
    def path(self) -> Path:
        """Where the file is kept."""
        span = f"{self.first:02}-{self.last:02}" if self.first != self.last else f"{self.last:02}"
        return tablebase_folder() / f"{self.kind.name}-{span}.endings"

    @property
    def layer_sizes(self) -> list[int]:
        """The bytes of each layer."""
        return [layer_bytes(self.kind.layout, n) for n in range(self.first, self.last + 1)]

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return HEADER_BYTES + sum(self.layer_sizes)

    @property
    def title(self) -> str:
        """For people: `trumps-high, layers 0 to 10`."""
        if self.first == self.last:
            return f"{self.kind.name}, layer {self.last}"
        return f"{self.kind.name}, layers {self.first} to {self.last}"


def parts_of(kind: Kind, cards: int) -> list[Part]:
    """The files that together hold all endings with up to so many cards each."""
    if not 1 <= cards <= MOST_CARDS:
        raise ValueError(f"cards is {cards}: a tablebase goes up to 1 to {MOST_CARDS} cards each")
    above = [Part(kind, n, n) for n in range(BASE_CARDS + 1, cards + 1)]
    return [Part(kind, 0, min(cards, BASE_CARDS)), *above]


def tablebase_folder() -> Path:
    """Where the files are kept."""
    return cache_folder() / "tablebases"


@dataclass(frozen=True)
class Opened:
    """A file that was checked and is mapped into memory, read-only."""

    part: Part
    data: np.ndarray
    """All layers, without the header."""
    sums: list[int]
    """The tricks that the leaders take, layer by layer."""

    def layer(self, n: int) -> np.ndarray:
        """One layer's bytes."""
        sizes = self.part.layer_sizes
        start = sum(sizes[: n - self.part.first])
        return self.data[start : start + sizes[n - self.part.first]]


def header(part: Part, sums: list[int], data: np.ndarray) -> bytes:
    """The header that belongs before these layers."""
    kind = part.kind
    parts = [_FIXED.pack(MAGIC, VERSION, kind.trumps, kind.low, part.first, part.last, part.size)]
    start = 0
    for size, total in zip(part.layer_sizes, sums, strict=True):
        parts.append(_LAYER.pack(total, zlib.crc32(data[start : start + size])))
        start += size
    filled = b"".join(parts).ljust(HEADER_BYTES - _CHECK.size, b"\0")
    return filled + _CHECK.pack(zlib.crc32(filled))


def open_part(part: Part) -> Opened:
    """Map a file after checking all of it; what is wrong is told with the file's name."""
    path = part.path
    with path.open("rb") as file:
        found = os.fstat(file.fileno()).st_size
        head = file.read(HEADER_BYTES)
        if head[: len(MAGIC)] != MAGIC:
            raise _unusable(path, "it does not begin as a tablebase does")
        if found != part.size:
            raise _unusable(path, f"it has {found} bytes instead of {part.size}")
        if zlib.crc32(head[: -_CHECK.size]) != _CHECK.unpack(head[-_CHECK.size :])[0]:
            raise _unusable(path, "its header is damaged")
        _, version, *what, _ = _FIXED.unpack_from(head)
        if version != VERSION:
            raise _unusable(path, f"it has format {version}, and this program reads {VERSION}")
        if what != [part.kind.trumps, part.kind.low, part.first, part.last]:
            raise _unusable(path, f"it does not hold {part.title}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    data = np.frombuffer(mapped, np.uint8, offset=HEADER_BYTES)
    sums = []
    start = 0
    for index, size in enumerate(part.layer_sizes):
        total, checksum = _LAYER.unpack_from(head, _FIXED.size + index * _LAYER.size)
        if zlib.crc32(data[start : start + size]) != checksum:
            raise _unusable(path, f"layer {part.first + index} is damaged (wrong checksum)")
        sums.append(total)
        start += size
    return Opened(part, data, sums)


def _unusable(path: Path, why: str) -> TablebaseError:
    return TablebaseError(
        f"{path} cannot be used: {why}. Write it anew with "
        "'german-whist tablebase build --rebuild', or remove it"
    )
