"""Verification of tablebase files: sums, swap property, and sampled values against a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .build import map_classes
from .generator import check_classes
from .index import layer_size
from .load import empty_tablebase, tablebase_of
from .search import Node, Scratch, leader_points, new_scratch, tablebase_points
from .store import LayerFile, TablebaseKind
from .tablebase import Tablebase

KNOWN_SUMS = {TablebaseKind(): {1: 5, 2: 74, 3: 749, 4: 6055, 5: 43945, 6: 291490, 7: 1785511}}
"""Layer sums confirmed by independent solvers."""


@dataclass
class LayerReport:
    """Result of a full scan of a layer, and of a search of sampled endgames."""

    cards: int
    endings: int
    total: int
    majorities: int
    """Endgames in which the leader takes more than half of the tricks."""
    faults: list[str]


def verify(parts: list[LayerFile], threads: int, samples: int = 200) -> Iterator[LayerReport]:
    """Verify files layer by layer; their checksums are tested when they are opened."""
    kind, files = parts[0].kind, [part.read() for part in parts]
    tablebase, scratch = tablebase_of(kind, parts[-1].last, files), new_scratch(18)
    for part, data in zip(parts, files, strict=True):
        for n, layer in part.layers(data):
            if n:
                report = _scan_layer(kind, n, layer, threads)
                report.faults += _search_samples(tablebase, kind, n, samples, scratch)
                yield report


def _scan_layer(kind: TablebaseKind, n: int, layer: np.ndarray, threads: int) -> LayerReport:
    scheme = kind.scheme
    counts = map_classes(kind, n, threads, lambda classes: check_classes(scheme, classes, layer))
    total, majorities, harmful = (int(sum(column)) for column in zip(*counts, strict=True))
    faults = []
    expected = KNOWN_SUMS.get(kind, {}).get(n, total)
    if total != expected:
        faults.append(f"its tricks add up to {total}, and {expected} is right")
    if harmful and not kind.low:
        faults.append(f"{harmful} times a higher card is worth less than the next lower one")
    return LayerReport(n, layer_size(scheme, n), total, majorities, faults)


def _search_samples(
    tablebase: Tablebase, kind: TablebaseKind, n: int, samples: int, scratch: Scratch
) -> Iterator[str]:
    scheme = kind.scheme
    empty = empty_tablebase(kind.trumps, kind.low)
    generator = np.random.default_rng(n)
    for _ in range(samples):
        class_id = int(generator.integers(scheme.first_class[n], scheme.first_class[n + 1]))
        bits = generator.choice(2 * n, n, replace=False)
        pattern = np.uint64(sum(1 << int(bit) for bit in bits))
        node = Node(n, class_id, pattern)
        table_value = int(tablebase_points(tablebase, node))
        search_value = int(leader_points(empty, scratch, node))
        if table_value != search_value:
            values = f"the table says {table_value}, a search {search_value}"
            yield f"class {class_id}, pattern {pattern:#x}: {values}"
