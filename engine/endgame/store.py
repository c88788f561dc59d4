"""Tablebase files: their names, and checked reading.

A file holds the layers from `first` to `last` for one kind of contract, two endgames a byte with
the earlier one in the lower half: layers 0 to 10 (or fewer) are in one file, each later layer is in
its own. Four bytes at the end are the CRC-32 of the file's name, the format and the layers, so a
file that is damaged, renamed or of another version is not read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...common.files import atomic_write, cache_folder
from .index import MAX_CARDS, IndexScheme, index_scheme, layer_bytes
from .tablebase import BASE_CARDS

FORMAT = 2
CHECKSUM_BYTES = 4


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
    def size(self) -> int:
        """Bytes of all layers."""
        return sum(layer_bytes(self.kind.scheme, n) for n in range(self.first, self.last + 1))

    @property
    def title(self) -> str:
        """Readable name, such as `trumps-high, layers 0 to 10`."""
        if self.first == self.last:
            return f"{self.kind.name}, layer {self.last}"
        return f"{self.kind.name}, layers {self.first} to {self.last}"

    def layers(self, data: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The parts of the file's data that are its layers, with their numbers of cards."""
        start = 0
        for n in range(self.first, self.last + 1):
            end = start + layer_bytes(self.kind.scheme, n)
            yield n, data[start:end]
            start = end

    def read(self, folder: Path | None = None) -> np.ndarray:
        """The data of the file, in the cache folder by default, mapped read-only once checked."""
        path = self.path if folder is None else folder / self.path.name
        file_size, size = path.stat().st_size, self.size + CHECKSUM_BYTES
        if file_size != size:
            raise _unusable(path, f"it has {file_size:,} bytes instead of {size:,}")
        data = np.asarray(np.memmap(path, np.uint8, "r"))
        if data[self.size :].tobytes() != self._checksum(data[: self.size]):
            raise _unusable(
                path, f"its checksum is not that of {self.title} in format {FORMAT}: it is damaged"
            )
        return data[: self.size]

    def write(self, data: np.ndarray) -> None:
        with atomic_write(self.path) as file:
            file.write(data.data)
            file.write(self._checksum(data))

    def _checksum(self, data: np.ndarray) -> bytes:
        name = f"{self.path.name} {FORMAT}".encode()
        return zlib.crc32(data.data, zlib.crc32(name)).to_bytes(CHECKSUM_BYTES, "little")


def _unusable(path: Path, why: str) -> TablebaseError:
    return TablebaseError(
        f"{path} cannot be used: {why}. Write it anew with "
        "'german-whist tablebase build --rebuild', or remove it"
    )


def layer_files(kind: TablebaseKind, cards: int) -> list[LayerFile]:
    """Files that hold all endgames with up to `cards` cards each."""
    if not 1 <= cards <= MAX_CARDS:
        raise ValueError(f"cards is {cards}: a tablebase goes up to 1 to {MAX_CARDS} cards each")
    above = [LayerFile(kind, n, n) for n in range(BASE_CARDS + 1, cards + 1)]
    return [LayerFile(kind, 0, min(cards, BASE_CARDS)), *above]


def tablebase_folder() -> Path:
    # Not `tablebases`, where earlier versions look for files of another format.
    return cache_folder() / "endings"
