"""Proving tablebase files: sums recounted, the generator's short cut, entries searched anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .build import in_chunks
from .generator import check_classes
from .index import layer_size
from .search import Scratch, Tables, new_scratch, points, stored
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
    kind = files[0].part.kind
    scratch = new_scratch(18)
    for file in files:
        for n in range(max(file.part.first, 1), file.part.last + 1):
            yield _layer_report(known, file, kind, n, threads, samples, scratch)


def _layer_report(
    known: Tables, file: Opened, kind: Kind, n: int, threads: int, samples: int, scratch: Scratch
) -> LayerReport:
    lay = kind.layout
    layer = file.layer(n)
    counts = in_chunks(
        kind, n, threads, lambda first, last: check_classes(lay, n, first, last, layer)
    )
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
    faults += _search_some(known, kind, n, samples, scratch)
    return LayerReport(n, layer_size(lay, n), total, majorities, samples, faults)


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
        kept = int(stored(known, n, c, pattern))
        found = int(points(nothing, scratch, n, c, pattern))
        if kept != found:
            yield f"class {c}, pattern {pattern:#x}: the table says {kept}, a search {found}"
