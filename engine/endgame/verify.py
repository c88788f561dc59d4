"""Proving tablebase files: sums recounted, the generator's short cut, entries searched anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .build import in_chunks
from .generator import check_classes
from .index import layer_size
from .search import Node, Scratch, Tables, new_scratch, points, stored
from .store import Kind, Opened
from .tablebase import no_tables, tables_of

KNOWN_SUMS = {Kind(): {1: 5, 2: 74, 3: 749, 4: 6055, 5: 43945, 6: 291490, 7: 1785511}}
"""Layer sums that solvers written apart from this project have found too."""


@dataclass(frozen=True)
class LayerReport:
    """What a look at every ending of a layer, and a search of some, has shown."""

    cards: int
    endings: int
    total: int
    majorities: int
    """Endings in which the leader takes more than half of the tricks."""
    searched: int
    faults: list[str]


def verify(files: list[Opened], threads: int, samples: int = 200) -> Iterator[LayerReport]:
    """Look through opened files, layer by layer; their checksums were tested on opening."""
    known = tables_of(files)
    scratch = new_scratch(18)
    for file in files:
        for n in range(max(file.part.first, 1), file.part.last + 1):
            counted = _counted(file, n, threads)
            faults = [*counted.faults, *_search_some(known, file.part.kind, n, samples, scratch)]
            yield replace(counted, searched=samples, faults=faults)


def _counted(file: Opened, n: int, threads: int) -> LayerReport:
    """A layer recounted, with nothing searched yet."""
    kind, layer = file.part.kind, file.layer(n)
    lay = kind.layout
    counts = in_chunks(kind, n, threads, lambda classes: check_classes(lay, classes, layer))
    total, majorities, hurt = (int(sum(column)) for column in zip(*counts, strict=True))
    faults = []
    said = file.sums[n - file.part.first]
    if total != said:
        faults.append(f"its tricks add up to {total}, and the file says {said}")
    right = KNOWN_SUMS.get(kind, {}).get(n, total)
    if total != right:
        faults.append(f"its tricks add up to {total}, and {right} is right")
    if hurt and not kind.low:
        faults.append(f"{hurt} times a higher card is worth less than the next lower one")
    return LayerReport(n, layer_size(lay, n), total, majorities, 0, faults)


def _search_some(
    known: Tables, kind: Kind, n: int, samples: int, scratch: Scratch
) -> Iterator[str]:
    """Random entries against a search that sees no table."""
    lay = kind.layout
    nothing = no_tables(kind.trumps, kind.low)
    generator = np.random.default_rng(n)
    for _ in range(samples):
        c = int(generator.integers(lay.first[n], lay.first[n + 1]))
        bits = generator.choice(2 * n, n, replace=False)
        pattern = np.uint64(sum(1 << int(bit) for bit in bits))
        node = Node(n, c, pattern)
        kept = int(stored(known, node))
        found = int(points(nothing, scratch, node))
        if kept != found:
            yield f"class {c}, pattern {pattern:#x}: the table says {kept}, a search {found}"
