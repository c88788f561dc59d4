"""Tablebase files: names, header, and validated reading.

A file holds the layers from `first` to `last` for one kind of contract, two endgames a byte with
the earlier one in the lower half: layers 0 to 10 (or fewer) are in one file, each later layer is in
its own. The 512 bytes of header hold the contract and layers, each layer's sum of tricks and
checksum (CRC-32), and a checksum of the header itself. All numbers are little-endian.
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
from .index import MAX_CARDS, IndexScheme, index_scheme, layer_bytes
from .search import BASE_CARDS

MAGIC = b"GWENDING"
VERSION = 1
HEADER_BYTES = 512
_PREFIX = struct.Struct("<8sIBBBBQ")
_LAYER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")


class TablebaseError(ValueError):
    """A missing or damaged tablebase file."""


@dataclass(frozen=True)
class TablebaseKind:
    """Contract of a tablebase."""

    trumps: bool = True
    low: bool = False

    @property
    def name(self) -> str:
        """Name in file names, such as `trumps-high`."""
        return f"{'trumps' if self.trumps else 'notrumps'}-{'low' if self.low else 'high'}"

    @property
    def scheme(self) -> IndexScheme:
        return index_scheme(self.trumps)


TABLEBASE_KINDS = tuple(
    TablebaseKind(trumps, low) for trumps in (True, False) for low in (False, True)
)


@dataclass(frozen=True)
class LayerFile:
    """One file of a tablebase, by its layers."""

    kind: TablebaseKind
    first: int
    last: int

    @property
    def path(self) -> Path:
        span = f"{self.first:02}-{self.last:02}" if self.first != self.last else f"{self.last:02}"
        return tablebase_folder() / f"{self.kind.name}-{span}.endings"

    @property
    def layer_sizes(self) -> list[int]:
        return [layer_bytes(self.kind.scheme, n) for n in range(self.first, self.last + 1)]

    @property
    def size(self) -> int:
        return HEADER_BYTES + sum(self.layer_sizes)

    @property
    def title(self) -> str:
        """Readable name, such as `trumps-high, layers 0 to 10`."""
        if self.first == self.last:
            return f"{self.kind.name}, layer {self.last}"
        return f"{self.kind.name}, layers {self.first} to {self.last}"


def layer_files(kind: TablebaseKind, cards: int) -> list[LayerFile]:
    """Files that hold all endgames with up to `cards` cards each."""
    if not 1 <= cards <= MAX_CARDS:
        raise ValueError(f"cards is {cards}: a tablebase goes up to 1 to {MAX_CARDS} cards each")
    above = [LayerFile(kind, n, n) for n in range(BASE_CARDS + 1, cards + 1)]
    return [LayerFile(kind, 0, min(cards, BASE_CARDS)), *above]


def tablebase_folder() -> Path:
    return cache_folder() / "tablebases"


def shipped_file(part: LayerFile) -> Path:
    """Where the package holds a file; there is one only for the first layers of trumps."""
    return Path(__file__).with_name(part.path.name)


@dataclass(frozen=True)
class MappedLayers:
    """A validated file, mapped read-only into memory."""

    file: LayerFile
    data: np.ndarray
    """All layers, without the header."""
    sums: list[int]
    """Sum of the leaders' tricks of each layer."""

    def layer(self, n: int) -> np.ndarray:
        sizes = self.file.layer_sizes
        start = sum(sizes[: n - self.file.first])
        return self.data[start : start + sizes[n - self.file.first]]


def header(part: LayerFile, sums: list[int], data: np.ndarray) -> bytes:
    kind = part.kind
    contents = kind.trumps, kind.low, part.first, part.last
    parts = [_PREFIX.pack(MAGIC, VERSION, *contents, part.size)]
    start = 0
    for size, total in zip(part.layer_sizes, sums, strict=True):
        parts.append(_LAYER.pack(total, zlib.crc32(data[start : start + size].data)))
        start += size
    filled = b"".join(parts).ljust(HEADER_BYTES - _CHECKSUM.size, b"\0")
    return filled + _CHECKSUM.pack(zlib.crc32(filled))


def open_layers(part: LayerFile, path: Path | None = None) -> MappedLayers:
    """Map a file, by default that in the cache folder, after checking all of it."""
    path = path or part.path
    with path.open("rb") as file:
        file_size = os.fstat(file.fileno()).st_size
        head = file.read(HEADER_BYTES)
        if head[: len(MAGIC)] != MAGIC:
            raise _unusable(path, "it does not begin as a tablebase does")
        if file_size != part.size:
            raise _unusable(path, f"it has {file_size} bytes instead of {part.size}")
        if zlib.crc32(head[: -_CHECKSUM.size]) != _CHECKSUM.unpack(head[-_CHECKSUM.size :])[0]:
            raise _unusable(path, "its header is damaged")
        _, version, *fields, _ = _PREFIX.unpack_from(head)
        if version != VERSION:
            raise _unusable(path, f"it has format {version}, and this program reads {VERSION}")
        if fields != [part.kind.trumps, part.kind.low, part.first, part.last]:
            raise _unusable(path, f"it does not hold {part.title}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    data = np.frombuffer(mapped, np.uint8, offset=HEADER_BYTES)
    sums = []
    start = 0
    for index, size in enumerate(part.layer_sizes):
        total, checksum = _LAYER.unpack_from(head, _PREFIX.size + index * _LAYER.size)
        if zlib.crc32(data[start : start + size].data) != checksum:
            raise _unusable(path, f"layer {part.first + index} is damaged (wrong checksum)")
        sums.append(total)
        start += size
    return MappedLayers(part, data, sums)


def _unusable(path: Path, why: str) -> TablebaseError:
    return TablebaseError(
        f"{path} cannot be used: {why}. Write it anew with "
        "'german-whist tablebase build --rebuild', or remove it"
    )
